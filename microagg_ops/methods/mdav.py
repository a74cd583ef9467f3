"""Maximum distance to average vector.

Two clusters at a time: k rows around the row farthest from the centroid of what is left, then k
rows around the one farthest from that row. Below 2k rows, k or more make a last cluster; fewer
join the cluster with the nearest centroid. Of equals the lowest row counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The tree is built anew when so much of its points is left: leaves that are half empty cost as
# much as full ones.
REBUILD_AT = 0.55
# So too when the points left lie within so much of the norm that the grid was made for.
SHRUNK = 1 / 16
# Looks at boxes or points in one call of the kernel: about a fifth of a second.
WORK_PER_CALL = 5_000_000


def mdav(points: NDArray[np.float64], k: int, *, seed: int, clock: Clock) -> NDArray[np.int32]:
    """Find the MDAV partition; the seed is not used."""
    import numpy as np

    from microagg_ops.kernels import mdav as step
    from microagg_ops.kernels.search import make_room
    from microagg_ops.kernels.sums import totals
    from microagg_ops.kernels.tree import make_tree

    labels = np.full(len(points), -1, np.int32)
    total, rest = totals(points)
    distinct, rows, head, stop = gathered(points)
    room = make_room(k, points.shape[1])
    state = np.array([len(points), 0, 0, len(distinct), 0])
    while state[step.LEFT] >= 2 * k:
        left = head < stop
        distinct, head, stop = distinct[left], head[left], stop[left]
        centre = (total + rest) / state[step.LEFT]
        cloud, ranking = prepared(distinct, rows, head, stop, centre)
        tree = make_tree(cloud.grid)
        state[step.TOP] = 0
        until = int(REBUILD_AT * len(distinct)) if len(distinct) > 1000 else 0
        least, shrunk = SHRUNK * ranking.radius.max(), False
        while state[step.LEFT] >= 2 * k and state[step.DISTINCT] > until and not shrunk:
            shrunk = step.form_pairs(
                cloud, tree, ranking, room, k, total, rest, labels, state, until, least,
                WORK_PER_CALL,
            )  # fmt: skip
            clock.tick(1 - (state[step.LEFT] / len(points)) ** 1.5)
    return finish(points, labels, int(state[step.LABEL]), k)


def gathered(points: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
    """Make rows with equal values one point: the points, all rows, and where each point's are."""
    import numpy as np

    from microagg_ops.kernels import mdav as step

    table = np.full(1 << (2 * len(points)).bit_length(), -1, np.int64)
    numbers, firsts = step.gather(points, table)
    if len(firsts) == len(points):
        rows = np.arange(len(points))
        return np.array(points), rows, rows.copy(), rows + 1
    rows = np.argsort(numbers, kind="stable")
    stop = np.cumsum(np.bincount(numbers))
    head = np.concatenate([[0], stop[:-1]])
    return points[firsts], rows, head, stop


def prepared(distinct: Any, rows: Any, head: Any, stop: Any, centre: Any) -> Any:
    """Give the points as the searches need them: along their principal axes, and ranked."""
    import numpy as np

    from microagg_ops.kernels import mdav as step
    from microagg_ops.kernels.search import Cloud
    from microagg_ops.kernels.tree import REACH

    radius = step.radii(distinct, centre)
    largest = radius.max()
    if not np.isfinite(largest):
        raise DataError("X holds values too large to be squared.", code="too_large")
    scale = REACH / largest if largest > 0 else 1.0
    # Distances stay the same along the principal axes, and boxes become slim.
    some = (distinct[:: max(1, len(distinct) // 10_000)] - centre) / (largest or 1.0)
    _, axes = np.linalg.eigh(some.T @ some)
    grid = np.empty(distinct.shape, np.int16)
    step.project(distinct, centre, np.ascontiguousarray(axes.T) * scale, grid)
    cloud = Cloud(distinct, rows, head, stop, grid)
    ranked = np.argsort(-radius, kind="stable")
    return cloud, step.Ranking(centre, radius, ranked)


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
