"""MDAV by brute force, exact: every distance that the definition names is computed.

The working copy of the points is columns by rows, so that distances to many rows are computed
side by side, each summed over the columns in their order. A row that has left is NaN: no
comparison with it is ever true.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.sums import add

BLOCK = 512


@kernel
def squared_distances(points, start, stop, centre, out):
    """Squared distances of the rows ``start:stop`` to a centre."""
    count = stop - start
    for i in range(count):
        out[i] = 0.0
    for j in range(points.shape[0]):
        column = points[j, start:stop]
        c = centre[j]
        for i in range(count):
            difference = column[i] - c
            out[i] += difference * difference


@kernel
def farthest(points, size, centre, block):
    """Give the row farthest from a centre; of equals the lowest."""
    best = -1.0
    row = -1
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        squared_distances(points, start, stop, centre, block)
        for i in range(stop - start):
            if block[i] > best:
                best = block[i]
                row = start + i
    return row


@kernel
def worse(distance, row, other_distance, other_row):
    """Whether one candidate ranks behind another: farther, or as far with a higher row."""
    return distance > other_distance or (distance == other_distance and row > other_row)


@kernel
def sift_down(distances, rows, at, size):
    """Let an entry of a worst-first heap sink to its place."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and worse(
            distances[child + 1], rows[child + 1], distances[child], rows[child]
        ):
            child += 1
        if not worse(distances[child], rows[child], distances[at], rows[at]):
            return
        distances[at], distances[child] = distances[child], distances[at]
        rows[at], rows[child] = rows[child], rows[at]
        at = child


@kernel
def nearest(points, size, centre, k, distances, rows, block):
    """Fill ``rows`` with the k rows nearest to a centre; of equals the lowest."""
    found = 0
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        squared_distances(points, start, stop, centre, block)
        for i in range(stop - start):
            if found < k:
                if block[i] >= 0.0:
                    distances[found] = block[i]
                    rows[found] = start + i
                    found += 1
                    if found == k:
                        for at in range(k // 2 - 1, -1, -1):
                            sift_down(distances, rows, at, k)
            elif block[i] < distances[0]:
                distances[0] = block[i]
                rows[0] = start + i
                sift_down(distances, rows, 0, k)


@kernel
def take(points, ids, rows, k, total, rest, labels, label):
    """Make k rows a cluster and let them leave."""
    for i in range(k):
        row = rows[i]
        labels[ids[row]] = label
        for j in range(points.shape[0]):
            add(total, rest, j, -points[j, row])
            points[j, row] = np.nan


@kernel
def compact(points, ids, size):
    """Close the gaps of rows that left, keeping the order; give the new size."""
    kept = 0
    for i in range(size):
        if points[0, i] == points[0, i]:
            if kept != i:
                ids[kept] = ids[i]
                for j in range(points.shape[0]):
                    points[j, kept] = points[j, i]
            kept += 1
    return kept


@kernel
def form_pairs(points, ids, total, rest, labels, state, k, pairs):
    """Form up to ``pairs`` pairs of clusters while 2k rows are left.

    ``state`` holds the size of the working copy, the rows left in it and the next label.
    """
    columns = points.shape[0]
    block = np.empty(BLOCK)
    centre = np.empty(columns)
    distances = np.empty(k)
    rows = np.empty(k, np.int64)
    for _ in range(pairs):
        size, left, label = state
        if left < 2 * k:
            return
        if 4 * left < 3 * size:
            size = compact(points, ids, size)
        for j in range(columns):
            centre[j] = (total[j] + rest[j]) / left
        for _side in range(2):
            row = farthest(points, size, centre, block)
            for j in range(columns):
                centre[j] = points[j, row]
            nearest(points, size, centre, k, distances, rows, block)
            take(points, ids, rows, k, total, rest, labels, label)
            label += 1
        state[0], state[1], state[2] = size, left - 2 * k, label
