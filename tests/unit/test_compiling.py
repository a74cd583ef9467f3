"""Clocks that stand still while kernels are compiled."""

from __future__ import annotations

import pytest

from microagg_ops import compiling
from microagg_ops.compiling import Stopwatch
from microagg_ops.methods.partition import Clock


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of day, to be set."""
    now = [100.0]
    monkeypatch.setattr(compiling.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(compiling, "COMPILING", Stopwatch())
    return now


def test_no_budget_is_charged_for_compiling(time: list[float]) -> None:
    clock = Clock(budget=5)
    time[0] += 2
    compiling.COMPILING.begin()
    time[0] += 60
    assert clock.seconds == 2 and not clock.spent, "while it lasts"
    compiling.COMPILING.begin()  # another thread, or a kernel that is called by this one
    time[0] += 60
    compiling.COMPILING.end()
    time[0] += 60
    compiling.COMPILING.end()
    assert clock.seconds == 2
    time[0] += 4
    assert clock.seconds == 6 and clock.spent


def test_it_is_said_once(time: list[float]) -> None:
    said: list[str] = []
    compiling.COMPILING.tell = said.append
    for _ in range(3):
        compiling.COMPILING.say()
    assert len(said) == 1 and said[0].startswith("Compiling kernels")


def test_numba_tells_when_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    from microagg_ops import kernels

    seen: list[str] = []
    for name in ("begin", "end", "say"):
        monkeypatch.setattr(kernels.COMPILING, name, lambda name=name: seen.append(name))
    numba.njit(lambda x: x + 1)(1)
    assert seen.count("begin") == seen.count("end") > 0
    assert "say" in seen
