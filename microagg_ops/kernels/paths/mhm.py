"""Optimal clusters along a path or a tour: a shortest path over arcs of k to 2k - 1 records.

The multivariate Hansen–Mukherjee method: Domingo-Ferrer et al., 2006,
doi:10.1007/s00778-006-0007-0.

``points`` is rows by columns in the order of the path. The spread of a cluster is kept up to date
while records join it, so that each arc costs one record.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel


@kernel
def join(mean, size, points, row):
    """Add a record to a running mean of then ``size`` records (Welford); return the SSE added."""
    added = 0.0
    for j in range(len(mean)):
        difference = points[row, j] - mean[j]
        mean[j] += difference / size
        added += difference * (points[row, j] - mean[j])
    return added


@kernel
def extend(points, k, cost, back, start, stop):
    """Extend the dynamic program over prefixes of ``start`` to ``stop - 1`` records.

    ``cost`` (n + 1,) float64 holds the least SSE of each prefix, ``back`` (n + 1,) int64 where its
    last cluster begins. Ties go to the shorter last cluster.
    """
    mean = np.empty(points.shape[1])
    for j in range(start, stop):
        mean[:] = 0.0
        sse = 0.0
        for size in range(1, min(j, 2 * k - 1) + 1):
            i = j - size
            sse += join(mean, size, points, i)
            if size >= k and cost[i] + sse < cost[j]:
                cost[j] = cost[i] + sse
                back[j] = i


@kernel
def arcs(points, k, out, start, stop):
    """Fill ``out[i, s]``, (n, k) float64, with the SSE of the arc of k + s records from i on."""
    n, columns = points.shape
    mean = np.empty(columns)
    for i in range(start, stop):
        mean[:] = 0.0
        sse = 0.0
        for size in range(1, 2 * k):
            sse += join(mean, size, points, (i + size - 1) % n)
            if size >= k:
                out[i, size - k] = sse


@kernel
def around(costs, k, first, cost, back):
    """Find the optimal clusters of a tour cut before record ``first``; return their SSE."""
    n = len(costs)
    cost[:] = np.inf
    cost[0] = 0.0
    for i in range(n - k + 1):
        if cost[i] < np.inf:
            for size in range(k, min(2 * k - 1, n - i) + 1):
                reached = cost[i] + costs[(first + i) % n, size - k]
                if reached < cost[i + size]:
                    cost[i + size] = reached
                    back[i + size] = i
    return cost[n]
