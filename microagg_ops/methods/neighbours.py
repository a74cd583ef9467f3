"""The rows nearest to each row, for searches that look no farther."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from microagg_ops.methods.mdav import gathered, prepared
from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rows are cut so many times into blocks of so many, and then meet the neighbours of so many rows
# that they are neighbours of, and of their own, so many times: nine of ten neighbours of 100,000
# normal rows are right.
CUTS, BLOCK, BACK, ROUNDS = 8, 256, 6, 2
# The part of the norm within which a table counts as its core.
CORE = 1 / 16
# Rows in one call of a kernel, of which so many are searched for side by side.
THREADS, AT_ONCE, BESIDE = 2, 4_000, 16
# Rows that meet others in one call of a kernel: some hundredths of a second.
STRETCH = BLOCK * 64


def together(points: NDArray[np.float64]) -> NDArray[np.int32]:
    """Give the rows in an order in which those that lie together come together."""
    import numpy as np

    from microagg_ops.kernels.halving import cut_up

    return cut_up(centred(points)[0].astype(np.float32))[0]


def nearly(points: NDArray[np.float64], count: int, clock: Clock) -> NDArray[np.int32]:
    """Give nearly the rows nearest to each row, the nearest first.

    Rows that come together should lie together. Where the clock stops it, the rest are zero.
    """
    import numpy as np

    from microagg_ops.kernels import nearby
    from microagg_ops.kernels.halving import cut_up

    rows = len(points)
    short = centred(points)[0].astype(np.float32)
    near, away = np.zeros((rows, count), np.int32), np.full((rows, count), np.inf, np.float32)
    turned = np.empty((rows, points.shape[1]), np.float32)
    with ThreadPoolExecutor(THREADS) as pool:

        def each(work: Callable[..., Any]) -> None:
            """Do some work for all rows, a stretch of them at a time."""
            starts = range(0, rows, STRETCH)

            def stretch(first: int) -> None:
                if not clock.spent:
                    work(first, min(first + STRETCH, rows))

            list(pool.map(stretch, starts))

        order = np.arange(rows, dtype=np.int32)
        for cut in range(CUTS):
            if cut > 0:
                axes = np.random.default_rng(cut).normal(size=(points.shape[1],) * 2)
                each(partial(nearby.turn, short, axes.astype(np.float32), turned))
                order, _ = cut_up(turned)
            each(partial(nearby.meet, short, order, near, away, BLOCK))
        for _ in range(ROUNDS):
            back, many = np.zeros((rows, BACK), np.int32), np.zeros(rows, np.int32)
            nearby.turn_round(near, back, many)
            nearer = np.zeros_like(near)
            each(partial(nearby.introduce, short, near, back, many, nearer))
            near = nearer
    return near


def exactly(points: NDArray[np.float64], count: int, clock: Clock) -> NDArray[np.int32]:
    """Give the rows nearest to each row, the nearest first; of equals the lowest.

    From the outside in: the grid that reaches the farthest point is too coarse for a dense core.
    Where the clock stops it, the rest are zero.
    """
    import numpy as np

    from microagg_ops.kernels.room import make_room
    from microagg_ops.kernels.search import nearest_rows

    cloud = gathered(points)
    near = np.zeros((len(points), count), np.int32)
    rooms = [make_room(count + 1, points.shape[1], BESIDE) for _ in range(THREADS)]
    todo = np.ones(len(cloud.points), bool)
    with ThreadPoolExecutor(THREADS) as pool:
        while todo.any():
            ranking, tree = prepared(cloud, cloud.points.mean(axis=0))
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
                list(pool.map(partial(nearest_rows, cloud, tree, near), rooms, shares))
            # So many rows lie within the core that none has its neighbours farther out.
            inside = ranking.radius <= 3.1 * CORE * ranking.radius.max()
            todo = (todo & core)[inside]
            points, head, stop = (part[inside] for part in (cloud.points, cloud.head, cloud.stop))
            cloud = cloud._replace(points=points, head=head, stop=stop)
    return near


def centred(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Give points around zero in a unit of about one, filled up to fours of columns, and the unit.

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
