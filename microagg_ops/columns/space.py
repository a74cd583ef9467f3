"""The space that distances are measured in.

Columns that have an order are standardized; any two categories of a nominal column are one apart,
which is one standard deviation of a column that was standardized by it. Of more than 100 categories
two are about one apart; with a hierarchy those are nearer that have more in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from microagg_ops.columns.encoding import Encoded
from microagg_ops.columns.representatives import representatives
from microagg_ops.columns.trees import tree_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

# Dimensions of more categories than the first cost too much: as many signs as the second do.
MOST_CATEGORIES, SIGNS = 100, 128
Scale = tuple[float, float]
NO_SCALE: Scale = (0.0, 1.0)
#: Types whose codes have no order.
NOMINAL = ("nominal", "boolean")


def is_nominal(encoded: Encoded) -> bool:
    """Whether the codes of a column have no order."""
    return encoded.how.type in NOMINAL


def is_measured(encoded: Encoded) -> bool:
    """Whether what a cell loses is the squared distance of its point."""
    flat = encoded.how.hierarchy is None and len(encoded.categories or ()) <= MOST_CATEGORIES
    return flat or not is_nominal(encoded)


def points(encoded: Encoded, scale: Scale = NO_SCALE) -> NDArray[np.float64]:
    """Return the coordinates of a column, rows by dimensions; NaN where it is NULL."""
    import numpy as np

    if not is_nominal(encoded):
        centre, spread = scale
        return ((encoded.codes * encoded.unit - centre) / spread * encoded.how.weight)[:, None]
    if encoded.how.hierarchy is None:
        return apart(encoded.codes, len(encoded.categories or ()), encoded.how.weight)
    there = ~encoded.missing
    places = nodes_places(encoded)
    found = np.full((len(encoded.codes), places.shape[1]), np.nan)
    found[there] = places[encoded.codes[there].astype(np.int64)]
    return found


def nodes_places(encoded: Encoded) -> NDArray[np.float64]:
    """Place the nodes of a hierarchy: categories the farther apart, the more levels they differ at.

    What is more general lies in the middle of its categories.
    """
    import numpy as np

    tree = tree_of(encoded.how, encoded.categories)
    levels = tree.paths[:, :-1].T
    weight = encoded.how.weight / np.sqrt(len(levels))
    numbered = [np.unique(level, return_inverse=True) for level in levels]
    own = np.hstack([apart(places.astype(float), len(nodes), weight) for nodes, places in numbered])
    sums, counts = np.zeros((len(tree.width), own.shape[1])), np.zeros(len(tree.width))
    for level in tree.paths.T:
        np.add.at(sums, level, own)
        np.add.at(counts, level, 1.0)
    found: NDArray[np.float64] = sums / np.maximum(counts, 1.0)[:, None]
    return found


def apart(codes: NDArray[np.float64], categories: int, weight: float) -> NDArray[np.float64]:
    """Place categories so that any two are a weight apart, or nearly, where there are many."""
    import numpy as np

    if categories <= 2:  # two points on a line
        return codes[:, None] * weight
    width = categories if categories <= MOST_CATEGORIES else SIGNS
    if categories <= MOST_CATEGORIES:
        corners = np.eye(categories) * (weight / np.sqrt(2))
    else:
        corners = signs(categories) * (weight / np.sqrt(2 * SIGNS))
    found = np.full((len(codes), width), np.nan)
    there = ~np.isnan(codes)
    found[there] = corners[codes[there].astype(np.int64)]
    return found


def signs(categories: int) -> NDArray[np.float64]:
    """Draw for each category as many signs as `SIGNS`; two differ in about half of them.

    They are the bits of splitmix64 of the number of the category: the same everywhere, always.
    """
    import numpy as np

    words = np.arange(categories * (SIGNS // 64), dtype=np.uint64)
    with np.errstate(over="ignore"):
        words = (words + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words ^= words >> np.uint64(31)
    bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    return bits.reshape(categories, SIGNS).astype(np.float64) * 2 - 1


def squared(
    encoded: Encoded, codes: NDArray[np.float64], others: NDArray[np.float64] | float, scale: Scale
) -> NDArray[np.float64]:
    """Compute the squared distances between codes, row by row; NaN where one is NULL."""
    import numpy as np

    apart = codes - others
    if is_nominal(encoded):
        cost = (apart != 0).astype(np.float64)
        if encoded.how.statistic == "ancestor":  # what is less precise is right, but tells less
            width = tree_of(encoded.how, encoded.categories).width
            known = np.nan_to_num(np.broadcast_to(others, cost.shape)).astype(np.int64)
            cost *= np.where(width[known] > 0, width[known], 1.0)
        return np.where(np.isnan(apart), np.nan, encoded.how.weight**2 * cost)
    return np.square(apart * encoded.unit / scale[1] * encoded.how.weight)


def spread(
    encoded: Encoded, scale: Scale, weights: NDArray[np.float64], centre: float | None = None
) -> NDArray[np.float64]:
    """Compute the squared distance of each row from what would stand for all rows; 0 for NULL.

    Where the rows are not all there are, ``centre`` is the code that would.
    """
    import numpy as np

    there = encoded.codes[~encoded.missing]
    if not len(there) or (centre is None and there.min() == there.max()):
        return np.zeros(len(encoded.codes))  # the mean may be off by a rounding
    if centre is None:
        centre = representatives(encoded, np.zeros(len(encoded.codes), np.int32), weights)[0]
    return np.nan_to_num(squared(encoded, encoded.codes, centre, scale))


def losses(
    before: Sequence[Encoded],
    after: Sequence[NDArray[np.float64]],
    scales: Mapping[str, Scale],
    weights: NDArray[np.float64],
) -> tuple[float, dict[str, float]]:
    """Compute SSE/SST in percent, of all columns and of each.

    A suppressed cell loses all that it had to tell: it counts as if the whole table had been one
    cluster. A cell that was NULL before had nothing to lose.
    """
    lost = total = 0.0
    by_column = {}
    for encoded, codes in zip(before, after, strict=True):
        moved, whole = displaced(encoded, codes, scales[encoded.name], weights)
        error, most = float((weights * moved).sum()), float((weights * whole).sum())
        by_column[encoded.name] = 100.0 * error / most if most else 0.0
        lost, total = lost + error, total + most
    return (100.0 * lost / total if total else 0.0), by_column


def displaced(
    encoded: Encoded,
    codes: NDArray[np.float64],
    scale: Scale,
    weights: NDArray[np.float64],
    centre: float | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Measure how far each cell was moved, squared, and how far one cluster would have moved it."""
    import numpy as np

    whole = spread(encoded, scale, weights, centre)
    moved = squared(encoded, encoded.codes, codes, scale)
    return np.where(np.isnan(codes), whole, np.nan_to_num(moved)), whole


def as_column(coordinates: NDArray[np.float64]) -> pa.Array:
    """Return coordinates as one Arrow column: numbers, or lists of them."""
    import pyarrow as pa

    values = pa.array(coordinates.reshape(-1), pa.float64())
    dimensions = coordinates.shape[1]
    return values if dimensions == 1 else pa.FixedSizeListArray.from_arrays(values, dimensions)


def as_points(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return what `as_column` made of coordinates back."""
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_fixed_size_list(column.type):
        return np.asarray(column.to_numpy())[:, None]
    values = column.combine_chunks().flatten().to_numpy()
    return np.asarray(values).reshape(-1, column.type.list_size)
