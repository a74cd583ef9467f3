"""Clusters that meet limits on sensitive columns, from the partition of any method on.

Clusters that are short of values are mended: rows swap, shift, found clusters and dissolve them
where that costs least, at a price for each person short of the limits that rises until none is.
Where many clusters are short, the whole partition is annealed in this way as well, and the better
result counts. What cannot be mended is joined with the nearest cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from microagg_ops.methods.limits import (
    Mended,
    Sensitive,
    compiled,
    refuse_impossible,
    sensitive_of,
)
from microagg_ops.methods.neighbours import centred, exact_knn
from microagg_ops.methods.partition import Clock, no_progress, renumbered
from microagg_ops.methods.parts import divided
from microagg_ops.methods.registry import Method

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.kernels.search.aware import Lists
    from microagg_ops.kernels.search.limits import Desk

# Rows up to which a table is searched as a whole, and row by row; a larger one is divided into
# parts, in which a row's neighbours are those of its cluster.
WHOLE = 40_000
# Neighbours of a row, and of a cluster.
NEIGHBOURS, BESIDE = 24, 8
# Moves a row of a small table, their number from which on there are EACH more a row, and the least.
MOVES, MANY, EACH, LEAST = 200, 150_000, 10, 10_000
# Moves a row where a partition is mended, and in a part of a large table.
MENDED, FEW = 60, 6
# Moves in one call of the kernel: some hundredths of a second.
PER_CALL = 20_000
# A whole partition is annealed where this share of its clusters is short.
OFTEN = 0.02
# A search with a budget tries this multiple of the moves.
LONGER = 8
# How often the price is raised by DEARER where clusters are still short.
ROUNDS, DEARER = 4, 5.0
THREADS = 2
# The share of a budget that a search has before its partition is mended.
SEARCHED = 0.7
# Rows of the largest cluster that may be dissolved, in k.
DISSOLVED = 6


class Course(NamedTuple):
    """Temperatures and prices of a person, from first to last, in mean squares of a row."""

    hot: float
    cold: float
    cheap: float
    dear: float


ANNEALING = Course(3.0, 0.03, 2.0, 300.0)
MENDING = Course(0.1, 0.03, 5.0, 300.0)
# No gain of SSE is worth one person.
PRICELESS = 1e15


def aware(
    points: NDArray[np.float64],
    k: int,
    method: Method,
    limits: tuple[Any, Any, Any],
    *,
    seed: int,
    clock: Clock,
    **params: Any,
) -> Mended:
    """Find the partition of a method, and make it meet limits.

    Parameters
    ----------
    method
        What the partition begins with; a search has the share SEARCHED of the budget for it.
    limits
        ``sensitive``, ``l`` and ``t`` of `partition`.
    """
    columns = sensitive_of(*limits, len(points))
    refuse_impossible(columns)
    first = clock.part(0.0, SEARCHED)
    if clock.budget is not None:
        first = replace(first, budget=searched(method) * clock.budget)
    labels = method.load()(points, k, seed=seed, clock=first, **params)
    rest = clock.part(SEARCHED, 1.0)
    longer = method.searches
    found = made_aware(points, k, labels, columns, seed=seed, clock=rest, longer=longer)
    return Mended(points, columns, labels, found)


def searched(method: Method) -> float:
    """Return the share of a budget that a method has before its partition is mended."""
    return SEARCHED if method.searches else 1.0


def made_aware(
    points: NDArray[np.float64],
    k: int,
    labels: NDArray[np.int32],
    columns: Sequence[Sensitive],
    *,
    seed: int,
    clock: Clock,
    longer: bool = False,
) -> NDArray[np.int32]:
    """Change a partition until its clusters meet the limits of sensitive columns.

    Parameters
    ----------
    points, k
        As for `partition`.
    labels
        The partition of a method. Where it meets the limits, it is what comes back.
    columns
        The limits; all rows together must meet them.
    seed, clock
        Its budget ends the search early; what is short then is joined.
    longer
        Whether to search longer, for a method that searches.
    """
    import numpy as np

    labels = renumbered(labels)
    if len(points) <= WHOLE:
        search = Search(points, k, labels, columns, seed=seed, clock=clock)
        if search.is_short.any():
            labels = search.best(LONGER if longer else 1)
        return renumbered(labels)
    found = np.array(labels)
    parts = divided(points, labels, columns)

    def mend(number: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        rows = parts[number]
        own = [column.of(rows) for column in columns]
        start = renumbered(labels[rows])
        search = Search(points[rows], k, start, own, seed=seed, clock=clock, by_row=False)
        if search.is_short.any():
            search.mend(FEW)
        return rows, search.labels

    clusters = 0
    with ThreadPoolExecutor(THREADS) as pool:
        for done, (rows, own) in enumerate(pool.map(mend, range(len(parts))), 1):
            found[rows] = own + clusters
            clusters += int(own.max()) + 1
            clock.progress(done / len(parts))
    return renumbered(found)


def meets(
    points: NDArray[np.float64], labels: NDArray[np.int32], columns: Sequence[Sensitive]
) -> bool:
    """Say whether the clusters of a partition meet the limits."""
    search = Search(points, 1, labels, columns, seed=0, clock=Clock())
    return not search.is_short.any()


class Search:
    """A partition that is made to meet limits."""

    def __init__(
        self,
        points: NDArray[np.float64],
        k: int,
        labels: NDArray[np.int32],
        columns: Sequence[Sensitive],
        *,
        seed: int,
        clock: Clock,
        by_row: bool = True,
    ) -> None:
        import numpy as np

        from microagg_ops.kernels.random import seeded

        self.points, self.k, self.first, self.clock = points, k, labels, clock
        self.limits, self.by_row = compiled(columns), by_row
        self.state = seeded(seed, 17)
        padded, _ = centred(points)
        self.lists = make_lists(padded, labels, len(points) // k)
        self.desk = make_desk(len(points), max(len(column.ranks) for column in columns))
        self.journal = np.zeros((DISSOLVED * k, 2), np.int64)
        self.unit = max(self.rebuild() / len(points), np.finfo(float).tiny)
        self.is_short = self.lists.short > 0

    def rebuild(self) -> float:
        """Measure the partition anew; return its SSE, in a unit of its own."""
        from microagg_ops.kernels.search import aware

        return float(aware.rebuild(self.lists, self.limits, self.desk))

    @property
    def labels(self) -> NDArray[np.int32]:
        """The labels of the partition as it is now."""
        return renumbered(self.lists.labels)

    def look_around(self) -> None:
        """Find neighbours: of rows, or of clusters the rows that follow their centroids."""
        import numpy as np

        own = replace(self.clock, budget=None, progress=no_progress)
        rows, clusters = len(self.points), int(self.first.max()) + 1
        if self.by_row or clusters <= BESIDE:
            count = min(rows - 1, NEIGHBOURS)
            self.near = exact_knn(self.points, count, own).astype(np.int64)
            self.line = np.arange(rows)
            return
        centres = self.lists.sums[:clusters] / self.lists.sizes[:clusters, None]
        self.near = self.lists.head[exact_knn(centres, BESIDE, own)]
        self.line = self.first.astype(np.int64)

    def best(self, times: int) -> NDArray[np.int32]:
        """Mend, and anneal where much is short; return the labels with the lower SSE."""
        rows = len(self.points)
        moves = max(LEAST, min(MOVES * rows, MANY + EACH * rows)) * times
        often = self.is_short.sum() > OFTEN * (self.lists.sizes > 0).sum()
        sse = self.mend(MENDED * times, moves)
        found = self.labels
        if often and not self.clock.spent:
            self.restart()
            if self.run(ANNEALING, self.everywhere(), moves) < sse:
                found = self.labels
        return found

    def restart(self) -> None:
        """Go back to the first partition."""
        self.lists.labels[:] = self.first
        self.rebuild()

    def everywhere(self) -> NDArray[np.int64]:
        """List all rows."""
        import numpy as np

        return np.arange(len(self.points))

    def mend(self, each: int, most: int = 1 << 62) -> float:
        """Search where clusters are short, and in the clusters beside them."""
        import numpy as np

        self.look_around()
        mine = np.flatnonzero(self.is_short[self.first])
        wanted = self.is_short.copy()
        if self.by_row:
            wanted[self.first[self.near[mine]]] = True
        rows = np.flatnonzero(wanted[self.first])
        return self.run(MENDING, rows, min(most, max(LEAST // 2, each * len(rows))))

    def run(self, course: Course, rows: NDArray[np.int64], moves: int) -> float:
        """Search on a course, insist, join what is short, and go on without breaking limits."""
        from microagg_ops.kernels.search import aware

        hot, cold, cheap, dear = course
        self.moves(rows, moves, (hot, cold), (cheap, dear))
        self.rebuild()
        for _ in range(ROUNDS):
            short = self.short_rows()
            if not len(short) or self.clock.spent:
                break
            self.moves(short, min(moves, 20 * len(short)), (cold, cold), (dear, dear * DEARER))
            dear *= DEARER
            self.rebuild()
        while aware.join_short(self.lists, self.limits, self.desk):
            pass
        self.rebuild()
        for cool in (cold / 3, 0.0):
            self.moves(rows, moves // 4, (cool, cool), (PRICELESS, PRICELESS))
        return self.rebuild()

    def short_rows(self) -> NDArray[np.int64]:
        """List the rows of clusters that are short."""
        import numpy as np

        return np.flatnonzero(self.lists.short[self.lists.labels] > 0)

    def moves(
        self,
        rows: NDArray[np.int64],
        many: int,
        temperatures: tuple[float, float],
        prices: tuple[float, float],
    ) -> None:
        """Try moves while the temperature falls and the price rises, each by a constant factor."""
        import numpy as np

        from microagg_ops.kernels.search import aware

        if not len(rows) or not many:
            return
        factors = [(b / a) ** (1 / many) if a > 0 else 1.0 for a, b in (temperatures, prices)]
        schedule = np.array([temperatures[0] * self.unit, prices[0] * self.unit, *factors])
        for done in range(0, many, PER_CALL):
            if self.clock.spent:
                return
            aware.search(
                self.lists, self.limits, self.desk, self.near, self.line, rows, self.k,
                schedule, min(PER_CALL, many - done), self.state, self.journal,
            )  # fmt: skip


def make_lists(points: NDArray[np.float64], labels: NDArray[np.int32], clusters: int) -> Lists:
    """Allocate the clusters of a partition."""
    import numpy as np

    from microagg_ops.kernels.search.aware import Lists

    rows, columns = points.shape
    return Lists(
        points=points,
        labels=labels.astype(np.int64),
        head=np.zeros(clusters, np.int64),
        after=np.zeros(rows, np.int64),
        before=np.zeros(rows, np.int64),
        sizes=np.zeros(clusters, np.int64),
        sums=np.zeros((clusters, columns)),
        short=np.zeros(clusters),
        free=np.zeros(clusters + 1, np.int64),
    )


def make_desk(people: int, values: int) -> Desk:
    """Allocate where the people of a cluster are counted."""
    import numpy as np

    from microagg_ops.kernels.search.limits import Desk

    def numbers(length: int) -> NDArray[np.int64]:
        return np.zeros(length + 1, np.int64)

    return Desk(
        rows=numbers(people),
        ranks=numbers(values),
        shares=np.zeros(values + 1),
        who=numbers(values),
        counts=np.zeros(values + 1),
        starts=numbers(values + 1),
        whose=numbers(values),
        queue=numbers(values + 1),
        given=numbers(people),
        came=numbers(people),
        seen=numbers(people),
    )
