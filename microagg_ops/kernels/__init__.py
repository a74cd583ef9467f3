"""Compiled steps: arrays in, arrays out, no call longer than about a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function into its callers: handing over many arrays takes longer than it does."""
    return numba.njit(inline="always")(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function, cached on disk where the disk allows it.

    No fast-math and no threads: the same input must give the same bits, and a forked child of an
    Airflow worker must be able to run it.
    """
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        # A read-only install without a home directory has nowhere to cache: compile each time.
        return numba.njit(nogil=True)(function)
