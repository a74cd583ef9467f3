"""MDAV, exact: pairs of clusters by searches in a tree."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.search import search
from microagg_ops.kernels.sums import add
from microagg_ops.kernels.tree import mend, remove

# Points by falling distance (radius) from a centre, which was the centroid once.
Ranking = namedtuple("Ranking", "centre radius ranked")

# Pairs of clusters that were found before their turn. first: the point that a pair begins with;
# last: the row farthest from it; rows, points: what is nearest to either; todo: pairs to be found,
# how many in the last place.
Ahead = namedtuple("Ahead", "first last rows points todo")

LEFT, LABEL, TOP, DISTINCT, WORK = range(5)
# Points that are projected side by side: the compiler makes vectors of them.
BESIDE = 64


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


@kernel
def find_mean(centre, total, rest, count, mean):
    """Write the centroid of what is left; give how far it is from what it was."""
    drift = 0.0
    for j in range(len(mean)):
        mean[j] = (total[j] + rest[j]) / count
        drift += (mean[j] - centre[j]) ** 2
    return np.sqrt(drift)


@kernel
def farthest_from_centroid(cloud, ranking, state, total, rest, mean):
    """Give the point farthest from the centroid, and a norm that none exceeds."""
    points, rows, head, stop = cloud.points, cloud.rows, cloud.head, cloud.stop
    ranked, radius = ranking.ranked, ranking.radius
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
def take(cloud, tree, rows, found, total, rest, labels, state):
    """Make rows that were found a cluster, and let them leave."""
    points, head, stop = cloud.points, cloud.head, cloud.stop
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


def make_ahead(k: int, pairs: int) -> Ahead:
    """Make room for what is found ahead: so many pairs of clusters of k rows."""
    return Ahead(
        first=np.full(pairs, -1),
        rows=np.zeros((pairs, 2, k), np.int64),
        points=np.zeros((pairs, 2, k), np.int64),
        last=np.zeros(pairs, np.int64),
        todo=np.zeros(pairs + 1, np.int64),
    )


@kernel
def all_left(labels, rows):
    """Whether none of these rows has a cluster yet."""
    left = True
    for row in rows:
        left &= labels[row] < 0
    return left


@kernel
def recall(ahead, labels, point):
    """Give where a pair that begins with a point was found, its first cluster untouched; or -1."""
    for i in range(len(ahead.first)):
        if ahead.first[i] == point:
            return i if all_left(labels, ahead.rows[i, 0]) else -1
    return -1


@kernel
def plan(cloud, ranking, total, rest, labels, state, tree, ahead):
    """Write down which pairs are to be found next: those that the farthest points begin."""
    mend(tree)
    points, head, stop = cloud.points, cloud.head, cloud.stop
    ranked, radius = ranking.ranked, ranking.radius
    first, todo = ahead.first, ahead.todo
    many, columns = len(first), points.shape[1]
    mean = np.empty(columns)
    drift = find_mean(ranking.centre, total, rest, state[LEFT], mean)
    away, chosen = np.full(many, -1.0), np.full(many, -1)
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
    kept = np.zeros(many, np.bool_)
    for i in range(many):
        slot = recall(ahead, labels, chosen[i])
        if slot >= 0 and chosen[i] >= 0:
            kept[slot] = True
            chosen[i] = -1
    todo[-1] = slot = 0
    for point in chosen:
        if point >= 0:
            while kept[slot]:
                slot += 1
            first[slot] = point
            todo[todo[-1]] = slot
            todo[-1] += 1
            slot += 1


@kernel
def look_ahead(cloud, tree, ahead, k, step, room, begin):
    """Find the pairs that are planned, of several threads the one that takes every so many."""
    work = 0
    for i in range(begin, ahead.todo[-1], step):
        slot = ahead.todo[i]
        work += find_first(cloud, tree, room, ahead, slot, k)
        work += find_second(cloud, tree, room, ahead, slot, k)
    return work


@kernel
def find_first(cloud, tree, room, ahead, slot, k):
    """Find the rows nearest to the point that a pair begins with."""
    work = search(cloud, tree, room, ahead.first[slot], k, False)
    ahead.rows[slot, 0], ahead.points[slot, 0] = room.rows[:k], room.points[:k]
    return work


@kernel
def find_second(cloud, tree, room, ahead, slot, k):
    """Find the row farthest from the point that a pair begins with, and the rows nearest to it."""
    work = search(cloud, tree, room, ahead.first[slot], 1, True)
    ahead.last[slot] = room.rows[0]
    work += search(cloud, tree, room, room.points[0], k, False)
    ahead.rows[slot, 1], ahead.points[slot, 1] = room.rows[:k], room.points[:k]
    return work


@kernel
def form_pairs(
    cloud, ranking, total, rest, labels, state, tree, room, ahead, k, until, least, work
):
    """Form pairs of clusters until few points are left, 2k rows are not, or the work is done.

    What was found ahead counts where none of its rows has left since: what else left was not
    nearer, or not as far. Where several pairs are found ahead, the first that was not ends this.
    Gives whether all points that are left lie within the norm ``least``, too near to one another
    for the grid.
    """
    mean, begun = np.empty(cloud.points.shape[1]), state[LABEL]
    state[WORK] = 0
    while state[LEFT] >= 2 * k and state[DISTINCT] > until and state[WORK] < work:
        point, reach = farthest_from_centroid(cloud, ranking, state, total, rest, mean)
        if reach < least:
            return True
        slot = recall(ahead, labels, point)
        known = slot >= 0
        if not known:
            # Of points equally far the plan may have missed the one: go on with it all the same.
            if len(ahead.first) > 1 and state[LABEL] > begun:
                break
            slot = 0
            ahead.first[slot] = point
            mend(tree)
            state[WORK] += find_first(cloud, tree, room, ahead, slot, k)
        take(cloud, tree, ahead.rows[slot, 0], ahead.points[slot, 0], total, rest, labels, state)
        if not (known and labels[ahead.last[slot]] < 0 and all_left(labels, ahead.rows[slot, 1])):
            mend(tree)
            state[WORK] += find_second(cloud, tree, room, ahead, slot, k)
        take(cloud, tree, ahead.rows[slot, 1], ahead.points[slot, 1], total, rest, labels, state)
    return False
