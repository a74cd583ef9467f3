"""Clocks for tests: what a search makes of its time does not depend on how busy a machine is."""

from __future__ import annotations

import itertools

from microagg_ops.methods.partition import Clock, Progress, no_progress


def ticking(budget: float | None = None, progress: Progress = no_progress) -> Clock:
    """Make a clock that goes on by a second whenever it is looked at."""
    ticks = itertools.count(1)
    return Clock(budget, progress, began=0.0, now=lambda: float(next(ticks)))
