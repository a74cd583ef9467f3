"""A tree of boxes over points that leave one by one.

Thirty-two points make a leaf, sixteen leaves a group, sixteen groups a group above, up to the
root. Boxes are tight, and shrink when points have left. Coordinates are whole numbers, points of a
grid: they say where to look, never what is found there. A point with equal coordinates lies nowhere
farther from its place on the grid than half a diagonal of a cell. On the fine grid a coordinate has
16 bits; on the coarse one it has 8, so that looking at all points of a leaf reads little memory.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.simd import (
    COLUMNS,
    LANES,
    POINTS,
    draw_group,
    draw_leaf,
    filled,
    top_of_group,
    top_of_leaf,
)

# The norm of the farthest point on the grid. Squares of all distances that are looked at, those
# to a point beyond the origin included, must stay below 2^30.
REACH = 8000
# What is added to numbers of the coarse grid, which are bytes, and how far they may go without; and
# the largest norm there, so that half its square has 16 bits.
MIDDLE, MOST_ROUGH, ROUGH_REACH = 128, 127, 200
ALL = (1 << LANES) - 1

# rough: points of the coarse grid, leaves by fours of columns by points by four; bias: half their
# squared norms; cell: how wide its cells are, and how far a point may be from its place; fine:
# points of the fine grid by columns, leaf after leaf; norms: their squared norms; alive: a bit for
# each point of a leaf that is left; slots: the point of each place; place: point to its place.
# low, high: groups by pairs of columns by children by two; tops: the largest squared norm among the
# points of each child, or -1 for one without points; base: the first group of each level, lowest
# first; stale: leaves that points have left since their boxes were drawn, how many in the last
# place, and known: which they are; redrawn: room for groups.
Tree = namedtuple(
    "Tree",
    "rough bias cell fine norms alive slots place low high tops base stale known redrawn",
)


@kernel
def select(keys, order, first, stop, middle):
    """Sort a segment so far that what is before the middle is not larger than what is after."""
    low, high = first, stop - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def widest(points, order, first, stop):
    """Give the column in which a segment varies most, judged by at most 64 of its points."""
    step = max(1, (stop - first) // 64)
    best, column = -1.0, 0
    for j in range(points.shape[1]):
        count, total, squares = 0, 0.0, 0.0
        for i in range(first, stop, step):
            value = np.float64(points[order[i], j])
            count += 1
            total += value
            squares += value * value
        spread = squares / count - (total / count) ** 2
        if spread > best:
            best, column = spread, j
    return column


@kernel
def halve(points, order, keys, starts, leaves):
    """Halve the segments of an order that are to be several leaves, at a whole number of leaves.

    Each along the column in which it varies most; the larger parts of the tree stay whole.
    """
    segments = len(leaves)
    halves = np.empty(2 * segments + 1, np.int64)
    parts = np.empty(2 * segments, np.int64)
    many = 0
    for s in range(segments):
        first, stop = starts[s], starts[s + 1]
        halves[many], parts[many] = first, leaves[s]
        many += 1
        if leaves[s] == 1:
            continue
        unit = 1
        while unit * LANES < leaves[s]:
            unit *= LANES
        left = (leaves[s] // unit + 1) // 2 * unit
        middle = first + left * POINTS
        column = widest(points, order, first, stop)
        for i in range(first, stop):
            keys[i] = points[order[i], column]
        select(keys, order, first, stop, middle)
        parts[many - 1] = left
        halves[many], parts[many] = middle, leaves[s] - left
        many += 1
    halves[many] = starts[segments]
    return halves[: many + 1], parts[:many]


@kernel
def fill(tree, points, order, starts, first):
    """Put points into leaves, the first of which has this number."""
    fine, norms, alive, slots, place = tree.fine, tree.norms, tree.alive, tree.slots, tree.place
    rough, bias, cell, off = tree.rough, tree.bias, np.int32(tree.cell[0]), np.int64(0)
    share = np.float32(1 / cell)
    for i in range(len(starts) - 1):
        leaf = first + i
        alive[leaf] = (np.int64(1) << (starts[i + 1] - starts[i])) - 1
        for slot in range(starts[i + 1] - starts[i]):
            point, at = order[starts[i] + slot], leaf * POINTS + slot
            slots[at], place[point] = point, at
            square = rough_square = rest = np.int32(0)
            for j in range(points.shape[1]):
                value = np.int32(points[point, j])
                near = np.int32(np.rint(value * share))
                fine[at, j] = value
                rough[leaf, j >> 2, slot, j & 3] = near + MIDDLE
                square += value * value
                rough_square += near * near
                rest += (value - cell * near) ** 2
            norms[leaf, slot], bias[leaf, slot] = square, rough_square >> 1
            off = max(off, np.int64(rest))
    return np.sqrt(off)


@kernel
def draw(tree, leaves):
    """Draw the boxes of leaves, and of all groups that they are in."""
    low, high, tops, base, redrawn = tree.low, tree.high, tree.tops, tree.base, tree.redrawn
    alive, known, level, many = tree.alive, tree.known, 0, 0
    # Groups are known by numbers behind those of the leaves.
    behind = len(alive)
    for leaf in leaves:
        known[leaf] = False
        if alive[leaf]:
            draw_leaf(tree.fine, low, high, alive[leaf], leaf)
        group = leaf // LANES
        tops[group, leaf % LANES] = top_of_leaf(tree.norms, alive[leaf], leaf)
        if not known[behind + group]:
            known[behind + group] = True
            redrawn[many] = group
            many += 1
    at = 0
    while at < many:
        group = redrawn[at]
        at += 1
        known[behind + group] = False
        if group >= base[level + 1]:
            level += 1
        if level == len(base) - 2:
            continue
        index = group - base[level]
        parent, child = base[level + 1] + index // LANES, index % LANES
        full = filled(tops, group)
        if full:
            for pair in range(low.shape[1]):
                begin = (group * low.shape[1] + pair) * 2 * LANES
                draw_group(
                    low, high, full, begin, ((parent * low.shape[1] + pair) * LANES + child) * 2
                )
        tops[parent, child] = top_of_group(tops, ALL, group)
        if not known[behind + parent]:
            known[behind + parent] = True
            redrawn[many] = parent
            many += 1


@kernel
def remove(tree, point):
    """Let a point leave; boxes stay as they are until they are mended."""
    stale, leaf = tree.stale, tree.place[point] // POINTS
    tree.alive[leaf] &= ~(np.int64(1) << (tree.place[point] % POINTS))
    if not tree.known[leaf]:
        tree.known[leaf] = True
        stale[stale[-1]] = leaf
        stale[-1] += 1


@kernel
def mend(tree):
    """Draw the boxes anew that points have left."""
    draw(tree, tree.stale[: tree.stale[-1]])
    tree.stale[-1] = 0


def aligned(shape, kind):
    """Make an array of zeros that begins where vectors in memory do."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    raw = np.zeros(size + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(kind).reshape(shape)


