"""Where searches look from, what they look for, and room for what they find."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import inlined, lean
from microagg_ops.kernels.heap import lower_worst
from microagg_ops.kernels.simd import COLUMNS, LANES, POINTS, first_bit, near_boxes, squared
from microagg_ops.kernels.tree import MIDDLE, REACH

# What is searched. points: points by columns; rows: the rows of each point, from head to stop, in
# order.
Cloud = namedtuple("Cloud", "points rows head stop")
# Searches that are made side by side. wanted: the points from which they look. For each of them:
# what was found (distances, rows, points: a heap, the worst first), where it looks (weights on the
# coarse grid, here on the fine one, centre among boxes, origins), the least values so far and the
# limits that they set, what is still to be measured (maybe, so many), whether a point was lost,
# whether it is under way, its home, the nearest group there, and the branches to be looked into.
# Room to look into one: visits, by which searches; its boxes, groups and leaves; hits, the places
# that the coarse grid did not rule out, and whose they are. usual: what searches of a kind found;
# work: what was done; pairs: what the searches are for.
Room = namedtuple(
    "Room",
    "wanted distances rows points weights here centre origins values limits maybe maybe_value many "
    "lost under_way home nearest branches visits boxes groups leaves hits whose usual work pairs",
)
# Where a search looks from: the squared norm of the point on the fine grid, and how much nearer or
# farther points are there; its squared norm on the coarse grid, what all products there have in
# common, the width of a cell, and how much nearer or farther points are.
Origin = namedtuple("Origin", "norm slack rough_norm shift cell off")

# How far beyond the origin the farthest points are looked for: two thirds of the way. Any number
# is right; with this the fewest leaves are looked at, in three columns and in thirty.
ANTIPODE, FAR = 2 / 3, np.int32(20)
# What turns all bits of a value, so that the farthest have the least, and what leaves it as it is.
TURN, NONE = np.int32(-1), np.int32(0)
# The threshold of boxes before anything was found: all boxes are within.
EVERY = np.int32(1 << 30)
MOST = np.int32(2**31 - 1)
# Leaves of a branch, and the points that it has room for.
LEAVES = LANES * LANES
BRANCH = LEAVES * POINTS
# Places that were hit wait for so many others before they are looked at.
LATE = 32
# Places that wait to be measured.
MAYBE = 64
# Kinds of searches, each of which learns what to expect.
KINDS = 3


def make_room(k: int, columns: int, searches: int = 1) -> Room:
    """Make room for searches of up to k rows, so many side by side."""
    hits = BRANCH + 2 * LATE + LANES
    return Room(
        wanted=np.zeros(searches, np.int64),
        distances=np.zeros((searches, k)),
        rows=np.zeros((searches, k), np.int64),
        points=np.zeros((searches, k), np.int64),
        weights=np.zeros((searches, -(-columns // 4), 4), np.int8),
        here=np.zeros((searches, -(-columns // COLUMNS) * COLUMNS), np.int16),
        centre=np.zeros((searches, -(-columns // 2), 2), np.int16),
        origins=np.zeros((searches, len(Origin._fields))),
        values=np.zeros((searches, k), np.int32),
        limits=np.zeros((searches, 3), np.int32),
        maybe=np.zeros((searches, MAYBE), np.int32),
        maybe_value=np.zeros((searches, MAYBE), np.int32),
        many=np.zeros(searches, np.int64),
        lost=np.zeros(searches, np.bool_),
        under_way=np.zeros(searches, np.bool_),
        home=np.zeros(searches, np.int64),
        nearest=np.zeros(searches, np.int64),
        branches=np.zeros(searches, np.int64),
        visits=np.zeros(searches + 1, np.int64),
        boxes=np.zeros(LANES, np.int32),
        groups=np.zeros(2 * LANES, np.int32),
        leaves=np.zeros(LEAVES + LANES, np.int32),
        hits=np.zeros(hits, np.int32),
        whose=np.zeros(hits, np.int32),
        usual=np.full((KINDS, 2), np.inf),
        work=np.zeros(1, np.int64),
        pairs=np.zeros(searches, np.int64),
    )


@inlined
def start(cloud, tree, room, i, k, far, guess):
    """Make room for a search, and say where it looks."""
    weights, here, centre = room.weights[i], room.here[i], room.centre[i]
    place = tree.place[room.wanted[i]]
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
    # Twice half a diagonal of a cell, and a little for the rounding on the way to the grid.
    slack = 1.001 * np.sqrt(cloud.points.shape[1])
    origin = room.origins[i]
    origin[0], origin[1], origin[2] = norm, slack, rough_norm
    origin[3], origin[4], origin[5] = MIDDLE * total, tree.cell[0], tree.cell[1] + np.sqrt(rest)
    room.many[i], room.lost[i] = 0, False
    room.home[i] = find_home(
        tree.low, tree.high, tree.tops, tree.base, centre, room.boxes, FAR if far else NONE
    )
    if guess == MOST:
        leaf = room.home[i] * LEAVES if far else place // POINTS
        guess = some_value(tree.fine, tree.alive, here, room.values[i], leaf, k, far)
    for j in range(k):
        room.distances[i, j], room.rows[i, j], room.points[i, j] = np.inf, len(cloud.rows), -1
        room.values[i, j] = guess
    set_limits(room.limits[i], origin, guess, far)


@lean
def find_home(low, high, tops, base, centre, boxes, weight):
    """Give the branch that is nearest to where a search looks."""
    least, home = MOST, 0
    for group in range(base[2], base[3]):
        mask = near_boxes(low, high, tops, centre, boxes, group, len(centre), weight, least)
        while mask:
            lane = first_bit(mask)
            mask &= mask - 1
            if boxes[lane] < least:
                least, home = boxes[lane], (group - base[2]) * LANES + lane
    return home


@lean
def some_value(fine, living, here, values, leaf, k, far):
    """Give a value that a search will not exceed: k points, from a leaf on, have lower ones."""
    values[:k], missing = MOST, k
    for _ in range(len(living)):
        if missing <= 0:
            break
        alive = living[leaf]
        while alive:
            value = squared(fine, here, leaf * POINTS + first_bit(alive)) ^ (TURN if far else NONE)
            alive &= alive - 1
            missing -= 1
            if value < values[0]:
                lower_worst(values, k, value)
        leaf = (leaf + 1) % len(living)
    return values[0] + np.int32(1) if values[0] < (-1 if far else MOST) else MOST


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


@lean
def set_limits(limits, o, worst, far):
    """Set the limits of a search by the worst value that it has."""
    limits[0], limits[1], limits[2] = widened(
        worst, far, Origin(o[0], o[1], o[2], o[3], o[4], o[5])
    )
