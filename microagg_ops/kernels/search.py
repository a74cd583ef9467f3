"""Searches in a tree: the rows nearest to a point, and the one farthest from it, exactly.

The farthest is found like the nearest: with the centre of the tree as origin and any a > 0,

    |x - r|² = (1 + a)|x|² + (1 + 1/a)|r|² - a |x + r/a|²

so that x is far from r where it is near to -r/a, the more so the larger |x| is. A bias on the
distance, -(1 + 1/a)|x|², makes one search of both; boxes bound it as they bound a distance.

Single precision rules points out, with room for its rounding. What it cannot rule out is measured
in double precision, summed over the columns in their order; of equals the lowest row counts.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.simd import (
    LANES,
    POINTS,
    first_bit,
    keep,
    near_boxes,
    near_points,
)
from microagg_ops.kernels.tree import ANTIPODE

# What is searched. points: points by columns; rows: the rows of each point, from head to stop, in
# order; coordinates: what the tree holds; scale: from distances to those of the tree.
Cloud = namedtuple("Cloud", "points rows head stop coordinates scale")
# What was found (distances, rows, points: a heap, the worst first) and room to find it: where to
# look (query, its columns in order), the least values so far, what is still to be measured (maybe)
# and what is still to be looked at (bounds, levels and indices of groups; leaves).
Room = namedtuple(
    "Room",
    "distances rows points query order values maybe maybe_value bounds levels indices leaves "
    "boxes lanes",
)

MOST = np.float32(3e38)
UNIT = 2.0**-24
# Leaves that wait to be looked at together, so that reading one does not wait for another.
WAITING = 32
NO_LIMIT = 1 << 62


def make_room(k: int, columns: int) -> Room:
    """Make room for searches of up to k rows."""
    return Room(
        distances=np.zeros(k),
        rows=np.zeros(k, np.int64),
        points=np.zeros(k, np.int64),
        query=np.zeros(columns, np.float32),
        order=np.zeros(columns, np.int64),
        values=np.zeros(k, np.float32),
        maybe=np.zeros(256, np.int64),
        maybe_value=np.zeros(256, np.float32),
        bounds=np.zeros(256, np.float32),
        levels=np.zeros(256, np.int64),
        indices=np.zeros(256, np.int64),
        leaves=np.zeros(WAITING + LANES, np.int32),
        boxes=np.zeros(LANES, np.float32),
        lanes=np.zeros(POINTS, np.float32),
    )


@kernel
def start(cloud, room, point, k, far):
    """Make room for a search, and say where it looks."""
    query, order = room.query, room.order
    for j in range(len(query)):
        value = cloud.coordinates[point, j]
        query[j] = -value / ANTIPODE if far else value
        # By falling distance from the origin: the first columns rule out most points.
        at = j
        while at > 0 and abs(query[order[at - 1]]) < abs(query[j]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = j
    for i in range(k):
        room.distances[i], room.rows[i], room.points[i] = np.inf, len(cloud.rows), -1
        room.values[i] = MOST


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
    """Measure in double precision what single precision could not rule out."""
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
def widened(worst, far, columns, reach):
    """Allow a value for its rounding and for that of what it is compared with.

    ``reach`` is the norm, in the tree, that no point exceeds.
    """
    if worst >= MOST:
        return MOST
    rounding = 4.0 * (columns + 4) * UNIT
    if far:
        return np.float32(worst + 40.0 * rounding * reach * reach)
    most = np.sqrt(worst) + 8.0 * UNIT * reach
    return np.float32(min(most * most * (1.0 + rounding), MOST))


@kernel
def search(cloud, tree, room, point, k, far, reach, most):
    """Find the k rows nearest to a point, or the k farthest from it; give the work done.

    With less than the work it takes at most, what is found is only nearly the nearest.
    """
    start(cloud, room, point, k, far)
    # Arrays by names of their own: a field that is read in a loop is counted each time.
    low, high, blocks, base, slots = tree.low, tree.high, tree.blocks, tree.base, tree.slots
    query, order, boxes, lanes = room.query, room.order, room.boxes, room.lanes
    bounds, levels, indices, leaves = room.bounds, room.levels, room.indices, room.leaves
    values, maybe, maybe_value = room.values, room.maybe, room.maybe_value
    lift = tree.lift if far else tree.flat
    group_lift = tree.group_lift if far else tree.group_flat
    columns = blocks.shape[1]
    first = (columns + 1) // 2
    threshold = MOST
    bounds[0], levels[0], indices[0] = -MOST, len(base) - 2, 0
    size, waiting, work, many = 1, 0, 0, 0
    while size > 0 and (work < most or threshold >= MOST):
        size -= 1
        level, index = levels[size], indices[size]
        if bounds[size] <= threshold:
            mask = near_boxes(
                low, high, group_lift, query, order, boxes,
                base[level] + index, columns, first, threshold,
            )  # fmt: skip
            work += 1
            if level > 0:
                size = push_sorted(
                    bounds, levels, indices, boxes, size, mask, level - 1, index * LANES
                )
            else:
                waiting += keep(leaves, mask, waiting, index * LANES)
        if waiting < WAITING and size > 0 and threshold < MOST:
            continue
        for i in range(waiting):
            leaf = leaves[i]
            found = near_points(blocks, lift, query, order, lanes, leaf, columns, first, threshold)
            while found:
                slot = first_bit(found)
                found &= found - 1
                if many == len(maybe):
                    measure(cloud, room, point, k, far, many, threshold)
                    many = 0
                maybe[many], maybe_value[many] = slots[leaf, slot], lanes[slot]
                many += 1
                if lanes[slot] < values[0]:
                    worst = lower_worst(values, k, lanes[slot])
                    threshold = widened(worst, far, columns, reach)
        work += waiting
        waiting = 0
    measure(cloud, room, point, k, far, many, threshold)
    return work


@kernel
def nearest_rows(cloud, tree, room, near, first, stop, most):
    """Write the rows nearest to each row of some points, the nearest first."""
    rows, count = cloud.rows, near.shape[1]
    distances, found = room.distances, room.rows
    for point in range(first, stop):
        search(cloud, tree, room, point, count + 1, False, 1.0 + 1e-9, most)
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
