"""MDAV for tables that need no tree: the same labels by plain means, without a long compilation.

``brute_force`` compiles nothing. ``with_boxes`` compiles in seconds, and serves tables for which
that and its search together take less time than the tree takes to compile.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.kernels.mdav.boxes import Leaves

TREE, BOXES, BRUTE_FORCE = "tree", "boxes", "brute force"
# Steps are columns times rows, for each query. Measured on one processor: nanoseconds a step, and
# microseconds a call of numpy.
STEP, CALL = 3.5e-9, 1e-6
# Seconds of brute force in a process until it is worth importing the compiler and the kernels.
PATIENCE = 0.8
# Of tables up to this number of steps, all of them brute force, boxes are the faster choice as long
# as the tree has not been compiled: that takes half a minute.
WORTH_THE_TREE = 5e10
# Steps of the boxes in one call of the kernel: about a tenth of a second.
STEPS_PER_CALL = 5e7
# What brute force has taken in this process, by the estimate: tables may come in many strata.
_SPENT = [0.0]


def way(rows: int, columns: int, k: int) -> str:
    """Choose the way that is likely to be the fastest; the labels do not depend on it."""
    loaded = sys.modules.get("microagg_ops.kernels.mdav.exact")
    if loaded and getattr(loaded.form_pairs, "signatures", True):
        return TREE
    pairs = max(1, rows // (2 * k))
    steps = 4.0 * pairs * rows * columns / 2
    seconds = STEP * steps + CALL * (pairs * (12 * columns + 40) + 8 * rows)
    if _SPENT[0] + seconds <= PATIENCE:
        _SPENT[0] += seconds
        return BRUTE_FORCE
    from microagg_ops.kernels import is_ready
    from microagg_ops.kernels.mdav import exact

    return TREE if steps > WORTH_THE_TREE or is_ready(exact.form_pairs) else BOXES


def brute_force(points: NDArray[np.float64], k: int, clock: Clock) -> tuple[NDArray[np.int32], int]:
    """Form the clusters of MDAV with numpy; return the labels, -1 of rows left, and their number.

    Distances are summed over the columns in their order, sums kept in two doubles as by the
    kernels.
    """
    import numpy as np

    labels, label = np.full(len(points), -1, np.int32), 0
    columns, left = np.ascontiguousarray(points.T), np.arange(len(points))
    total, rest = np.zeros(len(columns)), np.zeros(len(columns))

    def add(values: NDArray[np.float64]) -> None:
        nonlocal total, rest
        after = total + values
        part = after - total
        rest += (total - (after - part)) + (values - part)
        total = after

    def squared_distances(centre: NDArray[np.float64]) -> NDArray[np.float64]:
        away = np.zeros(len(left))
        for column, x in zip(columns, centre, strict=True):
            difference = column - x
            away += difference * difference
        return away

    for row in points:
        add(row)
    while len(left) >= 2 * k:
        centre = (total + rest) / len(left)
        for _ in range(2):
            centre = columns[:, squared_distances(centre).argmax()]
            away = squared_distances(centre)
            limit = np.partition(away, k - 1)[k - 1]
            near, ties = np.flatnonzero(away < limit), np.flatnonzero(away == limit)
            near = np.concatenate([near, ties[: k - len(near)]])
            labels[left[near]] = label
            label += 1
            for row in columns[:, near].T:
                add(-row)
            stay = np.ones(len(left), bool)
            stay[near] = False
            columns, left = columns[:, stay], left[stay]
        clock.tick(1 - (len(left) / len(points)) ** 2)
    return labels, label


def with_boxes(points: NDArray[np.float64], k: int, clock: Clock) -> tuple[NDArray[np.int32], int]:
    """Form the clusters of MDAV with one level of boxes; return what ``brute_force`` does."""
    import numpy as np

    from microagg_ops.kernels.mdav import boxes
    from microagg_ops.kernels.sums import totals

    labels = np.full(len(points), -1, np.int32)
    leaves = make_leaves(points)
    total, rest = totals(points)
    found = boxes.Found(
        distances=np.empty(k),
        rows=np.empty(k, np.int64),
        places=np.empty(k, np.int64),
        bounds=np.empty(len(leaves.filled)),
        centre=np.empty(points.shape[1]),
    )
    state = np.array([len(points), 0])
    pairs = max(1, int(STEPS_PER_CALL / (4 * len(leaves.filled) * points.shape[1])))
    while state[boxes.LEFT] >= 2 * k:
        boxes.form_pairs(leaves, found, total, rest, labels, state, k, pairs)
        clock.tick(1 - (state[boxes.LEFT] / len(points)) ** 2)
    return labels, int(state[boxes.LABEL])


def make_leaves(points: NDArray[np.float64]) -> Leaves:
    """Put the rows into leaves: halved at the median of the widest column, again and again."""
    import numpy as np

    from microagg_ops.kernels.mdav.boxes import SIZE, Leaves

    def divide(rows: NDArray[np.int64]) -> None:
        """Order rows so that near ones lie together; equal ones stay in their order."""
        if len(rows) <= SIZE:
            return
        here = points[rows]
        widest = int((here.max(axis=0) - here.min(axis=0)).argmax())
        rows[:] = rows[np.argsort(here[:, widest], kind="stable")]
        middle = (len(rows) // SIZE + 1) // 2 * SIZE
        divide(rows[:middle])
        divide(rows[middle:])

    order = np.arange(len(points))
    divide(order)
    starts = np.arange(0, len(points), SIZE)
    place = np.empty(len(points), np.int64)
    place[order] = np.arange(len(points))
    return Leaves(
        points=points[order],
        rows=order,
        place=place,
        filled=np.diff(np.append(starts, len(points))),
        low=np.ascontiguousarray(np.minimum.reduceat(points[order], starts).T),
        high=np.ascontiguousarray(np.maximum.reduceat(points[order], starts).T),
        first=np.minimum.reduceat(order, starts),
    )
