"""Record linkage: how many protected rows an outsider who holds the originals links rightly.

For each original row the outsider takes the best protected row: the nearest, or the one that most
likely belongs to it. Where the row's own protected one is among m equally good ones, the link is
right with chance 1/m; where a better one exists, never. So k equal rows give at most 1/k each.

Columns of frames are standardized by the original's mean and deviation, categories are one
deviation apart, and NULL stands at the mean, one deviation off. Arrays are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.metrics.tables import Pairs, RowClasses, paired

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Between = Callable[[int, int], Any]

# Steps in one call of a kernel, as comparisons of two rows: a fraction of a second.
WORK_PER_CALL = 2e7
PATTERNS_UP_TO = 20


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
        """Certain links in percent of the rows tried: DLD and PLD of paper 003."""
        return 100.0 * self.certain / self.tried if self.tried else 0.0


def distance_linkage(
    before: Any,
    after: Any,
    columns: Sequence[str] | None = None,
    *,
    sample: int = 100_000,
    seed: int = 0,
) -> Linkage:
    """Link each original row to the nearest protected row (Euclidean distance), exactly.

    Parameters
    ----------
    before, after
        Two frames or two arrays with the same rows in the same order.
    columns
        The columns that the outsider knows; of frames, by default all.
    sample
        Beyond this number of rows, so many are drawn and linked to all protected rows.
    seed
        Of the sample, which does not depend on the order of the rows.
    """
    return nearest(coordinates(paired(before, after, columns)), sample, seed)


def rank_linkage(
    before: Any,
    after: Any,
    columns: Sequence[str] | None = None,
    *,
    sample: int = 100_000,
    seed: int = 0,
) -> Linkage:
    """Link by ranks: a value counts by its place among the original values of its column.

    The parameters are those of `distance_linkage`. Skewed columns weigh as much as others here.
    """
    return nearest(coordinates(ranked(paired(before, after, columns))), sample, seed)


def probabilistic_linkage(
    before: Any,
    after: Any,
    columns: Sequence[str] | None = None,
    *,
    tolerance: float = 0.1,
    sample: int = 10_000,
    seed: int = 0,
) -> Linkage:
    """Link by agreement of columns (Fellegi and Sunter), with weights found by EM.

    Parameters
    ----------
    before, after, columns, sample, seed
        As for `distance_linkage`.
    tolerance
        Numbers that differ by no more than this many deviations agree (for arrays: by no more
        than this); categories agree where they are equal.
    """
    import numpy as np

    from microagg_ops.kernels import linkage as step

    pairs = coordinates(paired(before, after, columns))
    rows, width = pairs.before.shape
    if width > PATTERNS_UP_TO:
        raise DataError(
            f"Probabilistic linkage takes {PATTERNS_UP_TO} columns at most. Got {width} instead.",
            code="bad_value",
        )
    if not rows:
        return summed(np.zeros(0, np.int64), 0)
    chosen = sampled(pairs, sample, seed)
    alike = equal_rows(pairs.after)
    after_rows = np.ascontiguousarray(pairs.after[alike.firsts])
    counts = np.bincount(alike.ids)
    per_call = max(1, int(WORK_PER_CALL / len(after_rows)))
    seen = np.zeros(1 << width, np.int64)
    out = np.zeros(len(chosen), np.int64)
    for start in range(0, len(chosen), per_call):
        step.patterns(
            pairs.before, chosen, start, min(start + per_call, len(chosen)), after_rows, counts,
            pairs.nominal, tolerance, seen,
        )  # fmt: skip
    weights = pattern_weights(seen, width, rows)
    for start in range(0, len(chosen), per_call):
        step.weight_ties(
            pairs.before, chosen, start, min(start + per_call, len(chosen)), after_rows, counts,
            alike.ids, pairs.nominal, tolerance, weights, out,
        )  # fmt: skip
    return summed(out, rows)


def pattern_weights(
    counts: NDArray[np.int64], width: int, rows: int, rounds: int = 200
) -> NDArray[np.float64]:
    """Give each pattern of agreement its log-likelihood ratio of a true pair to a chance pair.

    One pair in ``rows`` is true, so chance pairs agree as often as all pairs do; how often true
    pairs agree is found by EM, which with both known cannot settle on some other mixture.
    """
    import numpy as np

    agrees = (np.arange(len(counts))[:, None] >> np.arange(width)) & 1
    chance = np.clip(counts @ agrees / max(counts.sum(), 1), 1e-9, 1 - 1e-9)
    true = np.full(width, 0.9)
    share = 1.0 / max(rows, 2)
    weights = np.zeros(len(counts))
    for _ in range(rounds):
        weights = agrees @ (np.log(true) - np.log(chance)) + (1 - agrees) @ (
            np.log1p(-true) - np.log1p(-chance)
        )
        odds = np.exp(np.clip(weights, -700, 700)) * share / (1 - share)
        expected = counts * (odds / (1 + odds))
        found = np.clip(expected @ agrees / max(expected.sum(), 1e-300), 1e-6, 1 - 1e-6)
        if np.abs(found - true).max(initial=0.0) < 1e-9:
            break
        true = found
    return np.round(weights, 9)  # patterns that weigh the same but for rounding do so


def nearest(pairs: Pairs, sample: int, seed: int) -> Linkage:
    """Link rows by the distance of their coordinates."""
    import numpy as np

    from microagg_ops.kernels import linkage as step

    rows = len(pairs.before)
    if not rows:
        return summed(np.zeros(0, np.int64), 0)
    chosen = sampled(pairs, sample, seed)
    alike = equal_rows(pairs.after)
    tree = step.build(pairs.after[alike.firsts], np.bincount(alike.ids), pairs.nominal)
    own = np.ascontiguousarray(pairs.after.T)
    out = np.zeros(len(chosen), np.int64)
    per_call = max(1, int(WORK_PER_CALL / (rows**0.5 + 100)))
    for start in range(0, len(chosen), per_call):
        stop = min(start + per_call, len(chosen))
        step.ties(pairs.before, own, chosen, start, stop, *tree, pairs.nominal, out)
    return summed(out, rows)


def summed(ties: NDArray[np.int64], rows: int) -> Linkage:
    """Sum links up, and say how sure a sample makes us."""
    import math

    tried = len(ties)
    expected = math.fsum(1.0 / ties[ties > 0])
    share = expected / tried if tried else 0.0
    low, high = wilson(share, tried) if tried < rows else (share, share)
    return Linkage(rows, tried, int((ties == 1).sum()), expected, 100 * low, 100 * high)


def wilson(share: float, tried: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Give the interval in which a share lies with 95 % confidence."""
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z * ((share * (1 - share) + z * z / (4 * tried)) / tried) ** 0.5 / (1 + z * z / tried)
    return max(0.0, middle - half), min(1.0, middle + half)


