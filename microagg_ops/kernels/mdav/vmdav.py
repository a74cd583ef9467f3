"""V-MDAV by brute force: every distance that the definition names is computed.

``points`` is the working copy, columns by rows, in which a row that has left is NaN; ``table`` is
the same rows by columns, as it was.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.mdav.fmdav import (
    BLOCK,
    compact,
    farthest,
    nearest,
    squared_distances,
    squared_distances_in,
)


@kernel
def least_of(distances, size):
    """Return the row of the smallest distance, the lowest of ties; NaN is skipped."""
    row = -1
    for i in range(size):
        if not np.isnan(distances[i]) and (row < 0 or distances[i] < distances[row]):
            row = i
    return row


@kernel
def to_cluster(points, size, table, members, out, least):
    """Fill ``least`` with the squared distances of the first rows to their nearest member."""
    for start in range(0, size, BLOCK):
        # A block of rows is near at hand while the members take their turns.
        stop = min(start + BLOCK, size)
        least[start:stop] = np.inf
        for member in members:
            squared_distances_in(points, start, stop, table[member], out)
            lower(least[start:stop], out, stop - start)


@kernel
def lower(least, distances, size):
    """Take the elementwise minimum into ``least``; a row that has left is NaN."""
    for i in range(size):
        least[i] = distances[i] if distances[i] <= least[i] else least[i]


@kernel
def leave(points, far, row):
    """Remove a row from the working copy."""
    far[row] = np.nan
    for j in range(points.shape[0]):
        points[j, row] = np.nan


@kernel
def grow(points, far, ids, table, size, members, square_gain, distances, least):
    """Extend a cluster of k by rows that are close to it; return its size.

    ``least`` holds the squared distances of the rows to the cluster.
    """
    found = len(members) // 2 + 1
    while found < len(members):
        for i in range(size):
            if np.isnan(far[i]):
                least[i] = np.nan
        row = least_of(least, size)
        squared_distances(points, size, table[ids[row]], distances)
        distances[row] = np.nan
        next_row = least_of(distances, size)
        outside = distances[next_row] if next_row >= 0 else np.inf
        if not least[row] < square_gain * outside:
            break
        members[found] = ids[row]
        found += 1
        leave(points, far, row)
        lower(least, distances, size)
    return found


@kernel
def form_clusters(table, points, far, ids, labels, state, k, square_gain, count):
    """Form up to ``count`` clusters while 2k rows are left.

    ``far`` holds the distances to the centroid of all rows, ``state`` the size of the working
    copy, the rows left in it and the next label.
    """
    distances = np.empty(points.shape[1])
    least = np.empty(points.shape[1])
    rows = np.empty(k, np.int64)
    members = np.empty(2 * k - 1, np.int64)
    for _ in range(count):
        size, left, label = state
        if left < 2 * k:
            return
        if 4 * left < 3 * size:
            size = compact(points, far, ids, size)
        squared_distances(points, size, table[ids[farthest(far, size)]], distances)
        nearest(distances, size, k, rows, True)
        for i in range(k):
            members[i] = ids[rows[i]]
            leave(points, far, rows[i])
        found = k
        if square_gain > 0.0:
            to_cluster(points, size, table, members[:k], distances, least)
            found = grow(points, far, ids, table, size, members, square_gain, distances, least)
        for i in range(found):
            labels[members[i]] = label
        state[0], state[1], state[2] = size, left - found, label + 1
