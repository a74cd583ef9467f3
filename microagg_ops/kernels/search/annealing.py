"""Simulated annealing over partitions: rows swap clusters, shift, found clusters and leave them.

A partition is held by its members: clusters by places, with the sum of each cluster's rows, so
that the change of SSE by a move costs one pass over the columns. Moves stay within a region of
clusters, so that regions can be worked on side by side; what happens in another region is never
read. A move that takes several steps is undone step by step when it is refused.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import inlined, kernel, lean
from microagg_ops.kernels.random import below, uniform
from microagg_ops.kernels.search.partition import (
    cost_of_joining,
    gain_of_leaving,
    join,
    leave,
    swap,
)
from microagg_ops.kernels.simd.floats import (
    LARGE,
    change_of_swap,
    change_of_swap_along,
    prefetch,
)

# One move in RARE founds a cluster or dissolves one.
RARE = 48
HOPELESS = 21.0
# Moves are drawn this far ahead, so that their rows and clusters can be prefetched.
LOOKAHEAD = 8
# Rows close in memory whose moves are tried in several sweeps before those of others, while they
# are in the cache. It shares no factor with RARE, so that rare moves meet all rows.
TOGETHER = 29


# Scratch space. journal: (2 k, 2) int64, row and former cluster of each step of a move; picks,
# draws: (LOOKAHEAD,) int64 and float64, the random numbers of the next moves; gap: (columns,) like
# points, twice the difference of two centroids.
Scratch = namedtuple("Scratch", "journal picks draws gap")


@inlined
def accepted(change, temperature, state):
    """Return whether a change of SSE is accepted (Metropolis)."""
    # Beyond HOPELESS the chance is less than one in a billion, and not worth computing.
    return change < 0.0 or (
        change < HOPELESS * temperature and uniform(state) < np.exp(-change / temperature)
    )


@lean
def found(parts, near, row, cluster, k, temperature, state, journal):
    """Try to found a cluster of a row and its neighbours, from clusters of more than k rows."""
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


@lean
def dissolve(parts, near, cluster, k, temperature, state, journal):
    """Try to dissolve a cluster: each row joins the cheapest cluster among its neighbours'."""
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


@inlined
def found_or_dissolve(parts, near, free, row, k, temperature, state, journal):
    """Try to found a cluster around a row, or to dissolve its own; return the change of SSE."""
    sizes, here, change = parts.sizes, parts.labels[row], 0.0
    if below(state, 2) == 0:
        if free.size[0] > 0:
            empty = free.clusters[free.size[0] - 1]
            change = found(parts, near, row, empty, k, temperature, state, journal)
            free.size[0] -= sizes[empty] > 0
    elif sizes[here] < k + 2:
        change = dissolve(parts, near, here, k, temperature, state, journal)
        if sizes[here] == 0:
            free.clusters[free.size[0]] = here
            free.size[0] += 1
    return change


@lean
def undo(parts, journal, steps, cluster):
    """Undo the steps of a journal, the last first."""
    points, labels, members, place, sizes, sums, _ = parts
    for i in range(steps - 1, -1, -1):
        row = journal[i, 0]
        leave(points, members, place, sizes, sums, row, labels[row])
        join(points, labels, members, place, sizes, sums, row, journal[i, 1])


@inlined
def nearer(near, state):
    """Draw the rank of a neighbour, the nearer the likelier."""
    return int(uniform(state) * uniform(state) * near.shape[1])


