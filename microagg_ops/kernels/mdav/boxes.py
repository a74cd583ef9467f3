"""MDAV with one level of boxes, in double precision: compiled in seconds.

For tables that do not earn the compilation of the tree. Bounds are computed as distances are, in
the same order, and rounding is monotonic: the computed bound of a box never exceeds the computed
distance of a point in it, so no margin is needed, and the labels are those of the definition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import lean
from microagg_ops.kernels.mdav.heap import replace_worst, worse
from microagg_ops.kernels.sums import add

# Rows in a leaf.
SIZE = 32


class Leaves(NamedTuple):
    """Rows in leaves of near ones; a place is a leaf times SIZE plus a slot in it."""

    points: np.ndarray  # (places, columns) float64
    rows: np.ndarray  # (places,) int64: the row of each place
    place: np.ndarray  # (rows,) int64: the place of each row
    filled: np.ndarray  # (leaves,) int64: rows left, which are in the first slots
    low: np.ndarray  # (columns, leaves) float64: the boxes of the rows left
    high: np.ndarray  # like low
    first: np.ndarray  # (leaves,) int64: no row of the leaf is lower


class Found(NamedTuple):
    """The k rows found, as a max-heap, and scratch."""

    distances: np.ndarray  # (k,) float64: squared, negated where the farthest are sought
    rows: np.ndarray  # (k,) int64
    places: np.ndarray  # (k,) int64
    bounds: np.ndarray  # (leaves,) float64: what no row of the leaf is below; inf if it was read
    centre: np.ndarray  # (columns,) float64: where the search looks from


# Fields of ``state``, (2,) int64: rows left, next label.
LEFT, LABEL = range(2)


@lean
def bound_leaves(leaves, found, far):
    """Fill in the bounds of the leaves."""
    low, high, bounds = leaves.low, leaves.high, found.bounds
    bounds[:] = 0.0
    for j in range(len(found.centre)):
        x = found.centre[j]
        for i in range(len(bounds)):
            below, above = low[j, i] - x, x - high[j, i]
            if far:
                below, above = -below, -above
            away = below if below > above else above
            away = away if far or away > 0.0 else 0.0
            bounds[i] += away * away
    for i in range(len(bounds)):
        if leaves.filled[i] == 0:
            bounds[i] = np.inf
        elif far:
            bounds[i] = -bounds[i]


@lean
def scan(leaves, found, leaf, k, far):
    """Measure the rows of a leaf; keep those that are among the k best."""
    points, rows, centre = leaves.points, leaves.rows, found.centre
    for place in range(leaf * SIZE, leaf * SIZE + leaves.filled[leaf]):
        away = 0.0
        for j in range(len(centre)):
            difference = points[place, j] - centre[j]
            away += difference * difference
        away = -away if far else away
        if worse(found.distances[0], found.rows[0], away, rows[place]):
            replace_worst(found.distances, found.rows, found.places, k, away, rows[place], place)


@lean
def search(leaves, found, k, far):
    """Find the k rows nearest to the centre, or farthest from it; ties go to the lowest row."""
    distances, rows, bounds = found.distances, found.rows, found.bounds
    bound_leaves(leaves, found, far)
    distances[:k], rows[:k] = np.inf, len(leaves.place)
    # The most promising leaves first, until there are k rows; then all that are not ruled out.
    best = 0
    while best >= 0 and distances[0] == np.inf:
        best, least = -1, np.inf
        for leaf in range(len(bounds)):
            if bounds[leaf] < least:
                best, least = leaf, bounds[leaf]
        if best >= 0:
            bounds[best] = np.inf
            scan(leaves, found, best, k, far)
    for leaf in range(len(bounds)):
        if bounds[leaf] <= distances[0] and worse(
            distances[0], rows[0], bounds[leaf], leaves.first[leaf]
        ):
            scan(leaves, found, leaf, k, far)


@lean
def remove(leaves, row):
    """Remove a row from its leaf, and refit the box."""
    points, rows, place, filled = leaves.points, leaves.rows, leaves.place, leaves.filled
    at = place[row]
    leaf = at // SIZE
    last = leaf * SIZE + filled[leaf] - 1
    rows[at], place[rows[last]] = rows[last], at
    filled[leaf] -= 1
    for j in range(points.shape[1]):
        points[at, j] = points[last, j]
        low, high = np.inf, -np.inf
        for i in range(leaf * SIZE, last):
            low = points[i, j] if points[i, j] < low else low
            high = points[i, j] if points[i, j] > high else high
        leaves.low[j, leaf], leaves.high[j, leaf] = low, high


@lean
def form_pairs(leaves, found, total, rest, labels, state, k, pairs):
    """Form up to ``pairs`` pairs of clusters while 2k rows are left."""
    centre, step = found.centre, 0
    while step > 0 or (pairs > 0 and state[LEFT] >= 2 * k):
        # Farthest from the centroid, a cluster around it, farthest from it, a cluster around that.
        far = step % 2 == 0
        if step == 0:
            for j in range(len(centre)):
                centre[j] = (total[j] + rest[j]) / state[LEFT]
        search(leaves, found, np.int64(1) if far else k, far)
        if far:
            for j in range(len(centre)):
                centre[j] = leaves.points[found.places[0], j]
        else:
            for row in found.rows[:k]:
                labels[row] = state[LABEL]
                for j in range(len(centre)):
                    add(total, rest, j, -leaves.points[leaves.place[row], j])
                remove(leaves, row)
            state[LEFT] -= k
            state[LABEL] += 1
        step = (step + 1) % 4
        pairs -= step == 0
