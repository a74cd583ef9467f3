"""Record linkage: how many protected rows an outsider who holds the originals links rightly.

For each original row the outsider takes the best protected row: the nearest, or the one that most
likely belongs to it. Where the row's own protected one is among m equally good ones, the link is
right with chance 1/m; where a better one exists, never. So k equal rows give at most 1/k each.
Where the outsider knows of each row in which stratum it is published, he looks ``within`` it alone.

Columns of frames are standardized by the original's mean and deviation, categories are one
deviation apart, and NULL stands at the mean, one deviation off. Arrays are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.metrics.tables import Pairs, RowClasses, paired, sorted_codes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Between = Callable[[int, int], Any]
    Within = Sequence[str] | NDArray[np.int64] | None

# Steps in one call of a kernel, as comparisons of two rows: a fraction of a second.
WORK_PER_CALL = 2e7
# Rows that are linked at most: check, report and compare tell the same figure.
LINKED = 100_000


@dataclass(frozen=True, slots=True)
class Linkage:
    """Links of original rows to protected rows.

    Parameters
    ----------
    rows, tried
        All rows, and those that were linked: fewer where a sample was drawn.
    certain
        Rows whose own protected row alone is best. Paper 003 counts these.
    expected
        Rows that are linked rightly on average when ties are drawn by chance.
    low, high
        Percentages between which the expected links of all rows lie with 95 % confidence
        (Wilson); both the percentage itself where no sample was drawn.
    """

    rows: int
    tried: int
    certain: int
    expected: float
    low: float
    high: float

    @property
    def percent(self) -> float:
        """Expected links in percent of the rows tried."""
        return 100.0 * self.expected / self.tried if self.tried else 0.0

    @property
    def certain_percent(self) -> float:
        """Certain links in percent of the rows tried: DLD and PLD of Balasch i Masoliver (2010)."""
        return 100.0 * self.certain / self.tried if self.tried else 0.0


def distance_linkage(
    before: Any,
    after: Any,
    columns: Sequence[str] | None = None,
    *,
    within: Within = None,
    sample: int = LINKED,
    seed: int = 0,
) -> Linkage:
    """Link each original row to the nearest protected row (Euclidean distance), exactly.

    Parameters
    ----------
    before, after
        Two frames or two arrays with the same rows in the same order.
    columns
        The columns that the outsider knows; of frames, by default all.
    within
        The strata as they are published, known to the outsider: columns of ``after``, or the
        number of each row's stratum. Without it every protected row is searched.
    sample
        Beyond this number of rows, a sample of it is drawn and linked to all protected rows.
    seed
        Of the sample, which does not depend on the order of the rows.
    """
    strata = stratum_numbers(after, within)
    return nearest(coordinates(paired(before, after, columns)), strata, sample, seed)


def rank_linkage(
    before: Any,
    after: Any,
    columns: Sequence[str] | None = None,
    *,
    within: Within = None,
    sample: int = LINKED,
    seed: int = 0,
) -> Linkage:
    """Link by ranks: a value counts by its place among the original values of its column.

    The parameters are those of `distance_linkage`. Skewed columns weigh as much as others here.
    """
    strata = stratum_numbers(after, within)
    return nearest(coordinates(ranked(paired(before, after, columns))), strata, sample, seed)


def nearest(pairs: Pairs, within: NDArray[np.int64] | None, sample: int, seed: int) -> Linkage:
    """Link rows by the distance of their coordinates."""
    import numpy as np

    from microagg_ops.kernels.measures import linkage as step

    rows = len(pairs.before)
    if not rows:
        return summed(np.zeros(0, np.int64), 0)
    chosen = sampled(pairs, within, sample, seed)
    own = np.ascontiguousarray(pairs.after.T)
    out = np.zeros(len(chosen), np.int64)
    for members, first, last in searches(within, chosen, rows):
        there = pairs.after[members]
        alike = equal_rows(there)
        tree = step.build(there[alike.firsts], np.bincount(alike.ids), pairs.nominal)
        for start, stop in calls(first, last, len(members) ** 0.5 + 100):
            step.ties(pairs.before, own, chosen, start, stop, *tree, pairs.nominal, out)
    return summed(out, rows)


def stratum_numbers(after: Any, within: Within) -> NDArray[np.int64] | None:
    """Find the number of each row's stratum, whatever the order of the rows."""
    import numpy as np

    if within is None or isinstance(within, np.ndarray):
        return within
    return sorted_codes(after, within) if len(within) else None


def searches(
    within: NDArray[np.int64] | None, chosen: NDArray[np.int64], rows: int
) -> Iterator[tuple[NDArray[np.int64], int, int]]:
    """List where to search: the rows of a stratum, and from where to where it is chosen."""
    import numpy as np

    if within is None:
        yield np.arange(rows), 0, len(chosen)
        return
    order = np.argsort(within, kind="stable")
    strata, firsts = np.unique(within[order], return_index=True)
    lasts = np.append(firsts[1:], rows)
    starts, stops = (np.searchsorted(within[chosen], strata, side) for side in ("left", "right"))
    for i in np.flatnonzero(starts < stops):
        yield order[firsts[i] : lasts[i]], int(starts[i]), int(stops[i])


