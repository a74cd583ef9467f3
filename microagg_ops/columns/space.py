"""The space that distances are measured in.

Columns that have an order are standardized; any two categories of a nominal column are one apart,
which is one standard deviation of a column that was standardized by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from microagg_ops.columns.encoding import Encoded
from microagg_ops.columns.representatives import representatives
from microagg_ops.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

MOST_CATEGORIES = 100
Scale = tuple[float, float]
NO_SCALE: Scale = (0.0, 1.0)
#: Types whose codes have no order.
NOMINAL = ("nominal", "boolean")


def is_nominal(encoded: Encoded) -> bool:
    """Whether the codes of a column have no order."""
    return encoded.how.type in NOMINAL


def points(encoded: Encoded, scale: Scale = NO_SCALE) -> NDArray[np.float64]:
    """Return the coordinates of a column, rows by dimensions; NaN where it is NULL."""
    import numpy as np

    if not is_nominal(encoded):
        centre, spread = scale
        return ((encoded.codes * encoded.unit - centre) / spread * encoded.how.weight)[:, None]
    categories = len(encoded.categories or ())
    if categories > MOST_CATEGORIES:
        raise DataError(
            f"Quasi-identifier {encoded.name!r} has {categories} categories, more than "
            f"{MOST_CATEGORIES}.",
            code="too_many_categories",
            hint="Group them in a view (areas instead of postcodes), or declare an order.",
        )
    if categories <= 2:  # two points on a line
        return encoded.codes[:, None] * encoded.how.weight
    corners = np.eye(categories) * (encoded.how.weight / np.sqrt(2))
    found = np.full((len(encoded.codes), categories), np.nan)
    there = ~encoded.missing
    found[there] = corners[encoded.codes[there].astype(np.int64)]
    return found


def squared(
    encoded: Encoded, codes: NDArray[np.float64], others: NDArray[np.float64] | float, scale: Scale
) -> NDArray[np.float64]:
    """Compute the squared distances between codes, row by row; NaN where one is NULL."""
    import numpy as np

    apart = codes - others
    if is_nominal(encoded):
        return np.where(np.isnan(apart), np.nan, encoded.how.weight**2 * (apart != 0))
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
