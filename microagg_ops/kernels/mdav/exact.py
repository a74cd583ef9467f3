"""MDAV, exact: pairs of clusters found by branch and bound.

Domingo-Ferrer and Torra, 2005, doi:10.1007/s10618-005-0007-5. See docs/algorithms/mdav.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import kernel, lean
from microagg_ops.kernels.mdav.lookahead import (
    all_unassigned,
    await_pair,
    find_first,
    find_second,
    schedule,
)
from microagg_ops.kernels.mdav.tree import refresh, remove
from microagg_ops.kernels.simd.floats import prefetch
from microagg_ops.kernels.sums import add


class Ranking(NamedTuple):
    """Points by falling distance from a centre, which was their centroid once."""

    centre: np.ndarray  # (columns,) float64
    radius: np.ndarray  # (points,) float64: distance from the centre
    ranked: np.ndarray  # (points,) int64: farthest first; those gone are moved to the front
    least: float  # where all points are nearer than this, the grid is too coarse for them
    mean: np.ndarray  # (columns,) float64: scratch for the centroid as it is now


# Fields of ``state``, (4,) int64: rows left, next label, first of ``ranked`` still there, points
# left.
LEFT, LABEL, TOP, DISTINCT = range(4)
# Points that are projected side by side: a loop of this length is vectorized.
BESIDE = 64


@lean
def hash_row(points, row):
    """Hash a row; adding 0 makes -0 equal to 0."""
    mixed = np.uint64(len(points))
    for j in range(points.shape[1]):
        mixed ^= np.float64(points[row, j] + 0.0).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


@kernel
def gather(points, table):
    """Assign numbers to the distinct rows of ``points``; return them by row, and first rows.

    ``table`` is an open-addressing hash table, int64, of a power of two -1s. An entry holds a
    number in its high 32 bits and a tag of the hash in the low ones, so that rows that differ are
    hardly ever compared.
    """
    rows, columns = points.shape
    numbers = np.empty(rows, np.int64)
    firsts = np.empty(rows, np.int64)
    places, tags = np.empty(BESIDE, np.int64), np.empty(BESIDE, np.int64)
    count = 0
    for row in range(rows):
        if row % BESIDE == 0:
            # Prefetch the entries of the next rows.
            for i in range(min(BESIDE, rows - row)):
                mixed = hash_row(points, row + i)
                places[i] = mixed & np.uint64(len(table) - 1)
                tags[i] = mixed >> np.uint64(32)
                prefetch(table, places[i])
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
    """Return the distance of each point from a centre."""
    radius = np.empty(len(points))
    for i in range(len(points)):
        square = 0.0
        for j in range(len(centre)):
            square += (points[i, j] - centre[j]) ** 2
        radius[i] = np.sqrt(square)
    return radius


@kernel
def project(points, centre, axes, grid):
    """Rotate points around a centre to the axes, and round them into ``grid``, int16."""
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
    """Write the centroid of the rows left into ``mean``; return its distance from ``centre``."""
    drift = 0.0
    for j in range(len(mean)):
        mean[j] = (total[j] + rest[j]) / count
        drift += (mean[j] - centre[j]) ** 2
    return np.sqrt(drift)


@lean
def farthest_from_centroid(cloud, ranking, state, total, rest, work):
    """Return the point farthest from the centroid, and a distance that none exceeds.

    By the triangle inequality no point is farther than its radius plus the drift of the centroid,
    so the ranking is read from its top until that bound is below the best.
    """
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
        # Compact: points that left are moved to the front, and are not read again.
        top = at
        for i in range(at - 1, state[TOP] - 1, -1):
            if head[ranked[i]] != stop[ranked[i]]:
                top -= 1
                ranked[top] = ranked[i]
        state[TOP] = top
    return found, np.sqrt(best) + drift


@lean
def take(cloud, tree, rows, found, total, rest, labels, state):
    """Label rows as the next cluster, and remove them from the sums and the tree."""
    points, head, stop = cloud.points, cloud.head, cloud.stop
    for i in range(len(rows)):
        prefetch(labels, rows[i])
        prefetch(head, found[i])
        prefetch(stop, found[i])
        prefetch(tree.place, found[i])
        prefetch(points, found[i])
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
def plan(cloud, ranking, total, rest, state, tree, lookahead):
    """Schedule the pairs of the points that are farthest from the centroid now."""
    refresh(tree)
    points, head, stop = cloud.points, cloud.head, cloud.stop
    ranked, radius, mean = ranking.ranked, ranking.radius, ranking.mean
    away, chosen = lookahead.away, lookahead.chosen
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
    schedule(lookahead)


@lean
def form_pairs(cloud, ranking, total, rest, labels, state, tree, queries, one, lookahead, k, work):
    """Form pairs of clusters until fewer than 2k rows are left or the work budget is used up.

    A result of the lookahead is valid where none of its rows has left since: whatever else left was
    not nearer, or not as far. Return whether the grid is too coarse for the points left.
    """
    near, begun = False, queries.work[0]
    while state[LEFT] >= 2 * k and queries.work[0] - begun < work:
        if len(lookahead.first) > 1 and lookahead.formed[0] >= len(lookahead.first) // 4:
            plan(cloud, ranking, total, rest, state, tree, lookahead)
            lookahead.formed[0] = 0
        lookahead.formed[0] += 1
        point, reach = farthest_from_centroid(cloud, ranking, state, total, rest, queries.work)
        near = reach < ranking.least
        if near:
            break
        slot = lookahead.slots[point]
        if slot >= 0:
            await_pair(cloud, tree, queries, lookahead, slot, k)
        known = slot >= 0 and all_unassigned(labels, lookahead.rows[slot, 0])
        pair = lookahead if known else one
        if not known:
            slot = 0
            queries.pairs[0], one.first[0] = 0, point
            refresh(tree)
            find_first(cloud, tree, queries, one, len(one.first), k)
        take(cloud, tree, pair.rows[slot, 0], pair.points[slot, 0], total, rest, labels, state)
        known = known and all_unassigned(labels, lookahead.last[slot : slot + 1])
        if not (known and all_unassigned(labels, lookahead.rows[slot, 1])):
            refresh(tree)
            pair, slot = one, 0
            queries.pairs[0], one.first[0] = 0, point
            find_second(cloud, tree, queries, one, len(one.first), k)
        take(cloud, tree, pair.rows[slot, 1], pair.points[slot, 1], total, rest, labels, state)
    return near
