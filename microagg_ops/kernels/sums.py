"""Sums carried in two doubles, so that a total does not depend on the order of its terms.

A running total can then be mended by subtraction instead of being summed again, and two roads to
the same set of rows give the same centroid.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel


@kernel
def add(total, rest, j, value):
    """Add a value to ``total[j] + rest[j]``, keeping what rounding would lose."""
    before = total[j]
    after = before + value
    part = after - before
    rest[j] += (before - (after - part)) + (value - part)
    total[j] = after


@kernel
def totals(points):
    """Column totals of rows by columns, in two doubles each."""
    total, rest = np.zeros(points.shape[1]), np.zeros(points.shape[1])
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            add(total, rest, j, points[i, j])
    return total, rest


@kernel
def centroids(points, labels, clusters):
    """Mean of each cluster: ``points`` is columns by rows, the result clusters by columns."""
    columns, rows = points.shape
    sizes = np.zeros(clusters, np.int64)
    for i in range(rows):
        sizes[labels[i]] += 1
    means = np.zeros((clusters, columns))
    total = np.zeros(clusters)
    rest = np.zeros(clusters)
    for j in range(columns):
        total[:] = 0.0
        rest[:] = 0.0
        for i in range(rows):
            add(total, rest, labels[i], points[j, i])
        for g in range(clusters):
            means[g, j] = (total[g] + rest[g]) / sizes[g] if sizes[g] else np.nan
    return means