def calls(first: int, last: int, work: float) -> list[tuple[int, int]]:
    """Split a search, of some work a row, into calls of a fraction of a second."""
    step = max(1, int(WORK_PER_CALL / work))
    return [(start, min(start + step, last)) for start in range(first, last, step)]


def summed(ties: NDArray[np.int64], rows: int) -> Linkage:
    """Sum links up, and say how sure a sample makes us."""
    import math

    tried = len(ties)
    expected = math.fsum(1.0 / ties[ties > 0])
    share = expected / tried if tried else 0.0
    low, high = wilson(share, tried) if tried < rows else (share, share)
    return Linkage(rows, tried, int((ties == 1).sum()), expected, 100 * low, 100 * high)


def wilson(share: float, tried: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Find the interval in which a share lies with 95 % confidence (Wilson)."""
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z * ((share * (1 - share) + z * z / (4 * tried)) / tried) ** 0.5 / (1 + z * z / tried)
    return max(0.0, middle - half), min(1.0, middle + half)


def coordinates(pairs: Pairs) -> Pairs:
    """Return rows as points: standardized where they came from frames, without NULLs."""
    import numpy as np

    if not pairs.scaled and not np.isnan(pairs.before).any() and not np.isnan(pairs.after).any():
        old, new = np.ascontiguousarray(pairs.before), np.ascontiguousarray(pairs.after)
        return Pairs(pairs.names, old, new, pairs.nominal, False)
    columns: list[tuple[str, Any, Any, bool]] = []
    for j, name in enumerate(pairs.names):
        old, new, nominal = pairs.before[:, j], pairs.after[:, j], bool(pairs.nominal[j])
        if not nominal:
            missing = np.isnan(old), np.isnan(new)
            mean, deviation = spread(old[~missing[0]])
            scale = (deviation or 1.0) if pairs.scaled else 1.0
            old, new = (
                np.where(gap, 0.0, (side - mean) / scale)
                for side, gap in zip((old, new), missing, strict=True)
            )
            if missing[0].any() or missing[1].any():
                columns.append((name, missing[0] * 1.0, missing[1] * 1.0, False))
        columns.append((name, old, new, nominal))
    return Pairs(
        tuple(column[0] for column in columns),
        np.column_stack([column[1] for column in columns]),
        np.column_stack([column[2] for column in columns]),
        np.array([column[3] for column in columns], bool),
        False,
    )


def spread(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and deviation of a column, whatever the order of its rows."""
    import numpy as np

    from microagg_ops.kernels.sums import centroids

    if not len(values):
        return 0.0, 0.0
    together = np.zeros(len(values), np.int32)
    mean = float(centroids(values[None, :], together, 1)[0, 0])
    square = (values - mean) ** 2
    return mean, float(centroids(square[None, :], together, 1)[0, 0]) ** 0.5


def ranked(pairs: Pairs) -> Pairs:
    """Replace ordered values by their place among the original values, from 0 to 1."""
    import numpy as np

    old, new = pairs.before.copy(), pairs.after.copy()
    for j in np.flatnonzero(~pairs.nominal):
        sorted_values = np.sort(old[:, j][~np.isnan(old[:, j])])
        for side in (old, new):
            known = ~np.isnan(side[:, j])
            side[known, j] = places(sorted_values, side[known, j])
    return Pairs(pairs.names, old, new, pairs.nominal, pairs.scaled)


def places(sorted_values: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place values among sorted ones, from 0 to 1: the middle of where they would fit."""
    import numpy as np

    left = np.searchsorted(sorted_values, values, "left")
    right = np.searchsorted(sorted_values, values, "right")
    return np.asarray((left + right) / (2.0 * max(len(sorted_values), 1)))


def sampled(
    pairs: Pairs, within: NDArray[np.int64] | None, sample: int, seed: int
) -> NDArray[np.int64]:
    """Choose the rows to link, by stratum: all, or a sample that does not depend on their order."""
    import numpy as np

    rows = len(pairs.before)
    chosen = np.arange(rows)
    if rows > sample:
        # Sorted by a hash of what they hold: rows that are equal are linked alike, so it does not
        # matter which of them is drawn.
        mixed = np.zeros(rows, np.uint64) if within is None else within.astype(np.uint64)
        for column in (*pairs.before.T, *pairs.after.T):
            mixed = (mixed ^ (column + 0.0).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        order = np.argsort(mixed)
        chosen = order[np.random.default_rng(seed).choice(rows, sample, replace=False)]
    return chosen if within is None else chosen[np.argsort(within[chosen], kind="stable")]


def equal_rows(points: NDArray[np.float64]) -> RowClasses:
    """Find which rows of an array are equal."""
    import numpy as np

    from microagg_ops.kernels.measures.equivalence_classes import distinct

    rows = len(points)
    slots = np.full(1 << max(1, (2 * rows - 1).bit_length()), -1, np.int32)
    firsts, ids = np.empty(rows, np.int32), np.empty(rows, np.int32)
    count = distinct((points + 0.0).view(np.int64), slots, firsts, ids)
    return RowClasses(ids, firsts[:count].copy())