def coordinates(pairs: Pairs) -> Pairs:
    """Give rows as points: standardized where they came from frames, without NULLs."""
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


def sampled(pairs: Pairs, sample: int, seed: int) -> NDArray[np.int64]:
    """Choose the rows to link: all, or a sample that does not depend on their order."""
    import numpy as np

    rows = len(pairs.before)
    if rows <= sample:
        return np.arange(rows)
    # Sorted by a hash of what they hold: rows that are equal are linked alike, so it does not
    # matter which of them is drawn.
    mixed = np.zeros(rows, np.uint64)
    for column in (*pairs.before.T, *pairs.after.T):
        mixed = (mixed ^ (column + 0.0).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    order = np.argsort(mixed)
    return np.asarray(order[np.random.default_rng(seed).choice(rows, sample, replace=False)])


def equal_rows(points: NDArray[np.float64]) -> RowClasses:
    """Find which rows of an array are equal."""
    import numpy as np

    from microagg_ops.kernels.classes import distinct

    rows = len(points)
    slots = np.full(1 << max(1, (2 * rows - 1).bit_length()), -1, np.int32)
    firsts, ids = np.empty(rows, np.int32), np.empty(rows, np.int32)
    count = distinct((points + 0.0).view(np.int64), slots, firsts, ids)
    return RowClasses(ids, firsts[:count].copy())
