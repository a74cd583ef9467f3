"""ICSM: records that migrate (1-opt), exchange (2-opt) or move on in a cycle (n-opt).

Mortazavi and Jalili, A Novel Local Search Method for Microaggregation, 2015, whose equations are
R1 to R3. Weights are changes of the SSE. ``means`` and ``sizes`` are those of the clusters. In a
graph of n records and c clusters the node n + g stands for a free place in cluster g.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel


@kernel
def replaced(points, row, other, mean, size):
    """Return the change of SSE when a row replaces another in that one's cluster (R1)."""
    total = 0.0
    for j in range(points.shape[1]):
        difference = points[row, j] - points[other, j]
        total += difference * (2.0 * (points[other, j] - mean[j]) + difference * (size - 1) / size)
    return total


@kernel
def joined(points, row, mean, size):
    """Return the change of SSE when a row joins a cluster (R2)."""
    total = 0.0
    for j in range(points.shape[1]):
        total += (mean[j] - points[row, j]) ** 2
    return total * size / (size + 1)


@kernel
def left(points, row, mean, size):
    """Return the change of SSE when a row leaves its cluster (R3)."""
    total = 0.0
    for j in range(points.shape[1]):
        total += (mean[j] - points[row, j]) ** 2
    return -total * size / (size - 1)


@kernel
def exchanged(points, row, other, p, q, means, sizes):
    """Return the change of SSE when rows of clusters p and q exchange: R1 both ways."""
    apart = 0.0
    along = 0.0
    for j in range(points.shape[1]):
        difference = points[row, j] - points[other, j]
        apart += difference * difference
        along += difference * (means[p, j] - means[q, j])
    return 2.0 * along - apart * (1.0 / sizes[p] + 1.0 / sizes[q])


@kernel
def add(pool, gains, count, gain, row, other):
    """Add a change to the pool, unless it is full; return its new size."""
    if count == len(gains):
        return count
    gains[count] = gain
    pool[count, 0], pool[count, 1] = row, other
    return count + 1


@kernel
def migrations(points, k, labels, means, sizes, least, pool, gains, count, row):
    """Collect the clusters with room for a row that its own can do without."""
    p = labels[row]
    if sizes[p] == k:
        return count
    freed = left(points, row, means[p], sizes[p])
    for q in range(len(sizes)):
        if q != p and sizes[q] < 2 * k - 1:
            gain = freed + joined(points, row, means[q], sizes[q])
            if gain < -least:
                count = add(pool, gains, count, gain, row, len(points) + q)
    return count


@kernel
def fill(points, k, labels, means, sizes, least, pool, gains, count, start, stop):
    """Collect migrations and exchanges of rows that lower the SSE, until the pool is full.

    Return the size of the pool, and the row to continue with.
    """
    for row in range(start, stop):
        count = migrations(points, k, labels, means, sizes, least, pool, gains, count, row)
        p = labels[row]
        for other in range(row + 1, len(points)):
            if labels[other] != p:
                gain = exchanged(points, row, other, p, labels[other], means, sizes)
                if gain < -least:
                    count = add(pool, gains, count, gain, row, other)
        if count == len(gains):
            return count, row + 1
    return count, stop


@kernel
def apply(labels, pool, order, clusters):
    """Apply the changes of the pool in order, each cluster changing only once."""
    n = len(labels)
    changed = np.zeros(clusters, np.bool_)
    for i in order:
        row, other = pool[i]
        p = labels[row]
        q = other - n if other >= n else labels[other]
        if changed[p] or changed[q]:
            continue
        changed[p] = changed[q] = True
        labels[row] = q
        if other < n:
            labels[other] = p


@kernel
def weight(points, k, labels, means, sizes, a, b):
    """Return the weight of an edge between nodes of two clusters."""
    n = len(points)
    if a < n and b < n:
        q = labels[b]
        return replaced(points, a, b, means[q], sizes[q])
    if a < n:
        q = b - n
        return joined(points, a, means[q], sizes[q]) if sizes[q] < 2 * k - 1 else np.inf
    if b < n:
        q = labels[b]
        return left(points, b, means[q], sizes[q]) if sizes[q] > k else np.inf
    return np.inf


@kernel
def relax(points, k, labels, means, sizes, nodes, first, cost, back, start, stop):
    """Find the shortest paths from each source to the nodes at ``start`` to ``stop - 1``.

    ``nodes`` is ordered by the rank of the nodes' clusters; ``first[i]`` is where the rank of the
    i-th begins, so that all nodes before it lead to it. ``cost[i, s]`` is the length from source s,
    the s-th node, and ``back[i, s]`` the node before.
    """
    sources = cost.shape[1]
    for i in range(start, stop):
        for h in range(first[i]):
            w = weight(points, k, labels, means, sizes, nodes[h], nodes[i])
            for s in range(sources):
                if cost[h, s] + w < cost[i, s]:
                    cost[i, s] = cost[h, s] + w
                    back[i, s] = h


@kernel
def close(points, k, labels, means, sizes, nodes, cost):
    """Find the cycle of the least weight: a shortest path plus the edge back to its source."""
    best = np.inf
    end = source = -1
    for i in range(cost.shape[1], len(nodes)):
        for s in range(cost.shape[1]):
            if cost[i, s] < np.inf:
                back = weight(points, k, labels, means, sizes, nodes[i], nodes[s])
                if cost[i, s] + back < best:
                    best = cost[i, s] + back
                    end, source = i, s
    return best, end, source
