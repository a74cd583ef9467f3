"""Queries: where branch and bound looks from, its bounds so far, and the workspace it needs."""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import inlined, lean
from microagg_ops.kernels.mdav.heap import lower_worst
from microagg_ops.kernels.mdav.tree import MIDDLE, REACH
from microagg_ops.kernels.simd.integers import (
    COLUMNS,
    LANES,
    POINTS,
    box_distances,
    lowest_bit,
    squared_distance,
)


class Cloud(NamedTuple):
    """The points to search: rows with equal values are one point with several rows."""

    points: np.ndarray  # (points, columns) float64
    rows: np.ndarray  # (rows,) int32: the rows of point p are rows[head[p]:stop[p]], ascending
    head: np.ndarray  # (points,) int32: moves towards stop as rows leave
    stop: np.ndarray  # (points,) int32


class Queries(NamedTuple):
    """A batch of q queries of k results each, answered side by side, and their workspace."""

    sources: np.ndarray  # (q,) int64: the points from which the queries look
    # Results so far, as max-heaps.
    distances: np.ndarray  # (q, k) float64: squared, negated where the farthest are sought
    rows: np.ndarray  # (q, k) int64
    points: np.ndarray  # (q, k) int64
    # Where each query looks from, on each grid.
    coarse: np.ndarray  # (q, columns / 4, 4) int8: the negated source
    fine: np.ndarray  # (q, columns rounded up to 16) int16: the source
    box_centre: np.ndarray  # (q, columns / 2, 2) int16: the source, or its antipode
    origins: np.ndarray  # (q, 6) float64: the fields of Origin
    # Bounds on the fine grid.
    bounds: np.ndarray  # (q, k) int32: a max-heap of the k least values so far
    limits: np.ndarray  # (q, 3) int32: what may still matter: fine grid, coarse grid, boxes
    # Candidates that wait for their distance in double precision.
    pending: np.ndarray  # (q, PENDING) int32: places in the tree
    pending_values: np.ndarray  # (q, PENDING) int32: their values on the fine grid
    pending_count: np.ndarray  # (q,) int64
    stale: np.ndarray  # (q,) bool: a candidate left meanwhile, so the result does not count
    # Traversal.
    active: np.ndarray  # (q,) bool: still to be answered
    home_branch: np.ndarray  # (q,) int64: the branch nearest to the query, scanned first
    home_group: np.ndarray  # (q,) int64: a mask of one bit, the nearest group of that branch
    branches: np.ndarray  # (q,) int64: a mask of the branches to scan in one group of them
    visitors: np.ndarray  # (q + 1,) int64: the queries that scan a branch
    boxes: np.ndarray  # (LANES,) int32: lower bounds of the children of one group
    groups: np.ndarray  # (2 LANES,) int32: groups that are not ruled out
    leaves: np.ndarray  # (LEAVES + LANES,) int32: leaves that are not ruled out
    hits: np.ndarray  # (BRANCH + …,) int32: places that the coarse grid does not rule out
    hit_queries: np.ndarray  # like hits, int32: the query of each hit
    # Statistics.
    usual_bounds: np.ndarray  # (KINDS, 2) float64: mean and deviation of the final bounds
    work: np.ndarray  # (1,) int64: boxes and leaves looked at
    pairs: np.ndarray  # (q,) int64: the pair of clusters that each query is for


# The constants of a query's bounds, all float64. On the fine grid: the squared norm of the source,
# and by how much the rounding of two points can change their distance (slack). On the coarse grid:
# the squared norm, what all dot products have in common (shift), the width of a cell, and the
# rounding (off).
Origin = namedtuple("Origin", "norm slack coarse_norm shift cell off")

# (1 + 1/a) in eighths, and the a of the identity in branch_and_bound. Any a > 0 gives valid bounds;
# with this one the fewest leaves are scanned, in three columns and in thirty.
FAR = np.int32(20)
ANTIPODE = 8 / (int(FAR) - 8)
# XOR masks: the complement reverses the order of values, so that the farthest have the least.
COMPLEMENT, NONE = np.int32(-1), np.int32(0)
# The threshold of boxes before anything was found: all boxes are within.
EVERY = np.int32(1 << 30)
MOST = np.int32(2**31 - 1)
# Leaves of a branch, and the points that it has room for.
LEAVES = LANES * LANES
BRANCH = LEAVES * POINTS
# The prefetch distance: hits wait for this number of others before they are read.
PREFETCH_DISTANCE = 32
# Candidates that wait for their distance in double precision.
PENDING = 64
# Kinds of queries, each of which keeps statistics of its own.
KINDS = 3


