"""Maximum distance to average vector.

Two clusters at a time: k rows around the row farthest from the centroid of what is left, then k
rows around the one farthest from that row. Below 2k rows, k or more make a last cluster; fewer
join the cluster with the nearest centroid. Of equals the lowest row counts.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from microagg_ops.errors import DataError
from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.kernels.mdav import Ranking
    from microagg_ops.kernels.search import Cloud
    from microagg_ops.kernels.tree import Tree

# The tree is built anew when the looks since, times the share of its points that have left, are so
# many for each point: leaves that are half empty cost as much as full ones, and building costs too.
REBUILD = 60
# So too when the points left lie within so much of the norm that the grid was made for.
SHRUNK = 1 / 4
# Points are ranked anew when their centroid has moved by so much of the largest norm.
MOVED = 1 / 50
# Looks at boxes or points in one call of the kernel: about a twentieth of a second.
WORK_PER_CALL = 2_000_000
# Where a pair of clusters takes so many looks, pairs are looked for ahead, so many at a time, in up
# to so many threads; the first ones tell. What is found does not depend on it.
LONG, AHEAD, THREADS = 500, 48, 4
# Rows of all that is looked for ahead: a large k must not keep a signal waiting.
AHEAD_ROWS = 3_200


def mdav(points: NDArray[np.float64], k: int, *, seed: int, clock: Clock) -> NDArray[np.int32]:
    """Find the MDAV partition; the seed is not used."""
    import numpy as np

    from microagg_ops.kernels import mdav as step
    from microagg_ops.kernels.ahead import help_out, make_ahead
    from microagg_ops.kernels.search import make_room
    from microagg_ops.kernels.sums import totals

    labels = np.full(len(points), -1, np.int32)
    total, rest = totals(points)
    threads = min(THREADS, max(2, os.cpu_count() or 1))
    rooms = [make_room(k, points.shape[1]) for _ in range(threads)]
    one = make_ahead(k, 1)
    cloud = gathered(points)
    ranking, tree = prepared(cloud, (total + rest) / len(points))
    state = np.array([len(points), 0, 0, len(cloud.points), 0])
    with ThreadPoolExecutor(threads) as pool:
        while state[step.LEFT] >= 2 * k:
            most = min(AHEAD, int(state[step.LEFT]) // (2 * k), max(1, AHEAD_ROWS // k))
            several = make_ahead(k, most)
            sums = ranking, total, rest, labels, state
            state[step.TOP], begun = 0, state[step.LABEL]
            count, looks, shrunk = len(cloud.points), 0, False
            while state[step.LEFT] >= 2 * k and not shrunk:
                pairs = (state[step.LABEL] - begun) // 2
                ahead = several if looks >= LONG * pairs else one
                ahead.over[0] = 0
                helpers = rooms[1:] if ahead is several else []
                try:
                    others = [
                        pool.submit(help_out, cloud, tree, ahead, k, room) for room in helpers
                    ]
                    shrunk = step.form_pairs(
                        cloud, *sums, tree, rooms[0], one, ahead, k, WORK_PER_CALL
                    )
                finally:
                    ahead.over[0] = 1
                looks += state[step.WORK] + sum(other.result() for other in others)
                clock.tick(1 - (state[step.LEFT] / len(points)) ** 1.5)
                if looks * (1 - state[step.DISTINCT] / count) > REBUILD * count:
                    break
            if state[step.LEFT] >= 2 * k:
                centre = (total + rest) / state[step.LEFT]
                ranking = ranking._replace(ranked=ranking.ranked[state[step.TOP] :])
                cloud, ranking, tree = thinned(cloud, ranking, tree, centre, shrunk)
    return finish(points, labels, int(state[step.LABEL]), k)


def gathered(points: NDArray[np.float64]) -> Cloud:
    """Make rows with equal values one point."""
    import numpy as np

    from microagg_ops.kernels import mdav as step
    from microagg_ops.kernels.search import Cloud

    table = np.full(1 << (2 * len(points)).bit_length(), -1, np.int64)
    numbers, firsts = step.gather(points, table)
    if len(firsts) == len(points):
        rows = np.arange(len(points), dtype=np.int32)
        return Cloud(points, rows, rows.copy(), rows + 1)
    rows = np.argsort(numbers, kind="stable").astype(np.int32)
    stop = np.cumsum(np.bincount(numbers), dtype=np.int32)
    return Cloud(points[firsts], rows, np.append(np.int32(0), stop[:-1]), stop)


def prepared(cloud: Cloud, centre: NDArray[np.float64]) -> tuple[Ranking, Tree]:
    """Rank the points by their distance from a centre; build a tree along their principal axes."""
    import numpy as np

    from microagg_ops.kernels import mdav as step
    from microagg_ops.kernels.tree import REACH, make_grid, make_tree

    points = cloud.points
    radius = step.radii(points, centre)
    largest = radius.max()
    if not np.isfinite(largest):
        raise DataError("X holds values too large to be squared.", code="too_large")
    scale = REACH / largest if largest > 0 else 1.0
    # Distances stay the same along the principal axes, and boxes become slim.
    some = (points[:: max(1, len(points) // 10_000)] - centre) / (largest or 1.0)
    _, axes = np.linalg.eigh(some.T @ some)
    grid, half = make_grid(*points.shape), len(points) // 2
    with ThreadPoolExecutor(2) as pool:
        ranked = pool.submit(np.argsort, -radius)
        other = pool.submit(step.project, points[half:], centre, axes * scale, grid[half:])
        step.project(points[:half], centre, axes * scale, grid[:half])
        other.result()
        tree = make_tree(grid, points.shape[1])
        room = np.empty(len(centre))
        return step.Ranking(centre, radius, ranked.result(), SHRUNK * largest, room), tree


def thinned(
    cloud: Cloud, ranking: Ranking, tree: Tree, centre: NDArray[np.float64], shrunk: bool
) -> tuple[Cloud, Ranking, Tree]:
    """Give what is left, as the searches need it; grid and ranking stay if they still serve."""
    import numpy as np

    from microagg_ops.kernels.tree import make_tree

    left = np.flatnonzero(cloud.head < cloud.stop)
    points = cloud.points.take(left, axis=0)
    cloud = cloud._replace(points=points, head=cloud.head[left], stop=cloud.stop[left])
    radius = ranking.radius[left]
    drift = np.linalg.norm(centre - ranking.centre)
    if shrunk or drift > MOVED * radius.max(initial=0.0):
        return cloud, *prepared(cloud, centre)
    numbers = np.full(len(tree.place), -1)
    numbers[left] = np.arange(len(left))
    ranked = numbers[ranking.ranked]
    ranking = ranking._replace(radius=radius, ranked=ranked[ranked >= 0])
    return cloud, ranking, make_tree(tree.fine[tree.place[left]], points.shape[1])


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
