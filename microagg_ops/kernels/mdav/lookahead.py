"""Lookahead: helper threads find pairs of clusters before their turn.

One thread forms clusters. It schedules the pairs that will probably be needed next, and works on
them itself while it waits. Helpers run queries while points leave and boxes shrink. What they read
may be stale but never wrong: a point that is left at the end was in the tree all the time, and
within its boxes. So a result is valid if all of its rows are still there when its turn comes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import inlined, lean
from microagg_ops.kernels.mdav.branch_and_bound import search
from microagg_ops.kernels.simd.atomics import (
    compare_and_swap,
    load_acquire,
    spin_pause,
    store_release,
)


class Lookahead(NamedTuple):
    """Slots for pairs of clusters that are found ahead, shared by all threads."""

    first: np.ndarray  # (slots,) int64: the point that a pair begins with, or -1
    last: np.ndarray  # (slots,) int64: the row farthest from it
    rows: np.ndarray  # (slots, 2, k) int64: the rows of both clusters
    points: np.ndarray  # (slots, 2, k) int64: their points
    stage: np.ndarray  # (slots,) int32, atomic: EMPTY, PLANNED, BEGUN or FOUND
    slots: np.ndarray  # (points,) int32: the slot of the pair that a point begins, or -1
    todo: np.ndarray  # (slots + 1,) int64: slots in the order of their turns, then -1
    beside: np.ndarray  # (1,) int64: pairs that a thread finds side by side
    formed: np.ndarray  # (1,) int64: pairs formed since the last schedule
    over: np.ndarray  # (1,) int32, atomic: 1 when helpers shall end
    # Scratch of the schedule.
    away: np.ndarray  # (slots,) float64: the largest squared distances from the centroid
    chosen: np.ndarray  # (slots,) int64: their points
    kept: np.ndarray  # (slots,) bool: slots that stay as they are


EMPTY, PLANNED, BEGUN, FOUND = (np.int32(stage) for stage in range(4))
# Spins before a helper gives up: about a second. An exception in the thread that forms clusters
# must not leave it waiting for ever.
PATIENCE = 30_000_000
# Kinds of queries, for their statistics.
FIRST, SECOND, FARTHEST = range(3)


def make_lookahead(k: int, pairs: int, points: int) -> Lookahead:
    """Allocate slots for pairs of clusters of k rows each among ``points`` points."""
    return Lookahead(
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
def all_unassigned(labels, rows):
    """Return whether no row has a label yet; a row beyond the last marks an invalid result."""
    left = True
    for row in rows:
        left &= row < len(labels) and labels[row] < 0
    return left


@lean
def schedule(lookahead):
    """Plan the pairs that the chosen points begin; reuse slots of others, except those in work."""
    first, stage, slots, todo = lookahead.first, lookahead.stage, lookahead.slots, lookahead.todo
    chosen, kept = lookahead.chosen, lookahead.kept
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
            store_release(stage, slot, PLANNED)
        todo[many] = slots[point]
        many += 1
    todo[many] = -1


@lean
def vacate(stage, slot):
    """Empty a slot; return False where a thread is working on it."""
    before = load_acquire(stage, slot)
    return before != BEGUN and compare_and_swap(stage, slot, before, EMPTY)


@lean
def claim_planned(lookahead, pairs, count):
    """Claim the first planned slots for this thread, after ``count`` others; return the count."""
    most = min(lookahead.beside[0], len(pairs))
    for slot in lookahead.todo:
        if slot < 0 or count == most:
            break
        if compare_and_swap(lookahead.stage, slot, PLANNED, BEGUN):
            pairs[count] = slot
            count += 1
    return count


@inlined
def find_pairs(cloud, tree, queries, lookahead, count, k):
    """Find both clusters of the claimed pairs, and publish them."""
    find_first(cloud, tree, queries, lookahead, count, k)
    find_second(cloud, tree, queries, lookahead, count, k)
    for slot in queries.pairs[:count]:
        store_release(lookahead.stage, slot, FOUND)


@lean
def serve(cloud, tree, lookahead, k, queries):
    """Find planned pairs until the lookahead is over, or nothing was planned for long."""
    idle = 0
    while idle < PATIENCE and not load_acquire(lookahead.over, 0):
        count = claim_planned(lookahead, queries.pairs, 0)
        if count > 0:
            find_pairs(cloud, tree, queries, lookahead, count, k)
            idle = 0
        else:
            spin_pause()
            idle += 1


@inlined
def await_pair(cloud, tree, queries, lookahead, slot, k):
    """Wait until a pair is found: find it, or others while another thread works on it."""
    while load_acquire(lookahead.stage, slot) != FOUND:
        queries.pairs[0] = slot
        count = claim_planned(
            lookahead, queries.pairs, int(compare_and_swap(lookahead.stage, slot, PLANNED, BEGUN))
        )
        if count > 0:
            find_pairs(cloud, tree, queries, lookahead, count, k)
        else:
            spin_pause()


@lean
def store_cluster(lookahead, queries, i, side, k):
    """Store the result of query ``i`` as one of the two clusters of its pair."""
    slot = queries.pairs[i]
    for j in range(k):
        lookahead.rows[slot, side, j], lookahead.points[slot, side, j] = (
            queries.rows[i, j],
            queries.points[i, j],
        )


@inlined
def find_first(cloud, tree, queries, lookahead, count, k):
    """Find the first cluster of each pair: the k rows nearest to its first point."""
    for i in range(count):
        queries.sources[i] = lookahead.first[queries.pairs[i]]
    search(cloud, tree, queries, count, np.int64(k), np.bool_(False), np.int64(FIRST))
    for i in range(count):
        store_cluster(lookahead, queries, i, 0, k)


@inlined
def find_second(cloud, tree, queries, lookahead, count, k):
    """Find the second cluster of each pair: the k rows around the one farthest from the first."""
    for i in range(count):
        queries.sources[i] = lookahead.first[queries.pairs[i]]
    search(cloud, tree, queries, count, np.int64(1), np.bool_(True), np.int64(FARTHEST))
    for i in range(count):
        lookahead.last[queries.pairs[i]] = queries.rows[i, 0]
        # Where the farthest is uncertain, the pair will be rejected anyway.
        if queries.points[i, 0] >= 0:
            queries.sources[i] = queries.points[i, 0]
    search(cloud, tree, queries, count, np.int64(k), np.bool_(False), np.int64(SECOND))
    for i in range(count):
        store_cluster(lookahead, queries, i, 1, k)
