"""Information loss: how much of the spread of the data the protection removed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.metrics.tables import Pairs, paired

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

# Below this share of its scale a difference is rounding.
ROUNDING = 1e-12
# Rows of a cluster up to which its mean is computed a row at a time, all clusters side by side.
MOST_TURNS = 2_000


@dataclass(frozen=True, slots=True)
class ByColumn:
    """One figure of all columns together, and one of each."""

    overall: float
    columns: dict[str, float]


@dataclass(frozen=True, slots=True)
class Moments:
    """Means, variances, covariances and correlations of the columns that have an order.

    Dates and moments are in days since 1970. Of columns with NULLs only the rows that both have
    are used. A column without spread has no correlation with any other: 0.
    """

    columns: tuple[str, ...]
    means: NDArray[np.float64]
    covariances: NDArray[np.float64]
    correlations: NDArray[np.float64]

    @property
    def variances(self) -> NDArray[np.float64]:
        """The diagonal of the covariances."""
        return self.covariances.diagonal()


@dataclass(frozen=True, slots=True)
class MeanVariation:
    """IL1 to IL5 of Balasch i Masoliver (2010), as shares: 0 is no loss.

    Parameters
    ----------
    il1
        Mean variation of the values, cell by cell.
    il2, il4
        Mean variation of the means, and of the variances.
    il3, il5
        Mean variation of the covariances on and above the diagonal, and of the correlations
        above it; of a column, of those with this column.
    """

    il1: ByColumn
    il2: ByColumn
    il3: ByColumn
    il4: ByColumn
    il5: ByColumn

    @property
    def percent(self) -> float:
        """IL of Balasch i Masoliver (2010): the mean of the five in percent."""
        five = (self.il1, self.il2, self.il3, self.il4, self.il5)
        return 100.0 * sum(0.2 * part.overall for part in five)


def sse(before: ArrayLike, after: ArrayLike) -> float:
    """Sum of squared differences between two arrays of rows by columns."""
    import numpy as np

    return float(((np.asarray(before, float) - np.asarray(after, float)) ** 2).sum())


def sst(before: ArrayLike) -> float:
    """Sum of squared differences from the column means."""
    import numpy as np

    values = np.asarray(before, float)
    return sse(values, values.mean(axis=0, keepdims=True))


def information_loss(before: ArrayLike, after: ArrayLike) -> float:
    """SSE/SST in percent; 0 where there was no spread to lose."""
    spread = sst(before)
    return 100.0 * sse(before, after) / spread if spread > 0 else 0.0


def centroids(points: NDArray[np.float64], labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Mean of each cluster, clusters by columns."""
    import numpy as np

    loaded = sys.modules.get("microagg_ops.kernels.sums")
    if not (loaded and getattr(loaded.centroids, "signatures", True)):
        # Where nothing has been compiled, clusters of a few rows are no reason to do so.
        sizes = np.bincount(labels)
        if sizes.max() <= MOST_TURNS:
            return centroids_in_turns(np.asarray(points, np.float64), labels, sizes)
    from microagg_ops.kernels import sums

    means: NDArray[np.float64] = sums.centroids(
        np.ascontiguousarray(points.T, np.float64), labels, int(labels.max()) + 1
    )
    return means


