"""A partition under search: members and sums of its clusters, and moves in O(columns)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.simd.floats import squared_distance, to_centroid


class Partition(NamedTuple):
    """A partition under search: the members of each cluster, and the sum of their rows."""

    points: np.ndarray  # (rows, columns padded to a multiple of 4) float64 or float32
    labels: np.ndarray  # (rows,) int32: the cluster of each row
    members: np.ndarray  # (clusters, 4 k) int32: the rows of each cluster, then garbage
    place: np.ndarray  # (rows,) int32: where a row is among the members of its cluster
    sizes: np.ndarray  # (clusters,) int64: 0 for a cluster that is free
    sums: np.ndarray  # (clusters, columns) like points
    region: np.ndarray  # (clusters,) int32: also of clusters that are free


class FreeList(NamedTuple):
    """A stack of the empty clusters of a region."""

    clusters: np.ndarray  # (clusters,) int64
    size: np.ndarray  # (1,) int64


@inlined
def gain_of_leaving(points, row, sums, sizes, cluster):
    """Return by how much the SSE falls when a row leaves its cluster."""
    size = sizes[cluster]
    return to_centroid(points, row, sums, cluster, 1.0 / size) * size / (size - 1)


@inlined
def cost_of_joining(points, row, sums, sizes, cluster):
    """Return by how much the SSE rises when a row joins a cluster."""
    size = sizes[cluster]
    return to_centroid(points, row, sums, cluster, 1.0 / size) * size / (size + 1)


@inlined
def leave(points, members, place, sizes, sums, row, cluster):
    """Remove a row from its cluster in O(columns)."""
    last = members[cluster, sizes[cluster] - 1]
    members[cluster, place[row]] = last
    place[last] = place[row]
    sizes[cluster] -= 1
    for j in range(points.shape[1]):
        sums[cluster, j] -= points[row, j]


@inlined
def join(points, labels, members, place, sizes, sums, row, cluster):
    """Add a row to a cluster in O(columns)."""
    members[cluster, sizes[cluster]] = row
    place[row] = sizes[cluster]
    labels[row] = cluster
    sizes[cluster] += 1
    for j in range(points.shape[1]):
        sums[cluster, j] += points[row, j]


@inlined
def swap(points, labels, members, place, sums, row, other):
    """Swap the clusters of two rows."""
    here, there = labels[row], labels[other]
    members[here, place[row]], members[there, place[other]] = other, row
    place[row], place[other] = place[other], place[row]
    labels[row], labels[other] = there, here
    for j in range(points.shape[1]):
        v = points[other, j] - points[row, j]
        sums[here, j] += v
        sums[there, j] -= v


@kernel
def rebuild(parts):
    """Rebuild members, places, sizes and sums from the labels; return the SSE."""
    points, labels, members, place, sizes, sums, _ = parts
    sizes[:] = 0
    sums[:] = 0.0
    for row in range(len(labels)):
        join(points, labels, members, place, sizes, sums, row, np.int64(labels[row]))
    total = 0.0
    for row in range(len(labels)):
        total += to_centroid(points, row, sums, labels[row], 1.0 / sizes[labels[row]])
    return total


@kernel
def all_distances(points):
    """Return the squared distances of all rows to all rows, (rows, rows) float64."""
    rows = len(points)
    distances = np.empty((rows, rows))
    for a in range(rows):
        for b in range(rows):
            distances[a, b] = squared_distance(points, a, b)
    return distances
