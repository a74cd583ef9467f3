"""MDAV by brute force, with the five improvements of F-MDAV, each behind a switch of its own.

Rodríguez-Hoyos et al., 2020, doi:10.1016/j.engappai.2020.103531.

The working copy of the points is columns by rows, in double or in single precision, so that
distances to many rows are computed side by side. A row that has left is NaN: no comparison with
it is ever true.
"""

from __future__ import annotations

import heapq

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.sums import add

# Rows whose distances stay in the first cache while the columns are gone through.
BLOCK = 1024


@kernel
def squared_distances_in(points, start, stop, centre, block):
    """Fill ``block`` with the squared distances of the rows ``start:stop`` to a centre."""
    for i in range(stop - start):
        block[i] = 0.0
    for j in range(points.shape[0]):
        column = points[j, start:stop]
        c = centre[j]
        for i in range(stop - start):
            difference = column[i] - c
            block[i] += difference * difference


@kernel
def squared_distances(points, size, centre, out):
    """Fill ``out`` with the squared distances of the first rows to a centre."""
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        squared_distances_in(points, start, stop, centre, out[start:stop])


@kernel
def algebraic_distances(points, half, size, centre, out):
    """Fill ``out`` with |x|²/2 - <x, centre>, which ranks rows as their distances do."""
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        block = out[start:stop]
        for i in range(stop - start):
            block[i] = half[start + i]
        for j in range(points.shape[0]):
            column = points[j, start:stop]
            c = centre[j]
            for i in range(stop - start):
                block[i] -= column[i] * c


@kernel
def fill(points, half, size, centre, out, algebraic):
    """Fill ``out`` with what ranks the rows by their distance to a centre."""
    if algebraic:
        algebraic_distances(points, half, size, centre, out)
    else:
        squared_distances(points, size, centre, out)


@kernel
def farthest(distances, size):
    """Return the row of the largest distance, the lowest of ties; NaN is skipped."""
    row = -1
    for i in range(size):
        if row < 0:
            if not np.isnan(distances[i]):
                row = i
        elif distances[i] > distances[row]:
            row = i
    return row


@kernel
def kth_by_sorting(distances, size, k):
    """Return the k-th smallest distance by sorting all."""
    left = distances[:size]
    return np.sort(left[~np.isnan(left)])[k - 1]


@kernel
def kth_by_selection(distances, size, k):
    """Return the k-th smallest distance by a max-heap of the k smallest."""
    heap = [distances[0]]
    heap.clear()
    for i in range(size):
        value = -distances[i]
        if len(heap) < k:
            if not np.isnan(value):
                heapq.heappush(heap, value)
        elif value > heap[0]:
            heapq.heapreplace(heap, value)
    return -heap[0]


@kernel
def nearest(distances, size, k, rows, partial):
    """Fill ``rows`` with the k rows of the smallest distances, the lowest of ties."""
    limit = kth_by_selection(distances, size, k) if partial else kth_by_sorting(distances, size, k)
    found = 0
    for i in range(size):
        if distances[i] < limit:
            rows[found] = i
            found += 1
    for i in range(size):
        if found == k:
            return
        if distances[i] == limit:
            rows[found] = i
            found += 1


@kernel
def take(points, half, ids, rows, total, rest, labels, label, distances):
    """Label rows as a cluster, and remove them from the working copy and the distances."""
    for row in rows:
        labels[ids[row]] = label
        half[row] = np.nan
        distances[row] = np.nan
        for j in range(points.shape[0]):
            add(total, rest, j, -points[j, row])
            points[j, row] = np.nan


@kernel
def compact(points, known, ids, size):
    """Compact the working copy, keeping its order; return the new size."""
    kept = 0
    for i in range(size):
        if not np.isnan(known[i]):
            if kept != i:
                ids[kept] = ids[i]
                known[kept] = known[i]
                for j in range(points.shape[0]):
                    points[j, kept] = points[j, i]
            kept += 1
    return kept


@kernel
def summed(points, size, total, rest):
    """Sum the rows left, in four independent partial sums."""
    even = size - size % 4
    for j in range(points.shape[0]):
        column = points[j, :size]
        a = b = c = d = 0.0
        for i in range(0, even, 4):
            a += 0.0 if np.isnan(column[i]) else column[i]
            b += 0.0 if np.isnan(column[i + 1]) else column[i + 1]
            c += 0.0 if np.isnan(column[i + 2]) else column[i + 2]
            d += 0.0 if np.isnan(column[i + 3]) else column[i + 3]
        for i in range(even, size):
            a += 0.0 if np.isnan(column[i]) else column[i]
        total[j] = a + b
        rest[j] = c + d


@kernel
def form_pairs(points, half, ids, total, rest, labels, state, k, pairs, switches):
    """Form up to ``pairs`` pairs of clusters while 2k rows are left.

    ``state`` holds the size of the working copy, the rows left in it and the next label.
    ``switches`` are: algebraic, reuse, partial, subtraction.
    """
    algebraic, reuse, partial, subtraction = switches
    columns = points.shape[0]
    centre = np.empty(columns, points.dtype)
    distances = np.empty(points.shape[1], points.dtype)
    rows = np.empty(k, np.int64)
    for _ in range(pairs):
        size, left, label = state
        if left < 2 * k:
            return
        if 4 * left < 3 * size:
            size = compact(points, half, ids, size)
        if not subtraction:
            summed(points, size, total, rest)
        for j in range(columns):
            centre[j] = (total[j] + rest[j]) / left
        fill(points, half, size, centre, distances, algebraic)
        for side in range(2):
            if side == 1 and not reuse:
                fill(points, half, size, centre, distances, algebraic)
            row = farthest(distances, size)
            for j in range(columns):
                centre[j] = points[j, row]
            fill(points, half, size, centre, distances, algebraic)
            nearest(distances, size, k, rows, partial)
            take(points, half, ids, rows, total, rest, labels, label, distances)
            label += 1
        state[0], state[1], state[2] = size, left - 2 * k, label
