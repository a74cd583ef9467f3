"""Searches in a tree: the rows nearest to a point, and the one farthest from it, exactly.

What is compared of a point x is |x|² - 2 x r, which is |x - r|² less what all points share. Boxes
bound the distance to r from below. Those with the farthest points are found like those with the
nearest: with the centre of the tree as origin and any a > 0,

    |x - r|² = (1 + a)|x|² + (1 + 1/a)|r|² - a |x + r/a|²

so that x is far from r where it is near to -r/a, the more so the larger |x| is. A bias on the
distance, -(1 + 1/a)|x|², takes that in.

The coarse grid rules points out, then the fine one, each with room for the distance between a point
and its place there. What they cannot rule out is measured in double precision, summed over the
columns in their order; of equals the lowest row counts.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.simd import (
    LANES,
    first_bit,
    near_boxes,
    near_points,
)
from microagg_ops.kernels.tree import COARSE, REACH

# What is searched. points: points by columns; rows: the rows of each point, from head to stop, in
# order; grid: their places on the grid of the tree.
Cloud = namedtuple("Cloud", "points rows head stop grid")
# What was found (distances, rows, points: a heap, the worst first) and room to find it: where to
# look (query among points, centre among boxes), the least values so far, what is still to be
# measured (maybe) and what is still to be looked at (bounds, levels and indices of groups; leaves).
Room = namedtuple(
    "Room",
    "distances rows points query centre values maybe maybe_value bounds levels indices leaves "
    "boxes",
)

# How far beyond the origin the farthest points are looked for: two thirds of the way. Any number
# is right; with this the fewest leaves are looked at, in three columns and in thirty.
ANTIPODE, FAR = 2 / 3, np.int32(20)
# The threshold of boxes before anything was found: all boxes are within.
EVERY = np.int32(1 << 30)
MOST = np.int32(2**31 - 1)
# Leaves that wait to be looked at together, so that reading one does not wait for another.
WAITING = 32
NO_LIMIT = 1 << 62


def make_room(k: int, columns: int) -> Room:
    """Make room for searches of up to k rows."""
    pairs = -(-columns // 2)
    return Room(
        distances=np.zeros(k),
        rows=np.zeros(k, np.int64),
        points=np.zeros(k, np.int64),
        query=np.zeros((pairs, 2), np.int16),
        centre=np.zeros((pairs, 2), np.int16),
        values=np.zeros(k, np.int32),
        maybe=np.zeros(256, np.int64),
        maybe_value=np.zeros(256, np.int32),
        bounds=np.zeros(256, np.int32),
        levels=np.zeros(256, np.int64),
        indices=np.zeros(256, np.int64),
        leaves=np.zeros(WAITING + LANES, np.int32),
        boxes=np.zeros(LANES, np.int32),
    )


@kernel
def start(cloud, room, point, k, far):
    """Make room for a search, and say where it looks; give the squared norm of the point."""
    query, centre, norm = room.query, room.centre, np.int64(0)
    for j in range(cloud.grid.shape[1]):
        value = np.int64(cloud.grid[point, j])
        norm += value * value
        query[j >> 1, j & 1] = -2 * value
        centre[j >> 1, j & 1] = np.int64(np.rint(-value / ANTIPODE)) if far else value
    for i in range(k):
        room.distances[i], room.rows[i], room.points[i] = np.inf, len(cloud.rows), -1
        room.values[i] = MOST
    return norm


@kernel
def worse(distance, row, other_distance, other_row):
    """Whether one candidate ranks behind another: farther, or as far with a higher row."""
    return distance > other_distance or (distance == other_distance and row > other_row)


@kernel
def replace_worst(distances, rows, points, k, distance, row, point):
    """Put a candidate in the place of the worst of the k, which stay a heap."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= k:
            break
        if child + 1 < k and worse(
            distances[child + 1], rows[child + 1], distances[child], rows[child]
        ):
            child += 1
        if not worse(distances[child], rows[child], distance, row):
            break
        distances[at], rows[at], points[at] = distances[child], rows[child], points[child]
        at = child
    distances[at], rows[at], points[at] = distance, row, point


@kernel
def measure(cloud, room, here, k, far, size, threshold):
    """Measure in double precision what the grid could not rule out."""
    points, rows, head, stop = cloud.points, cloud.rows, cloud.head, cloud.stop
    distances, found_rows, found = room.distances, room.rows, room.points
    for i in range(size):
        if room.maybe_value[i] > threshold:
            continue
        point = room.maybe[i]
        away = 0.0
        for j in range(points.shape[1]):
            difference = points[point, j] - points[here, j]
            away += difference * difference
        away = -away if far else away
        for at in range(head[point], stop[point]):
            if not worse(distances[0], found_rows[0], away, rows[at]):
                break
            replace_worst(distances, found_rows, found, k, away, rows[at], point)


@kernel
def push_sorted(bounds, levels, indices, boxes, size, mask, level, first):
    """Put children on the pile of what is still to be looked at, the nearest on top."""
    begin = size
    while mask:
        lane = first_bit(mask)
        mask &= mask - 1
        bound = boxes[lane]
        at = size
        while at > begin and bounds[at - 1] < bound:
            bounds[at] = bounds[at - 1]
            levels[at] = levels[at - 1]
            indices[at] = indices[at - 1]
            at -= 1
        bounds[at] = bound
        levels[at] = level
        indices[at] = first + lane
        size += 1
    return size