@inlined
def prefetch_moves(parts, near, rows, picks, at, move):
    """Prefetch the clusters and the rows of the next moves."""
    far, close = at + LOOKAHEAD - 1, at + LOOKAHEAD // 2 - 1
    if far < len(rows):
        row = rows[far]
        prefetch(parts.points, row)
        prefetch(parts.sums, parts.labels[row])
        soon = parts.labels[near[row, picks[move % LOOKAHEAD]]]
        prefetch(parts.sums, soon)
        prefetch(parts.members, soon)
        turn = (move + LOOKAHEAD // 2) % LOOKAHEAD
        soon = parts.labels[near[rows[close], picks[turn]]]
        for m in range(parts.sizes[soon]):
            prefetch(parts.points, parts.members[soon, m])


@inlined
def best_swap(points, members, sizes, sums, gap, row, here, there):
    """Return the least change of SSE by a swap with a row of another cluster, and that row."""
    kind = points.dtype.type
    share, share_there = kind(1.0 / sizes[here]), kind(1.0 / sizes[there])
    for j in range(len(gap)):
        gap[j] = kind(2.0) * (sums[there, j] * share_there - sums[here, j] * share)
    best, other = np.inf, np.int64(-1)
    for m in range(sizes[there]):
        change = change_of_swap_along(points, row, members[there, m], gap, share + share_there)
        if change < best:
            best, other = np.float64(change), np.int64(members[there, m])
    return best, other


@kernel
def anneal(parts, near, heat, rows, free, k, begin, end, moves, sweeps, start, state):
    """Try ``moves`` moves while the temperature falls linearly; return the change of SSE.

    Parameters
    ----------
    parts : Partition
    near : (rows, neighbours) int32
        The k-nearest-neighbour graph, nearest first: moves go to clusters of neighbours.
    heat : (rows,) float32
        Factors of the temperature, used with ``sweeps``.
    rows : (n,) int64
        The rows of one region.
    free : FreeList
        Its empty clusters.
    begin, end : float
        The temperature of the first move, and of the one after the last.
    sweeps : int or None
        ``None``: start at a random row, and swap it with a random row of a cluster. Otherwise start
        at ``start``, give rows close in memory this number of turns before the next ones, and try
        the best swap with a cluster.
    state : (4,) uint64
        The random generator.
    """
    scratch = Scratch(
        np.empty((2 * k, 2), np.int64),
        np.empty(LOOKAHEAD, np.int64),
        np.empty(LOOKAHEAD),
        np.empty(parts.points.shape[1], parts.points.dtype),
    )
    return cool(parts, near, heat, rows, free, k, begin, end, moves, sweeps, start, state, scratch)


@lean
def cool(parts, near, heat, rows, free, k, begin, end, moves, sweeps, start, state, scratch):
    """Run the moves of ``anneal`` without allocating."""
    points, labels, members, place, sizes, sums, region = parts
    journal, picks, draws, gap = scratch
    fall = (end - begin) / moves
    total, at, large = 0.0, below(state, len(rows)), len(points) > LARGE
    if sweeps is not None:
        at = start
    first, stop, sweep = at, min(at + TOGETHER, len(rows)), 0
    for turn in range(LOOKAHEAD):
        picks[turn], draws[turn] = nearer(near, state), uniform(state)
    for move in range(moves):
        row, turn = rows[at], move % LOOKAHEAD
        temperature = begin + fall * move
        if sweeps is not None:
            temperature *= heat[row]
        pick, draw = picks[turn], draws[turn]
        at += 1
        if sweeps is None:
            at = at if at < len(rows) else 0
        elif at == stop:
            sweep += 1
            if sweep == sweeps:
                first, sweep = at if at < len(rows) else 0, 0
                stop = min(first + TOGETHER, len(rows))
            at = first
        picks[turn], draws[turn] = nearer(near, state), uniform(state)
        if large and sweep == 0:
            prefetch_moves(parts, near, rows, picks, at, move)
        here = labels[row]
        if move % RARE == 0:
            total += found_or_dissolve(parts, near, free, row, k, temperature, state, journal)
            continue
        there = labels[near[row, pick]]
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
        if sweeps is None:
            other = np.int64(members[there, int(draw * sizes[there])])
            change = change_of_swap(
                points, row, other, sums, here, there, 1.0 / sizes[here], 1.0 / sizes[there]
            )
        else:
            change, other = best_swap(points, members, sizes, sums, gap, row, here, there)
        if accepted(change, temperature, state):
            swap(points, labels, members, place, sums, row, other)
            total += change
    return total
