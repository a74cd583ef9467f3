"""How many threads to use: as many as there are processors for this process, or fewer if asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from microagg_ops.errors import ReleaseError

VARIABLE = "MICROAGG_THREADS"
_SETTING: ContextVar[int | None] = ContextVar("threads", default=None)


def count() -> int:
    """Return the number of threads: the setting, else the environment, at most the processors.

    More threads than processors would wait for each other, and the result never depends on them.
    """
    asked = _SETTING.get() or asked_by_environment()
    return min(asked or processors(), processors())


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Use no more threads than a setting says; without one, what held before."""
    token = _SETTING.set(threads or _SETTING.get())
    try:
        yield
    finally:
        _SETTING.reset(token)


def pool(most: int) -> ThreadPoolExecutor:
    """Make a pool of up to ``most`` threads."""
    return ThreadPoolExecutor(min(most, count()))


def asked_by_environment() -> int | None:
    """Read the variable MICROAGG_THREADS."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ReleaseError(f"The variable {VARIABLE} must be a whole number of 1 or more.")
    return int(text)


def processors(root: Path = Path("/")) -> int:
    """Count the processors that this process may use: its affinity, and the quota of its cgroup."""
    try:
        there = len(os.sched_getaffinity(0))
    except AttributeError:  # where the system has no affinity
        there = os.cpu_count() or 1
    # A part of a processor is none: a thread that waits for another uses up the quota of both.
    return max(1, min([there, *(int(quota) for quota in quotas(root))]))


def quotas(root: Path) -> Iterator[float]:
    """Yield the quotas, in processors, of the process's cgroup and of those above it."""
    folder = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    own = next((line[3:].strip("/") for line in lines if line.startswith("0::")), "")
    # Within a container its own group is often the root that it sees.
    for group in (folder / own, *(folder / own).parents):
        if group.is_relative_to(folder):
            yield from ratio(group / "cpu.max")
    yield from ratio(folder / "cpu/cpu.cfs_quota_us", folder / "cpu/cpu.cfs_period_us")


def ratio(*paths: Path) -> Iterator[float]:
    """Yield quota / period where files say both, as numbers."""
    try:
        quota, period = " ".join(path.read_text() for path in paths).split()
        if float(quota) > 0:
            yield float(quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):
        return
