"""Multivariate Hansen–Mukherjee: the optimal clusters of neighbours along a path.

Domingo-Ferrer et al., 2006, doi:10.1007/s00778-006-0007-0; Hansen and Mukherjee, 2003,
doi:10.1109/TKDE.2003.1209020.

Along a given order of the rows the partition is optimal, and for a single sorted column it is the
optimal one outright. So the method is as good as its path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.errors import ReleaseError
from microagg_ops.methods.partition import Clock, Progress, one_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

# Steps of the inner loop in one call of a kernel: some tenths of a second.
WORK_PER_CALL = 1e8
ORDERS = ("first_component", "rows")


def mhm(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    order: str | ArrayLike = "first_component",
) -> NDArray[np.int32]:
    """Cut a path into its best clusters; the seed is not used.

    ``order`` is the path: along the first principal component, along the rows as they come, or,
    from Python, a permutation of the rows.
    """
    return cut_path(points, k, as_order(points, order), clock.tick)[0]


def as_order(points: NDArray[np.float64], order: Any) -> NDArray[np.int64]:
    """Return the path that a parameter names, or check the one that it is."""
    import numpy as np

    if not isinstance(order, str):
        path = np.asarray(order)
        if path.shape != (len(points),) or not np.array_equal(np.sort(path), np.arange(len(path))):
            raise ReleaseError(
                f"The 'order' parameter must be one of {', '.join(ORDERS)} or a permutation of "
                f"the {len(points)} rows."
            )
        return path.astype(np.int64)
    one_of("order", order, ORDERS)
    if order == "rows":
        return np.arange(len(points))
    return np.argsort(first_component(points), kind="stable")


def first_component(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coordinates of the rows along the first principal component."""
    import numpy as np

    centred = points - points.mean(axis=0)
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    # An axis has no direction of its own: its largest part shall be positive.
    places: NDArray[np.float64] = centred @ (axis * np.sign(axis[np.argmax(np.abs(axis))]))
    return places


def cut_path(
    points: NDArray[np.float64],
    k: int,
    path: NDArray[np.int64],
    tell: Progress,
) -> tuple[NDArray[np.int32], float]:
    """Find the best clusters of k to 2k - 1 records along a path; return labels and SSE."""
    import numpy as np

    from microagg_ops.kernels.paths import mhm as kernels

    n, columns = points.shape
    if n < 2 * k:
        return one_cluster(points)
    along = points[path]
    cost = np.full(n + 1, np.inf)
    cost[0] = 0.0
    back = np.zeros(n + 1, np.int64)
    step = max(1, int(WORK_PER_CALL / (2 * k * columns)))
    for start in range(1, n + 1, step):
        stop = min(start + step, n + 1)
        kernels.extend(along, k, cost, back, start, stop)
        tell((stop - 1) / n)
    return labelled(path, back), float(cost[n])


def tour_to_assignment(
    points: NDArray[np.float64],
    k: int,
    tour: NDArray[np.int64],
    tell: Progress,
) -> tuple[NDArray[np.int32], float]:
    """Find the best clusters along a tour, whose last record is beside its first.

    A cluster has at most 2k - 1 records, so some cluster begins at one of the first 2k - 1.
    """
    import numpy as np

    from microagg_ops.kernels.paths import mhm as kernels

    n, columns = points.shape
    if n < 2 * k:
        return one_cluster(points)
    along = points[tour]
    costs = np.empty((n, k))
    step = max(1, int(WORK_PER_CALL / (2 * k * columns)))
    for start in range(0, n, step):
        kernels.arcs(along, k, costs, start, min(start + step, n))
        tell(0.0)
    cost = np.empty(n + 1)
    back = np.zeros(n + 1, np.int64)
    least, labels = np.inf, np.empty(0, np.int32)
    for first in range(2 * k - 1):
        found = kernels.around(costs, k, first, cost, back)
        if found < least:
            least, labels = found, labelled(np.roll(tour, -first), back)
        tell((first + 1) / (2 * k - 1))
    return labels, float(least)


def one_cluster(points: NDArray[np.float64]) -> tuple[NDArray[np.int32], float]:
    """Put all rows into one cluster: fewer than 2k cannot make two."""
    import numpy as np

    from microagg_ops.metrics.loss import sst

    return np.zeros(len(points), np.int32), sst(points)


def labelled(path: NDArray[np.int64], back: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the labels of the clusters along the shortest path."""
    import numpy as np

    labels = np.empty(len(path), np.int32)
    stop, cluster = len(path), 0
    while stop > 0:
        labels[path[back[stop] : stop]] = cluster
        stop, cluster = int(back[stop]), cluster + 1
    return labels
