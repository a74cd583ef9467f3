"""An approximate k-nearest-neighbour graph: random k-d splits, then neighbours of neighbours.

Ordered by k-d splits along random axes, near rows often share a block, within which all distances
are computed. The resulting graph is refined as in NN-descent: a neighbour of a neighbour is likely
to be one.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.simd.floats import prefetch, squared_distance
from microagg_ops.kernels.simd.integers import POINTS

# Rows that are rotated side by side: a loop of this length is vectorized.
BESIDE = 64


@kernel
def rotate(points, axes, turned, first, stop):
    """Write ``points[first:stop] @ axes`` into ``turned``, float32."""
    columns = len(axes)
    block, along = np.zeros((columns, BESIDE), np.float32), np.empty(BESIDE, np.float32)
    for begin in range(first, stop, BESIDE):
        many = min(BESIDE, stop - begin)
        for i in range(many):
            for j in range(columns):
                block[j, i] = points[begin + i, j]
        for a in range(axes.shape[1]):
            along[:] = 0.0
            for j in range(columns):
                share = axes[j, a]
                for i in range(BESIDE):
                    along[i] += block[j, i] * share
            for i in range(many):
                turned[begin + i, a] = along[i]


@inlined
def insert(near, away, row, other, distance):
    """Insert a row into a sorted list of neighbours, unless it is there; return the largest."""
    last = near.shape[1] - 1
    at = last
    while at > 0 and away[row, at - 1] > distance:
        at -= 1
    # A row that is there already has the same distance, to the bit.
    before = at - 1
    while before >= 0 and away[row, before] == distance and near[row, before] != other:
        before -= 1
    if before < 0 or away[row, before] != distance:
        for i in range(last, at, -1):
            away[row, i], near[row, i] = away[row, i - 1], near[row, i - 1]
        away[row, at], near[row, at] = distance, other
    return away[row, last]


@kernel
def compare_blocks(points, order, near, away, size, first, stop):
    """Compare all rows within each block of an order; keep the nearest in ``near`` and ``away``.

    ``near`` is (rows, count) int32, ``away`` (rows, count) float32: squared distances, ascending.
    """
    columns, last = points.shape[1], near.shape[1] - 1
    block, squares = np.zeros((columns, size), np.float32), np.empty(size, np.float32)
    for begin in range(first, stop, size):
        many = min(size, stop - begin)
        for i in range(many):
            for j in range(columns):
                block[j, i] = points[order[begin + i], j]
        for i in range(many):
            row = order[begin + i]
            squares[:] = 0.0
            for j in range(columns):
                column = block[j]
                here = column[i]
                for other in range(size):
                    off = column[other] - here
                    squares[other] += off * off
            squares[i] = np.inf
            worst = away[row, last]
            # Those of the same leaf first: after them few others are near enough.
            leaf = i - i % POINTS
            for one, two in ((leaf, many), (0, leaf)):
                for other in range(one, two):
                    if squares[other] < worst:
                        worst = insert(near, away, row, order[begin + other], squares[other])


@kernel
def reverse_edges(near, back, many):
    """List for each row whose neighbour it is, the nearest first, up to the width of ``back``."""
    for i in range(near.shape[1]):
        for row in range(len(near)):
            other = near[row, i]
            if many[other] < back.shape[1]:
                back[other, many[other]] = row
                many[other] += 1


@kernel
def join_neighbours(points, near, back, many, nearer, first, stop):
    """Refine the lists of rows ``first:stop`` by the neighbours of their neighbours, either way."""
    count = near.shape[1]
    known = np.full(len(points), -1, np.int32)
    met = np.empty((count + back.shape[1]) * (count + 1), np.int32)
    away, found = np.empty((1, count), np.float32), np.empty((1, count), np.int32)
    for row in range(first, stop):
        known[row] = row
        size = 0
        for i in range(count + many[row]):
            other = near[row, i] if i < count else back[row, i - count]
            if known[other] != row:
                known[other] = row
                met[size] = other
                size += 1
        for i in range(size):
            for other in near[met[i]]:
                if known[other] != row:
                    known[other] = row
                    prefetch(points, other)
                    met[size] = other
                    size += 1
        away[:], found[:] = np.inf, 0
        worst = away[0, count - 1]
        for other in met[:size]:
            square = np.float32(squared_distance(points, row, other))
            if square < worst:
                worst = insert(found, away, 0, other, square)
        nearer[row] = found[0]
