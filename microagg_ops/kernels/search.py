"""Searches in a tree: the rows nearest to a point, and the one farthest from it, exactly.

Boxes bound the distance of points to a point r from below. Those with the farthest points are found
like those with the nearest: with the centre of the tree as origin and any a > 0,

    |x - r|² = (1 + a)|x|² + (1 + 1/a)|r|² - a |x + r/a|²

so that x is far from r where it is near to -r/a, the more so the larger |x| is. A bias on the
distance, -(1 + 1/a)|x|², takes that in.

The coarse grid rules points out, then the fine one, each with room for the distances between points
and their places there. What they cannot rule out is measured in double precision, summed over the
columns in their order; of equals the lowest row counts.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import inlined, lean
from microagg_ops.kernels.packing import near_points, pack
from microagg_ops.kernels.simd import (
    COLUMNS,
    LANES,
    POINTS,
    first_bit,
    near_boxes,
    squared,
)
from microagg_ops.kernels.tree import MIDDLE, REACH
from microagg_ops.kernels.vectors import ask

# What is searched. points: points by columns; rows: the rows of each point, from head to stop, in
# order.
Cloud = namedtuple("Cloud", "points rows head stop")
# What was found (distances, rows, points: a heap, the worst first) and room to find it: where to
# look (weights on the coarse grid, here on the fine one, centre among boxes), the least values so
# far, what is still to be looked at (bounds, levels and indices of groups; leaves; hits, places
# that the coarse grid did not rule out) and what is still to be measured (maybe).
Room = namedtuple(
    "Room",
    "distances rows points weights here centre values maybe maybe_value bounds levels indices "
    "leaves hits groups boxes usual",
)
# Where a search looks from: the squared norm of the point on the fine grid, and how much nearer or
# farther points are there; its squared norm on the coarse grid, what all products there have in
# common, the width of a cell, and how much nearer or farther points are.
Origin = namedtuple("Origin", "norm slack rough_norm shift cell off")

# How far beyond the origin the farthest points are looked for: two thirds of the way. Any number
# is right; with this the fewest leaves are looked at, in three columns and in thirty.
ANTIPODE, FAR = 2 / 3, np.int32(20)
# The threshold of boxes before anything was found: all boxes are within.
EVERY = np.int32(1 << 30)
MOST = np.int32(2**31 - 1)
# Leaves that wait to be looked at together, so that reading one does not wait for another.
WAITING = 32
# Searches of a kind follow each other with much the same result. So many times the usual deviation
# from the usual value is what the next is expected not to exceed; where it does, it begins again.
KINDS, ROOM = 3, 3.0


def make_room(k: int, columns: int) -> Room:
    """Make room for searches of up to k rows."""
    leaves = WAITING + LANES * LANES + LANES
    return Room(
        distances=np.zeros(k),
        rows=np.zeros(k, np.int64),
        points=np.zeros(k, np.int64),
        weights=np.zeros((-(-columns // 4), 4), np.int8),
        here=np.zeros(-(-columns // COLUMNS) * COLUMNS, np.int16),
        centre=np.zeros((-(-columns // 2), 2), np.int16),
        values=np.zeros(k, np.int32),
        maybe=np.zeros(256, np.int64),
        maybe_value=np.zeros(256, np.int32),
        bounds=np.zeros(256, np.int32),
        levels=np.zeros(256, np.int64),
        indices=np.zeros(256, np.int64),
        leaves=np.zeros(leaves, np.int32),
        hits=np.zeros(leaves * POINTS, np.int32),
        groups=np.zeros(2 * LANES, np.int32),
        boxes=np.zeros(LANES, np.int32),
        usual=np.full((KINDS, 2), np.inf),
    )


@lean
def start(cloud, tree, room, point, k, far, guess):
    """Make room for a search, and say where it looks."""
    weights, here, centre, place = room.weights, room.here, room.centre, tree.place[point]
    norm = rough_norm = total = rest = np.int64(0)
    for j in range(cloud.points.shape[1]):
        value = np.int64(tree.fine[place, j])
        near = np.int64(tree.rough[place // POINTS, j >> 2, place % POINTS, j & 3]) - MIDDLE
        norm += value * value
        rough_norm += near * near
        total -= near
        rest += (value - np.int64(tree.cell[0]) * near) ** 2
        weights[j >> 2, j & 3] = -near
        here[j] = value
        centre[j >> 1, j & 1] = np.int64(np.rint(-value / ANTIPODE)) if far else value
    for i in range(k):
        room.distances[i], room.rows[i], room.points[i] = np.inf, len(cloud.rows), -1
        room.values[i] = guess
    # Twice half a diagonal of a cell, and a little for the rounding on the way to the grid.
    slack = 1.001 * np.sqrt(cloud.points.shape[1])
    off = tree.cell[1] + np.sqrt(rest)
    return Origin(norm, slack, rough_norm, MIDDLE * total, tree.cell[0], off)


@lean
def worse(distance, row, other_distance, other_row):
    """Whether one candidate ranks behind another: farther, or as far with a higher row."""
    return distance > other_distance or (distance == other_distance and row > other_row)


@lean
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


@lean
def measure(cloud, tree, room, here, k, far, size, threshold):
    """Measure in double precision what the grid could not rule out.

    Gives whether a point has left since the grid was looked at, as it may where other threads form
    clusters: others were then ruled out by it, and what is found may not be the nearest.
    """
    points, rows, head, stop = cloud.points, cloud.rows, cloud.head, cloud.stop
    distances, found_rows, found, maybe = room.distances, room.rows, room.points, room.maybe
    many, lost = 0, False
    for i in range(size):
        if room.maybe_value[i] <= threshold:
            maybe[many] = tree.slots[maybe[i]]
            ask(points, maybe[many])
            many += 1
    for point in maybe[:many]:
        away = 0.0
        for j in range(points.shape[1]):
            difference = points[point, j] - points[here, j]
            away += difference * difference
        away = -away if far else away
        lost |= head[point] == stop[point]
        for at in range(head[point], stop[point]):
            if not worse(distances[0], found_rows[0], away, rows[at]):
                break
            replace_worst(distances, found_rows, found, k, away, rows[at], point)
    return lost


@lean
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


@lean
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


@lean
def widened(worst, far, origin):
    """Give the value up to which a point may be among those sought: fine, coarse, and of boxes.

    Two points are ``slack`` nearer or farther on the grid at most; so is the worst of those found,
    and so is what may replace it. On the coarse grid points are ``off`` nearer or farther.
    """
    slack = origin.slack
    if worst >= MOST:
        return MOST, MOST, EVERY
    if far:
        away = max(0.0, np.sqrt(-1.0 - worst) - 2.0 * slack)
        rough = max(0.0, away - origin.off) / origin.cell
        limit = origin.shift + np.floor((rough * rough - origin.rough_norm - 1.0) / 2.0)
        # Values of boxes are nearer to those of points the nearer the origin is; the centre among
        # the boxes is rounded too.
        value = origin.norm - away * away
        box = (value + origin.norm / ANTIPODE) / ANTIPODE + 3.0 * slack * REACH
        return ~np.int32(away * away), ~np.int32(limit), np.int32(np.ceil(box))
    away = np.sqrt(worst) + 2.0 * slack
    rough = (away + origin.off) / origin.cell
    limit = origin.shift + np.ceil((rough * rough - origin.rough_norm) / 2.0)
    value = np.int32(np.ceil(away * away))
    return value, np.int32(limit), value


@inlined
def sift(cloud, tree, room, origin, point, k, far, count, many, limits, lost):
    """Keep of what was hit what the fine grid does not rule out; give how much, and the limits."""
    fine, here, hits, values = tree.fine, room.here, room.hits, room.values
    maybe, maybe_value = room.maybe, room.maybe_value
    flip = np.int32(-1 if far else 0)
    for i in range(count):
        value = squared(fine, here, hits[i]) ^ flip
        if value > limits[0]:
            continue
        if many == len(maybe):
            lost |= measure(cloud, tree, room, point, k, far, many, limits[0])
            many = 0
        maybe[many], maybe_value[many] = hits[i], value
        many += 1
        if value < values[0]:
            limits = widened(lower_worst(values, k, value), far, origin)
    return many, limits, lost


@lean
def expected(usual, far):
    """Give a value that a search of a kind will hardly exceed."""
    guess = usual[0] + ROOM * usual[1]
    return np.int32(guess) if guess < (-1 if far else MOST) else MOST


@lean
def learn(usual, value):
    """Learn what a search of a kind found: how large values are, and how far from that."""
    if value == MOST:
        return
    off = abs(value - usual[0])
    if np.isinf(off):
        usual[0], usual[1] = value, abs(value) / 4
    else:
        usual[0] += (value - usual[0]) / 8
        usual[1] += (off - usual[1]) / 8


@lean
def search(cloud, tree, room, point, k, far, kind):
    """Find the k rows nearest to a point, or the k farthest from it; give the work done.

    ``kind`` says whose results tell what to expect; it changes the work, never what is found.
    """
    guess = expected(room.usual[kind], far)
    work = look(cloud, tree, room, point, k, far, guess)
    if room.values[0] == guess and guess < MOST:
        work += look(cloud, tree, room, point, k, far, MOST)
    learn(room.usual[kind], room.values[0])
    return work


@lean
def look(cloud, tree, room, point, k, far, guess):
    """Find the k rows nearest to a point, or the k farthest from it, within what is expected.

    Gives the work done. Where k values below the guess were not found, the worst value is still
    the guess.
    """
    origin = start(cloud, tree, room, point, k, far, guess)
    low, high, tops, base, alive = tree.low, tree.high, tree.tops, tree.base, tree.alive
    rough, bias, fine = tree.rough, tree.bias, tree.fine
    weights, centre, boxes = room.weights, room.centre, room.boxes
    bounds, levels, indices = room.bounds, room.levels, room.indices
    leaves, hits, groups = room.leaves, room.hits, room.groups
    weight, flip = (FAR, np.int32(-1)) if far else (np.int32(0), np.int32(0))
    quads, pairs = len(weights), len(centre)
    limits = widened(guess, far, origin)
    bounds[0], levels[0], indices[0] = -MOST, len(base) - 2, 0
    blind = guess == MOST
    size, waiting, work, many, enough, lost = 1, 0, 0, 0, 1 if blind else WAITING, False
    while size > 0:
        size -= 1
        level, index = levels[size], indices[size]
        if bounds[size] <= limits[2]:
            mask = near_boxes(
                low, high, tops, centre, boxes, base[level] + index, pairs, weight, limits[2]
            )
            work += 1
            if level > (0 if blind else 1):
                size = push_sorted(
                    bounds, levels, indices, boxes, size, mask, level - 1, index * LANES
                )
            elif level == 1:
                # The order of groups hardly matters where it is known what to expect.
                near = pack(groups, 0, mask, index * LANES)
                for i in range(near):
                    mask = near_boxes(
                        low, high, tops, centre, boxes, groups[i], pairs, weight, limits[2]
                    )
                    waiting = pack(leaves, waiting, mask, groups[i] * LANES)
                work += near
            else:
                waiting = pack(leaves, waiting, mask, index * LANES)
        if waiting < enough and size > 0:
            continue
        # What the first leaves hold says which others need not be looked at.
        enough = min(2 * enough, WAITING)
        count = near_points(
            rough, bias, alive, weights, leaves, hits, waiting, quads, flip, limits[1]
        )
        for i in range(count):
            ask(fine, hits[i])
        many, limits, lost = sift(
            cloud, tree, room, origin, point, k, far, count, many, limits, lost
        )
        work += waiting
        waiting = 0
    lost |= measure(cloud, tree, room, point, k, far, many, limits[0])
    if lost:
        # No row: it is not left when its turn comes.
        room.rows[0], room.points[0] = len(cloud.rows), -1
    return work


@lean
def nearest_rows(cloud, tree, near, room, wanted):
    """Write the rows nearest to each row of the points wanted, the nearest first."""
    rows, count = cloud.rows, near.shape[1]
    distances, found = room.distances, room.rows
    for point in wanted:
        search(cloud, tree, room, point, count + 1, False, 0)
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
