"""MDAV, exact: pairs of clusters by searches in a tree."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import kernel, lean
from microagg_ops.kernels.ahead import (
    all_left,
    await_pair,
    find_first,
    find_second,
    line_up,
)
from microagg_ops.kernels.sums import add
from microagg_ops.kernels.tree import mend, remove
from microagg_ops.kernels.vectors import ask

# Points by falling distance (radius) from a centre, which was the centroid once; least: where all
# points are nearer than this, they are too near to one another for the grid; mean: room for what
# the centroid is now.
Ranking = namedtuple("Ranking", "centre radius ranked least mean")

LEFT, LABEL, TOP, DISTINCT = range(4)
# Points that are projected side by side: the compiler makes vectors of them.
BESIDE = 64


@lean
def hash_row(points, row):
    """Mix the bits of a row; adding 0 makes -0 the same as 0."""
    mixed = np.uint64(len(points))
    for j in range(points.shape[1]):
        mixed ^= np.float64(points[row, j] + 0.0).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


@kernel
def gather(points, table):
    """Give each row the number of its point (rows with equal values are one), and first rows.

    ``table`` has -1 in all places, their number a power of two: a point in its high bits, and in
    the low ones what mixing a row gave, so that other rows need hardly ever be compared.
    """
    rows, columns = points.shape
    numbers = np.empty(rows, np.int64)
    firsts = np.empty(rows, np.int64)
    places, tags = np.empty(BESIDE, np.int64), np.empty(BESIDE, np.int64)
    count = 0
    for row in range(rows):
        if row % BESIDE == 0:
            # Memory is asked for what the next rows need.
            for i in range(min(BESIDE, rows - row)):
                mixed = hash_row(points, row + i)
                places[i] = mixed & np.uint64(len(table) - 1)
                tags[i] = mixed >> np.uint64(32)
                ask(table, places[i])
        at, tag = places[row % BESIDE], tags[row % BESIDE]
        while True:
            entry = table[at]
            if entry < 0:
                table[at], numbers[row], firsts[count] = count << 32 | tag, count, row
                count += 1
                break
            number = entry >> 32
            same = entry & 0xFFFFFFFF == tag
            for j in range(columns):
                if not same:
                    break
                same = points[firsts[number], j] == points[row, j]
            if same:
                numbers[row] = number
                break
            at = (at + 1) & (len(table) - 1)
    return numbers, firsts[:count]


@kernel
def radii(points, centre):
    """Distances of points from a centre."""
    radius = np.empty(len(points))
    for i in range(len(points)):
        square = 0.0
        for j in range(len(centre)):
            square += (points[i, j] - centre[j]) ** 2
        radius[i] = np.sqrt(square)
    return radius


@kernel
def project(points, centre, axes, grid):
    """Write the coordinates of points along axes from a centre, as whole numbers."""
    columns = len(centre)
    away, along = np.zeros((columns, BESIDE)), np.empty(BESIDE)
    for first in range(0, len(points), BESIDE):
        many = min(BESIDE, len(points) - first)
        for i in range(many):
            for j in range(columns):
                away[j, i] = points[first + i, j] - centre[j]
        for a in range(columns):
            along[:] = 0.0
            for j in range(columns):
                share = axes[j, a]
                for i in range(BESIDE):
                    along[i] += away[j, i] * share
            for i in range(many):
                grid[first + i, a] = np.int16(np.rint(along[i]))


@lean
def find_mean(centre, total, rest, count, mean):
    """Write the centroid of what is left; give how far it is from what it was."""
    drift = 0.0
    for j in range(len(mean)):
        mean[j] = (total[j] + rest[j]) / count
        drift += (mean[j] - centre[j]) ** 2
    return np.sqrt(drift)


@lean
def farthest_from_centroid(cloud, ranking, state, total, rest, work):
    """Give the point farthest from the centroid, and a norm that none exceeds."""
    points, rows, head, stop = cloud.points, cloud.rows, cloud.head, cloud.stop
    ranked, radius, mean = ranking.ranked, ranking.radius, ranking.mean
    columns = points.shape[1]
    drift = find_mean(ranking.centre, total, rest, state[LEFT], mean)
    best, row, found = -1.0, 0, -1
    at, gone = state[TOP], 0
    while at < len(ranked):
        point = ranked[at]
        at += 1
        if head[point] == stop[point]:
            gone += 1
            continue
        most = (radius[point] + drift) * (1.0 + 1e-9)
        if most * most < best:
            break
        work[0] += 1
        away = 0.0
        for j in range(columns):
            difference = points[point, j] - mean[j]
            away += difference * difference
        if away > best or (away == best and rows[head[point]] < row):
            best, row, found = away, rows[head[point]], point
    if gone:
        # Points that left are moved to the front, and are not seen again.
        top = at
        for i in range(at - 1, state[TOP] - 1, -1):
            if head[ranked[i]] != stop[ranked[i]]:
                top -= 1
                ranked[top] = ranked[i]
        state[TOP] = top
    return found, np.sqrt(best) + drift


@lean
def take(cloud, tree, rows, found, total, rest, labels, state):
    """Make rows that were found a cluster, and let them leave."""
    points, head, stop = cloud.points, cloud.head, cloud.stop
    for i in range(len(rows)):
        ask(labels, rows[i])
        ask(head, found[i])
        ask(stop, found[i])
        ask(tree.place, found[i])
        ask(points, found[i])
    for i in range(len(rows)):
        point = found[i]
        labels[rows[i]] = state[LABEL]
        head[point] += 1
        for j in range(points.shape[1]):
            add(total, rest, j, -points[point, j])
        if head[point] == stop[point]:
            remove(tree, point)
            state[DISTINCT] -= 1
    state[LEFT] -= len(rows)
    state[LABEL] += 1


@lean
def plan(cloud, ranking, total, rest, state, tree, ahead):
    """Write down which pairs are to be found next: those that the farthest points begin."""
    mend(tree)
    points, head, stop = cloud.points, cloud.head, cloud.stop
    ranked, radius, mean = ranking.ranked, ranking.radius, ranking.mean
    away, chosen = ahead.away, ahead.chosen
    many, columns = len(away), points.shape[1]
    drift = find_mean(ranking.centre, total, rest, state[LEFT], mean)
    away[:], chosen[:] = -1.0, -1
    for at in range(state[TOP], len(ranked)):
        point = ranked[at]
        if head[point] == stop[point]:
            continue
        if (radius[point] + drift) ** 2 < away[-1]:
            break
        square = 0.0
        for j in range(columns):
            square += (points[point, j] - mean[j]) ** 2
        if square > away[-1]:
            i = many - 1
            while i > 0 and away[i - 1] < square:
                away[i], chosen[i] = away[i - 1], chosen[i - 1]
                i -= 1
            away[i], chosen[i] = square, point
    line_up(ahead)


@lean
def form_pairs(cloud, ranking, total, rest, labels, state, tree, room, one, ahead, k, work):
    """Form pairs of clusters until fewer than 2k rows are left or the work is done.

    What was found ahead counts where none of its rows has left since: what else left was not
    nearer, or not as far. Gives whether the points that are left are too near to one another for
    the grid.
    """
    near, begun = False, room.work[0]
    while state[LEFT] >= 2 * k and room.work[0] - begun < work:
        if len(ahead.first) > 1 and ahead.formed[0] >= len(ahead.first) // 4:
            plan(cloud, ranking, total, rest, state, tree, ahead)
            ahead.formed[0] = 0
        ahead.formed[0] += 1
        point, reach = farthest_from_centroid(cloud, ranking, state, total, rest, room.work)
        near = reach < ranking.least
        if near:
            break
        slot = ahead.slots[point]
        if slot >= 0:
            await_pair(cloud, tree, room, ahead, slot, k)
        known = slot >= 0 and all_left(labels, ahead.rows[slot, 0])
        pair = ahead if known else one
        if not known:
            slot = 0
            room.pairs[0], one.first[0] = 0, point
            mend(tree)
            find_first(cloud, tree, room, one, len(one.first), k)
        take(cloud, tree, pair.rows[slot, 0], pair.points[slot, 0], total, rest, labels, state)
        known = known and all_left(labels, ahead.last[slot : slot + 1])
        if not (known and all_left(labels, ahead.rows[slot, 1])):
            mend(tree)
            pair, slot = one, 0
            room.pairs[0], one.first[0] = 0, point
            find_second(cloud, tree, room, one, len(one.first), k)
        take(cloud, tree, pair.rows[slot, 1], pair.points[slot, 1], total, rest, labels, state)
    return near
