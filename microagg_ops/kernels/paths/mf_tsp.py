"""MF-TSP: clusters from a matrix that counts how often two rows are neighbours on many paths.

Maya-López, Enhancing Multivariate Microaggregation using Graph Theory (thesis).
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel


@kernel
def count(matrix, path):
    """Count the neighbours on a path, both ways."""
    for i in range(len(path) - 1):
        matrix[path[i], path[i + 1]] += 1
        matrix[path[i + 1], path[i]] += 1


@kernel
def closest(matrix, row, free):
    """Return the free row that is most often the neighbour of a row, the lowest of ties."""
    best = -1
    for other in range(len(matrix)):
        if free[other] and other != row and (best < 0 or matrix[row, other] > matrix[row, best]):
            best = other
    return best


@kernel
def closest_pair(matrix, free, partner):
    """Return the first of the two free rows that are neighbours most often, the lowest of ties.

    ``partner`` remembers the closest row of each row while that one is free.
    """
    best = -1
    for row in range(len(matrix)):
        if free[row]:
            if partner[row] < 0 or not free[partner[row]]:
                partner[row] = closest(matrix, row, free)
            if partner[row] >= 0 and (
                best < 0 or matrix[row, partner[row]] > matrix[best, partner[best]]
            ):
                best = row
    return best


@kernel
def grow(matrix, k, free, partner, labels, label, clusters):
    """Form ``clusters`` clusters of k rows; return the next label, or -1 when no pair is left.

    A cluster begins as the closest pair and takes in the row that is most often the neighbour of
    one of its members. Rows that cannot be k together are free no more and have no label.
    """
    n = len(matrix)
    for _ in range(clusters):
        row = closest_pair(matrix, free, partner)
        if row < 0 or matrix[row, partner[row]] == 0:
            return -1
        near = np.zeros(n, matrix.dtype)
        members = np.empty(k, np.int64)
        found = 0
        while True:
            free[row] = False
            members[found] = row
            found += 1
            if found == k:
                break
            following = -1
            for other in range(n):
                near[other] = max(near[other], matrix[row, other])
                if free[other] and (following < 0 or near[other] > near[following]):
                    following = other
            if following < 0 or near[following] == 0:
                break
            row = following
        if found == k:
            for member in members:
                labels[member] = label
            label += 1
    return label
