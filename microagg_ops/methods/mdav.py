"""Maximum distance to average vector.

Two clusters at a time: k rows around the row farthest from the centroid of what is left, then k
rows around the one farthest from that row. Below 2k rows, k or more make a last cluster; fewer
join the cluster with the nearest centroid. Of equals the lowest row counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Multiplications in one call of the kernel: about a fifth of a second.
WORK_PER_CALL = 2e8


def mdav(points: NDArray[np.float64], k: int, *, seed: int, clock: Clock) -> NDArray[np.int32]:
    """Find the MDAV partition; the seed is not used."""
    import numpy as np

    from microagg_ops.kernels import mdav as step

    rows, columns = points.shape
    copy = np.array(points.T, order="C")
    labels = np.full(rows, -1, np.int32)
    ids = np.arange(rows)
    total, rest = exact_total(points)
    state = np.array([rows, rows, 0])
    while state[1] >= 2 * k:
        pairs = max(1, int(WORK_PER_CALL / (4 * state[0] * columns)))
        step.form_pairs(copy, ids, total, rest, labels, state, k, pairs)
        # The work left is quadratic in the rows left.
        clock.tick(1 - (state[1] / rows) ** 2)
    return finish(points, labels, int(state[2]), k)


def exact_total(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Column totals in two doubles each: the rounded total and what rounding lost."""
    import math

    import numpy as np

    total = np.array([math.fsum(column) for column in points.T])
    rest = np.array(
        [math.fsum((*column, -whole)) for column, whole in zip(points.T, total, strict=True)]
    )
    return total, rest


def finish(
    points: NDArray[np.float64], labels: NDArray[np.int32], clusters: int, k: int
) -> NDArray[np.int32]:
    """Give the rows that are left a cluster: their own if they are k, else the nearest."""
    import numpy as np

    from microagg_ops.kernels.sums import centroids

    left = np.flatnonzero(labels < 0)
    if len(left) >= k:
        labels[left] = clusters
    elif len(left):
        done = labels >= 0
        means = centroids(np.ascontiguousarray(points[done].T), labels[done], clusters)
        for row in left:
            distances = np.zeros(clusters)
            for j in range(points.shape[1]):
                distances += (means[:, j] - points[row, j]) ** 2
            labels[row] = np.argmin(distances)
    return labels
