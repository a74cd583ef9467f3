"""Local search: swaps and shifts between pairs of clusters, pass after pass, to a local optimum.

Laszlo and Mukherjee, 2015, doi:10.1016/j.jss.2014.10.012; the cache is that of Bierman,
Improvements to Iterated Local Search for Microaggregation, Nova Southeastern University, 2020. A
pass begins with the pairs of which neither cluster changed in the last one: they cannot improve,
and the cache skips them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.random import shuffle
from microagg_ops.kernels.search.swap_shift import distance, improve_pair, may_change
from microagg_ops.kernels.simd.floats import BLOCK, in_reach
from microagg_ops.kernels.simd.integers import lowest_bit


class Plan(NamedTuple):
    """The passes of a local search over pairs of clusters."""

    order: np.ndarray  # (clusters,) int64: the clusters of a pass, hot ones first
    hot: np.ndarray  # (clusters,) bool: changed in the last pass
    now: np.ndarray  # (clusters,) bool: changed in this one
    marks: np.ndarray  # (3, clusters + BLOCK) float64: norm, diagonal and reach, in this order
    touched: np.ndarray  # (clusters,) int64: those that differ from the best partition
    touched_count: np.ndarray  # (1,) int64
    differs: np.ndarray  # (clusters,) bool: is among ``touched``
    cursor: np.ndarray  # (7,) int64: see below


# Fields of the cursor: rows of pairs of the pass that are done (-1: a pass is to begin), the places
# in the order of the last pair (equal when a row begins), the number of clusters, that of hot ones,
# whether the pass changed anything, and the rows of pairs done since the search began.
DONE, ONE, OTHER, COUNT, HOT, CHANGED, SEEN = range(7)

# Work of a change, in comparisons of rows or clusters.
CHANGE = 100


def make_plan(clusters: int) -> Plan:
    """Allocate the plan of a search whose clusters are all hot."""
    return Plan(
        order=np.zeros(clusters, np.int64),
        hot=np.ones(clusters, np.bool_),
        now=np.zeros(clusters, np.bool_),
        # Behind the last cluster nothing is near.
        marks=np.full((3, clusters + BLOCK), -np.inf),
        touched=np.zeros(clusters, np.int64),
        touched_count=np.zeros(1, np.int64),
        differs=np.zeros(clusters, np.bool_),
        cursor=np.zeros(7, np.int64),
    )


@kernel
def differ(plan, cluster):
    """Record that a cluster differs from the best partition."""
    if not plan.differs[cluster]:
        plan.differs[cluster] = True
        plan.touched[plan.touched_count[0]] = cluster
        plan.touched_count[0] += 1


@kernel
def list_clusters(plan, sizes):
    """List the clusters that are not empty, for a search to begin."""
    found = 0
    for cluster in range(len(sizes)):
        if sizes[cluster] > 0:
            plan.order[found] = cluster
            found += 1
    plan.cursor[DONE], plan.cursor[COUNT] = -1, found


@inlined
def row_of(cursor):
    """Return the place of the cluster whose row of pairs is next: cold clusters come first."""
    cold = cursor[COUNT] - cursor[HOT]
    return cursor[HOT] + cursor[DONE] if cursor[DONE] < cold else cursor[DONE] - cold


@inlined
def mark(plan, clusters, place):
    """Copy the norm, the diagonal and the reach of the cluster at a place of the order."""
    cluster = plan.order[place]
    plan.marks[0, place] = clusters.norms[cluster]
    plan.marks[1, place] = clusters.sums[cluster]
    plan.marks[2, place] = clusters.reaches[cluster]


@kernel
def begin_pass(clusters, plan, cached, random):
    """Shuffle the clusters, those that changed in the last pass first."""
    order, hot, cursor = plan.order, plan.hot, plan.cursor
    count, found = cursor[COUNT], 0
    shuffle(random, order[:count])
    for i in range(count):
        if hot[order[i]]:
            order[i], order[found] = order[found], order[i]
            found += 1
    cursor[HOT], cursor[CHANGED] = found, 0
    cursor[DONE] = count - found if cached else 0
    cursor[SEEN] += cursor[DONE]
    cursor[ONE] = cursor[OTHER] = row_of(cursor)
    if cached:
        for i in range(count):
            mark(plan, clusters, i)
        plan.marks[2, count : count + BLOCK] = -np.inf


@kernel
def next_partner(k, order, marks, centres, radius, sizes, cursor, cached):
    """Return the next place in a row of pairs whose cluster may interact with that of the row.

    Return the number of places where there is none. With the cache, clusters out of reach are
    skipped a block at a time.
    """
    one, count, j = cursor[ONE], cursor[COUNT], cursor[OTHER] + 1
    a = order[one]
    r, size = radius[a], sizes[a]
    if not cached:
        for place in range(j, count):
            b = order[place]
            gap = distance(centres, a, centres, b)
            if may_change(k, gap, r, radius[b], size, sizes[b]):
                return place
        return count
    while j < count:
        near = in_reach(marks, one, j)
        while near:
            place = j + lowest_bit(near)
            near &= near - 1
            b = order[place]
            gap = distance(centres, a, centres, b)
            if may_change(k, gap, r, radius[b], size, sizes[b]):
                return place
        j += BLOCK
    return count


@kernel
def next_pair(k, order, marks, centres, radius, sizes, cursor, cached, most):
    """Move the cursor to the next pair that may interact, over ``most`` rows of pairs at most.

    Return the work. Where there is no pair, the cursor stands where the next row begins.
    """
    count, work = cursor[COUNT], 0
    for _ in range(most):
        place = next_partner(k, order, marks, centres, radius, sizes, cursor, cached)
        work += place - cursor[OTHER]
        if place < count:
            cursor[OTHER] = place
            break
        cursor[DONE] += 1
        cursor[SEEN] += 1
        cursor[ONE] = cursor[OTHER] = row_of(cursor)
        if cursor[DONE] == count:
            break
    return work


@kernel
def descend(clusters, plan, cached, most_seen, most_work, random):
    """Improve pairs until a whole pass changes none, or a limit of rows of pairs or work is met.

    Return whether a local optimum was reached, and the work.
    """
    k, centres, radius, sizes = clusters.k, clusters.centres, clusters.radius, clusters.sizes
    order, hot, now, cursor = plan.order, plan.hot, plan.now, plan.cursor
    work = 0
    while True:
        if cursor[DONE] < 0:
            begin_pass(clusters, plan, cached, random)
        count = cursor[COUNT]
        while cursor[DONE] < count:
            # Only where a row of pairs begins, so that their number says where the search stopped.
            begins = cursor[OTHER] == cursor[ONE]
            if begins and (work >= most_work or cursor[SEEN] >= most_seen):
                return False, work
            most = min(most_seen - cursor[SEEN], max(most_work - work, 0) // count + 1)
            work += next_pair(k, order, plan.marks, centres, radius, sizes, cursor, cached, most)
            if cursor[OTHER] == cursor[ONE]:
                continue
            a, b = order[cursor[ONE]], order[cursor[OTHER]]
            work += sizes[a] * sizes[b]
            if improve_pair(clusters, a, b):
                work += CHANGE
                cursor[CHANGED] = 1
                now[a] = now[b] = True
                mark(plan, clusters, cursor[ONE])
                mark(plan, clusters, cursor[OTHER])
                differ(plan, a)
                differ(plan, b)
        hot[:] = now
        now[:] = False
        cursor[DONE] = -1
        if not cursor[CHANGED]:
            return True, work