def centroids_in_turns(
    points: NDArray[np.float64], labels: NDArray[np.int32], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return what the kernel does, to the bit: the first rows of all clusters, then the second."""
    import numpy as np

    order = np.argsort(labels, kind="stable")
    starts = np.cumsum(sizes) - sizes
    total, rest = (np.zeros((len(sizes), points.shape[1])) for _ in range(2))
    for turn in range(sizes.max()):
        there = sizes > turn
        values, before = points[order[starts[there] + turn]], total[there]
        after = before + values
        part = after - before
        rest[there] += (before - (after - part)) + (values - part)
        total[there] = after
    with np.errstate(invalid="ignore"):
        return (total + rest) / sizes[:, None]


def standardized_loss(before: Any, after: Any, columns: Sequence[str] | None = None) -> ByColumn:
    """SSE/SST in percent of each ordered column, and of all of them standardized.

    Parameters
    ----------
    before, after
        Two frames or two arrays with the same rows in the same order.
    columns
        Of frames, the columns to read; by default all. NULL stands at the mean of its column.
    """
    import numpy as np

    pairs = filled(paired(before, after, columns).ordered())
    lost = ((pairs.before - pairs.after) ** 2).sum(axis=0)
    there = ((pairs.before - pairs.before.mean(axis=0)) ** 2).sum(axis=0) * (~flat(pairs.before))
    shares = 100.0 * np.divide(lost, there, out=np.zeros(len(lost)), where=there > 0)
    overall = float(shares[there > 0].mean()) if (there > 0).any() else 0.0
    return ByColumn(overall, dict(zip(pairs.names, shares.tolist(), strict=True)))


def il1s(before: Any, after: Any, columns: Sequence[str] | None = None) -> ByColumn:
    """Mean absolute difference in units of the deviation times the root of 2 (IL1s).

    The parameters are those of `standardized_loss`. A column without spread counts 0.
    """
    import numpy as np

    pairs = filled(paired(before, after, columns).ordered())
    unit = np.sqrt(2.0) * pairs.before.std(axis=0, ddof=1) * (~flat(pairs.before))
    gaps = np.abs(pairs.before - pairs.after).mean(axis=0)
    shares = np.divide(gaps, unit, out=np.zeros(len(gaps)), where=unit > 0)
    return _by_column(pairs.names, shares)


def eigenvalue_loss(before: Any, after: Any, columns: Sequence[str] | None = None) -> float:
    """Sum of the variations of the eigenvalues of the correlations, largest beside largest.

    The parameters are those of `standardized_loss`.
    """
    import numpy as np

    old, new = moments(before, after, columns)
    first, second = (np.linalg.eigvalsh(side.correlations).astype(float) for side in (old, new))
    return float(variation(first, second, 1.0).sum())


def mean_variation(before: Any, after: Any, columns: Sequence[str] | None = None) -> MeanVariation:
    """Measure IL1 to IL5 of Balasch i Masoliver (2010) on the columns that have an order.

    A variation is the absolute difference over the absolute original; from an original 0, and
    from or to NULL, it is 1. The parameters are those of `standardized_loss`.
    """
    import numpy as np

    pairs = paired(before, after, columns).ordered()
    old, new = moments(pairs, None)
    sizes = np.fmax(np.abs(pairs.before), np.abs(pairs.after)).T
    size = np.array([np.fmax.reduce(column, initial=0.0) for column in sizes])
    spread = np.sqrt(np.maximum(old.variances, new.variances))
    cells = variation(pairs.before, pairs.after, 0.0)
    return MeanVariation(
        il1=_by_column(pairs.names, cells.mean(axis=0)),
        il2=_by_column(pairs.names, variation(old.means, new.means, size)),
        il3=_by_pair(
            pairs.names,
            variation(old.covariances, new.covariances, np.outer(spread, spread)),
            diagonal=True,
        ),
        il4=_by_column(pairs.names, variation(old.variances, new.variances, spread**2)),
        il5=_by_pair(
            pairs.names, variation(old.correlations, new.correlations, 1.0), diagonal=False
        ),
    )


def moments(
    before: Any, after: Any, columns: Sequence[str] | None = None
) -> tuple[Moments, Moments]:
    """Return the moments before and after. The parameters are those of `standardized_loss`."""
    pairs = paired(before, after, columns).ordered()
    return _moments(pairs.names, pairs.before), _moments(pairs.names, pairs.after)


def variation(
    old: NDArray[np.float64], new: NDArray[np.float64], scale: Any
) -> NDArray[np.float64]:
    """Absolute difference over the absolute original; rounding, by its scale, is no difference."""
    import numpy as np

    gap = np.abs(new - old)
    gap = np.where(gap <= ROUNDING * scale, 0.0, gap)
    size = np.where(np.abs(old) <= ROUNDING * scale, 0.0, np.abs(old))
    share = np.divide(gap, size, out=np.where(gap > 0, 1.0, 0.0), where=size > 0)
    return np.where(np.isnan(gap), 1.0 * (np.isnan(old) != np.isnan(new)), share)


def filled(pairs: Pairs) -> Pairs:
    """Put the original mean of a column in place of its NULLs."""
    import numpy as np

    gaps = np.isnan(pairs.before), np.isnan(pairs.after)
    if not gaps[0].any() and not gaps[1].any():
        return pairs
    known = np.maximum((~gaps[0]).sum(axis=0), 1)
    means = np.where(gaps[0], 0.0, pairs.before).sum(axis=0) / known
    old, new = np.where(gaps[0], means, pairs.before), np.where(gaps[1], means, pairs.after)
    return Pairs(pairs.names, old, new, pairs.nominal, pairs.scaled)


def flat(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which columns hold one value; NULLs aside."""
    import numpy as np

    low = np.where(np.isnan(values), np.inf, values).min(axis=0, initial=np.inf)
    high = np.where(np.isnan(values), -np.inf, values).max(axis=0, initial=-np.inf)
    return np.asarray(high <= low)


def _moments(names: tuple[str, ...], values: NDArray[np.float64]) -> Moments:
    import numpy as np

    known = ~np.isnan(values)
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    # What is left of a column without spread is rounding.
    centred = np.where(known & ~flat(values), values - means, 0.0)
    present = known.astype(float)
    rows = np.maximum(present.T @ present, 1.0)
    sums = centred.T @ present
    squares = (centred**2).T @ present
    # A column may vary, but not in the rows that another one has.
    squares = np.where(squares - sums**2 / rows > ROUNDING * squares, squares - sums**2 / rows, 0)
    spread = np.sqrt(squares * squares.T)
    products = np.where(spread > 0, centred.T @ centred - sums * sums.T / rows, 0.0)
    correlations = np.divide(products, spread, out=np.zeros_like(products), where=spread > 0)
    np.fill_diagonal(correlations, 1.0)
    return Moments(names, means, products / np.maximum(rows - 1, 1), correlations)


def _by_column(names: tuple[str, ...], shares: NDArray[np.float64]) -> ByColumn:
    overall = float(shares.mean()) if len(shares) else 0.0
    return ByColumn(overall, dict(zip(names, shares.tolist(), strict=True)))


def _by_pair(names: tuple[str, ...], shares: NDArray[np.float64], *, diagonal: bool) -> ByColumn:
    """Average a symmetric matrix: each pair of columns once, and each column over its pairs."""
    import numpy as np

    upper = shares[np.triu_indices(len(names), 0 if diagonal else 1)]
    own = 0.0 if diagonal else shares.diagonal()
    pairs = max(len(names) - (not diagonal), 1)
    return ByColumn(
        float(upper.mean()) if len(upper) else 0.0,
        dict(zip(names, ((shares.sum(axis=1) - own) / pairs).tolist(), strict=True)),
    )