def make_queries(k: int, columns: int, searches: int = 1) -> Queries:
    """Allocate a batch of queries of up to k rows each."""
    hits = BRANCH + 2 * PREFETCH_DISTANCE + LANES
    return Queries(
        sources=np.zeros(searches, np.int64),
        distances=np.zeros((searches, k)),
        rows=np.zeros((searches, k), np.int64),
        points=np.zeros((searches, k), np.int64),
        coarse=np.zeros((searches, -(-columns // 4), 4), np.int8),
        fine=np.zeros((searches, -(-columns // COLUMNS) * COLUMNS), np.int16),
        box_centre=np.zeros((searches, -(-columns // 2), 2), np.int16),
        origins=np.zeros((searches, len(Origin._fields))),
        bounds=np.zeros((searches, k), np.int32),
        limits=np.zeros((searches, 3), np.int32),
        pending=np.zeros((searches, PENDING), np.int32),
        pending_values=np.zeros((searches, PENDING), np.int32),
        pending_count=np.zeros(searches, np.int64),
        stale=np.zeros(searches, np.bool_),
        active=np.zeros(searches, np.bool_),
        home_branch=np.zeros(searches, np.int64),
        home_group=np.zeros(searches, np.int64),
        branches=np.zeros(searches, np.int64),
        visitors=np.zeros(searches + 1, np.int64),
        boxes=np.zeros(LANES, np.int32),
        groups=np.zeros(2 * LANES, np.int32),
        leaves=np.zeros(LEAVES + LANES, np.int32),
        hits=np.zeros(hits, np.int32),
        hit_queries=np.zeros(hits, np.int32),
        usual_bounds=np.full((KINDS, 2), np.inf),
        work=np.zeros(1, np.int64),
        pairs=np.zeros(searches, np.int64),
    )


@inlined
def begin_query(cloud, tree, queries, i, k, far, guess):
    """Reset query ``i``: its place on the grids, home branch, empty results and first limits."""
    weights, here, centre = queries.coarse[i], queries.fine[i], queries.box_centre[i]
    place = tree.place[queries.sources[i]]
    norm = coarse_norm = total = rest = np.int64(0)
    for j in range(cloud.points.shape[1]):
        value = np.int64(tree.fine[place, j])
        near = np.int64(tree.coarse[place // POINTS, j >> 2, place % POINTS, j & 3]) - MIDDLE
        norm += value * value
        coarse_norm += near * near
        total -= near
        rest += (value - np.int64(tree.cell[0]) * near) ** 2
        weights[j >> 2, j & 3] = -near
        here[j] = value
        centre[j >> 1, j & 1] = np.int64(np.rint(-value / ANTIPODE)) if far else value
    # Twice half a diagonal of a cell, and a little for the rounding on the way to the grid.
    slack = 1.001 * np.sqrt(cloud.points.shape[1])
    origin = queries.origins[i]
    origin[0], origin[1], origin[2] = norm, slack, coarse_norm
    origin[3], origin[4], origin[5] = MIDDLE * total, tree.cell[0], tree.cell[1] + np.sqrt(rest)
    queries.pending_count[i], queries.stale[i] = 0, False
    queries.home_branch[i] = nearest_branch(
        tree.low, tree.high, tree.max_norms, tree.base, centre, queries.boxes, FAR if far else NONE
    )
    if guess == MOST:
        leaf = queries.home_branch[i] * LEAVES if far else place // POINTS
        guess = initial_bound(tree.fine, tree.alive, here, queries.bounds[i], leaf, k, far)
    for j in range(k):
        queries.distances[i, j], queries.rows[i, j], queries.points[i, j] = (
            np.inf,
            len(cloud.rows),
            -1,
        )
        queries.bounds[i, j] = guess
    set_limits(queries.limits[i], origin, guess, far)


@lean
def nearest_branch(low, high, tops, base, centre, boxes, weight):
    """Return the branch whose box is nearest to the centre of a query."""
    least, home = MOST, 0
    for group in range(base[2], base[3]):
        mask = box_distances(low, high, tops, centre, boxes, group, len(centre), weight, least)
        while mask:
            lane = lowest_bit(mask)
            mask &= mask - 1
            if boxes[lane] < least:
                least, home = boxes[lane], (group - base[2]) * LANES + lane
    return home


@lean
def initial_bound(fine, living, here, values, leaf, k, far):
    """Return an upper bound of the k-th least value: that of k points near a leaf, plus one."""
    values[:k], missing = MOST, k
    for _ in range(len(living)):
        if missing <= 0:
            break
        alive = living[leaf]
        while alive:
            value = squared_distance(fine, here, leaf * POINTS + lowest_bit(alive)) ^ (
                COMPLEMENT if far else NONE
            )
            alive &= alive - 1
            missing -= 1
            if value < values[0]:
                lower_worst(values, k, value)
        leaf = (leaf + 1) % len(living)
    return values[0] + np.int32(1) if values[0] < (-1 if far else MOST) else MOST


@lean
def widened_limits(worst, far, origin):
    """Return the values up to which a point may be a result: fine grid, coarse grid and boxes.

    Rounding to the fine grid changes a distance by ``slack`` at most, that of the worst result and
    that of what may replace it; rounding to the coarse grid by ``off``. See docs/algorithms/mdav.md
    for the derivation.
    """
    slack = origin.slack
    if worst >= MOST:
        return MOST, MOST, EVERY
    if far:
        away = max(0.0, np.sqrt(-1.0 - worst) - 2.0 * slack)
        rough = max(0.0, away - origin.off) / origin.cell
        limit = origin.shift + np.floor((rough * rough - origin.coarse_norm - 1.0) / 2.0)
        # Values of boxes are nearer to those of points the nearer the origin is; the centre among
        # the boxes is rounded too.
        value = origin.norm - away * away
        box = (value + origin.norm / ANTIPODE) / ANTIPODE + 3.0 * slack * REACH
        return ~np.int32(away * away), ~np.int32(limit), np.int32(np.ceil(box))
    away = np.sqrt(worst) + 2.0 * slack
    rough = (away + origin.off) / origin.cell
    limit = origin.shift + np.ceil((rough * rough - origin.coarse_norm) / 2.0)
    value = np.int32(np.ceil(away * away))
    return value, np.int32(limit), value


@lean
def set_limits(limits, o, worst, far):
    """Set the limits of a query from its k-th least value, ``worst``."""
    limits[0], limits[1], limits[2] = widened_limits(
        worst, far, Origin(o[0], o[1], o[2], o[3], o[4], o[5])
    )
