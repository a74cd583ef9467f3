"""The optimal partition of one column.

Hansen and Mukherjee, 2003, doi:10.1109/TKDE.2003.1209020: among the partitions with the least SSE
there is one whose clusters are runs of k to 2k - 1 values of the sorted column, and a shortest path
finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.errors import ReleaseError
from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Values that join a cluster in one call of the kernel: about a fifth of a second.
WORK_PER_CALL = 2e7


def optimal(points: NDArray[np.float64], k: int, *, seed: int, clock: Clock) -> NDArray[np.int32]:
    """Find the partition of one column with the least loss; the seed is not used."""
    import numpy as np

    from microagg_ops.kernels.paths import optimal as kernels

    rows, columns = points.shape
    if columns != 1:
        raise ReleaseError(
            f"The method 'optimal' takes one column. Got {columns} instead.",
            hint="Choose another method, or a group of its own for each column.",
        )
    order = np.argsort(points[:, 0], kind="stable")
    values = points[order, 0]
    cost = np.full(rows + 1, np.inf)
    cost[0] = 0.0
    back = np.zeros(rows + 1, np.int64)
    count = max(1, int(WORK_PER_CALL / (2 * k)))
    for start in range(k, rows + 1, count):
        stop = min(start + count, rows + 1)
        kernels.extend(values, k, cost, back, start, stop)
        clock.tick((stop - 1) / rows)
    labels = np.empty(rows, np.int32)
    stop, label = rows, 0
    while stop:
        labels[order[back[stop] : stop]] = label
        stop, label = int(back[stop]), label + 1
    return labels
