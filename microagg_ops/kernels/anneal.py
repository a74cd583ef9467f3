"""Simulated annealing over partitions: rows swap clusters, shift, found clusters and leave them.

A partition is held by its members: clusters by places, with the sum of each cluster's rows, so
that the change of SSE by a move costs one pass over the columns. Moves stay within a region of
clusters, so that regions can be worked on side by side; what happens in another region is never
read. A move that takes several steps is undone step by step when it is refused.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.random import below, uniform

# points: rows by columns, columns filled up with zeros to a multiple of four; place: row to its
# place among the members; region: cluster to region, also of clusters that are empty.
Partition = namedtuple("Partition", "points labels members place sizes sums region")

# In so many moves, one that founds a cluster or dissolves one.
RARE = 48


@inlined
def to_centroid(points, row, sums, cluster, share):
    """Squared distance of a row to ``share`` times the sum of a cluster."""
    a = b = c = d = 0.0
    for j in range(0, points.shape[1], 4):
        e = points[row, j] - sums[cluster, j] * share
        f = points[row, j + 1] - sums[cluster, j + 1] * share
        g = points[row, j + 2] - sums[cluster, j + 2] * share
        h = points[row, j + 3] - sums[cluster, j + 3] * share
        a += e * e
        b += f * f
        c += g * g
        d += h * h
    return (a + b) + (c + d)


@inlined
def gain_of_leaving(points, row, sums, sizes, cluster):
    """How much SSE falls when a row leaves its cluster."""
    size = sizes[cluster]
    return to_centroid(points, row, sums, cluster, 1.0 / size) * size / (size - 1)


@inlined
def cost_of_joining(points, row, sums, sizes, cluster):
    """How much SSE rises when a row joins a cluster."""
    size = sizes[cluster]
    return to_centroid(points, row, sums, cluster, 1.0 / size) * size / (size + 1)


@inlined
def change_of_swap(points, row, other, sums, sizes, here, there):
    """How much SSE changes when two rows swap their clusters."""
    share_here, share_there = 1.0 / sizes[here], 1.0 / sizes[there]
    a = b = 0.0
    p = q = 0.0
    for j in range(0, points.shape[1], 2):
        v = points[other, j] - points[row, j]
        w = points[other, j + 1] - points[row, j + 1]
        a += v * (sums[there, j] * share_there - sums[here, j] * share_here)
        b += w * (sums[there, j + 1] * share_there - sums[here, j + 1] * share_here)
        p += v * v
        q += w * w
    return 2.0 * (a + b) - (p + q) * (share_here + share_there)


@inlined
def leave(points, members, place, sizes, sums, row, cluster):
    """Take a row out of its cluster."""
    last = members[cluster, sizes[cluster] - 1]
    members[cluster, place[row]] = last
    place[last] = place[row]
    sizes[cluster] -= 1
    for j in range(points.shape[1]):
        sums[cluster, j] -= points[row, j]


@inlined
def join(points, labels, members, place, sizes, sums, row, cluster):
    """Put a row into a cluster."""
    members[cluster, sizes[cluster]] = row
    place[row] = sizes[cluster]
    labels[row] = cluster
    sizes[cluster] += 1
    for j in range(points.shape[1]):
        sums[cluster, j] += points[row, j]


@inlined
def swap(points, labels, members, place, sums, row, other):
    """Let two rows swap their clusters."""
    here, there = labels[row], labels[other]
    members[here, place[row]], members[there, place[other]] = other, row
    place[row], place[other] = place[other], place[row]
    labels[row], labels[other] = there, here
    for j in range(points.shape[1]):
        v = points[other, j] - points[row, j]
        sums[here, j] += v
        sums[there, j] -= v


@inlined
def accepted(change, temperature, state):
    """Whether a change of SSE is taken: always downhill, uphill by chance."""
    return change < 0.0 or (temperature > 0.0 and uniform(state) < np.exp(-change / temperature))


@kernel
def found(parts, near, row, cluster, k, temperature, state, journal):
    """Try to found a cluster around a row, of rows whose clusters can spare them."""
    points, labels, members, place, sizes, sums, region = parts
    change, taken = 0.0, 0
    for i in range(-1, near.shape[1]):
        other = row if i < 0 else near[row, i]
        here = labels[other]
        if here == cluster or region[here] != region[cluster] or sizes[here] <= k:
            if i < 0:
                return 0.0
            continue
        change -= gain_of_leaving(points, other, sums, sizes, here)
        if sizes[cluster] > 0:
            change += cost_of_joining(points, other, sums, sizes, cluster)
        leave(points, members, place, sizes, sums, other, here)
        join(points, labels, members, place, sizes, sums, other, cluster)
        journal[taken, 0], journal[taken, 1] = other, here
        taken += 1
        if taken == k:
            break
    if taken == k and accepted(change, temperature, state):
        return change
    undo(parts, journal, taken, cluster)
    return 0.0


@kernel
def dissolve(parts, near, cluster, k, temperature, state, journal):
    """Try to dissolve a cluster: each of its rows joins the best cluster of its neighbours."""
    points, labels, members, place, sizes, sums, region = parts
    change, moved, many = 0.0, 0, sizes[cluster]
    while sizes[cluster] > 0:
        row = members[cluster, sizes[cluster] - 1]
        best, there = np.inf, -1
        for i in range(near.shape[1]):
            other = labels[near[row, i]]
            if (
                other != cluster and other != there
                and region[other] == region[cluster] and sizes[other] < 2 * k - 1
            ):  # fmt: skip
                cost = cost_of_joining(points, row, sums, sizes, other)
                if cost < best:
                    best, there = cost, other
        if there < 0:
            break
        if sizes[cluster] > 1:
            change -= gain_of_leaving(points, row, sums, sizes, cluster)
        change += best
        leave(points, members, place, sizes, sums, row, cluster)
        join(points, labels, members, place, sizes, sums, row, there)
        journal[moved, 0], journal[moved, 1] = row, cluster
        moved += 1
    if moved == many and accepted(change, temperature, state):
        return change
    undo(parts, journal, moved, -1)
    return 0.0


@kernel
def undo(parts, journal, steps, cluster):
    """Send rows back to where they came from, the last first."""
    points, labels, members, place, sizes, sums, _ = parts
    for i in range(steps - 1, -1, -1):
        row = journal[i, 0]
        leave(points, members, place, sizes, sums, row, labels[row])
        join(points, labels, members, place, sizes, sums, row, journal[i, 1])


@kernel
def anneal(parts, near, rows, free, k, begin, end, moves, state):
    """Make random moves while the temperature falls evenly from begin to end.

    ``rows`` are those of one region and ``free`` its empty clusters, how many in the last place.
    Gives the change of SSE.
    """
    points, labels, members, place, sizes, sums, region = parts
    journal = np.empty((2 * k, 2), np.int64)
    total = 0.0
    for move in range(moves):
        temperature = begin + (end - begin) * move / moves
        row = rows[below(state, len(rows))]
        here = labels[row]
        if move % RARE == 0:
            if below(state, 2) == 0:
                if free[-1] > 0:
                    change = found(
                        parts, near, row, free[free[-1] - 1], k, temperature, state, journal
                    )
                    free[-1] -= sizes[free[free[-1] - 1]] > 0
                    total += change
            elif sizes[here] < k + 2:
                change = dissolve(parts, near, here, k, temperature, state, journal)
                if sizes[here] == 0:
                    free[free[-1]] = here
                    free[-1] += 1
                total += change
            continue
        there = labels[near[row, below(state, near.shape[1])]]
        if there == here or region[there] != region[here]:
            continue
        if sizes[here] > k and sizes[there] < 2 * k - 1 and below(state, 2) == 0:
            change = cost_of_joining(points, row, sums, sizes, there) - gain_of_leaving(
                points, row, sums, sizes, here
            )
            if accepted(change, temperature, state):
                leave(points, members, place, sizes, sums, row, here)
                join(points, labels, members, place, sizes, sums, row, there)
                total += change
            continue
        other = members[there, below(state, sizes[there])]
        change = change_of_swap(points, row, other, sums, sizes, here, there)
        if accepted(change, temperature, state):
            swap(points, labels, members, place, sums, row, other)
            total += change
    return total
