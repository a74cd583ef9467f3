"""The rows nearest to each row, for searches that look no farther."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from microagg_ops.methods.mdav import gathered, prepared
from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rows up to which neighbours are exact; beyond, how many boxes and leaves a search looks at, in
# roots of the rows. Four of five neighbours of 100,000 rows are right, three of four of a million.
EXACT, GLANCE = 50_000, 1.9
# The part of the norm within which a table counts as its core.
CORE = 1 / 16
THREADS, AT_ONCE = 2, 4_000


def together(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give the rows in an order in which those that lie together come together."""
    import numpy as np

    distinct, rows, head, stop = gathered(points)
    slots = prepared(distinct, rows, head, stop, distinct.mean(axis=0))[2].slots
    number = np.empty(len(distinct), np.int64)
    number[slots[slots >= 0]] = np.arange(len(distinct))
    order = np.repeat(number, stop - head)
    return rows[np.argsort(order, kind="stable")]


def neighbours(points: NDArray[np.float64], count: int, clock: Clock) -> NDArray[np.int32]:
    """Give the rows nearest to each row, the nearest first; beyond a size nearly so.

    From the outside in: the grid that reaches the farthest point is too coarse for a dense core.
    Where the clock stops it, the rest are zero.
    """
    import numpy as np

    from microagg_ops.kernels.search import make_room, nearest_rows

    distinct, rows, head, stop = gathered(points)
    near = np.zeros((len(points), count), np.int32)
    rooms = [make_room(count + 1, points.shape[1]) for _ in range(THREADS)]
    most = 1 << 62 if len(points) <= EXACT else int(GLANCE * len(points) ** 0.5)
    todo = np.ones(len(distinct), bool)
    with ThreadPoolExecutor(THREADS) as pool:
        while todo.any():
            cloud, ranking, tree = prepared(distinct, rows, head, stop, distinct.mean(axis=0))
            core = ranking.radius < CORE * ranking.radius.max()
            if (stop - head)[core].sum() <= count:
                core[:] = False
            # Points that lie together look at the same leaves.
            wanted = tree.slots[tree.slots >= 0]
            wanted = wanted[(todo & ~core)[wanted]]
            for first in range(0, len(wanted), THREADS * AT_ONCE):
                if clock.spent:
                    return near
                shares = np.array_split(wanted[first : first + THREADS * AT_ONCE], THREADS)
                list(pool.map(partial(nearest_rows, cloud, tree, near, most), rooms, shares))
            # So many rows lie within the core that none has its neighbours farther out.
            inside = ranking.radius <= 3.1 * CORE * ranking.radius.max()
            todo = (todo & core)[inside]
            distinct, head, stop = distinct[inside], head[inside], stop[inside]
    return near
