"""Pairs of clusters that are found before their turn, by several threads.

One thread forms clusters; it plans which pairs are found next, and takes part when it has to wait.
The others find pairs while points leave and boxes shrink. What they see may be out of date, but
never wrong: who is left at the end was there all the time, and within the boxes. So what they find
counts where all of it is left when its turn comes.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import lean
from microagg_ops.kernels.search import search
from microagg_ops.kernels.shared import claim, linger, peek, post

# first: the point that a pair begins with; last: the row farthest from it; rows, points: what is
# nearest to either; stage: how far a pair is; todo: pairs in the order in which they are to be
# found, -1 behind the last; over: 1 when no more help is wanted; away, chosen, kept: room to plan.
Ahead = namedtuple("Ahead", "first last rows points stage todo over away chosen kept")

EMPTY, PLANNED, BEGUN, FOUND = (np.int32(stage) for stage in range(4))
# Pairs that wait to be found: with fewer, more are planned.
FEW = 8
# Moments that a thread waits for a plan: about a twentieth of a second. A thread that was left
# alone must not wait for ever.
PATIENCE = 1_000_000
# Kinds of searches, each of which learns what to expect.
FIRST, SECOND, FARTHEST = range(3)


def make_ahead(k: int, pairs: int) -> Ahead:
    """Make room for what is found ahead: so many pairs of clusters of k rows."""
    return Ahead(
        first=np.full(pairs, -1),
        last=np.zeros(pairs, np.int64),
        rows=np.zeros((pairs, 2, k), np.int64),
        points=np.zeros((pairs, 2, k), np.int64),
        stage=np.zeros(pairs, np.int32),
        todo=np.full(pairs + 1, -1),
        over=np.zeros(1, np.int32),
        away=np.zeros(pairs),
        chosen=np.zeros(pairs, np.int64),
        kept=np.zeros(pairs, np.bool_),
    )


@lean
def all_left(labels, rows):
    """Whether none of these rows has a cluster yet; where too few were found, some are no rows."""
    left = True
    for row in rows:
        left &= row < len(labels) and labels[row] < 0
    return left


@lean
def recall(ahead, point):
    """Give where the pair is that begins with a point, or -1."""
    for i in range(len(ahead.first)):
        if ahead.first[i] == point:
            return i
    return -1


@lean
def is_found(ahead, slot):
    """Whether a pair was found."""
    return peek(ahead.stage, slot) == FOUND


@lean
def waiting(ahead):
    """Give how many pairs nobody has begun to find."""
    count = 0
    for stage in ahead.stage:
        count += stage == PLANNED
    return count


@lean
def line_up(ahead):
    """Have the pairs found that the chosen points begin; forget others, but those being found."""
    first, stage, todo = ahead.first, ahead.stage, ahead.todo
    chosen, kept = ahead.chosen, ahead.kept
    kept[:] = False
    for i in range(len(chosen)):
        slot = recall(ahead, chosen[i]) if chosen[i] >= 0 else -1
        if slot >= 0:
            kept[slot] = True
    slot = many = 0
    for point in chosen:
        if point < 0:
            break
        known = recall(ahead, point)
        if known < 0:
            while slot < len(first) and (kept[slot] or not vacate(stage, slot)):
                slot += 1
            if slot == len(first):
                break
            first[slot], kept[slot] = point, True
            post(stage, slot, PLANNED)
            known = slot
        todo[many] = known
        many += 1
    todo[many] = -1


@lean
def vacate(stage, slot):
    """Empty the place of a pair; give whether nobody is finding it."""
    before = peek(stage, slot)
    return before != BEGUN and claim(stage, slot, before, EMPTY)


@lean
def begin(ahead):
    """Begin with the first pair that nobody has begun to find; give which, or -1."""
    for slot in ahead.todo:
        if slot < 0:
            break
        if peek(ahead.stage, slot) == PLANNED and claim(ahead.stage, slot, PLANNED, BEGUN):
            return slot
    return -1


@lean
def find_pair(cloud, tree, room, ahead, slot, k):
    """Find both clusters of a pair that was begun."""
    work = find_first(cloud, tree, room, ahead, slot, k)
    work += find_second(cloud, tree, room, ahead, slot, k)
    post(ahead.stage, slot, FOUND)
    return work


@lean
def help_out(cloud, tree, ahead, k, room):
    """Find pairs until no more help is wanted, or nobody plans any; give the work done."""
    work = idle = 0
    while idle < PATIENCE and not peek(ahead.over, 0):
        slot = begin(ahead)
        if slot >= 0:
            work += find_pair(cloud, tree, room, ahead, slot, k)
            idle = 0
        else:
            linger()
            idle += 1
    return work


@lean
def stop_helping(ahead):
    """Want no more help."""
    post(ahead.over, 0, np.int32(1))


@lean
def await_pair(cloud, tree, room, ahead, slot, k):
    """Find a pair, or others while another thread finds it; give the work done."""
    work = 0
    while peek(ahead.stage, slot) == BEGUN:
        other = begin(ahead)
        if other < 0:
            return work
        work += find_pair(cloud, tree, room, ahead, other, k)
    if claim(ahead.stage, slot, PLANNED, BEGUN):
        work += find_pair(cloud, tree, room, ahead, slot, k)
    return work


@lean
def keep(ahead, room, slot, side, k):
    """Keep what was found as one of the two clusters of a pair."""
    for i in range(k):
        ahead.rows[slot, side, i], ahead.points[slot, side, i] = room.rows[i], room.points[i]


@lean
def find_first(cloud, tree, room, ahead, slot, k):
    """Find the rows nearest to the point that a pair begins with."""
    work = search(cloud, tree, room, ahead.first[slot], k, False, FIRST)
    keep(ahead, room, slot, 0, k)
    return work


@lean
def find_second(cloud, tree, room, ahead, slot, k):
    """Find the row farthest from the point that a pair begins with, and the rows nearest to it."""
    work = search(cloud, tree, room, ahead.first[slot], 1, True, FARTHEST)
    ahead.last[slot] = room.rows[0]
    if room.points[0] >= 0:
        work += search(cloud, tree, room, room.points[0], k, False, SECOND)
    keep(ahead, room, slot, 1, k)
    return work
