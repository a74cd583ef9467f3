"""What no input may do, however odd: end in a traceback, hang, take too much memory, or be told.

``MICROAGG_FUZZ=1000``, as ``make fuzz`` sets it, is the long form; CI tries a small part of it.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from microagg_ops.errors import MicroaggError

LONG = int(os.environ.get("MICROAGG_FUZZ", "0"))
# Seconds of processor time for one try, of waiting, and bytes that a try may add to the process.
MOST_SECONDS, PATIENCE, MOST_BYTES = 5.0, 120, 1 << 30
# A value that no message may repeat: it stands in cells, never in a name.
CANARY = "canary-cell-7381"


def tries(in_ci: int, in_full: int) -> int:
    """Return how many inputs to try: the full number for MICROAGG_FUZZ=1000."""
    return max(1, in_full * LONG // 1000) if LONG else in_ci


@dataclass
class Guard:
    """Judges each try, and counts how they ended.

    Parameters
    ----------
    ended
        How many tries ended how: ``done``, or the code of the error.
    broken
        What broke a rule, a line each.
    """

    ended: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def run(self, what: str, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Run one try; its result, or nothing where it was refused in plain words."""
        call = partial(call, *given, **named)
        before, began = _peak(), time.process_time()
        found = self._tried(what, call)
        # Two threads take twice the processor's time, and what was compiled is compiled once.
        if time.process_time() - began > 2 * MOST_SECONDS:
            began = time.process_time()
            call()
            if (took := time.process_time() - began) > 2 * MOST_SECONDS:
                self.broken.append(f"{what}: {took:.1f} s")
        if (grown := _peak() - before) > MOST_BYTES:
            self.broken.append(f"{what}: {grown >> 20} MB")
        return found

    def _tried(self, what: str, call: Callable[[], Any]) -> Any:
        found = None
        try:
            with _ends():
                found = call()
            self.ended["done"] += 1
        except MicroaggError as error:
            self.ended[error.code] += 1
            if CANARY in f"{error} {error.hint}":
                self.broken.append(f"{what}: the message of {error.code} holds a cell")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.ended["traceback"] += 1
            self.broken.append(f"{what}: {type(error).__name__}: {str(error)[:200]}")
        return found

    def settle(self) -> None:
        """Say how the tries ended; fail if one broke a rule."""
        gc.collect()
        print(f"{sum(self.ended.values()):,} tries: {dict(self.ended.most_common())}")
        assert not self.broken, f"{len(self.broken)} broken:\n" + "\n".join(self.broken[:40])


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class _Hang(BaseException):
    """A try that does not end by itself."""


@contextmanager
def _ends() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _Hang(f"no end after {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
