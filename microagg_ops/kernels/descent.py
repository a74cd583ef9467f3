"""Local search: pair after pair of clusters, rows swap places or shift, until nothing helps.

A pass begins with the pairs of which neither changed in the last one; nothing can come of them, and
with the cache they are left out.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.pairs import distance, improve_pair, may_change
from microagg_ops.kernels.random import shuffle
from microagg_ops.kernels.simd import first_bit
from microagg_ops.kernels.vectors import BLOCK, in_reach

# order: the clusters of a pass, those first that changed in the last one (hot); now: which changed
# in this one; marks: norm, sum and reach of the clusters, in this order; odd, differs: clusters
# that are not as in the best partition, how many of them in the last place of odd.
Plan = namedtuple("Plan", "order hot now marks odd differs cursor")

# What the cursor holds: how many rows of pairs of the pass are done (-1: a pass is to begin), the
# places in the order of the last pair (the same when a row begins), the number of clusters, that of
# hot ones, whether the pass changed anything, and the rows of pairs that were done, ever.
DONE, ONE, OTHER, COUNT, HOT, CHANGED, SEEN = range(7)

# Work of a change, in looks at pairs of rows or clusters.
CHANGE = 100


def make_plan(clusters: int) -> Plan:
    """Plan a search whose clusters are all new."""
    return Plan(
        order=np.zeros(clusters, np.int64),
        hot=np.ones(clusters, np.bool_),
        now=np.zeros(clusters, np.bool_),
        # Behind the last cluster nothing is near.
        marks=np.full((3, clusters + BLOCK), -np.inf),
        odd=np.zeros(clusters + 1, np.int64),
        differs=np.zeros(clusters, np.bool_),
        cursor=np.zeros(7, np.int64),
    )


@kernel
def differ(plan, cluster):
    """Write down that a cluster is not as in the best partition."""
    if not plan.differs[cluster]:
        plan.differs[cluster] = True
        plan.odd[plan.odd[-1]] = cluster
        plan.odd[-1] += 1


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
    """Place of the cluster whose row of pairs is next: clusters that are not hot come first."""
    cold = cursor[COUNT] - cursor[HOT]
    return cursor[HOT] + cursor[DONE] if cursor[DONE] < cold else cursor[DONE] - cold


@inlined
def mark(plan, clusters, place):
    """Note where the cluster at a place of the order is, and how far it reaches."""
    cluster = plan.order[place]
    plan.marks[0, place] = clusters.norms[cluster]
    plan.marks[1, place] = clusters.sums[cluster]
    plan.marks[2, place] = clusters.reaches[cluster]


@kernel
def begin_pass(clusters, plan, cached, random):
    """Put the clusters in a random order, those that changed in the last pass first."""
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
    """Give the next place in a row of pairs whose cluster may change with that of the row.

    Gives the number of places where there is none. With the cache, clusters that cannot reach each
    other are passed by, a block at a time.
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
            place = j + first_bit(near)
            near &= near - 1
            b = order[place]
            gap = distance(centres, a, centres, b)
            if may_change(k, gap, r, radius[b], size, sizes[b]):
                return place
        j += BLOCK
    return count


@kernel
def next_pair(k, order, marks, centres, radius, sizes, cursor, cached, most):
    """Find the next two clusters that may swap or shift rows, in so many rows of pairs at most.

    Gives the work. The cursor then stands at the pair, or where the next row begins.
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
    """Go over all pairs until a whole pass changes none, or no more may be seen or worked.

    Gives whether it came to its end, and the work.
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
