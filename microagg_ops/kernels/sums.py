"""Compensated sums in two doubles: a total hardly depends on the order of its terms.

A running total can then be updated by subtraction instead of being summed again, and two ways to
the same set of rows give the same centroid, as long as its terms lie within 106 bits of each other.
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
    """Return the totals of the columns of (rows, columns), in two doubles each."""
    total, rest = np.zeros(points.shape[1]), np.zeros(points.shape[1])
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            add(total, rest, j, points[i, j])
    return total, rest


@kernel
def centroids(points, labels, clusters):
    """Return the mean of each cluster, (clusters, columns); ``points`` is (columns, rows)."""
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
