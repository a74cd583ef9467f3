"""Swaps and shifts of rows between two clusters that lower the SSE.

A cluster is a stretch of one array of rows, with its centroid, the distance of each row to it, the
largest of these and its SSE. All of it is recomputed when the cluster changes, so it is a function
of the rows in their order: a pair that did not change since it was last compared gives the same
result to the bit, and can be skipped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.simd.floats import add_row, dot_along_line, squared_distance, to_centroid


class Clusters(NamedTuple):
    """A partition under local search. Cluster c has the rows members[first[c]:][:sizes[c]]."""

    k: int
    points: np.ndarray  # (rows, columns padded to a multiple of 4) float64
    members: np.ndarray  # (places,) int32
    first: np.ndarray  # (clusters,) int64
    sizes: np.ndarray  # (clusters,) int64: 0 for a cluster that is free
    centres: np.ndarray  # (clusters, columns) float64: the centroids
    away: np.ndarray  # (places,) float64: distance of each member to its centroid
    radius: np.ndarray  # (clusters,) float64: the largest of these
    losses: np.ndarray  # (clusters,) float64: SSE
    norms: np.ndarray  # (clusters,) float64: distance of the centroid from zero
    sums: np.ndarray  # (clusters,) float64: its coordinate along the diagonal
    reaches: np.ndarray  # (clusters,) float64: beyond its reach a cluster does not interact
    along: np.ndarray  # (2, largest cluster) float64: scratch for two clusters


# A change must lower the SSE of its two clusters by more than this share: less may be rounding.
EPS = 1e-12
# A cluster holds fewer than CAPACITY times k rows. More than 2k - 1 are of no use in the end, but a
# search that may not pass through larger clusters gets stuck more often.
CAPACITY = 8
# A row that gains by a shift comes from a cluster whose centroid is within this number of its radii
# of the other centroid: it follows from may_shift where k is 2 or more.
FARTHEST = 2.5


@inlined
def distance(points, row, centres, cluster):
    """Return the squared distance of a row of one array to a row of another."""
    a = b = c = d = 0.0
    for j in range(0, points.shape[1], 4):
        e = points[row, j] - centres[cluster, j]
        f = points[row, j + 1] - centres[cluster, j + 1]
        g = points[row, j + 2] - centres[cluster, j + 2]
        h = points[row, j + 3] - centres[cluster, j + 3]
        a += e * e
        b += f * f
        c += g * g
        d += h * h
    return (a + b) + (c + d)


@kernel
def measure(clusters, cluster):
    """Recompute centroid, distances, radius, SSE and reach of a cluster from its rows."""
    points, members, centres, away = (
        clusters.points, clusters.members, clusters.centres, clusters.away,
    )  # fmt: skip
    begin, size = clusters.first[cluster], clusters.sizes[cluster]
    end, norm, total, loss, radius = begin + size, 0.0, 0.0, 0.0, 0.0
    for j in range(points.shape[1]):
        centres[cluster, j] = 0.0
    for p in range(begin, end):
        add_row(centres, cluster, points, members[p])
    for j in range(points.shape[1]):
        centres[cluster, j] /= max(size, 1)
        norm += centres[cluster, j] * centres[cluster, j]
        total += centres[cluster, j]
    for p in range(begin, end):
        square = to_centroid(points, members[p], centres, cluster, 1.0)
        loss += square
        away[p] = np.sqrt(square)
        radius = max(radius, away[p])
    clusters.losses[cluster], clusters.radius[cluster] = loss, radius
    clusters.norms[cluster] = np.sqrt(norm)
    clusters.sums[cluster] = total / np.sqrt(points.shape[1])
    # With a margin for rounding.
    reach = radius * (FARTHEST if size > clusters.k else 1.0)
    clusters.reaches[cluster] = reach * (1.0 + 1e-9) + 1e-12 * clusters.norms[cluster]


@kernel
def measure_all(clusters):
    """Recompute every cluster; return the SSE."""
    for cluster in range(len(clusters.sizes)):
        measure(clusters, cluster)
    return clusters.losses.sum()


@inlined
def swap_lowers(gap, slope, share, square):
    """Return whether a swap lowers the SSE: u leads from centroid to centroid, v from row to row.

    ``gap`` is |u|², ``slope`` u(v - u), ``square`` |v|² and ``share`` s = 1/|a| + 1/|b|; the SSE
    changes by 2 uv - s |v|².
    """
    return 2.0 * (gap + slope) < share * square


@inlined
def shift_lowers(own, size, other, other_size):
    """Return whether a shift lowers the SSE, by the squared distances to both centroids."""
    return own * size / (size - 1) > other * other_size / (other_size + 1)


@inlined
def may_swap(gap, r, s):
    """Return whether a swap of clusters of radii r and s, √gap apart, may lower the SSE."""
    return gap < (r + s) * (r + s)


@inlined
def may_shift(gap, r, size, other_size):
    """Return whether a shift from a cluster of radius r to another √gap away may lower the SSE."""
    far = max(np.sqrt(gap) - r, 0.0)
    return shift_lowers(r * r, size, far * far, other_size)


@inlined
def may_change(k, gap, r, s, size, other_size):
    """Return whether any swap or shift between two clusters may lower the SSE."""
    return (
        may_swap(gap, r, s)
        or (size > k and may_shift(gap, r, size, other_size))
        or (other_size > k and may_shift(gap, s, other_size, size))
    )


@inlined
def project(clusters, a, b):
    """Project the rows of two clusters onto the line between their centroids.

    Return the squared distance of the centroids, and the least projection of the second cluster.
    """
    points, members, centres, along = (
        clusters.points, clusters.members, clusters.centres, clusters.along,
    )  # fmt: skip
    nearest = np.inf
    for p in range(clusters.sizes[a]):
        row = members[clusters.first[a] + p]
        along[0, p] = dot_along_line(points, row, centres, a, a, b)
    for q in range(clusters.sizes[b]):
        row = members[clusters.first[b] + q]
        along[1, q] = dot_along_line(points, row, centres, b, a, b)
        nearest = min(nearest, along[1, q])
    return distance(centres, a, centres, b), nearest


@kernel
def swap_rows(clusters, a, b, p, q):
    """Swap the rows at two places if this lowers the SSE; return whether it did."""
    members, losses = clusters.members, clusters.losses
    before = losses[a] + losses[b]
    for _ in range(2):
        members[p], members[q] = members[q], members[p]
        measure(clusters, a)
        measure(clusters, b)
        if losses[a] + losses[b] < before * (1.0 - EPS):
            return True
    return False


@inlined
def swap_all(clusters, a, b):
    """Swap rows of two clusters where this lowers the SSE; return whether any did.

    Distances to the centroids bound the distance of two rows, so that most rows and pairs of rows
    are ruled out without reading their columns.
    """
    points, members, away, along = (
        clusters.points, clusters.members, clusters.away, clusters.along,
    )  # fmt: skip
    begin, begin_b = clusters.first[a], clusters.first[b]
    size, size_b = clusters.sizes[a], clusters.sizes[b]
    changed = False
    share = 1.0 / size + 1.0 / size_b
    gap, nearest = project(clusters, a, b)
    for p in range(size):
        low = (2.0 - share) * gap - 2.0 * (1.0 - share) * along[0, p]
        both = away[begin + p] + clusters.radius[b]
        if low + 2.0 * (1.0 - share) * nearest >= share * both * both:
            continue
        for q in range(size_b):
            both = away[begin + p] + away[begin_b + q]
            if low + 2.0 * (1.0 - share) * along[1, q] >= share * both * both:
                continue
            square = squared_distance(points, members[begin + p], members[begin_b + q])
            if swap_lowers(gap, along[1, q] - along[0, p], share, square) and swap_rows(
                clusters, a, b, begin + p, begin_b + q
            ):
                changed = True
                gap, nearest = project(clusters, a, b)
                low = (2.0 - share) * gap - 2.0 * (1.0 - share) * along[0, p]
    return changed


@inlined
def shift_all(clusters, a, b):
    """Shift rows from one cluster to another where this lowers the SSE; return whether any did."""
    k, members, first, sizes, away, losses = (
        clusters.k, clusters.members, clusters.first, clusters.sizes, clusters.away,
        clusters.losses,
    )  # fmt: skip
    changed = False
    p = first[a]
    while p < first[a] + sizes[a] and sizes[a] > k and sizes[b] < CAPACITY * k - 1:
        row, m, n = members[p], sizes[a], sizes[b]
        square = to_centroid(clusters.points, row, clusters.centres, b, 1.0)
        if not shift_lowers(away[p] * away[p], m, square, n):
            p += 1
            continue
        before = losses[a] + losses[b]
        last = first[a] + m - 1
        members[p], members[first[b] + n] = members[last], row
        sizes[a], sizes[b] = m - 1, n + 1
        measure(clusters, a)
        measure(clusters, b)
        if losses[a] + losses[b] < before * (1.0 - EPS):
            changed = True
            continue
        members[last], members[p] = members[p], row
        sizes[a], sizes[b] = m, n
        measure(clusters, a)
        measure(clusters, b)
        p += 1
    return changed


@inlined
def improve_pair(clusters, a, b):
    """Swap and shift rows of two clusters where this lowers the SSE; return whether any did."""
    k, sizes, centres, radius = clusters.k, clusters.sizes, clusters.centres, clusters.radius
    changed = False
    if may_swap(distance(centres, a, centres, b), radius[a], radius[b]):
        changed = swap_all(clusters, a, b)
    for turn in range(2):
        c, d = (a, b) if turn == 0 else (b, a)
        if sizes[c] > k and may_shift(
            distance(centres, a, centres, b), radius[c], sizes[c], sizes[d]
        ):
            changed |= shift_all(clusters, c, d)
    return changed
