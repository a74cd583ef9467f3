"""The lowest loss for the time there is: annealing, then chains of rows that move together.

Small tables are searched in several runs, large ones in one that begins less hot. The clusters lie
in two regions, divided anew for each iteration, so that two cores work at once; the result does not
depend on how many do. An iteration costs the same whatever the number of rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from microagg_ops.methods.neighbours import centred, exactly, nearly, together
from microagg_ops.methods.partition import Clock, at_least, no_progress, renumbered
from microagg_ops.methods.start import starting_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REGIONS = 2
# Work of one iteration in one region: about a tenth of a second, for so many rows; up to so many
# times more where they are more, since dividing them in regions takes time by the row.
MOVES, LOOKS = 500_000, 3_000_000
MANAGED, MOST_WORK = 200_000, 5
# So much less in an iteration that is made to see how long it takes.
SHORTER = 4
# So many iterations stay at the first temperature where rows are many, and the plan is made from
# the time that they took: the mean of all takes less, because chains do.
HELD, CHEAPER = 8, 0.8
# Where there are so many moves for each row, two courses are tried in turn, each for so much of the
# search. The second gains more from a longer search, so the first is taken for the rest only if
# it was better by so much.
PLENTY, TRIED, CLEARLY = 50_000, 0.05, 0.001
# The rest of the search is made in so many runs, each with so many moves for each row or more; the
# later ones take over clusters of the best so far.
RUNS, LONG_RUN = 6, 150_000
# Rows up to which all distances are kept: at most 32 MB.
FEW = 2_000
# Rows from which on it counts where in memory they are. Then moves of rows that lie together are
# tried so many times before those of others, and rows have so many neighbours at most.
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
        How many; without, as many as the budget allows, or a hundred.
    schedule
        Over how many the temperature falls; without, over all. To replay a run that was stopped
        by its budget, give both as its summary has them.
    """
    import numpy as np

    if iterations is not None:
        at_least("iterations", iterations, 0)
    if schedule is not None:
        at_least("schedule", schedule, 0)
    labels = starting_labels(points, k, "mdav", seed, replace(clock, progress=no_progress))
    # Where they are many, rows and clusters that lie together are kept together in memory.
    order = together(points) if len(points) > MANY else np.arange(len(points))
    search = Search(points[order], renumbered(labels[order]), k, seed, clock)
    found, least = search.first, search.sse
    clock.note(0, least)
    begun, done = clock.seconds, 0
    planned = schedule or iterations or (100 if clock.budget is None else 0)
    if clock.budget is None and iterations is None:
        iterations = planned
    while not clock.spent and (iterations is None or done < iterations):
        if planned == 0 and done == search.held:
            each = CHEAPER * (clock.seconds - begun) / done if done else search.duration()
            left = (clock.budget or 0.0) - clock.seconds
            planned = done + max(1, int(left / each))
        search.step(done, planned or search.held)
        done += 1
        if search.sse < least:
            found, least = np.array(search.parts.labels), search.sse
        clock.note(done, least, planned or search.held)
        done_share = done / planned if planned else 0.0
        clock.progress(min(1.0, max(done_share, clock.seconds / (clock.budget or np.inf))))
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
    """Give the courses to choose from; measured.

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

        from microagg_ops.kernels import chains
        from microagg_ops.kernels.anneal import Partition
        from microagg_ops.kernels.random import seeded

        rows = len(points)
        clusters = rows // k + 2 * REGIONS
        self.k = k
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
        self.scaled = chains.fill(self.parts)
        self.unit = self.scaled / rows
        count = min(rows - 1, k + 7)
        self.heat = np.ones(rows, np.float32)
        if rows <= MANY:
            self.near = exactly(points, count, clock)
        else:
            self.near = nearly(points, min(count, NEIGHBOURS), clock)
            # A dense core would be in turmoil at a temperature that moves rows far out.
            away = ((padded - padded[self.near[:, min(k, NEIGHBOURS) - 1]]) ** 2).sum(axis=1)
            self.heat = away / max(away.mean(), np.finfo(np.float32).tiny)
        some = padded if rows <= FEW else padded[:0]
        distances = chains.all_distances(some)
        self.rooms = [
            chains.make_room(clusters, length, width, distances, rows) for _ in range(REGIONS)
        ]
        self.settled = np.zeros(clusters, np.bool_)
        self.others = chains.Others(
            *(getattr(self.parts, name)[:0].copy() for name in chains.Others._fields)
        )
        self.states = [seeded(seed, 1 + region) for region in range(REGIONS)]
        self.where = seeded(seed, 0)

    def step(self, number: int, planned: int) -> None:
        """Make one iteration of so many."""
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
        """Make one iteration of so many on a course."""
        from microagg_ops.kernels.anneal import anneal
        from microagg_ops.kernels.chains import fill, iterate

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
            room = self.rooms[region]
            return float(
                iterate(
                    self.parts, self.near, room, self.others, self.settled, rows, free, self.k,
                    temperature, self.looks, state,
                )
            )  # fmt: skip

        with ThreadPoolExecutor(REGIONS) as pool:
            list(pool.map(work, range(REGIONS)))
        self.scaled = fill(self.parts)

    def begin_anew(self, remembering: bool = False) -> None:
        """Go back to the first partition; clusters of the best so far may be taken over then."""
        from microagg_ops.kernels.chains import Others, fill

        if remembering:
            self.parts.labels[:] = self.kept[0]
            fill(self.parts)
            self.others = Others(*(getattr(self.parts, name).copy() for name in Others._fields))
        self.parts.labels[:] = self.first
        self.settled[:] = False
        self.scaled = fill(self.parts)

    @property
    def sse(self) -> float:
        """The SSE of the partition as it is now."""
        return float(self.scaled * self.scale**2)

    def divide(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Divide the clusters in two along a random direction: rows and empty clusters of each."""
        import numpy as np

        from microagg_ops.kernels.random import uniform

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
            free = np.zeros(len(parts.sizes) + 1, np.int64)
            free[: len(mine)], free[-1] = mine, len(mine)
            found.append((np.flatnonzero(parts.region[parts.labels] == region), free))
        return found

    def duration(self) -> float:
        """Estimate how long an iteration takes, at temperatures from the first to the last."""
        import time

        from microagg_ops.kernels.random import seeded

        trial = Search.__new__(Search)
        trial.__dict__.update(self.__dict__)
        trial.parts = self.parts._replace(
            **{name: getattr(self.parts, name).copy() for name in self.parts._fields[1:]}
        )
        trial.settled = self.settled.copy()
        trial.where, trial.states = seeded(0, 0), [seeded(0, 1 + i) for i in range(REGIONS)]
        course = courses(self.k)[0]

        def took(number: int) -> float:
            began = time.monotonic()
            trial.follow(course, number, 1000)
            return time.monotonic() - began

        trial.moves = trial.looks = 1
        idle = whole = min(took(number) for number in (0, 999, 1))
        trial.moves, trial.looks = self.moves // SHORTER, self.looks // SHORTER
        for number, share in ((1, 0.3), (500, 0.3), (650, 0.2), (900, 0.2)):
            whole += SHORTER * share * max(0.0, took(number) - idle)
        return whole
