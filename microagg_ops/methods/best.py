"""The lowest loss for the time there is: simulated annealing, then ejection chains.

Small tables are searched in several runs, large ones in one that begins less hot. The clusters lie
in two regions, divided anew for each iteration, so that two cores work at once; the result does not
depend on how many do. An iteration costs the same whatever the number of rows; how many a budget
buys is planned beforehand, so that the same call gives the same labels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from microagg_ops import threads
from microagg_ops.methods.effort import GUARD, iterations_within
from microagg_ops.methods.neighbours import approximate_knn, centred, exact_knn, spatial_order
from microagg_ops.methods.partition import Clock, at_least, no_progress, renumbered
from microagg_ops.methods.start import starting_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.kernels.search.partition import FreeList

REGIONS = 2
# Their number where neither it nor a budget is given.
ITERATIONS = 100
# Moves and looks of one iteration in one region, about a tenth of a second, up to MANAGED rows; in
# proportion to the rows above, MOST_WORK times at most, since dividing regions takes O(rows).
MOVES, LOOKS = 500_000, 3_000_000
MANAGED, MOST_WORK = 200_000, 5
# On large tables HELD iterations stay at the first temperature.
HELD = 8
# From PLENTY moves a row on, two courses are tried in turn, each for the share TRIED of the search.
# The second gains more from a longer search, so the first is kept only if it was better by the
# share CLEARLY.
PLENTY, TRIED, CLEARLY = 50_000, 0.05, 0.001
# The rest of the search is made in up to RUNS runs of LONG_RUN moves a row or more; the later ones
# take over clusters of the best so far.
RUNS, LONG_RUN = 6, 150_000
# Rows up to which all distances are cached: at most 32 MB.
FEW = 2_000
# Rows above which locality in memory matters. Then rows close in memory have SWEEPS turns before
# others, and NEIGHBOURS neighbours at most.
MANY, SWEEPS, NEIGHBOURS = 20_000, 5, 64


def best(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    iterations: int | None = None,
    schedule: int | None = None,
) -> NDArray[np.int32]:
    """Search for the partition with the least SSE, from MDAV's on.

    Parameters
    ----------
    iterations
        Their number, at most; by default as many as the budget buys (`effort`), or a hundred
        without one.
    schedule
        Over how many the temperature falls; without, over all. To replay a run that the guard of
        the clock ended, pass both as its summary has them.
    """
    import numpy as np

    if iterations is not None:
        at_least("iterations", iterations, 0)
    if schedule is not None:
        at_least("schedule", schedule, 0)
    labels = starting_labels(points, k, "mdav", seed, replace(clock, progress=no_progress))
    guard = None if clock.budget is None else GUARD * clock.budget
    guarded = replace(clock, budget=guard)
    # Where they are many, rows and clusters that lie together are kept together in memory.
    order = spatial_order(points) if len(points) > MANY else np.arange(len(points))
    search = Search(points[order], renumbered(labels[order]), k, seed, guarded)
    found, least = search.first, search.sse
    wanted = search.affordable(clock.budget)
    if iterations is not None:
        wanted = iterations if wanted is None else min(iterations, wanted)
    elif wanted is None:
        wanted = schedule or ITERATIONS
    planned = schedule or iterations or wanted
    clock.note(0, least, planned)
    for done in range(wanted):
        if guarded.spent:
            clock.ended_by_guard()
            break
        search.step(done, planned)
        if search.sse < least:
            found, least = np.array(search.parts.labels), search.sse
        clock.note(done + 1, least, planned)
        clock.progress((done + 1) / wanted)
    labels[order] = found
    return labels


class Course(NamedTuple):
    """How a search goes: annealing for a share of it, then chains while the rest cools down.

    Temperatures are in mean squared distances of rows to their centroids.
    """

    hot: float
    warm: float
    annealing: float


def courses(k: int) -> tuple[Course, Course]:
    """Return the courses to choose from, found by measurement.

    Even data anneals well. Where few rows carry most of the loss, chains at a higher temperature
    find more, the more so the smaller clusters are: these are stiff.
    """
    return Course(10.0, 0.03, 0.6), Course(3.0, 0.015 * k, min(0.7, 0.07 * k))


# For a large table, which has no time to recover from heat.
GENTLE = Course(0.35, 0.14, 0.65)


class Search:
    """A partition that is being improved."""

    def __init__(
        self,
        points: NDArray[np.float64],
        labels: NDArray[np.int32],
        k: int,
        seed: int,
        clock: Clock,
    ) -> None:
        import numpy as np

        from microagg_ops.kernels.random import seeded
        from microagg_ops.kernels.search.journal import Guide, make_scratch
        from microagg_ops.kernels.search.partition import Partition, all_distances, rebuild

        rows = len(points)
        clusters = rows // k + 2 * REGIONS
        self.k, self.shape = k, points.shape
        work = min(max(1.0, rows / MANAGED), MOST_WORK)
        self.moves, self.looks = int(work * MOVES), int(work * LOOKS)
        length, width = (4, 4) if k <= 5 else (3, 2)
        kind: type[Any] = np.float64
        self.held: int = 0
        self.sweeps: int | None = None
        if rows > MANY:
            self.held, self.sweeps = HELD, SWEEPS
            # A look takes longer, and there is less time for each row.
            self.looks //= 4
            length, width = 3, 2
            kind = np.float32
        padded, self.scale = centred(points)
        padded = padded.astype(kind, copy=False)
        self.parts = Partition(
            points=padded,
            labels=np.array(labels),
            members=np.zeros((clusters, 4 * k), np.int32),
            place=np.zeros(rows, np.int32),
            sizes=np.zeros(clusters, np.int64),
            sums=np.zeros((clusters, padded.shape[1]), kind),
            region=np.zeros(clusters, np.int32),
        )
        self.first, self.least = np.array(labels), [np.inf, np.inf]
        self.kept = self.first, np.inf
        self.scaled = rebuild(self.parts)
        self.unit = self.scaled / rows
        count = min(rows - 1, k + 7)
        self.heat = np.ones(rows, np.float32)
        if rows <= MANY:
            self.near = exact_knn(points, count, clock)
        else:
            self.near = approximate_knn(points, min(count, NEIGHBOURS), clock)
            # A dense core would be in turmoil at a temperature that moves rows far out.
            away = ((padded - padded[self.near[:, min(k, NEIGHBOURS) - 1]]) ** 2).sum(axis=1)
            self.heat = away / max(away.mean(), np.finfo(np.float32).tiny)
        some = padded if rows <= FEW else padded[:0]
        distances = all_distances(some)
        self.scratches = [
            make_scratch(clusters, length, width, distances, rows, k) for _ in range(REGIONS)
        ]
        self.settled = np.zeros(clusters, np.bool_)
        self.guide = Guide(*(getattr(self.parts, name)[:0].copy() for name in Guide._fields))
        self.states = [seeded(seed, 1 + region) for region in range(REGIONS)]
        self.where = seeded(seed, 0)

    def step(self, number: int, planned: int) -> None:
        """Make iteration ``number`` of ``planned``."""
        tried, choice = int(TRIED * planned), courses(self.k)
        for_each = planned * REGIONS * self.moves // len(self.first)
        if self.held or tried == 0 or for_each < PLENTY:
            self.follow(GENTLE, number, planned)
            return
        if number < len(choice) * tried:
            which, number = divmod(number, tried)
            if number == 0:
                self.begin_anew()
            self.follow(choice[which], number, tried)
            self.least[which] = min(self.least[which], self.scaled)
            return
        first, second = self.least
        better = choice[0] if first < (1 - CLEARLY) * second else choice[1]
        runs = max(1, min(RUNS, for_each // LONG_RUN))
        length = (planned - len(choice) * tried) // runs
        number -= len(choice) * tried
        run = min(number // length, runs - 1)
        number -= run * length
        if run > 0 and number == 0:
            self.begin_anew(remembering=True)
        self.follow(better, number, length)
        if self.scaled < self.kept[1]:
            self.kept = self.parts.labels.copy(), self.scaled

    def follow(self, course: Course, number: int, planned: int) -> None:
        """Make iteration ``number`` of ``planned`` on a course."""
        from microagg_ops.kernels.search.annealing import anneal
        from microagg_ops.kernels.search.ejection_chains import iterate
        from microagg_ops.kernels.search.partition import rebuild

        hot, warm, share = course
        shares = self.divide()
        annealing = max(share * planned, self.held)

        def work(region: int) -> float:
            rows, free = shares[region]
            state = self.states[region]
            if len(rows) == 0:
                return 0.0
            if number < annealing:
                falling = max(annealing - self.held, 1e-9)
                begin, end = (
                    self.unit * hot * (warm / hot) ** min(1.0, max(0.0, at) / falling)
                    for at in (number - self.held, number - self.held + 1)
                )
                self.settled[:] = False
                # It goes on about where the last iteration ended.
                start = number * self.moves // (self.sweeps or 1) % len(rows)
                return float(
                    anneal(
                        self.parts, self.near, self.heat, rows, free, self.k, begin, end,
                        self.moves, self.sweeps, start, state,
                    )
                )  # fmt: skip
            left = max(0.0, planned - number) / max(planned - annealing, 1e-9)
            # A large table has no time for chains that lead uphill; so the plan, which may be off
            # where only a few iterations were seen, says no more than when annealing ends.
            temperature = 0.0 if self.held else self.unit * warm * left
            scratch = self.scratches[region]
            return float(
                iterate(
                    self.parts, self.near, scratch, self.guide, self.settled, rows, free, self.k,
                    temperature, self.looks, state,
                )
            )  # fmt: skip

        with threads.pool(REGIONS) as pool:
            list(pool.map(work, range(REGIONS)))
        self.scaled = rebuild(self.parts)

    def begin_anew(self, remembering: bool = False) -> None:
        """Go back to the first partition; clusters of the best so far may be taken over then."""
        from microagg_ops.kernels.search.journal import Guide
        from microagg_ops.kernels.search.partition import rebuild

        if remembering:
            self.parts.labels[:] = self.kept[0]
            rebuild(self.parts)
            self.guide = Guide(*(getattr(self.parts, name).copy() for name in Guide._fields))
        self.parts.labels[:] = self.first
        self.settled[:] = False
        self.scaled = rebuild(self.parts)

    @property
    def sse(self) -> float:
        """The SSE of the partition as it is now."""
        return float(self.scaled * self.scale**2)

    def divide(self) -> list[tuple[NDArray[Any], FreeList]]:
        """Divide the clusters in two along a random direction: rows and empty clusters of each."""
        import numpy as np

        from microagg_ops.kernels.random import uniform
        from microagg_ops.kernels.search.partition import FreeList

        parts = self.parts
        regions = REGIONS if (parts.sizes > 0).sum() >= 20 * REGIONS else 1
        direction = np.array([uniform(self.where) - 0.5 for _ in range(parts.points.shape[1])])
        along = parts.sums @ direction / np.maximum(parts.sizes, 1)
        full = np.flatnonzero(parts.sizes)
        order = full[np.argsort(along[full], kind="stable")]
        empty = np.flatnonzero(parts.sizes == 0)
        for part in (order, empty):
            parts.region[part] = np.arange(len(part)) * regions // max(1, len(part))
        found = []
        for region in range(REGIONS):
            mine = empty[parts.region[empty] == region]
            free = FreeList(np.zeros(len(parts.sizes), np.int64), np.array([len(mine)]))
            free.clusters[: len(mine)] = mine
            found.append((np.flatnonzero(parts.region[parts.labels] == region), free))
        return found

    def affordable(self, budget: float | None) -> int | None:
        """Return how many iterations a budget buys; ``None`` without one."""
        if budget is None:
            return None
        return iterations_within(
            budget, self.shape, self.k, (self.moves, self.looks), large=self.held > 0
        )
