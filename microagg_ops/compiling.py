"""How long this process has spent on compiling kernels and loading them: no budget pays for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("microagg_ops")


class Stopwatch:
    """Seconds during which any thread compiled or loaded a kernel."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._before, self._since, self._depth = 0.0, 0.0, 0
        self._said = False
        self.tell: Callable[[str], object] = log.info

    def begin(self) -> None:
        """Enter the compiler; a thread may enter it again, and others may wait for it."""
        with self._lock:
            if self._depth == 0:
                self._since = time.monotonic()
            self._depth += 1

    def end(self) -> None:
        """Leave the compiler."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._before += time.monotonic() - self._since

    def say(self) -> None:
        """Say, once in a process, that something is being compiled."""
        if not self._said:
            self._said = True
            self.tell(
                "Compiling kernels, once on this machine: seconds, or a minute for large tables; "
                "no budget is charged. `microagg warmup` does it ahead of time."
            )

    @property
    def seconds(self) -> float:
        """Seconds so far, those of a compilation under way among them."""
        with self._lock:
            running = time.monotonic() - self._since if self._depth else 0.0
            return self._before + running


COMPILING = Stopwatch()


def working_time() -> float:
    """Return a monotonic time in seconds that stands still while kernels are compiled."""
    return time.monotonic() - COMPILING.seconds
