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

import numpy as np

from microagg_ops.kernels import inlined, lean
from microagg_ops.kernels.heap import lower_worst, replace_worst, sort_found, worse
from microagg_ops.kernels.packing import near_points, pack
from microagg_ops.kernels.room import FAR, LATE, MAYBE, MOST, NONE, TURN, set_limits, start
from microagg_ops.kernels.simd import LANES, first_bit, near_boxes, squared
from microagg_ops.kernels.vectors import ask

# What is looked into of a branch: the nearest group, the others, or all of them.
NEAREST, OTHERS, WHOLE = range(3)
# Searches of a kind follow each other with much the same result. So many times the usual deviation
# from the usual value is what the next is expected not to exceed; where it does, it begins again.
# What is usual is what about so many of the last ones found.
USUALLY, LAST = 3.0, 32


@lean
def measure(cloud, tree, room, i, k, far):
    """Measure in double precision what the grid could not rule out.

    Notes whether a point has left since the grid was looked at, as it may where other threads form
    clusters: others were then ruled out by it, and what is found may not be the nearest.
    """
    points, rows, head, stop = cloud.points, cloud.rows, cloud.head, cloud.stop
    distances, found_rows, found = room.distances[i], room.rows[i], room.points[i]
    here, maybe, threshold = room.wanted[i], room.maybe[i], room.limits[i, 0]
    many = 0
    for at in range(room.many[i]):
        if room.maybe_value[i, at] <= threshold:
            maybe[many] = tree.slots[maybe[at]]
            ask(points, maybe[many])
            many += 1
    for point in maybe[:many]:
        away = 0.0
        for j in range(points.shape[1]):
            difference = points[point, j] - points[here, j]
            away += difference * difference
        away = -away if far else away
        room.lost[i] |= head[point] == stop[point]
        for at in range(head[point], stop[point]):
            if not worse(distances[0], found_rows[0], away, rows[at]):
                break
            replace_worst(distances, found_rows, found, k, away, rows[at], point)
    room.many[i] = 0


@inlined
def sift(cloud, tree, room, i, place, k, far):
    """Keep a place that was hit, if the fine grid does not rule it out."""
    value = squared(tree.fine, room.here[i], place) ^ (TURN if far else NONE)
    if value <= room.limits[i, 0]:
        if room.many[i] == MAYBE:
            measure(cloud, tree, room, i, k, far)
        room.maybe[i, room.many[i]], room.maybe_value[i, room.many[i]] = place, value
        room.many[i] += 1
        if value < room.values[i, 0]:
            worst = lower_worst(room.values[i], k, value)
            set_limits(room.limits[i], room.origins[i], worst, far)


@lean
def expected(usual, far):
    """Give a value that a search of a kind will hardly exceed."""
    guess = usual[0] + USUALLY * usual[1]
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
        usual[0] += (value - usual[0]) / LAST
        usual[1] += (off - usual[1]) / LAST


@lean
def nearest_box(boxes, mask):
    """Give the bit of the nearest of the boxes that are within a mask; 0 where there are none."""
    least, found = MOST, 0
    while mask:
        lane = first_bit(mask)
        mask &= mask - 1
        if boxes[lane] < least:
            least, found = boxes[lane], 1 << lane
    return found


@inlined
def look_into(tree, room, i, branch, part, far, tail):
    """Write the places of a branch that the coarse grid does not rule out behind others.

    Gives where they end, and the work done.
    """
    low, high, tops, boxes = tree.low, tree.high, tree.tops, room.boxes
    weights, centre, limits = room.weights[i], room.centre[i], room.limits[i]
    groups, leaves, hits = room.groups, room.leaves, room.hits
    weight, pairs = FAR if far else NONE, len(centre)
    mask = near_boxes(
        low, high, tops, centre, boxes, tree.base[1] + branch, pairs, weight, limits[2]
    )
    if part == NEAREST:
        room.nearest[i] = nearest_box(boxes, mask)
        mask = room.nearest[i]
    elif part == OTHERS:
        mask &= ~room.nearest[i]
    near, waiting = pack(groups, 0, mask, branch * LANES), 0
    for group in groups[:near]:
        mask = near_boxes(low, high, tops, centre, boxes, group, pairs, weight, limits[2])
        waiting = pack(leaves, waiting, mask, group * LANES)
    count = near_points(
        tree.rough, tree.bias, tree.alive, weights, leaves, hits[tail:], waiting, len(weights),
        TURN if far else NONE, limits[1],
    )  # fmt: skip
    for at in range(tail, tail + count):
        ask(tree.fine, hits[at])
        room.whose[at] = i
    return tail + count, 1 + near + waiting