@kernel
def lower_worst(values, k, value):
    """Put a value in the place of the largest of k, which stay a heap; give the largest."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= k:
            break
        if child + 1 < k and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        values[at] = values[child]
        at = child
    values[at] = value
    return values[0]


@kernel
def widened(worst, far, slack, off, norm):
    """Give the value up to which a point may be among those sought: fine, coarse, and of boxes.

    Two points are ``slack`` nearer or farther on the grid at most; so is the worst of those found,
    and so is what may replace it. On the coarse grid what may replace it is ``off`` more.
    """
    if worst >= MOST:
        return MOST, MOST, EVERY
    if far:
        away = max(0.0, np.sqrt(norm - worst - 1.0) - 2.0 * slack)
        value = norm - away * away
        # Values of boxes are nearer to those of points the nearer the origin is; the centre among
        # the boxes is rounded too.
        box = (value + norm / ANTIPODE) / ANTIPODE + 3.0 * slack * REACH
        rough = (norm - max(0.0, away - off) ** 2) / COARSE
        return np.int32(np.ceil(value)), np.int32(np.ceil(rough)), np.int32(np.ceil(box))
    away = np.sqrt(max(0.0, worst + norm)) + 2.0 * slack
    value, rough = np.ceil(away * away), ((away + off) ** 2 - norm) / COARSE
    return np.int32(value - norm), np.int32(np.ceil(rough)), np.int32(value)


@kernel
def value_of(grid, point, here, far):
    """Give what is compared of a point, on the fine grid."""
    value = np.int64(0)
    for j in range(grid.shape[1]):
        there = np.int64(grid[point, j])
        value += there * (there - 2 * np.int64(grid[here, j]))
    return np.int32(~value if far else value)


@kernel
def search(cloud, tree, room, point, k, far, most):
    """Find the k rows nearest to a point, or the k farthest from it; give the work done.

    With less than the work it takes at most, what is found is only nearly the nearest.
    """
    norm = start(cloud, room, point, k, far)
    # Arrays by names of their own: a field that is read in a loop is counted each time.
    low, high, base, slots, alive = tree.low, tree.high, tree.base, tree.slots, tree.alive
    rough, bias, grid = tree.rough, tree.bias, cloud.grid
    query, centre, boxes = room.query, room.centre, room.boxes
    bounds, levels, indices, leaves = room.bounds, room.levels, room.indices, room.leaves
    values, maybe, maybe_value = room.values, room.maybe, room.maybe_value
    tops, weight = tree.tops, FAR if far else np.int32(0)
    flip = np.int32(-1 if far else 0)
    pairs = rough.shape[1]
    # Twice half a diagonal of a cell, and a little for the rounding on the way to the grid.
    slack = 1.001 * np.sqrt(cloud.grid.shape[1])
    threshold, coarse_threshold, box_threshold = widened(MOST, far, slack, 0.0, norm)
    off = tree.off[0]
    bounds[0], levels[0], indices[0] = -MOST, len(base) - 2, 0
    size, waiting, work, many = 1, 0, 0, 0
    while size > 0 and (work < most or threshold >= MOST):
        size -= 1
        level, index = levels[size], indices[size]
        if bounds[size] <= box_threshold:
            mask = near_boxes(
                low, high, tops, centre, boxes, base[level] + index, pairs, weight, box_threshold
            )
            work += 1
            if level > 0:
                size = push_sorted(
                    bounds, levels, indices, boxes, size, mask, level - 1, index * LANES
                )
            else:
                while mask:
                    leaves[waiting] = index * LANES + first_bit(mask)
                    mask &= mask - 1
                    waiting += 1
        if waiting < WAITING and size > 0 and threshold < MOST:
            continue
        for i in range(waiting):
            leaf = leaves[i]
            found = near_points(rough, bias, query, leaf, pairs, flip, coarse_threshold)
            found &= alive[leaf]
            while found:
                candidate = slots[leaf, first_bit(found)]
                found &= found - 1
                value = value_of(grid, candidate, point, far)
                if value > threshold:
                    continue
                if many == len(maybe):
                    measure(cloud, room, point, k, far, many, threshold)
                    many = 0
                maybe[many], maybe_value[many] = candidate, value
                many += 1
                if value < values[0]:
                    worst = lower_worst(values, k, value)
                    threshold, coarse_threshold, box_threshold = widened(
                        worst, far, slack, off, norm
                    )
        work += waiting
        waiting = 0
    measure(cloud, room, point, k, far, many, threshold)
    return work


@kernel
def nearest_rows(cloud, tree, near, most, room, wanted):
    """Write the rows nearest to each row of the points wanted, the nearest first."""
    rows, count = cloud.rows, near.shape[1]
    distances, found = room.distances, room.rows
    for point in wanted:
        search(cloud, tree, room, point, count + 1, False, most)
        # A heap with the worst first: taking the worst away again and again sorts it.
        for size in range(count, 0, -1):
            away, row = distances[0], found[0]
            replace_worst(
                distances, found, room.points, size, distances[size], found[size], room.points[size]
            )
            distances[size], found[size] = away, row
        for at in range(cloud.head[point], cloud.stop[point]):
            here, i, j = rows[at], 0, 0
            while j < count:
                if found[i] != here:
                    near[here, j] = found[i]
                    j += 1
                i += 1
