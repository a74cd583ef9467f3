"""A tree of boxes over points that leave one by one.

Thirty-two points make a leaf, sixteen leaves a group, sixteen groups a group above, up to the
root. Boxes are tight, and shrink when a point leaves. Coordinates are whole numbers of 16 bits,
points of a grid: they say where to look, never what is found there. A point with equal coordinates
lies nowhere farther from its place on the grid than half a diagonal of a cell.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.simd import LANES, POINTS

# The norm of the farthest point on the grid. Squares of all distances that are looked at, those
# to a point beyond the origin included, must stay below 2^30.
REACH = 8000
# How far beyond the origin the farthest points are looked for. Any number is right; with two
# thirds the fewest leaves are looked at, in three columns and in thirty.
ANTIPODE = 0.65
# The bias of a box without points: no distance is as large.
EMPTY = np.int32(1 << 30)

# blocks: leaves by pairs of columns by points by two; norms: leaves by points, squared;
# alive: a bit for each point of a leaf that is left; slots: the point of each place of a leaf;
# place: point to leaf and slot. low, high: groups by pairs of columns by children by two;
# flat, lift: the bias of children when the nearest are sought, and when the farthest are;
# base: the first group of each level, lowest first.
Tree = namedtuple("Tree", "blocks norms alive slots place low high flat lift base")


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
def fill(tree, points, order, starts):
    """Put points into leaves, and draw the boxes from the leaves up."""
    blocks, norms, alive, slots, place = tree.blocks, tree.norms, tree.alive, tree.slots, tree.place
    low, high, flat, lift, base = tree.low, tree.high, tree.flat, tree.lift, tree.base
    for leaf in range(len(starts) - 1):
        for slot in range(starts[leaf + 1] - starts[leaf]):
            point = order[starts[leaf] + slot]
            slots[leaf, slot] = point
            place[point] = leaf * POINTS + slot
            alive[leaf] |= np.int64(1) << slot
            square = np.int64(0)
            for j in range(points.shape[1]):
                value = np.int64(points[point, j])
                blocks[leaf, j >> 1, slot, j & 1] = value
                square += value * value
            norms[leaf, slot] = square
        for j in range(points.shape[1]):
            draw_leaf(blocks, alive, low, high, leaf, j)
        flat[leaf // LANES, leaf % LANES] = 0
        lift[leaf // LANES, leaf % LANES] = lift_of(norms, alive, leaf)
    for level in range(len(base) - 2):
        for group in range(base[level], base[level + 1]):
            index = group - base[level]
            parent, child = base[level + 1] + index // LANES, index % LANES
            for j in range(points.shape[1]):
                draw_group(low, high, flat, group, parent, child, j)
            flat[parent, child] = 0
            lift[parent, child] = lift[group].min()


@kernel
def draw_leaf(blocks, alive, low, high, leaf, j):
    """Draw the two sides of the box of a leaf in a column; that of an empty one stays."""
    pair, side = j >> 1, j & 1
    least, most = np.int16(32767), np.int16(-32768)
    for slot in range(POINTS):
        if alive[leaf] >> slot & 1:
            value = blocks[leaf, pair, slot, side]
            least, most = min(least, value), max(most, value)
    if least <= most:
        low[leaf // LANES, pair, leaf % LANES, side] = least
        high[leaf // LANES, pair, leaf % LANES, side] = most


@kernel
def draw_group(low, high, flat, group, parent, child, j):
    """Draw the two sides of the box of a group in a column; that of an empty one stays."""
    pair, side = j >> 1, j & 1
    least, most = np.int16(32767), np.int16(-32768)
    for lane in range(LANES):
        if flat[group, lane] == 0:
            least = min(least, low[group, pair, lane, side])
            most = max(most, high[group, pair, lane, side])
    if least <= most:
        low[parent, pair, child, side], high[parent, pair, child, side] = least, most


@kernel
def lift_of(norms, alive, leaf):
    """Give the least bias that a point of a leaf has when the farthest are sought."""
    most = -1
    for slot in range(POINTS):
        if alive[leaf] >> slot & 1:
            most = max(most, norms[leaf, slot])
    return EMPTY if most < 0 else lifted(most)


@kernel
def lifted(norm):
    """Give the bias of a point, by its squared norm, when the farthest are sought."""
    return np.int32(np.floor(-(1.0 + 1.0 / ANTIPODE) * norm))


@kernel
def remove(tree, point):
    """Let a point leave; the sides of boxes that it touched shrink."""
    blocks, norms, alive = tree.blocks, tree.norms, tree.alive
    low, high, flat, lift, base = tree.low, tree.high, tree.flat, tree.lift, tree.base
    leaf, slot = tree.place[point] // POINTS, tree.place[point] % POINTS
    alive[leaf] &= ~(np.int64(1) << slot)
    group, child = leaf // LANES, leaf % LANES
    gone = lifted(norms[leaf, slot])
    if lift[group, child] == gone:
        lift[group, child] = lift_of(norms, alive, leaf)
        flat[group, child] = EMPTY if alive[leaf] == 0 else np.int32(0)
        for level in range(len(base) - 2):
            index = group - base[level]
            parent, child = base[level + 1] + index // LANES, index % LANES
            if lift[parent, child] != gone:
                break
            lift[parent, child] = lift[group].min()
            flat[parent, child] = flat[group].min()
            group = parent
    for j in range(2 * blocks.shape[1]):
        pair, side = j >> 1, j & 1
        gone = blocks[leaf, pair, slot, side]
        group, child = leaf // LANES, leaf % LANES
        if low[group, pair, child, side] != gone and high[group, pair, child, side] != gone:
            continue
        draw_leaf(blocks, alive, low, high, leaf, j)
        for level in range(len(base) - 2):
            index = group - base[level]
            parent, child = base[level + 1] + index // LANES, index % LANES
            if low[parent, pair, child, side] != gone and high[parent, pair, child, side] != gone:
                break
            draw_group(low, high, flat, group, parent, child, j)
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
        blocks=np.zeros((leaves, pairs, POINTS, 2), np.int16),
        norms=np.zeros((leaves, POINTS), np.int32),
        alive=np.zeros(leaves, np.int64),
        slots=np.full((leaves, POINTS), -1, np.int32),
        place=np.empty(len(points), np.int32),
        low=np.zeros((groups, pairs, LANES, 2), np.int16),
        high=np.zeros((groups, pairs, LANES, 2), np.int16),
        flat=np.full((groups, LANES), EMPTY),
        lift=np.full((groups, LANES), EMPTY),
        base=base,
    )
    order, keys = np.arange(count, dtype=np.int32), np.empty(count, np.int16)
    starts, parts = np.array([0, count]), np.array([leaves])
    while len(parts) < leaves:
        starts, parts = halve(points, order, keys, starts, parts)
    fill(tree, points, order, starts)
    return tree
