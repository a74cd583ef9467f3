"""Signals that end a process: none may cut short what must be done to its end.

A terminal that closes sends SIGHUP, a service manager SIGTERM, a person SIGINT or SIGQUIT, and
often more than one. The first ends the work; those that come while something is held wait.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

ENDING = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
    if hasattr(signal, name)
)
# Whoever sends two signals within this many seconds means one end: the second must not cut short
# what the first one began. A later one is heard, in case the first was lost in a destructor.
ONE_WISH = 2.0


@dataclass
class Heard:
    """What came of the signals that end a process."""

    came: list[int] = field(default_factory=list)
    raised: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take a signal: raise `KeyboardInterrupt`, unless something is held or ends already."""
        self.came.append(number)
        now = time.monotonic()
        if _hold.depth == 0 and (self.raised is None or now - self.raised > ONE_WISH):
            self.raised = now
            raise KeyboardInterrupt


@dataclass
class _Hold:
    depth: int = 0
    listening: bool = False


_hold = _Hold()


@contextmanager
def listening() -> Iterator[Heard]:
    """Let every signal that ends a process raise `KeyboardInterrupt`, once."""
    heard = Heard()
    before = _replaced(heard)
    _hold.depth, _hold.listening = 0, bool(before)
    try:
        yield heard
    finally:
        _hold.depth, _hold.listening = 0, False
        _restore(before)


@contextmanager
def held(*, to_the_end: bool = False) -> Iterator[None]:
    """Let signals that end the process wait until the block is done.

    Where the process listens by `listening` they are only noted. Anywhere else, as in a task of
    Airflow, they are delivered to its own handlers at the end of the block.

    Parameters
    ----------
    to_the_end
        Where the process listens, hold until it no longer does: what was asked for is done, and
        little is left.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    waiting: list[int] = []
    before = {} if _hold.depth else _replaced(lambda number, frame: waiting.append(number), True)
    _hold.depth += 1
    try:
        yield
    finally:
        _hold.depth -= not (to_the_end and _hold.listening)
        _restore(before)
        for number in dict.fromkeys(waiting):
            signal.raise_signal(number)


def _replaced(handler: signal._HANDLER, foreign: bool = False) -> dict[int, signal._HANDLER]:
    """Put a handler in the place of others; give those.

    What is ignored (nohup) stays so, and what C code handles. With ``foreign`` our own stay too.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    before: dict[int, signal._HANDLER] = {}
    for number in ENDING:
        found = signal.getsignal(number)
        if found in (signal.SIG_IGN, None) or (foreign and isinstance(found, Heard)):
            continue
        before[number] = found
        signal.signal(number, handler)
    return before


def _restore(before: dict[int, signal._HANDLER]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)