def make_tree(points: np.ndarray) -> Tree:
    """Build a tree over points of the grid (points by columns), in steps."""
    count, columns = points.shape
    wide, leaves = -(-columns // COLUMNS) * COLUMNS, -(-count // POINTS)
    sizes = [-(-leaves // LANES)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // LANES))
    base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    groups = int(base[-1])
    tree = Tree(
        rough=aligned((leaves, -(-columns // 4), POINTS, 4), np.uint8),
        bias=aligned((leaves, POINTS), np.int16),
        cell=np.zeros(2),
        fine=aligned((leaves * POINTS, wide), np.int16),
        norms=aligned((leaves, POINTS), np.int32),
        alive=np.zeros(leaves, np.int64),
        slots=np.full(leaves * POINTS, -1, np.int32),
        place=np.empty(len(points), np.int32),
        low=aligned((groups, wide // 2, LANES, 2), np.int16),
        high=aligned((groups, wide // 2, LANES, 2), np.int16),
        tops=np.full((groups, LANES), -1, np.int32),
        base=base,
        stale=np.zeros(leaves + 1, np.int32),
        known=np.zeros(leaves + groups, np.bool_),
        redrawn=np.zeros(groups, np.int32),
    )
    largest = max(int(points.max()), -int(points.min()))
    tree.cell[0] = max(-(-largest // MOST_ROUGH), -(-REACH // ROUGH_REACH))

    def filled_in(order: np.ndarray, starts: np.ndarray, first: int) -> float:
        return float(fill(tree, points, order, starts, first))

    _, offs = cut_up(points, filled_in)
    tree.cell[1] = max(offs)
    draw(tree, np.arange(leaves, dtype=np.int32))
    return tree


def cut_up(
    points: np.ndarray, then: Callable[..., Any] = lambda *_: None
) -> tuple[np.ndarray, list[Any]]:
    """Put points in an order whose stretches are leaves; they lie together, and so do longer ones.

    ``then`` is called for both sides of the first cut, at once if they are worth a thread: with the
    order, where the leaves begin in it, and the number of the first one. Gives what came of it too.
    """
    count = len(points)
    order, keys = np.arange(count, dtype=np.int32), np.empty(count, points.dtype)
    starts, parts = np.array([0, count]), np.array([-(-count // POINTS)])
    if parts[0] > 1:
        starts, parts = halve(points, order, keys, starts, parts)

    def divided(side: int) -> Any:
        # Neither side touches what the other does.
        bounds, left = starts[side : side + 2], parts[side : side + 1]
        while len(left) < parts[side]:
            bounds, left = halve(points, order, keys, bounds, left)
        return then(order, bounds, parts[:side].sum())

    with ThreadPoolExecutor(2) as pool:
        both = pool.map if parts.sum() > 100 else map
        return order, list(both(divided, range(len(parts))))
