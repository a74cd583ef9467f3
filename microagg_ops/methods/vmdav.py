"""V-MDAV: clusters around far rows that grow where the next row is close.

Solanas and Martínez-Ballesté, 2006. k rows around the row farthest from the centroid of the whole
table make a cluster. Then the free row nearest to any of its rows joins, up to 2k - 1 rows, as
long as it is nearer to the cluster than ``gain`` times its distance to the next free row. Below
2k rows, k or more make a last cluster; fewer join the cluster with the nearest centroid. Of
equals the lowest row counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.methods.mdav import assign_rest
from microagg_ops.methods.partition import Clock, at_least

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Steps of the innermost loops in one call of the kernel: about a fifth of a second.
WORK_PER_CALL = 2e8


def vmdav(
    points: NDArray[np.float64], k: int, *, seed: int, clock: Clock, gain: float = 0.2
) -> NDArray[np.int32]:
    """Find clusters of k to 2k - 1 rows; the seed is not used.

    ``gain``, the gamma of its authors, is 0 for clusters of k rows. A small one suits rows that
    are scattered, one around 1 rows that come in clumps.
    """
    import numpy as np

    from microagg_ops.kernels.mdav import vmdav as kernels
    from microagg_ops.kernels.mdav.fmdav import squared_distances
    from microagg_ops.kernels.sums import totals

    at_least("gain", gain, 0)
    rows, columns = points.shape
    table, copy = np.ascontiguousarray(points), np.array(points.T, order="C")
    total, rest = totals(points)
    far = np.empty(rows)
    squared_distances(copy, rows, (total + rest) / rows, far)
    labels = np.full(rows, -1, np.int32)
    ids, state = np.arange(rows), np.array([rows, rows, 0])
    while state[1] >= 2 * k:
        count = max(1, int(WORK_PER_CALL / (k * state[0] * columns)))
        kernels.form_clusters(table, copy, far, ids, labels, state, k, float(gain) ** 2, count)
        # The work left is quadratic in the rows left.
        clock.tick(1 - (state[1] / rows) ** 2)
    return assign_rest(points, labels, int(state[2]), k)
