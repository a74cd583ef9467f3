"""Maximum distance to average vector.

Two clusters at a time: k rows around the row farthest from the centroid of what is left, then k
rows around the one farthest from that row. Below 2k rows, k or more make a last cluster; fewer
join the cluster with the nearest centroid. Of equals the lowest row counts.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from microagg_ops.errors import DataError
from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.kernels.mdav import Ranking
    from microagg_ops.kernels.room import Cloud, Room
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
# Pairs of clusters are looked for ahead, at least and at most so many at a time where there are
# enough, in up to so many threads. What is found does not depend on it.
FEWEST, AHEAD, THREADS = 48, 160, 4
# Where a pair takes so many looks, and the first looks tell, a thread finds pairs side by side: its
# share of half of those ahead, and one for so many rows that are left, since each may lose a row to
# one before it.
LONG, TRIAL, SHARE = 500, 40_000, 8_000
# Columns of all that is found side by side, and rows of all that is ahead: a signal must not wait.
BESIDE_COLUMNS, AHEAD_ROWS = 1_000, 3_200


class Left(NamedTuple):
    """The points that are left, as searches need them."""

    cloud: Cloud
    ranking: Ranking
    tree: Tree


def mdav(points: NDArray[np.float64], k: int, *, seed: int, clock: Clock) -> NDArray[np.int32]:
    """Find the MDAV partition; the seed is not used."""
    import numpy as np

    from microagg_ops.kernels import mdav as step
    from microagg_ops.kernels.room import make_room
    from microagg_ops.kernels.sums import totals

    labels = np.full(len(points), -1, np.int32)
    total, rest = totals(points)
    threads = min(THREADS, max(2, os.cpu_count() or 1))
    beside = max(1, min(AHEAD // (2 * threads), BESIDE_COLUMNS // points.shape[1], AHEAD_ROWS // k))
    rooms = [make_room(k, points.shape[1], beside) for _ in range(threads)]
    cloud = gathered(points)
    left = Left(cloud, *prepared(cloud, (total + rest) / len(points)))
    state = np.array([len(points), 0, 0, len(cloud.points)])
    with ThreadPoolExecutor(threads) as pool:
        while state[step.LEFT] >= 2 * k:
            shrunk = form_clusters(left, (total, rest, labels, state), rooms, pool, clock)
            if state[step.LEFT] >= 2 * k:
                left = thinned(left, state[step.TOP], (total + rest) / state[step.LEFT], shrunk)
    return finish(points, labels, int(state[step.LABEL]), k)


def form_clusters(
    left: Left, sums: tuple[Any, ...], rooms: list[Room], pool: ThreadPoolExecutor, clock: Clock
) -> bool:
    """Form pairs of clusters until the tree had better be built anew; give whether it must be.

    One thread forms them; the others find what comes next.
    """
    from microagg_ops.kernels import mdav as step
    from microagg_ops.kernels.ahead import help_out, make_ahead

    cloud, ranking, tree = left
    *_, labels, state = sums
    rows, count, k = int(state[step.LEFT]), len(cloud.points), rooms[0].values.shape[1]
    beside = max(1, min(rows // SHARE, len(rooms[0].wanted)))
    many = min(
        AHEAD, max(FEWEST, 2 * len(rooms) * beside), rows // (2 * k), max(1, AHEAD_ROWS // k)
    )
    one, ahead = make_ahead(k, 1, 0), make_ahead(k, many, count)
    state[step.TOP], begun, shrunk = 0, state[step.LABEL], False
    for room in rooms:
        room.work[0] = 0
    try:
        helpers = rooms[1:] if many > 1 else []
        others = [pool.submit(help_out, cloud, tree, ahead, k, room) for room in helpers]
        while state[step.LEFT] >= 2 * k and not shrunk:
            looks = sum(int(room.work[0]) for room in rooms)
            if looks * (1 - state[step.DISTINCT] / count) > REBUILD * count:
                break
            if looks >= max(TRIAL, LONG * (state[step.LABEL] - begun) // 2):
                ahead.beside[0] = beside
            work = WORK_PER_CALL if looks >= TRIAL else TRIAL
            shrunk = step.form_pairs(cloud, ranking, *sums, tree, rooms[0], one, ahead, k, work)
            clock.tick(1 - (state[step.LEFT] / len(labels)) ** 1.5)
    finally:
        ahead.over[0] = 1
    for other in others:
        other.result()
    return shrunk


def gathered(points: NDArray[np.float64]) -> Cloud:
    """Make rows with equal values one point."""
    import numpy as np

    from microagg_ops.kernels import mdav as step
    from microagg_ops.kernels.room import Cloud

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


def thinned(left: Left, gone: int, centre: NDArray[np.float64], shrunk: bool) -> Left:
    """Give what is left now; grid and ranking, less those gone first, stay if they still serve."""
    import numpy as np

    from microagg_ops.kernels.tree import make_tree

    cloud, ranking, tree = left
    still = np.flatnonzero(cloud.head < cloud.stop)
    points = cloud.points.take(still, axis=0)
    cloud = cloud._replace(points=points, head=cloud.head[still], stop=cloud.stop[still])
    radius = ranking.radius[still]
    drift = np.linalg.norm(centre - ranking.centre)
    if shrunk or drift > MOVED * radius.max(initial=0.0):
        return Left(cloud, *prepared(cloud, centre))
    numbers = np.full(len(tree.place), -1)
    numbers[still] = np.arange(len(still))
    ranked = numbers[ranking.ranked[gone:]]
    ranking = ranking._replace(radius=radius, ranked=ranked[ranked >= 0])
    return Left(cloud, ranking, make_tree(tree.fine[tree.place[still]], points.shape[1]))


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
