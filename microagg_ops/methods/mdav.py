"""Maximum distance to average vector.

Two clusters at a time: k rows around the row farthest from the centroid of what is left, then k
rows around the one farthest from that row. Below 2k rows, k or more make a last cluster; fewer
join the cluster with the nearest centroid. Of equals the lowest row counts.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The tree is built anew when so much of its points is left, since leaves that are half empty cost
# as much as full ones; but not before so many looks for each point left, or building costs more.
REBUILD_AT, LOOKS = 0.55, 30
# So too when the points left lie within so much of the norm that the grid was made for.
SHRUNK = 1 / 4
# Looks at boxes or points in one call of the kernel: about a twentieth of a second.
WORK_PER_CALL = 1_000_000
# Where a pair of clusters takes so many looks, pairs are looked for ahead, so many at a time, in up
# to so many threads; the first ones tell. What is found does not depend on it.
LONG, AHEAD, THREADS = 1_500, 32, 4
# Rows of all that is looked for ahead: a large k must not keep a signal waiting.
AHEAD_ROWS = 3_200


def mdav(points: NDArray[np.float64], k: int, *, seed: int, clock: Clock) -> NDArray[np.int32]:
    """Find the MDAV partition; the seed is not used."""
    import numpy as np

    from microagg_ops.kernels import mdav as step
    from microagg_ops.kernels.search import make_room
    from microagg_ops.kernels.sums import totals

    labels = np.full(len(points), -1, np.int32)
    total, rest = totals(points)
    distinct, rows, head, stop = gathered(points)
    threads = min(THREADS, max(2, os.cpu_count() or 1))
    rooms = [make_room(k, points.shape[1]) for _ in range(threads)]
    state = np.array([len(points), 0, 0, len(distinct), 0])
    with ThreadPoolExecutor(threads) as pool:
        while state[step.LEFT] >= 2 * k:
            left = head < stop
            distinct, head, stop = distinct[left], head[left], stop[left]
            centre = (total + rest) / state[step.LEFT]
            cloud, ranking, tree = prepared(distinct, rows, head, stop, centre)
            most = min(AHEAD, int(state[step.LEFT]) // (2 * k), max(1, AHEAD_ROWS // k))
            one, several = step.make_ahead(k, 1), step.make_ahead(k, most)
            look = partial(step.look_ahead, cloud, tree, several, k, threads)
            sums = ranking, total, rest, labels, state
            state[step.TOP], begun = 0, state[step.LABEL]
            until, looks = rebuilding(len(distinct)), 0
            least, shrunk = SHRUNK * ranking.radius.max(), False
            while state[step.LEFT] >= 2 * k and not shrunk:
                pairs = (state[step.LABEL] - begun) // 2
                ahead = several if looks >= LONG * pairs else one
                if ahead is several:
                    step.plan(cloud, *sums, tree, ahead)
                    others = [pool.submit(look, rooms[i], i) for i in range(1, threads)]
                    looks += look(rooms[0], 0) + sum(other.result() for other in others)
                shrunk = step.form_pairs(
                    cloud, *sums, tree, rooms[0], ahead, k, until, least, WORK_PER_CALL
                )
                looks += state[step.WORK]
                clock.tick(1 - (state[step.LEFT] / len(points)) ** 1.5)
                if state[step.DISTINCT] <= until:
                    if looks > LOOKS * until:
                        break
                    until = rebuilding(until)
    return finish(points, labels, int(state[step.LABEL]), k)


def rebuilding(count: int) -> int:
    """Give how many points are left when a tree of so many may be built anew."""
    return int(REBUILD_AT * count) if count > 1000 else 0


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
    from microagg_ops.kernels.tree import REACH, make_tree

    radius = step.radii(distinct, centre)
    largest = radius.max()
    if not np.isfinite(largest):
        raise DataError("X holds values too large to be squared.", code="too_large")
    scale = REACH / largest if largest > 0 else 1.0
    # Distances stay the same along the principal axes, and boxes become slim.
    some = (distinct[:: max(1, len(distinct) // 10_000)] - centre) / (largest or 1.0)
    _, axes = np.linalg.eigh(some.T @ some)
    grid = np.empty(distinct.shape, np.int16)
    with ThreadPoolExecutor(1) as pool:
        ranked = pool.submit(np.argsort, -radius)
        step.project(distinct, centre, axes * scale, grid)
        tree = make_tree(grid)
        return (
            Cloud(distinct, rows, head, stop),
            step.Ranking(centre, radius, ranked.result()),
            tree,
        )


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
