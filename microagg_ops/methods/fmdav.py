"""F-MDAV: the partition of MDAV by brute force, with five improvements of its arithmetic.

Rodríguez-Hoyos et al., 2020, doi:10.1016/j.engappai.2020.103531. Without any of them it is the MDAV
that they call traditional. The method ``mdav`` finds the same partition much faster; this one is
kept to be compared with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.methods.mdav import assign_rest
from microagg_ops.methods.partition import Clock, on_or_off

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Steps of the innermost loops in one call of the kernel: about a fifth of a second.
WORK_PER_CALL = 2e8
SORTING = 200  # what sorting costs for each row, in such steps
IMPROVEMENTS = (
    "algebraic_distance",
    "distance_reuse",
    "partial_selection",
    "centroid_by_subtraction",
    "single_precision",
)


def fmdav(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    algebraic_distance: bool = True,
    distance_reuse: bool = True,
    partial_selection: bool = True,
    centroid_by_subtraction: bool = True,
    single_precision: bool = True,
) -> NDArray[np.int32]:
    """Find the MDAV partition; the seed is not used.

    With ``algebraic_distance`` and ``single_precision`` off, and ``centroid_by_subtraction`` on,
    the labels are those of ``mdav``. Each of the three otherwise rounds a little differently, so
    rows whose distances all but tie may change places: some clusters then differ, and the loss
    hardly does. Sums are in double precision in any case.

    Parameters
    ----------
    algebraic_distance
        Rank by |x|²/2 - <x, centre> instead of the distance: a third fewer operations.
    distance_reuse
        Compute the distances to the first row of a pair once, not twice.
    partial_selection
        Select the k nearest rows instead of sorting all of them.
    centroid_by_subtraction
        Keep the sum of what is left up to date instead of summing it again.
    single_precision
        Compute distances in single precision.
    """
    import numpy as np

    from microagg_ops.kernels.mdav import fmdav as kernels
    from microagg_ops.kernels.sums import totals

    switches = (algebraic_distance, distance_reuse, partial_selection, centroid_by_subtraction)
    for name, value in zip(IMPROVEMENTS, (*switches, single_precision), strict=True):
        on_or_off(name, value)
    rows, columns = points.shape
    copy = working_copy(points, single_precision, algebraic_distance or single_precision)
    half = (copy**2).sum(axis=0) / 2
    labels = np.full(rows, -1, np.int32)
    total, rest = totals(copy.T)
    ids, state = np.arange(rows), np.array([rows, rows, 0])
    while state[1] >= 2 * k:
        work = state[0] * (4 * columns + (0 if partial_selection else SORTING))
        pairs = max(1, int(WORK_PER_CALL / work))
        kernels.form_pairs(copy, half, ids, total, rest, labels, state, k, pairs, switches)
        # The work left is quadratic in the rows left.
        clock.tick(1 - (state[1] / rows) ** 2)
    return assign_rest(points, labels, int(state[2]), k)


def working_copy(points: NDArray[np.float64], single: bool, centred: bool) -> NDArray[Any]:
    """Return the points as (columns, rows), centred and scaled where rounding matters."""
    import numpy as np

    copy = np.array(points.T, order="C")
    if centred:
        copy -= copy.mean(axis=1, keepdims=True)
        # A power of two changes no digit, and squares stay within the range of the numbers.
        copy = np.ldexp(copy, -int(np.frexp(np.abs(copy).max())[1]))
    return copy.astype(np.float32) if single else copy
