"""MDAV, exact: pairs of clusters by searches in a tree."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.search import NO_LIMIT, search
from microagg_ops.kernels.sums import add
from microagg_ops.kernels.tree import remove

# Points by falling distance (radius) from a centre, which was the centroid once.
Ranking = namedtuple("Ranking", "centre radius ranked")

LEFT, LABEL, TOP, DISTINCT, WORK = range(5)


@kernel
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
    """Give each row the number of its point (rows with equal values are one), and first rows."""
    rows, columns = points.shape
    numbers = np.empty(rows, np.int64)
    firsts = np.empty(rows, np.int64)
    count = 0
    for row in range(rows):
        at = np.int64(hash_row(points, row) & np.uint64(len(table) - 1))
        while True:
            number = table[at]
            if number < 0:
                table[at] = numbers[row] = count
                firsts[count] = row
                count += 1
                break
            same = True
            for j in range(columns):
                if points[firsts[number], j] != points[row, j]:
                    same = False
                    break
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
    away = np.empty(columns)
    for i in range(len(points)):
        for j in range(columns):
            away[j] = points[i, j] - centre[j]
        for a in range(columns):
            total = 0.0
            for j in range(columns):
                total += away[j] * axes[a, j]
            grid[i, a] = np.int16(np.rint(total))


@kernel
def farthest_from_centroid(cloud, ranking, state, total, rest, mean):
    """Give the point farthest from the centroid, and a norm that none exceeds."""
    points, rows, head, stop = cloud.points, cloud.rows, cloud.head, cloud.stop
    ranked, radius = ranking.ranked, ranking.radius
    columns = points.shape[1]
    drift = 0.0
    for j in range(columns):
        mean[j] = (total[j] + rest[j]) / state[LEFT]
        drift += (mean[j] - ranking.centre[j]) ** 2
    drift = np.sqrt(drift)
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
        state[WORK] += 1
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


@kernel
def take(cloud, tree, room, k, total, rest, labels, state):
    """Make k rows that were found a cluster, and let them leave."""
    points, head, stop = cloud.points, cloud.head, cloud.stop
    for i in range(k):
        point = room.points[i]
        labels[room.rows[i]] = state[LABEL]
        head[point] += 1
        for j in range(points.shape[1]):
            add(total, rest, j, -points[point, j])
        if head[point] == stop[point]:
            remove(tree, point)
            state[DISTINCT] -= 1
    state[LEFT] -= k
    state[LABEL] += 1


@kernel
def form_pairs(cloud, tree, ranking, room, k, total, rest, labels, state, until, least, work):
    """Form pairs of clusters until few points are left, 2k rows are not, or the work is done.

    Gives whether all points that are left lie within the norm ``least``, too near to one another
    for the grid.
    """
    mean = np.empty(cloud.points.shape[1])
    state[WORK] = 0
    while state[LEFT] >= 2 * k and state[DISTINCT] > until and state[WORK] < work:
        point, reach = farthest_from_centroid(cloud, ranking, state, total, rest, mean)
        if reach < least:
            return True
        state[WORK] += search(cloud, tree, room, point, k, False, NO_LIMIT)
        take(cloud, tree, room, k, total, rest, labels, state)
        state[WORK] += search(cloud, tree, room, point, 1, True, NO_LIMIT)
        state[WORK] += search(cloud, tree, room, room.points[0], k, False, NO_LIMIT)
        take(cloud, tree, room, k, total, rest, labels, state)
    return False
