"""The k-nearest-neighbour graph, exact or approximate, for searches that look no farther."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from microagg_ops import threads
from microagg_ops.methods import plain
from microagg_ops.methods.mdav import build_index, distinct_points
from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Of the approximate graph: CUTS k-d orders are divided into blocks of BLOCK rows; then ROUNDS times
# neighbours of neighbours are compared, up to BACK of them along reverse edges. Nine of ten
# neighbours of 100,000 normal rows are right.
CUTS, BLOCK, BACK, ROUNDS = 8, 256, 6, 2
# The part of the norm within which a table counts as its core.
CORE = 1 / 16
# Rows in one call of a kernel by THREADS threads, BESIDE of them queried side by side.
THREADS, AT_ONCE, BESIDE = 2, 4_000, 16
# Rows in one call of a kernel of the approximate graph: some hundredths of a second.
STRETCH = BLOCK * 64


def spatial_order(points: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the rows in a k-d order: near rows are close in it."""
    import numpy as np

    from microagg_ops.kernels.mdav.median_split import leaf_order

    return leaf_order(centred(points)[0].astype(np.float32))[0]


def approximate_knn(points: NDArray[np.float64], count: int, clock: Clock) -> NDArray[np.int32]:
    """Return the approximate k-nearest-neighbour graph, (rows, count) int32, nearest first.

    Rows should be in a spatial order. Where the clock stops it, the rest are zero.
    """
    import numpy as np

    from microagg_ops.kernels.mdav.median_split import leaf_order
    from microagg_ops.kernels.search import knn_graph

    rows = len(points)
    short = centred(points)[0].astype(np.float32)
    near, away = np.zeros((rows, count), np.int32), np.full((rows, count), np.inf, np.float32)
    turned = np.empty((rows, points.shape[1]), np.float32)
    with threads.pool(THREADS) as pool:

        def each(work: Callable[..., Any]) -> None:
            """Run a kernel for all rows, a stretch of them at a time."""
            starts = range(0, rows, STRETCH)

            def stretch(first: int) -> None:
                if not clock.spent:
                    work(first, min(first + STRETCH, rows))

            list(pool.map(stretch, starts))

        order = np.arange(rows, dtype=np.int32)
        for cut in range(CUTS):
            if cut > 0:
                axes = np.random.default_rng(cut).normal(size=(points.shape[1],) * 2)
                each(partial(knn_graph.rotate, short, axes.astype(np.float32), turned))
                order, _ = leaf_order(turned)
            each(partial(knn_graph.compare_blocks, short, order, near, away, BLOCK))
        for _ in range(ROUNDS):
            back, many = np.zeros((rows, BACK), np.int32), np.zeros(rows, np.int32)
            knn_graph.reverse_edges(near, back, many)
            nearer = np.zeros_like(near)
            each(partial(knn_graph.join_neighbours, short, near, back, many, nearer))
            near = nearer
    return near


def exact_knn(points: NDArray[np.float64], count: int, clock: Clock) -> NDArray[np.int32]:
    """Return the exact k-nearest-neighbour graph, (rows, count) int32, nearest first, ties by row.

    From the outside in: the grid that reaches the farthest point is too coarse for a dense core.
    Where the clock stops it, the rest are zero.
    """
    import numpy as np

    # As many steps as the clusters of MDAV with k = 2 take.
    if plain.way(len(points), points.shape[1], 2) == plain.BRUTE_FORCE:
        return measured_knn(points, count, clock)

    from microagg_ops.kernels.mdav.branch_and_bound import nearest_rows
    from microagg_ops.kernels.mdav.queries import make_queries

    cloud = distinct_points(points)
    near = np.zeros((len(points), count), np.int32)
    workspaces = [make_queries(count + 1, points.shape[1], BESIDE) for _ in range(THREADS)]
    todo = np.ones(len(cloud.points), bool)
    with threads.pool(THREADS) as pool:
        while todo.any():
            ranking, tree = build_index(cloud, cloud.points.mean(axis=0))
            core = ranking.radius < CORE * ranking.radius.max()
            if (cloud.stop - cloud.head)[core].sum() <= count:
                core[:] = False
            # Points that lie together look at the same leaves.
            wanted = tree.slots[tree.slots >= 0]
            wanted = wanted[(todo & ~core)[wanted]]
            for first in range(0, len(wanted), THREADS * AT_ONCE):
                if clock.spent:
                    return near
                shares = np.array_split(wanted[first : first + THREADS * AT_ONCE], THREADS)
                list(pool.map(partial(nearest_rows, cloud, tree, near), workspaces, shares))
            # So many rows lie within the core that none has its neighbours farther out.
            inside = ranking.radius <= 3.1 * CORE * ranking.radius.max()
            todo = (todo & core)[inside]
            points, head, stop = (part[inside] for part in (cloud.points, cloud.head, cloud.stop))
            cloud = cloud._replace(points=points, head=head, stop=stop)
    return near


def measured_knn(points: NDArray[np.float64], count: int, clock: Clock) -> NDArray[np.int32]:
    """Return what ``exact_knn`` does, by measuring all rows: a second at most, none to compile."""
    import numpy as np

    near = np.zeros((len(points), count), np.int32)
    if clock.spent:
        return near
    for row, point in enumerate(points):
        away = np.zeros(len(points))
        for j, x in enumerate(point):
            difference = points[:, j] - x
            away += difference * difference
        away[row] = np.inf
        among = np.flatnonzero(away <= np.partition(away, count - 1)[count - 1])
        near[row] = among[np.argsort(away[among], kind="stable")[:count]]
    return near


def centred(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the points centred and scaled, columns padded to a multiple of 4, and the unit.

    It is a power of two: a search is the same, bit for bit, in any unit of measure.
    """
    import numpy as np

    rows, columns = points.shape
    padded = np.zeros((rows, -(-columns // 4) * 4))
    padded[:, :columns] = points - points.mean(axis=0)
    largest = float(np.abs(padded).max())
    unit = float(2.0 ** np.round(np.log2(largest))) if largest > 0 else 1.0
    padded /= unit
    return padded, unit
