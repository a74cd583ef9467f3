"""V-MDAV by brute force, with the triangle inequality where a cluster looks for a row to join.

``points`` is the working copy, columns by rows, in which a row that has left is NaN; ``table`` is
rows by columns, for distances between single rows.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.fmdav import farthest, nearest, squared_distances

# More than rounding can take from a squared distance.
SLACK = 1.0 + 1e-9


@kernel
def distance(a, b):
    """Squared distance of two rows, summed over the columns in their order."""
    total = 0.0
    for j in range(len(a)):
        difference = a[j] - b[j]
        total += difference * difference
    return total


@kernel
def distance_to_cluster(table, row, members):
    """Squared distance of a row to the nearest member of a cluster."""
    least = np.inf
    for member in members:
        least = min(least, distance(table[row], table[member]))
    return least


@kernel
def least_of(distances, size):
    """Give the row with the smallest distance; of equals the lowest."""
    row = -1
    for i in range(size):
        if not np.isnan(distances[i]) and (row < 0 or distances[i] < distances[row]):
            row = i
    return row


@kernel
def nearest_to_cluster(table, ids, distances, size, members, reach):
    """Give the row nearest to any member, and its squared distance.

    ``distances`` are those to the first member, squared, and no member is farther from it than
    ``reach``: a row that is farther than ``reach`` and the best found together cannot be nearer.
    """
    row = least_of(distances, size)
    best = distance_to_cluster(table, ids[row], members)
    limit = (reach + np.sqrt(best)) ** 2 * SLACK
    for i in range(size):
        if distances[i] <= limit:
            here = distance_to_cluster(table, ids[i], members)
            if here < best or (here == best and i < row):
                row, best = i, here
                limit = (reach + np.sqrt(best)) ** 2 * SLACK
    return row, best


@kernel
def leave(points, far, distances, row):
    """Take a row out of the working copy and of what is known of it."""
    far[row] = np.nan
    distances[row] = np.nan
    for j in range(points.shape[0]):
        points[j, row] = np.nan


@kernel
def compact(points, far, ids, size):
    """Close the gaps of rows that left, keeping the order; give the new size."""
    kept = 0
    for i in range(size):
        if not np.isnan(far[i]):
            if kept != i:
                ids[kept] = ids[i]
                far[kept] = far[i]
                for j in range(points.shape[0]):
                    points[j, kept] = points[j, i]
            kept += 1
    return kept


@kernel
def form_clusters(table, points, far, ids, labels, state, k, square_gain, count):
    """Form up to ``count`` clusters while 2k rows are left.

    ``far`` holds the distances to the centroid of all rows, ``state`` the size of the working
    copy, the rows left in it and the next label.
    """
    distances = np.empty(points.shape[1])
    around = np.empty(points.shape[1])
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
        reach = 0.0
        for i in range(k):
            members[i] = ids[rows[i]]
            reach = max(reach, distances[rows[i]])
            leave(points, far, distances, rows[i])
        left -= k
        found = k
        while square_gain > 0.0 and left > 0 and found < 2 * k - 1:
            row, inside = nearest_to_cluster(
                table, ids, distances, size, members[:found], np.sqrt(reach)
            )
            reached = distances[row]
            far_of_row = far[row]
            leave(points, far, distances, row)
            squared_distances(points, size, table[ids[row]], around)
            next_row = least_of(around, size)
            outside = around[next_row] if next_row >= 0 else np.inf
            if not inside < square_gain * outside:
                far[row] = far_of_row
                for j in range(points.shape[0]):
                    points[j, row] = table[ids[row], j]
                break
            members[found] = ids[row]
            reach = max(reach, reached)
            found += 1
            left -= 1
        for i in range(found):
            labels[members[i]] = label
        state[0], state[1], state[2] = size, left, label + 1
