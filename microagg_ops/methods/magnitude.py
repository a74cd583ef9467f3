"""Keep squares of distances within what a double can hold: checked once, for every method."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Between these, squares, their sums and the squares of those neither overflow nor vanish.
LARGEST, LEAST = 2.0**200, 2.0**-200


def within_range(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale a table by a power of two, if it is out of range; else take it bit for bit.

    A power of two keeps every ratio of distances, so the clusters are those of the table. Columns
    are moved to 0 first: what is far from 0 but constant must not hide what varies.

    Parameters
    ----------
    points
        Rows by columns, finite.
    """
    import numpy as np

    largest = max(points.max(), -points.min())
    if largest == 0.0 or LEAST <= largest <= LARGEST:
        return points
    # Below a half, so that no difference of two values overflows.
    moved: NDArray[np.float64] = np.ldexp(points, -2 - _exponent(largest))
    moved -= moved.min(axis=0)
    return np.ldexp(moved, -_exponent(moved.max()))


def _exponent(value: float) -> int:
    import math

    return math.frexp(value)[1]
