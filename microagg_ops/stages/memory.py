"""Memory: told before the work that there is not enough of it, instead of in its midst."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from microagg_ops.errors import ENOUGH_MEMORY, DataError

# A test holds every method for large tables to this multiple of its input, of doubles.
COPIES, BYTES = 12, 8


def check_memory(rows: int, columns: int) -> None:
    """Refuse a table that the process has certainly no room for.

    Parameters
    ----------
    rows, columns
        What was read.
    """
    there = room()
    needed = COPIES * BYTES * rows * columns
    if there is not None and needed > there:
        raise DataError(
            f"About {told(needed)} of memory are needed for {rows:,} rows of {columns} columns, "
            f"and {told(there)} are left to this process.",
            code="too_little_memory",
            hint=ENOUGH_MEMORY,
        )


def room() -> int | None:
    """Find how many bytes this process may still take; ``None`` where nobody says."""
    limits = [
        limit for limit in (_limit_left(), _cgroup_left(), _system_left()) if limit is not None
    ]
    return min(limits) if limits else None


def told(size: int) -> str:
    """Tell a size in a unit that a person reads."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size >> 20} MiB"


def _limit_left() -> int | None:
    """Find what ``ulimit -v`` leaves."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))
    return limit


def _cgroup_left() -> int | None:
    with suppress(OSError, ValueError):
        folder = Path("/sys/fs/cgroup")
        most = int((folder / "memory.max").read_text())
        return max(0, most - int((folder / "memory.current").read_text()))
    return None


def _system_left() -> int | None:
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return None
