"""Random cluster shuffling: records move to nearer clusters, clusters of k are broken up.

Maya-López, Enhancing Multivariate Microaggregation using Graph Theory (thesis), algorithm 4.

``points`` is rows by columns; ``sums`` and ``sizes`` are those of the clusters. A cluster of size
zero is a free number.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.random import uniform


@kernel
def to_centre(points, row, sums, sizes, g):
    """Return the squared distance of a row to a centroid."""
    total = 0.0
    for j in range(points.shape[1]):
        difference = points[row, j] - sums[g, j] / sizes[g]
        total += difference * difference
    return total


@kernel
def nearest_cluster(points, k, row, sums, sizes, own):
    """Return the nearest other cluster with room, the lowest of ties; -1 where there is none."""
    best = np.inf
    nearest = -1
    for g in range(len(sizes)):
        if g != own and 0 < sizes[g] < 2 * k - 1:
            d = to_centre(points, row, sums, sizes, g)
            if d < best:
                best = d
                nearest = g
    return nearest


@kernel
def shift(points, row, sums, sizes, g, sign):
    """Add a row to a cluster (+1) or subtract it (-1)."""
    sizes[g] += sign
    for j in range(points.shape[1]):
        sums[g, j] += sign * points[row, j]


@kernel
def members_of(labels, g, size):
    """Return the rows of a cluster, ascending."""
    rows = np.empty(size, np.int64)
    found = 0
    for row in range(len(labels)):
        if labels[row] == g:
            rows[found] = row
            found += 1
            if found == size:
                break
    return rows


@kernel
def move_alone(points, k, row, labels, sums, sizes):
    """Move a row of a cluster of more than k to the nearest other one if this lowers the SSE."""
    g = labels[row]
    other = nearest_cluster(points, k, row, sums, sizes, g)
    if other < 0:
        return
    lost = to_centre(points, row, sums, sizes, other) * sizes[other] / (sizes[other] + 1)
    gained = to_centre(points, row, sums, sizes, g) * sizes[g] / (sizes[g] - 1)
    if lost < gained:
        shift(points, row, sums, sizes, g, -1)
        shift(points, row, sums, sizes, other, 1)
        labels[row] = other


@kernel
def break_up(points, k, g, labels, sums, sizes):
    """Move each row of a cluster to its nearest other one if that lowers the SSE in total."""
    rows = members_of(labels, g, sizes[g])
    targets = np.empty(len(rows), np.int64)
    kept = np.empty((len(rows), points.shape[1]))
    change = 0.0
    sent = 0
    for row in rows:
        other = nearest_cluster(points, k, row, sums, sizes, g)
        if other < 0:
            change = np.inf
            break
        change -= to_centre(points, row, sums, sizes, g)
        change += to_centre(points, row, sums, sizes, other) * sizes[other] / (sizes[other] + 1)
        targets[sent] = other
        kept[sent] = sums[other]
        shift(points, row, sums, sizes, other, 1)
        sent += 1
    if change < 0.0:
        sizes[g] = 0
        for i in range(sent):
            labels[rows[i]] = targets[i]
        return
    for i in range(sent - 1, -1, -1):
        sums[targets[i]] = kept[i]
        sizes[targets[i]] -= 1


@kernel
def visit(points, k, labels, sums, sizes, random, probability, start, stop):
    """Try to move each row; stop after a row that a shuffling event follows.

    Return the next row, and whether there is an event.
    """
    for row in range(start, stop):
        if sizes[labels[row]] > k:
            move_alone(points, k, row, labels, sums, sizes)
        else:
            break_up(points, k, labels[row], labels, sums, sizes)
        if probability > 0.0 and uniform(random) < probability:
            return row + 1, True
    return stop, False