@inlined
def visit(cloud, tree, room, many, branch, part, k, far):
    """Look into a branch by so many searches, one after the other; give the work done.

    Its leaves are read from memory once.
    """
    hits, whose, late = room.hits, room.whose, min(LATE, many - 1)
    head = tail = work = 0
    for at in range(many + 1):
        if at < many:
            tail, looks = look_into(tree, room, room.visits[at], branch, part, far, tail)
            work += looks
        # Memory has time to bring what was hit.
        while head + (late if at < many else 0) < tail:
            sift(cloud, tree, room, whose[head], hits[head], k, far)
            head += 1
        if head > LATE:
            for i in range(head, tail):
                hits[i - head], whose[i - head] = hits[i], whose[i]
            head, tail = 0, tail - head
    return work


@inlined
def choose_branches(tree, room, count, top, far):
    """Note which branches of a group the searches are to look into, but their homes; give all."""
    every = 0
    for i in range(count):
        room.branches[i] = 0
        if room.under_way[i]:
            room.branches[i] = near_boxes(
                tree.low, tree.high, tree.tops, room.centre[i], room.boxes, tree.base[2] + top,
                room.centre.shape[1], FAR if far else NONE, room.limits[i, 2],
            )  # fmt: skip
            if room.home[i] // LANES == top:
                room.branches[i] &= ~(1 << room.home[i] % LANES)
            every |= room.branches[i]
    return every


@lean
def look(cloud, tree, room, count, k, far, guess):
    """Make the searches that are under way for what is within what is expected; give the work done.

    Where k values below the guess were not found, the worst value is still the guess. Each looks
    into its home, where most is found and limits are set; then all of them into the other branches,
    beginning where another thread is: what it has read is still near.
    """
    work = wanted = 0
    circle, begin = tree.base[3] - tree.base[2], tree.turn[0]
    for i in range(count):
        if room.under_way[i]:
            start(cloud, tree, room, i, k, far, guess)
    for turn in range(-1, circle):
        top, steps = (begin + turn) % circle, 2 * count
        if turn >= 0:
            tree.turn[0] = top
            wanted = choose_branches(tree, room, count, top, far)
            work, steps = work + count, LANES if wanted else 0
        for step in range(steps):
            branch, part, many = top * LANES + step, WHOLE, 0
            if turn < 0:
                part, room.visits[0] = OTHERS if step % 2 else NEAREST, step // 2
                branch, many = room.home[step // 2], int(room.under_way[step // 2])
            elif wanted >> step & 1:
                for i in range(count):
                    room.visits[many] = i
                    many += room.branches[i] >> step & 1
            if many > 0:
                work += visit(cloud, tree, room, many, branch, part, k, far)
    for i in range(count):
        if room.under_way[i]:
            measure(cloud, tree, room, i, k, far)
        if room.lost[i]:
            # No row: it is not left when its turn comes.
            room.rows[i, 0], room.points[i, 0] = len(cloud.rows), -1
    return work


@lean
def search(cloud, tree, room, count, k, far, kind):
    """Find the k rows nearest to each of so many points wanted, or the k farthest from it.

    ``kind`` says whose results tell what to expect; it changes the work, never what is found.
    """
    guess = expected(room.usual[kind], far)
    room.under_way[:count], left, limit = True, count, guess
    while left > 0:
        room.work[0] += look(cloud, tree, room, count, k, far, limit)
        left = 0
        for i in range(count):
            # Those that did not find enough begin again, once, and expect nothing.
            room.under_way[i] = limit < MOST and room.values[i, 0] == guess
            left += room.under_way[i]
        limit = MOST
    for i in range(count):
        learn(room.usual[kind], room.values[i, 0])


@lean
def nearest_rows(cloud, tree, near, room, wanted):
    """Write the rows nearest to each row of the points wanted, the nearest first."""
    rows, size = cloud.rows, near.shape[1]
    for first in range(0, len(wanted), len(room.wanted)):
        count = min(len(wanted) - first, len(room.wanted))
        for i in range(count):
            room.wanted[i] = wanted[first + i]
        search(cloud, tree, room, count, size + 1, False, 0)
        for i in range(count):
            point, found = room.wanted[i], room.rows[i]
            sort_found(room.distances[i], found, room.points[i], size + 1)
            for at in range(cloud.head[point], cloud.stop[point]):
                here, j, others = rows[at], 0, 0
                while others < size:
                    if found[j] != here:
                        near[here, others] = found[j]
                        others += 1
                    j += 1
