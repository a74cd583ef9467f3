"""A tree of boxes over points that leave one by one.

Thirty-two points make a leaf, sixteen leaves a group, sixteen groups a group above, up to the
root. Boxes are tight, and shrink when a point leaves. Coordinates are single precision: they say
where to look, never what is found there.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.simd import LANES, POINTS

# How far beyond the origin the farthest points are looked for. Any number is right; with two
# thirds the fewest leaves are looked at, in three columns and in thirty.
ANTIPODE = np.float32(0.65)

# blocks: leaves by columns by points; slots: leaves by points, the point of each place.
# low, high: groups by columns by children; base: the first group of each level, lowest first.
# lift, group_lift: the bias of points, and (the least) of children, when the farthest are sought.
# flat, group_flat: the bias of a plain distance, zero. place: point to leaf and slot.
Tree = namedtuple("Tree", "blocks slots place low high lift group_lift flat group_flat base")


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
    """Give the column in which a segment varies most, judged by at most 256 of its points."""
    step = max(1, (stop - first) // 256)
    best, column = -1.0, 0
    for j in range(points.shape[1]):
        count, total, squares = 0, 0.0, 0.0
        for i in range(first, stop, step):
            value = points[order[i], j]
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
    blocks, slots, lift = tree.blocks, tree.slots, tree.lift
    low, high, group_lift, base = tree.low, tree.high, tree.group_lift, tree.base
    columns = points.shape[1]
    for leaf in range(len(starts) - 1):
        for slot in range(starts[leaf + 1] - starts[leaf]):
            point = order[starts[leaf] + slot]
            slots[leaf, slot] = point
            tree.place[point] = leaf * POINTS + slot
            square = np.float32(0.0)
            for j in range(columns):
                value = points[point, j]
                blocks[leaf, j, slot] = value
                square += value * value
            lift[leaf, slot] = -(np.float32(1.0) + np.float32(1.0) / ANTIPODE) * square
        group, child = leaf // LANES, leaf % LANES
        for j in range(columns):
            low[group, j, child], high[group, j, child] = range_of(blocks, blocks, leaf, j)
        group_lift[group, child] = least_of(lift, leaf)
    for level in range(len(base) - 2):
        for group in range(base[level], base[level + 1]):
            index = group - base[level]
            parent, child = base[level + 1] + index // LANES, index % LANES
            for j in range(columns):
                low[parent, j, child], high[parent, j, child] = range_of(low, high, group, j)
            group_lift[parent, child] = least_of(group_lift, group)


@kernel
def range_of(low, high, at, j):
    """Give the least and the largest of the ranges side by side; what is free is NaN or empty."""
    least, most = np.float32(np.inf), np.float32(-np.inf)
    for lane in range(low.shape[2]):
        least = low[at, j, lane] if low[at, j, lane] < least else least
        most = high[at, j, lane] if high[at, j, lane] > most else most
    return least, most


@kernel
def least_of(lift, at):
    """Give the least of the lifts side by side; that of a free place is 0."""
    least = np.float32(0.0)
    for lane in range(lift.shape[1]):
        least = min(least, lift[at, lane])
    return least


@kernel
def remove(blocks, slots, lift, low, high, group_lift, base, leaf, slot):
    """Let a point leave; the sides of boxes that it touched shrink."""
    slots[leaf, slot] = -1
    gone = lift[leaf, slot]
    lift[leaf, slot] = 0.0
    group, child = leaf // LANES, leaf % LANES
    if group_lift[group, child] == gone:
        group_lift[group, child] = least_of(lift, leaf)
        for level in range(len(base) - 2):
            index = group - base[level]
            parent, child = base[level + 1] + index // LANES, index % LANES
            if group_lift[parent, child] != gone:
                break
            group_lift[parent, child] = least_of(group_lift, group)
            group = parent
    for j in range(blocks.shape[1]):
        gone = blocks[leaf, j, slot]
        blocks[leaf, j, slot] = np.nan
        group, child = leaf // LANES, leaf % LANES
        if low[group, j, child] != gone and high[group, j, child] != gone:
            continue
        low[group, j, child], high[group, j, child] = range_of(blocks, blocks, leaf, j)
        for level in range(len(base) - 2):
            index = group - base[level]
            parent, child = base[level + 1] + index // LANES, index % LANES
            if low[parent, j, child] != gone and high[parent, j, child] != gone:
                break
            low[parent, j, child], high[parent, j, child] = range_of(low, high, group, j)
            group = parent


def make_tree(points: np.ndarray) -> Tree:
    """Build a tree over points (float32, points by columns), in steps."""
    count, columns = points.shape
    leaves = -(-count // POINTS)
    sizes = [-(-leaves // LANES)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // LANES))
    base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    groups = int(base[-1])
    tree = Tree(
        blocks=np.full((leaves, columns, POINTS), np.nan, np.float32),
        slots=np.full((leaves, POINTS), -1, np.int32),
        place=np.empty(len(points), np.int32),
        low=np.full((groups, columns, LANES), np.inf, np.float32),
        high=np.full((groups, columns, LANES), -np.inf, np.float32),
        lift=np.zeros((leaves, POINTS), np.float32),
        group_lift=np.zeros((groups, LANES), np.float32),
        flat=np.zeros((leaves, POINTS), np.float32),
        group_flat=np.zeros((groups, LANES), np.float32),
        base=base,
    )
    order, keys = np.arange(count, dtype=np.int32), np.empty(count, np.float32)
    starts, parts = np.array([0, count]), np.array([leaves])
    while len(parts) < leaves:
        starts, parts = halve(points, order, keys, starts, parts)
    fill(tree, points, order, starts)
    return tree
