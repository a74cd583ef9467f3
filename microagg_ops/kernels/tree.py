"""A tree of boxes over points that leave one by one.

Thirty-two points make a leaf, sixteen leaves a group, sixteen groups a group above, up to the
root. Boxes are tight, and shrink when a point leaves. Coordinates are whole numbers, points of a
grid: they say where to look, never what is found there. A point with equal coordinates lies nowhere
farther from its place on the grid than half a diagonal of a cell. Boxes have 16 bits a side; the
points of a leaf have 8, on a coarse grid, so that looking at them all reads little memory.
"""

from __future__ import annotations

from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.simd import (
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
# The width of a cell of the coarse grid, whose numbers have eight bits.
COARSE = 63
ALL = (1 << LANES) - 1

# rough: points of the coarse grid, leaves by pairs of columns by points by two; bias: their squared
# norms times the width of a cell; off: how far a point may be from its place on the coarse grid;
# blocks, norms: points of the fine grid, and their squared norms; alive: a bit for each point of a
# leaf that is left; slots: the point of each place of a leaf; place: point to leaf and slot.
# low, high: groups by pairs of columns by children by two; tops: the largest squared norm among the
# points of each child, or -1 for one without points; base: the first group of each level, lowest
# first.
Tree = namedtuple("Tree", "rough bias off blocks norms alive slots place low high tops base")


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
    blocks, norms, alive, slots, place = tree.blocks, tree.norms, tree.alive, tree.slots, tree.place
    rough, bias, off = tree.rough, tree.bias, np.int64(0)
    for i in range(len(starts) - 1):
        leaf = first + i
        for slot in range(starts[i + 1] - starts[i]):
            point = order[starts[i] + slot]
            slots[leaf, slot] = point
            place[point] = leaf * POINTS + slot
            alive[leaf] |= np.int64(1) << slot
            square = rough_square = rest = np.int64(0)
            for j in range(points.shape[1]):
                value = np.int64(points[point, j])
                near = np.int64(np.rint(value / COARSE))
                blocks[leaf, j >> 1, slot, j & 1] = value
                rough[leaf, j >> 1, slot, j & 1] = near
                square += value * value
                rough_square += near * near
                rest += (value - COARSE * near) ** 2
            norms[leaf, slot], bias[leaf, slot] = square, COARSE * rough_square
            off = max(off, rest)
    return np.sqrt(off)


@kernel
def draw(tree, leaves):
    """Draw the boxes from the leaves up."""
    blocks, norms, alive = tree.blocks, tree.norms, tree.alive
    low, high, tops, base = tree.low, tree.high, tree.tops, tree.base
    for leaf in range(leaves):
        for pair in range(blocks.shape[1]):
            redraw_leaf(blocks, alive, low, high, leaf, pair)
        tops[leaf // LANES, leaf % LANES] = top_of_leaf(norms, alive[leaf], leaf)
    for level in range(len(base) - 2):
        for group in range(base[level], base[level + 1]):
            index = group - base[level]
            parent, child = base[level + 1] + index // LANES, index % LANES
            for pair in range(low.shape[1]):
                redraw_group(low, high, tops, group, parent, child, pair)
            tops[parent, child] = top_of_group(tops, ALL, group)


@kernel
def redraw_leaf(blocks, alive, low, high, leaf, pair):
    """Draw the sides of the box of a leaf in a pair of columns; those of an empty one stay."""
    if alive[leaf]:
        begin = (leaf * blocks.shape[1] + pair) * 2 * POINTS
        to = ((leaf // LANES * blocks.shape[1] + pair) * LANES + leaf % LANES) * 2
        draw_leaf(blocks, blocks, low, high, alive[leaf], begin, to)


@kernel
def redraw_group(low, high, tops, group, parent, child, pair):
    """Draw the sides of the box of a group in a pair of columns; those of an empty one stay."""
    full = filled(tops, group)
    if full:
        begin = (group * low.shape[1] + pair) * 2 * LANES
        to = ((parent * low.shape[1] + pair) * LANES + child) * 2
        draw_group(low, high, low, high, full, begin, to)


@inlined
def touches(low, high, group, pair, child, left, right):
    """Whether a point of two columns holds a side of a box; a box without width cannot shrink."""
    a, b = low[group, pair, child, 0], high[group, pair, child, 0]
    c, d = low[group, pair, child, 1], high[group, pair, child, 1]
    return (a != b and left in (a, b)) or (c != d and right in (c, d))


@kernel
def remove(blocks, norms, alive, place, low, high, tops, base, point):
    """Let a point leave; the sides of boxes that it touched shrink."""
    leaf, slot = place[point] // POINTS, place[point] % POINTS
    alive[leaf] &= ~(np.int64(1) << slot)
    group, child = leaf // LANES, leaf % LANES
    norm = norms[leaf, slot]
    if tops[group, child] == norm:
        tops[group, child] = top_of_leaf(norms, alive[leaf], leaf)
        for level in range(len(base) - 2):
            index = group - base[level]
            parent, child = base[level + 1] + index // LANES, index % LANES
            if tops[parent, child] != norm:
                break
            tops[parent, child] = top_of_group(tops, ALL, group)
            group = parent
    for pair in range(blocks.shape[1]):
        left, right = blocks[leaf, pair, slot, 0], blocks[leaf, pair, slot, 1]
        group, child = leaf // LANES, leaf % LANES
        if not touches(low, high, group, pair, child, left, right):
            continue
        redraw_leaf(blocks, alive, low, high, leaf, pair)
        for level in range(len(base) - 2):
            index = group - base[level]
            parent, child = base[level + 1] + index // LANES, index % LANES
            if not touches(low, high, parent, pair, child, left, right):
                break
            redraw_group(low, high, tops, group, parent, child, pair)
            group = parent


def make_tree(points: np.ndarray) -> Tree:
    """Build a tree over points of the grid (points by columns), in steps."""
    count, columns = points.shape
    pairs, leaves = -(-columns // 2), -(-count // POINTS)
    sizes = [-(-leaves // LANES)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // LANES))
    base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    groups = int(base[-1])
    tree = Tree(
        rough=np.zeros((leaves, pairs, POINTS, 2), np.int8),
        bias=np.zeros((leaves, POINTS), np.int32),
        off=np.zeros(1),
        blocks=np.zeros((leaves, pairs, POINTS, 2), np.int16),
        norms=np.zeros((leaves, POINTS), np.int32),
        alive=np.zeros(leaves, np.int64),
        slots=np.full((leaves, POINTS), -1, np.int32),
        place=np.empty(len(points), np.int32),
        low=np.zeros((groups, pairs, LANES, 2), np.int16),
        high=np.zeros((groups, pairs, LANES, 2), np.int16),
        tops=np.full((groups, LANES), -1, np.int32),
        base=base,
    )
    order, keys = np.arange(count, dtype=np.int32), np.empty(count, np.int16)
    starts, parts = np.array([0, count]), np.array([leaves])
    if leaves > 1:
        starts, parts = halve(points, order, keys, starts, parts)

    def divided(side: int) -> float:
        """Divide one side of the first cut into leaves, and fill them."""
        bounds, left = starts[side : side + 2], parts[side : side + 1]
        while len(left) < parts[side]:
            bounds, left = halve(points, order, keys, bounds, left)
        return float(fill(tree, points, order, bounds, parts[:side].sum()))

    # Both sides at once, if they are worth a thread: neither touches what the other does.
    with ThreadPoolExecutor(2) as pool:
        both = pool.map if leaves > 100 else map
        tree.off[0] = max(both(divided, range(len(parts))))
    draw(tree, leaves)
    return tree
