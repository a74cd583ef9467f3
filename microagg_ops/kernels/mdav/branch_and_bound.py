"""Branch and bound in a tree of boxes: the k rows nearest to a point, or farthest from it, exactly.

Boxes bound the distance of their points to a point r from below. The farthest points are found like
the nearest: with the centre of the tree as origin and any a > 0,

    |x - r|² = (1 + a)|x|² + (1 + 1/a)|r|² - a |x + r/a|²

so that x is far from r where it is near to -r/a, its antipode, the more so the larger |x| is. A
bias of -(1 + 1/a)|x|² on the distance to the antipode takes that in.

The coarse grid filters points, then the fine one, each with a margin for its rounding. What remains
is measured in double precision, summed over the columns in their order; ties go to the lowest row.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import inlined, lean
from microagg_ops.kernels.mdav.heap import lower_worst, replace_worst, sort_found, worse
from microagg_ops.kernels.mdav.queries import (
    COMPLEMENT,
    FAR,
    MOST,
    NONE,
    PENDING,
    PREFETCH_DISTANCE,
    begin_query,
    set_limits,
)
from microagg_ops.kernels.simd.compress import append_set_bits, scan_leaves
from microagg_ops.kernels.simd.floats import prefetch
from microagg_ops.kernels.simd.integers import LANES, box_distances, lowest_bit, squared_distance

# The part of a branch to scan: the nearest group, the others, or all of them.
NEAREST, OTHERS, WHOLE = range(3)
# Queries of a kind follow each other with much the same result. A query starts from the running
# mean of final bounds plus USUALLY mean deviations; where that proves too low, it runs again
# without. Both are exponential averages over about the LAST results.
USUALLY, LAST = 3.0, 32


@lean
def measure(cloud, tree, queries, i, k, far):
    """Measure the pending candidates of query ``i`` in double precision; update its results.

    Mark the query stale where a candidate has left since its leaf was scanned, as it may while
    another thread forms clusters: other points were ruled out by it.
    """
    points, rows, head, stop = cloud.points, cloud.rows, cloud.head, cloud.stop
    distances, found_rows, found = queries.distances[i], queries.rows[i], queries.points[i]
    here, maybe, threshold = queries.sources[i], queries.pending[i], queries.limits[i, 0]
    many = 0
    for at in range(queries.pending_count[i]):
        if queries.pending_values[i, at] <= threshold:
            maybe[many] = tree.slots[maybe[at]]
            prefetch(points, maybe[many])
            many += 1
    for point in maybe[:many]:
        away = 0.0
        for j in range(points.shape[1]):
            difference = points[point, j] - points[here, j]
            away += difference * difference
        away = -away if far else away
        queries.stale[i] |= head[point] == stop[point]
        for at in range(head[point], stop[point]):
            if not worse(distances[0], found_rows[0], away, rows[at]):
                break
            replace_worst(distances, found_rows, found, k, away, rows[at], point)
    queries.pending_count[i] = 0


@inlined
def filter_on_fine_grid(cloud, tree, queries, i, place, k, far):
    """Add a hit to the pending candidates, unless the fine grid rules it out; tighten limits."""
    value = squared_distance(tree.fine, queries.fine[i], place) ^ (COMPLEMENT if far else NONE)
    if value <= queries.limits[i, 0]:
        if queries.pending_count[i] == PENDING:
            measure(cloud, tree, queries, i, k, far)
        (
            queries.pending[i, queries.pending_count[i]],
            queries.pending_values[i, queries.pending_count[i]],
        ) = place, value
        queries.pending_count[i] += 1
        if value < queries.bounds[i, 0]:
            worst = lower_worst(queries.bounds[i], k, value)
            set_limits(queries.limits[i], queries.origins[i], worst, far)


@lean
def expected_bound(usual, far):
    """Return a value that the k-th least of a query of this kind hardly ever exceeds."""
    guess = usual[0] + USUALLY * usual[1]
    return np.int32(guess) if guess < (-1 if far else MOST) else MOST


@lean
def update_expectation(usual, value):
    """Update the running mean and deviation of final bounds, ``usual`` of shape (2,)."""
    if value == MOST:
        return
    off = abs(value - usual[0])
    if np.isinf(off):
        usual[0], usual[1] = value, abs(value) / 4
    else:
        usual[0] += (value - usual[0]) / LAST
        usual[1] += (off - usual[1]) / LAST


@lean
def nearest_box(boxes, mask):
    """Return a mask of the nearest box among those of a mask; 0 where it is empty."""
    least, found = MOST, 0
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        if boxes[lane] < least:
            least, found = boxes[lane], 1 << lane
    return found


@inlined
def scan_branch(tree, queries, i, branch, part, far, tail):
    """Append the places of a branch that boxes and the coarse grid do not rule out to the hits.

    Return the new end of the hits, and the boxes and leaves looked at.
    """
    low, high, tops, boxes = tree.low, tree.high, tree.max_norms, queries.boxes
    weights, centre, limits = queries.coarse[i], queries.box_centre[i], queries.limits[i]
    groups, leaves, hits = queries.groups, queries.leaves, queries.hits
    weight, pairs = FAR if far else NONE, len(centre)
    mask = box_distances(
        low, high, tops, centre, boxes, tree.base[1] + branch, pairs, weight, limits[2]
    )
    if part == NEAREST:
        queries.home_group[i] = nearest_box(boxes, mask)
        mask = queries.home_group[i]
    elif part == OTHERS:
        mask &= ~queries.home_group[i]
    near, waiting = append_set_bits(groups, 0, mask, branch * LANES), 0
    for group in groups[:near]:
        mask = box_distances(low, high, tops, centre, boxes, group, pairs, weight, limits[2])
        waiting = append_set_bits(leaves, waiting, mask, group * LANES)
    count = scan_leaves(
        tree.coarse, tree.bias, tree.alive, weights, leaves, hits[tail:], waiting, len(weights),
        COMPLEMENT if far else NONE, limits[1],
    )  # fmt: skip
    for at in range(tail, tail + count):
        prefetch(tree.fine, hits[at])
        queries.hit_queries[at] = i
    return tail + count, 1 + near + waiting


@inlined
def scan_branch_for_all(cloud, tree, queries, many, branch, part, k, far):
    """Scan a branch for the first ``many`` visitors in turn; return the work done.

    Its leaves come from memory once for all of them.
    """
    hits, whose, late = queries.hits, queries.hit_queries, min(PREFETCH_DISTANCE, many - 1)
    head = tail = work = 0
    for at in range(many + 1):
        if at < many:
            tail, looks = scan_branch(tree, queries, queries.visitors[at], branch, part, far, tail)
            work += looks
        # Hits are read when their prefetch has had time to arrive.
        while head + (late if at < many else 0) < tail:
            filter_on_fine_grid(cloud, tree, queries, whose[head], hits[head], k, far)
            head += 1
        if head > PREFETCH_DISTANCE:
            for i in range(head, tail):
                hits[i - head], whose[i - head] = hits[i], whose[i]
            head, tail = 0, tail - head
    return work


@inlined
def choose_branches(tree, queries, count, top, far):
    """Mask, for each query, the branches of a group to scan, except homes; return their union."""
    every = 0
    for i in range(count):
        queries.branches[i] = 0
        if queries.active[i]:
            queries.branches[i] = box_distances(
                tree.low, tree.high, tree.max_norms, queries.box_centre[i], queries.boxes,
                tree.base[2] + top,
                queries.box_centre.shape[1], FAR if far else NONE, queries.limits[i, 2],
            )  # fmt: skip
            if queries.home_branch[i] // LANES == top:
                queries.branches[i] &= ~(1 << queries.home_branch[i] % LANES)
            every |= queries.branches[i]
    return every


@lean
def run_queries(cloud, tree, queries, count, k, far, guess):
    """Run the active queries with ``guess`` as first bound; return the work done.

    Where fewer than k values below the guess exist, the k-th least value is still the guess. Each
    query scans its home branch, which sets tight limits; then all of them scan the other branches
    together, starting where another thread is: what it has read is still in the cache.
    """
    work = wanted = 0
    circle, begin = tree.base[3] - tree.base[2], tree.scan_start[0]
    for i in range(count):
        if queries.active[i]:
            begin_query(cloud, tree, queries, i, k, far, guess)
    for turn in range(-1, circle):
        top, steps = (begin + turn) % circle, 2 * count
        if turn >= 0:
            tree.scan_start[0] = top
            wanted = choose_branches(tree, queries, count, top, far)
            work, steps = work + count, LANES if wanted else 0
        for step in range(steps):
            branch, part, many = top * LANES + step, WHOLE, 0
            if turn < 0:
                i = step // 2
                part, queries.visitors[0] = OTHERS if step % 2 else NEAREST, i
                branch, many = queries.home_branch[i], int(queries.active[i])
            elif wanted >> step & 1:
                for i in range(count):
                    queries.visitors[many] = i
                    many += queries.branches[i] >> step & 1
            if many > 0:
                work += scan_branch_for_all(cloud, tree, queries, many, branch, part, k, far)
    for i in range(count):
        if queries.active[i]:
            measure(cloud, tree, queries, i, k, far)
        if queries.stale[i]:
            # No such row: the result will be rejected.
            queries.rows[i, 0], queries.points[i, 0] = len(cloud.rows), -1
    return work


@lean
def search(cloud, tree, queries, count, k, far, kind):
    """Find the k rows nearest to each of the first ``count`` sources, or the k farthest.

    ``kind`` selects the statistics for the first bound; it changes the work, never the result.
    """
    guess = expected_bound(queries.usual_bounds[kind], far)
    queries.active[:count], left, limit = True, count, guess
    while left > 0:
        queries.work[0] += run_queries(cloud, tree, queries, count, k, far, limit)
        left = 0
        for i in range(count):
            # Those whose guess was too low run again, once, without one.
            queries.active[i] = limit < MOST and queries.bounds[i, 0] == guess
            left += queries.active[i]
        limit = MOST
    for i in range(count):
        update_expectation(queries.usual_bounds[kind], queries.bounds[i, 0])


@lean
def nearest_rows(cloud, tree, near, queries, wanted):
    """Write the nearest rows of each row of the points ``wanted`` into ``near``, nearest first.

    ``near`` is (rows, count) int32. A row is not its own neighbour.
    """
    rows, size = cloud.rows, near.shape[1]
    for first in range(0, len(wanted), len(queries.sources)):
        count = min(len(wanted) - first, len(queries.sources))
        for i in range(count):
            queries.sources[i] = wanted[first + i]
        search(cloud, tree, queries, count, size + 1, False, 0)
        for i in range(count):
            point, found = queries.sources[i], queries.rows[i]
            sort_found(queries.distances[i], found, queries.points[i], size + 1)
            for at in range(cloud.head[point], cloud.stop[point]):
                here, j, others = rows[at], 0, 0
                while others < size:
                    if found[j] != here:
                        near[here, others] = found[j]
                        others += 1
                    j += 1
