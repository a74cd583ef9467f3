"""Heuristics for a short path through all rows (travelling salesman), each by one word.

A tour through the rows and a dummy at distance zero from all of them is a path once it is cut at
the dummy. Distances are computed where they are needed: memory grows with the rows, time with
their square.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from microagg_ops.methods.partition import Clock, no_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Points = NDArray[np.float64]
    Path = NDArray[np.int64]

TOURS = (
    "strong",
    "two_opt",
    "nearest_neighbour",
    "repetitive_nearest_neighbour",
    "nearest_insertion",
    "farthest_insertion",
    "arbitrary_insertion",
    "cheapest_insertion",
)
# In the order of their numbers in the kernel.
RULES = ("nearest_insertion", "farthest_insertion", "arbitrary_insertion")
# Steps of the inner loop in one call of a kernel: some tenths of a second.
WORK_PER_CALL = 1e8
# How many nearest rows a search looks at, and how many a walk asks before it reads all rows.
NEIGHBOURS, ASKED = 10, 40
# Kicks in one call of the kernel; the partition is looked at after each.
KICKS_PER_CALL = 5_000
LOOKS_PER_CALL = 20_000
JOURNAL = 3_004


def tour_paths(
    points: Points, tour: str, seed: int, clock: Clock, kicks: float
) -> Iterator[tuple[int, Path]]:
    """Yield the path of a tour that begins at a random row, with the kicks that it took.

    The strong search yields one after another. Fewer than four rows leave nothing to search.
    """
    start = random_row(len(points), seed)
    if tour == "strong" and len(points) >= 4:
        near = nearest_rows(points, NEIGHBOURS, clock.part(0.0, 0.2))
        path = nearest_neighbour(points, near, start, clock.part(0.2, 0.3))
        yield from strong(points, near, path, seed=seed, clock=clock, kicks=kicks)
    else:
        yield 0, constructed(points, tour, start, seed, clock)


def constructed(
    points: Points,
    tour: str,
    start: int,
    seed: int,
    clock: Clock,
    *,
    near: NDArray[np.int32] | None = None,
) -> Path:
    """Return the path of a tour that is not searched for; ``near`` may be at hand."""
    if tour == "cheapest_insertion":
        return cheapest_insertion(points, start, clock)
    if tour in RULES:
        return insertion(points, tour, start, seed, clock)
    if tour == "repetitive_nearest_neighbour":
        return repetitive_nearest_neighbour(points, clock)
    if near is None:
        near = nearest_rows(points, NEIGHBOURS, clock.part(0.0, 0.5))
    path = nearest_neighbour(points, near, start, clock.part(0.5, 0.8))
    if tour == "two_opt" and len(points) >= 4:
        path = locally_optimal(points, near[:, :NEIGHBOURS], path, False, clock.part(0.8, 1.0))
    return path


def random_row(rows: int, seed: int) -> int:
    """Choose where a tour begins."""
    from microagg_ops.kernels import random

    return int(random.below(random.seeded(seed, 0), rows))


def nearest_rows(points: Points, count: int, clock: Clock) -> NDArray[np.int32]:
    """Return the nearest rows of each row, (rows, count) int32, nearest first."""
    import numpy as np

    from microagg_ops.kernels.paths import tours

    n, columns = points.shape
    near = np.empty((n, min(count, n - 1)), np.int32)
    step = max(1, int(WORK_PER_CALL / (n * columns)))
    for start in range(0, n, step):
        stop = min(start + step, n)
        tours.list_nearest(points, near, start, stop)
        clock.tick(stop / n)
    return near


def nearest_neighbour(points: Points, near: NDArray[np.int32], start: int, clock: Clock) -> Path:
    """Walk from a row to the nearest one left, and so on."""
    import numpy as np

    from microagg_ops.kernels.paths import tours

    n, columns = points.shape
    path = np.empty(n, np.int64)
    path[0] = start
    left, place = np.arange(n), np.arange(n)
    tours.leave(left, place, start, n)
    step = max(1, int(WORK_PER_CALL / (n * columns)))
    for done in range(1, n, step):
        stop = min(done + step, n)
        tours.walk(points, near, path, done, stop, left, place)
        clock.tick(stop / n)
    return path


def repetitive_nearest_neighbour(points: Points, clock: Clock) -> Path:
    """Return the shortest nearest-neighbour path from any row; ties go to the first."""
    import numpy as np

    from microagg_ops.kernels.paths import tours

    n = len(points)
    near = nearest_rows(points, ASKED, clock.part(0.0, 0.1))
    quiet = replace(clock, progress=no_progress)
    least, best = np.inf, np.empty(0, np.int64)
    for start in range(n):
        path = nearest_neighbour(points, near, start, quiet)
        length = tours.path_length(points, path)
        if length < least:
            least, best = length, path
        clock.tick(0.1 + 0.9 * (start + 1) / n)
    return best


def insertion(points: Points, rule: str, start: int, seed: int, clock: Clock) -> Path:
    """Grow a tour from one row: each next node goes where it lengthens the tour least."""
    import numpy as np

    from microagg_ops.kernels import random
    from microagg_ops.kernels.paths import insertion as kernels

    n, columns = points.shape
    after = np.full(n + 1, start)
    given = np.delete(np.arange(n + 1), start)
    random.shuffle(random.seeded(seed, 1), given)
    gaps = np.append(np.sqrt(((points - points[start]) ** 2).sum(axis=1)), 0.0)
    gaps[start] = -1.0
    step = max(1, int(WORK_PER_CALL / (4 * n * columns)))
    for done in range(0, n, step):
        stop = min(done + step, n)
        kernels.insert(points, after, start, RULES.index(rule), gaps, given, done, stop)
        clock.tick(stop / n)
    return unlinked(after)


def cheapest_insertion(points: Points, start: int, clock: Clock) -> Path:
    """Grow a tour from one row by the node that lengthens it least, wherever it goes."""
    import numpy as np

    from microagg_ops.kernels.paths import insertion as kernels

    n, columns = points.shape
    after = np.full(n + 1, n)
    after[n] = start
    costs = np.sqrt(((points - points[start]) ** 2).sum(axis=1))
    where = np.full(n, n)
    where[start] = -1
    step = max(1, int(WORK_PER_CALL / (8 * n * columns)))
    for done in range(0, n - 1, step):
        stop = min(done + step, n - 1)
        kernels.insert_cheapest(points, after, costs, where, stop - done)
        clock.tick(stop / (n - 1))
    return unlinked(after)


def unlinked(after: NDArray[np.int64]) -> Path:
    """Write a linked tour as a path."""
    import numpy as np

    from microagg_ops.kernels.paths import insertion as kernels

    path = np.empty(len(after) - 1, np.int64)
    kernels.unlinked(after, path)
    return path


class Search:
    """A tour under search: the arrays that the kernel works on."""

    def __init__(self, points: Points, near: NDArray[np.int32], path: Path, seed: int) -> None:
        import numpy as np

        from microagg_ops.kernels import random
        from microagg_ops.kernels.paths import tours

        n = len(points)
        # In a unit of about the largest distance, a power of two: a gain that is more than rounding
        # is one whatever the columns are measured in.
        reach = float(np.abs(points - points.mean(axis=0)).max())
        self.unit = float(2.0 ** np.ceil(np.log2(reach))) if reach > 0 else 1.0
        points = points / self.unit
        self.tour = np.append(path, n)
        self.place = np.empty(n + 1, np.int64)
        self.place[self.tour] = np.arange(n + 1)
        # The dummy is the nearest of all; it needs no list itself.
        lists = np.full((n + 1, near.shape[1] + 1), n)
        lists[:n, 1:] = near
        lengths = tours.lengths(points, lists)
        journal = np.zeros((JOURNAL, 4), np.int64)
        self.queue = np.zeros((n + 2, 2), np.int64)
        self.arrays = (points, self.tour, self.place, lists, lengths, journal, self.queue)
        self.random = random.seeded(seed, 2)

    @property
    def path(self) -> Path:
        """The tour cut at the dummy."""
        import numpy as np

        return np.roll(self.tour, -self.place[-1])[1:]

    def settle(self, segments: bool, clock: Clock) -> None:
        """Improve until no move of two edges, or of a segment too, helps."""
        from microagg_ops.kernels.paths import two_opt

        gain = 1.0
        while gain > 0.0:
            # A node that was passed in vain may have become worth a look: all are seen again.
            for node in self.tour:
                two_opt.push(self.queue, node)
            gain = 0.0
            while self.queue[0, 1]:
                gain += two_opt.improve(*self.arrays, segments, LOOKS_PER_CALL)
                clock.tick(0.0)

    def kick(self, kicks: int) -> float:
        """Kick the tour out of local optima; return by how much it became shorter."""
        from microagg_ops.kernels.paths import two_opt

        return float(two_opt.search(*self.arrays, self.random, kicks) * self.unit)


def locally_optimal(
    points: Points, near: NDArray[np.int32], path: Path, segments: bool, clock: Clock
) -> Path:
    """Improve a path by 2-opt, or by 2-opt and Or-opt, to a local optimum."""
    search = Search(points, near, path, 0)
    search.settle(segments, clock)
    return search.path


def strong(
    points: Points, near: NDArray[np.int32], path: Path, *, seed: int, clock: Clock, kicks: float
) -> Iterator[tuple[int, Path]]:
    """Improve a path to a local optimum, then by ``kicks`` kicks a row, until time is up."""
    search = Search(points, near, path, seed)
    search.settle(True, clock.part(0.3, 0.4))
    done, total = 0, int(kicks * len(points))
    yield done, search.path
    while done < total and not clock.spent:
        now = min(KICKS_PER_CALL, total - done)
        search.kick(now)
        done += now
        clock.progress(0.4 + 0.6 * done / total)
        yield done, search.path
