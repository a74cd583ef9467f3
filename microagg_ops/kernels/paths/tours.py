"""Tours by the nearest neighbour: distances, k-nearest-neighbour lists, walks.

A tour goes through all rows and one dummy, numbered after the last row, that is at distance zero
from every row. Cut at the dummy, the tour is a path.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel


@kernel
def squared(points, a, b):
    """Return the squared distance of two rows."""
    total = 0.0
    for j in range(points.shape[1]):
        difference = points[a, j] - points[b, j]
        total += difference * difference
    return total


@kernel
def distance(points, a, b):
    """Return the distance of two nodes of a tour: rows, or the dummy."""
    if a == len(points) or b == len(points):
        return 0.0
    return np.sqrt(squared(points, a, b))


@kernel
def list_nearest(points, near, start, stop):
    """Fill ``near[start:stop]``, (rows, count) int32, with the nearest rows of each row.

    Nearest first, ties by row. Each list is grown by insertion.
    """
    n, count = len(points), near.shape[1]
    distances = np.empty(count)
    for row in range(start, stop):
        found = 0
        for other in range(n):
            if other == row:
                continue
            d = squared(points, row, other)
            if found == count and d >= distances[count - 1]:
                continue
            at = min(found, count - 1)
            while at > 0 and distances[at - 1] > d:
                distances[at] = distances[at - 1]
                near[row, at] = near[row, at - 1]
                at -= 1
            distances[at] = d
            near[row, at] = other
            found = min(found + 1, count)


@kernel
def lengths(points, near):
    """Return the distances of each node to the nodes on its list."""
    out = np.empty(near.shape)
    for node in range(len(near)):
        for i in range(near.shape[1]):
            out[node, i] = distance(points, node, near[node, i])
    return out


@kernel
def nearest_left(points, row, left, size):
    """Return the nearest of the rows left; ties go to the lowest."""
    best = np.inf
    nearest = -1
    for i in range(size):
        d = squared(points, row, left[i])
        if d < best or (d == best and left[i] < nearest):
            best = d
            nearest = left[i]
    return nearest


@kernel
def leave(left, place, row, size):
    """Remove a row from the rows left; the last of them takes its place."""
    last = left[size - 1]
    left[place[row]] = last
    place[last] = place[row]
    place[row] = -1


@kernel
def walk(points, near, path, done, stop, left, place):
    """Walk from row to nearest row, filling ``path[done:stop]``; ``path[0]`` is given.

    Most often the next row is on the list of the last one; otherwise all rows left are compared.
    """
    n = len(points)
    for at in range(done, stop):
        row = path[at - 1]
        following = -1
        for other in near[row]:
            if place[other] >= 0:
                following = other
                break
        if following < 0:
            following = nearest_left(points, row, left, n - at)
        leave(left, place, following, n - at)
        path[at] = following


@kernel
def path_length(points, path):
    """Return the length of a path."""
    total = 0.0
    for i in range(len(path) - 1):
        total += distance(points, path[i], path[i + 1])
    return total


@kernel
def stitch(points, labels, members, bounds, path, state, left, place, clusters):
    """Walk through ``clusters`` clusters, one after the other, always to the nearest row.

    ``members[bounds[g]:bounds[g + 1]]`` are the rows of a cluster; ``state`` holds how long the
    path is and the row that comes next.
    """
    n = len(points)
    for _ in range(clusters):
        done, row = state
        if done == n:
            return
        rows = members[bounds[labels[row]] : bounds[labels[row] + 1]]
        for at in range(len(rows)):
            path[done] = row
            leave(left, place, row, n - done)
            done += 1
            best = np.inf
            for other in rows:
                if at + 1 < len(rows) and place[other] >= 0:
                    d = squared(points, path[done - 1], other)
                    if d < best:
                        best = d
                        row = other
        if done < n:
            row = nearest_left(points, row, left, n - done)
        state[0], state[1] = done, row
