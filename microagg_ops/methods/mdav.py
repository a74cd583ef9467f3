"""MDAV: maximum distance to average vector, exact and below quadratic time.

Domingo-Ferrer and Torra, 2005, doi:10.1007/s10618-005-0007-5; docs/algorithms/mdav.md.

Two clusters at a time: k rows around the row farthest from the centroid of what is left, then k
rows around the one farthest from that row. Below 2k rows, k or more make a last cluster; fewer
join the cluster with the nearest centroid. Ties go to the lowest row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from microagg_ops import threads
from microagg_ops.errors import DataError
from microagg_ops.methods import plain
from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.kernels.mdav.exact import Ranking
    from microagg_ops.kernels.mdav.queries import Cloud, Queries
    from microagg_ops.kernels.mdav.tree import Tree

# The tree is rebuilt when the looks since, times the share of its points that have left, exceed
# this number a point: leaves that are half empty cost as much as full ones, and building costs too.
REBUILD = 60
# So too when the points left lie within this share of the norm that the grid was made for.
SHRUNK = 1 / 4
# Points are ranked anew when their centroid has moved by this share of the largest norm.
MOVED = 1 / 50
# Looks at boxes or points in one call of the kernel: about a twentieth of a second.
WORK_PER_CALL = 2_000_000
# The lookahead: from FEWEST to AHEAD pairs of clusters where there are enough, in up to THREADS
# threads. The result does not depend on them.
FEWEST, AHEAD, THREADS = 48, 160, 4
# Where a pair takes LONG looks on average, judged after TRIAL looks, a thread finds pairs side by
# side: its share of half the lookahead, and at most one for SHARE rows left, since each may lose a
# row to one before it.
LONG, TRIAL, SHARE = 500, 40_000, 8_000
# Limits of columns side by side and of rows in the lookahead: a signal must not wait.
BESIDE_COLUMNS, AHEAD_ROWS = 1_000, 3_200


class Remaining(NamedTuple):
    """The points that are left, as searches need them."""

    cloud: Cloud
    ranking: Ranking
    tree: Tree


def mdav(points: NDArray[np.float64], k: int, *, seed: int, clock: Clock) -> NDArray[np.int32]:
    """Find the MDAV partition; the seed is not used.

    The tree is the fastest of all, once it has been compiled; other tables are not kept waiting.
    """
    check_size(points)
    chosen = plain.way(len(points), points.shape[1], k)
    form = {plain.BRUTE_FORCE: plain.brute_force, plain.BOXES: plain.with_boxes}.get(chosen)
    labels, clusters = (form or with_tree)(points, k, clock)
    return assign_rest(points, labels, clusters, k)


def check_size(points: NDArray[np.float64]) -> None:
    """Check that squared distances are finite."""
    import numpy as np

    with np.errstate(over="ignore"):
        widest = points.max(axis=0) - points.min(axis=0)
        if not np.isfinite((widest * widest).sum()):
            raise DataError("X holds values too large to be squared.", code="too_large")


def with_tree(points: NDArray[np.float64], k: int, clock: Clock) -> tuple[NDArray[np.int32], int]:
    """Form the clusters of MDAV by branch and bound, several pairs ahead of their turn.

    Return the labels, -1 of the rows left, and the number of clusters.
    """
    import numpy as np

    from microagg_ops.kernels.mdav import exact as kernels
    from microagg_ops.kernels.mdav.queries import make_queries
    from microagg_ops.kernels.sums import totals

    labels = np.full(len(points), -1, np.int32)
    total, rest = totals(points)
    many = min(THREADS, threads.count())
    beside = max(1, min(AHEAD // (2 * many), BESIDE_COLUMNS // points.shape[1], AHEAD_ROWS // k))
    workspaces = [make_queries(k, points.shape[1], beside) for _ in range(many)]
    cloud = distinct_points(points)
    left = Remaining(cloud, *build_index(cloud, (total + rest) / len(points)))
    state = np.array([len(points), 0, 0, len(cloud.points)])
    with threads.pool(THREADS) as pool:
        while state[kernels.LEFT] >= 2 * k:
            shrunk = form_clusters(left, (total, rest, labels, state), workspaces, pool, clock)
            if state[kernels.LEFT] >= 2 * k:
                left = rebuild_index(
                    left, state[kernels.TOP], (total + rest) / state[kernels.LEFT], shrunk
                )
    return labels, int(state[kernels.LABEL])


def form_clusters(
    left: Remaining,
    sums: tuple[Any, ...],
    workspaces: list[Queries],
    pool: ThreadPoolExecutor,
    clock: Clock,
) -> bool:
    """Form pairs of clusters until rebuilding the tree pays; return whether the grid must change.

    One thread forms them; the others run the lookahead.
    """
    from microagg_ops.kernels.mdav import exact as kernels
    from microagg_ops.kernels.mdav.lookahead import make_lookahead, serve

    cloud, ranking, tree = left
    *_, labels, state = sums
    rows, count, k = int(state[kernels.LEFT]), len(cloud.points), workspaces[0].bounds.shape[1]
    beside = max(1, min(rows // SHARE, len(workspaces[0].sources)))
    many = min(
        AHEAD, max(FEWEST, 2 * len(workspaces) * beside), rows // (2 * k), max(1, AHEAD_ROWS // k)
    )
    one, lookahead = make_lookahead(k, 1, 0), make_lookahead(k, many, count)
    state[kernels.TOP], begun, shrunk = 0, state[kernels.LABEL], False
    for queries in workspaces:
        queries.work[0] = 0
    try:
        helpers = workspaces[1:] if many > 1 else []
        others = [pool.submit(serve, cloud, tree, lookahead, k, queries) for queries in helpers]
        while state[kernels.LEFT] >= 2 * k and not shrunk:
            looks = sum(int(queries.work[0]) for queries in workspaces)
            if looks * (1 - state[kernels.DISTINCT] / count) > REBUILD * count:
                break
            if looks >= max(TRIAL, LONG * (state[kernels.LABEL] - begun) // 2):
                lookahead.beside[0] = beside
            work = WORK_PER_CALL if looks >= TRIAL else TRIAL
            shrunk = kernels.form_pairs(
                cloud, ranking, *sums, tree, workspaces[0], one, lookahead, k, work
            )
            clock.tick(1 - (state[kernels.LEFT] / len(labels)) ** 1.5)
    finally:
        lookahead.over[0] = 1
    for other in others:
        other.result()
    return shrunk


def distinct_points(points: NDArray[np.float64]) -> Cloud:
    """Merge rows with equal values to points."""
    import numpy as np

    from microagg_ops.kernels.mdav import exact as kernels
    from microagg_ops.kernels.mdav.queries import Cloud

    table = np.full(1 << (2 * len(points)).bit_length(), -1, np.int64)
    numbers, firsts = kernels.gather(points, table)
    if len(firsts) == len(points):
        rows = np.arange(len(points), dtype=np.int32)
        return Cloud(points, rows, rows.copy(), rows + 1)
    rows = np.argsort(numbers, kind="stable").astype(np.int32)
    stop = np.cumsum(np.bincount(numbers), dtype=np.int32)
    return Cloud(points[firsts], rows, np.append(np.int32(0), stop[:-1]), stop)


def build_index(cloud: Cloud, centre: NDArray[np.float64]) -> tuple[Ranking, Tree]:
    """Rank the points by their distance from a centre; build a tree along their principal axes."""
    import numpy as np

    from microagg_ops.kernels.mdav import exact as kernels
    from microagg_ops.kernels.mdav.tree import REACH, make_grid, make_tree

    points = cloud.points
    radius = kernels.radii(points, centre)
    largest = radius.max()
    if not np.isfinite(largest):
        raise DataError("X holds values too large to be squared.", code="too_large")
    scale = REACH / largest if largest > 0 else 1.0
    # Distances stay the same along the principal axes, and boxes become slim.
    some = (points[:: max(1, len(points) // 10_000)] - centre) / (largest or 1.0)
    _, axes = np.linalg.eigh(some.T @ some)
    grid, half = make_grid(*points.shape), len(points) // 2
    with threads.pool(2) as pool:
        ranked = pool.submit(np.argsort, -radius)
        other = pool.submit(kernels.project, points[half:], centre, axes * scale, grid[half:])
        kernels.project(points[:half], centre, axes * scale, grid[:half])
        other.result()
        tree = make_tree(grid, points.shape[1])
        mean = np.empty(len(centre))
        return kernels.Ranking(centre, radius, ranked.result(), SHRUNK * largest, mean), tree


def rebuild_index(
    left: Remaining, gone: int, centre: NDArray[np.float64], shrunk: bool
) -> Remaining:
    """Drop the points that left; keep grid and ranking if they still serve."""
    import numpy as np

    from microagg_ops.kernels.mdav.tree import make_tree

    cloud, ranking, tree = left
    still = np.flatnonzero(cloud.head < cloud.stop)
    points = cloud.points.take(still, axis=0)
    cloud = cloud._replace(points=points, head=cloud.head[still], stop=cloud.stop[still])
    radius = ranking.radius[still]
    drift = np.linalg.norm(centre - ranking.centre)
    if shrunk or drift > MOVED * radius.max(initial=0.0):
        return Remaining(cloud, *build_index(cloud, centre))
    numbers = np.full(len(tree.place), -1)
    numbers[still] = np.arange(len(still))
    ranked = numbers[ranking.ranked[gone:]]
    ranking = ranking._replace(radius=radius, ranked=ranked[ranked >= 0])
    return Remaining(cloud, ranking, make_tree(tree.fine[tree.place[still]], points.shape[1]))


def assign_rest(
    points: NDArray[np.float64], labels: NDArray[np.int32], clusters: int, k: int
) -> NDArray[np.int32]:
    """Label the rows left: a cluster of their own if they are k, else the nearest centroid."""
    import numpy as np

    from microagg_ops.metrics.loss import centroids

    left = np.flatnonzero(labels < 0)
    if len(left) >= k:
        labels[left] = clusters
    elif len(left):
        done = labels >= 0
        means = centroids(points[done], labels[done])
        for row in left:
            distances = np.zeros(clusters)
            for j in range(points.shape[1]):
                distances += (means[:, j] - points[row, j]) ** 2
            labels[row] = np.argmin(distances)
    return labels
