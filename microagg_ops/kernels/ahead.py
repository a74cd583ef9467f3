"""Pairs of clusters that are found before their turn, by several threads.

One thread forms clusters; it plans which pairs are found next, and takes part when it has to wait.
The others find pairs while points leave and boxes shrink. What they see may be out of date, but
never wrong: who is left at the end was there all the time, and within the boxes. So what they find
counts where all of it is left when its turn comes.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import inlined, lean
from microagg_ops.kernels.search import search
from microagg_ops.kernels.shared import claim, linger, peek, post

# first: the point that a pair begins with; last: the row farthest from it; rows, points: what is
# nearest to either; stage: how far a pair is; slots: where the pair is that a point begins, or -1;
# todo: pairs in the order in which they are to be found, -1 behind the last; beside: how many a
# thread finds side by side; formed: how many were formed since they were planned; over: 1 when no
# more help is wanted; away, chosen, kept: room to plan.
Ahead = namedtuple(
    "Ahead", "first last rows points stage slots todo beside formed over away chosen kept"
)

EMPTY, PLANNED, BEGUN, FOUND = (np.int32(stage) for stage in range(4))
# Moments that a thread waits for a plan: about a second. A thread that was left alone must not wait
# for ever.
PATIENCE = 30_000_000
# Kinds of searches, each of which learns what to expect.
FIRST, SECOND, FARTHEST = range(3)


def make_ahead(k: int, pairs: int, points: int) -> Ahead:
    """Make room for what is found ahead among points: so many pairs of clusters of k rows."""
    return Ahead(
        first=np.full(pairs, -1),
        last=np.zeros(pairs, np.int64),
        rows=np.zeros((pairs, 2, k), np.int64),
        points=np.zeros((pairs, 2, k), np.int64),
        stage=np.zeros(pairs, np.int32),
        slots=np.full(points, -1, np.int32),
        todo=np.full(pairs + 1, -1),
        beside=np.ones(1, np.int64),
        formed=np.array([pairs]),
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
def line_up(ahead):
    """Have the pairs found that the chosen points begin; forget others, but those being found."""
    first, stage, slots, todo = ahead.first, ahead.stage, ahead.slots, ahead.todo
    chosen, kept = ahead.chosen, ahead.kept
    kept[:] = False
    for point in chosen:
        if point >= 0 and slots[point] >= 0:
            kept[slots[point]] = True
    slot = many = 0
    for point in chosen:
        if point < 0:
            break
        if slots[point] < 0:
            while slot < len(first) and (kept[slot] or not vacate(stage, slot)):
                slot += 1
            if slot == len(first):
                break
            if first[slot] >= 0:
                slots[first[slot]] = -1
            first[slot], slots[point], kept[slot] = point, slot, True
            post(stage, slot, PLANNED)
        todo[many] = slots[point]
        many += 1
    todo[many] = -1


@lean
def vacate(stage, slot):
    """Empty the place of a pair; give whether nobody is finding it."""
    before = peek(stage, slot)
    return before != BEGUN and claim(stage, slot, before, EMPTY)


@lean
def begin(ahead, pairs, count):
    """Begin with the first pairs that nobody has begun to find, beside some; give how many."""
    most = min(ahead.beside[0], len(pairs))
    for slot in ahead.todo:
        if slot < 0 or count == most:
            break
        if claim(ahead.stage, slot, PLANNED, BEGUN):
            pairs[count] = slot
            count += 1
    return count


@inlined
def find_pairs(cloud, tree, room, ahead, count, k):
    """Find both clusters of pairs that were begun."""
    find_first(cloud, tree, room, ahead, count, k)
    find_second(cloud, tree, room, ahead, count, k)
    for slot in room.pairs[:count]:
        post(ahead.stage, slot, FOUND)


@lean
def help_out(cloud, tree, ahead, k, room):
    """Find pairs until no more help is wanted, or nobody plans any."""
    idle = 0
    while idle < PATIENCE and not peek(ahead.over, 0):
        count = begin(ahead, room.pairs, 0)
        if count > 0:
            find_pairs(cloud, tree, room, ahead, count, k)
            idle = 0
        else:
            linger()
            idle += 1


@inlined
def await_pair(cloud, tree, room, ahead, slot, k):
    """Find a pair, or others while another thread finds it."""
    while peek(ahead.stage, slot) != FOUND:
        room.pairs[0] = slot
        count = begin(ahead, room.pairs, int(claim(ahead.stage, slot, PLANNED, BEGUN)))
        if count > 0:
            find_pairs(cloud, tree, room, ahead, count, k)
        else:
            linger()


@lean
def keep(ahead, room, i, side, k):
    """Keep what a search found as one of the two clusters of its pair."""
    slot = room.pairs[i]
    for j in range(k):
        ahead.rows[slot, side, j], ahead.points[slot, side, j] = room.rows[i, j], room.points[i, j]


@inlined
def find_first(cloud, tree, room, ahead, count, k):
    """Find the rows nearest to the points that pairs begin with."""
    for i in range(count):
        room.wanted[i] = ahead.first[room.pairs[i]]
    search(cloud, tree, room, count, k, False, FIRST)
    for i in range(count):
        keep(ahead, room, i, 0, k)


@inlined
def find_second(cloud, tree, room, ahead, count, k):
    """Find the rows farthest from the points that pairs begin with, and those nearest to them."""
    for i in range(count):
        room.wanted[i] = ahead.first[room.pairs[i]]
    search(cloud, tree, room, count, 1, True, FARTHEST)
    for i in range(count):
        ahead.last[room.pairs[i]] = room.rows[i, 0]
        # Where none was found for sure, what follows does not count.
        if room.points[i, 0] >= 0:
            room.wanted[i] = room.points[i, 0]
    search(cloud, tree, room, count, k, False, SECOND)
    for i in range(count):
        keep(ahead, room, i, 1, k)
