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
from microagg_ops.kernels.vectors import LARGE, ask, change_along, change_of_swap, to_centroid

# points: rows by columns, columns filled up with zeros to a multiple of four; place: row to its
# place among the members; region: cluster to region, also of clusters that are empty.
Partition = namedtuple("Partition", "points labels members place sizes sums region")

# In so many moves, one that founds a cluster or dissolves one.
RARE = 48
HOPELESS = 21.0
# So many moves ahead it is drawn which they are, so that memory can be asked for them.
AHEAD = 8
# Rows that lie together, whose moves are tried in several sweeps before those of others: what they
# are about is near in memory then. It shares no factor with RARE, so that rare moves meet all rows.
TOGETHER = 29


# journal: moves that may have to be taken back; picks, draws: what chance said of the next moves;
# gap: what lies between two centroids.
Room = namedtuple("Room", "journal picks draws gap")


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
    # Beyond HOPELESS the chance is less than one in a billion, and not worth computing.
    return change < 0.0 or (
        change < HOPELESS * temperature and uniform(state) < np.exp(-change / temperature)
    )


@lean
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


@lean
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


@inlined
def found_or_dissolve(parts, near, free, row, k, temperature, state, journal):
    """Try to found a cluster around a row, or to dissolve its own; give the change of SSE."""
    sizes, here, change = parts.sizes, parts.labels[row], 0.0
    if below(state, 2) == 0:
        if free[-1] > 0:
            empty = free[free[-1] - 1]
            change = found(parts, near, row, empty, k, temperature, state, journal)
            free[-1] -= sizes[empty] > 0
    elif sizes[here] < k + 2:
        change = dissolve(parts, near, here, k, temperature, state, journal)
        if sizes[here] == 0:
            free[free[-1]] = here
            free[-1] += 1
    return change


@lean
def undo(parts, journal, steps, cluster):
    """Send rows back to where they came from, the last first."""
    points, labels, members, place, sizes, sums, _ = parts
    for i in range(steps - 1, -1, -1):
        row = journal[i, 0]
        leave(points, members, place, sizes, sums, row, labels[row])
        join(points, labels, members, place, sizes, sums, row, journal[i, 1])


@inlined
def nearer(near, state):
    """Pick one of the neighbours of a row, the nearer the more often."""
    return int(uniform(state) * uniform(state) * near.shape[1])


@inlined
def look_ahead(parts, near, rows, picks, at, move):
    """Ask memory for the clusters and the rows that the next moves are about."""
    far, close = at + AHEAD - 1, at + AHEAD // 2 - 1
    if far < len(rows):
        row = rows[far]
        ask(parts.points, row)
        ask(parts.sums, parts.labels[row])
        soon = parts.labels[near[row, picks[move % AHEAD]]]
        ask(parts.sums, soon)
        ask(parts.members, soon)
        turn = (move + AHEAD // 2) % AHEAD
        soon = parts.labels[near[rows[close], picks[turn]]]
        for m in range(parts.sizes[soon]):
            ask(parts.points, parts.members[soon, m])


@inlined
def best_swap(points, members, sizes, sums, gap, row, here, there):
    """Give the least change of SSE by swapping a row with one of another cluster, and which."""
    kind = points.dtype.type
    share, share_there = kind(1.0 / sizes[here]), kind(1.0 / sizes[there])
    for j in range(len(gap)):
        gap[j] = kind(2.0) * (sums[there, j] * share_there - sums[here, j] * share)
    best, other = np.inf, np.int64(-1)
    for m in range(sizes[there]):
        change = change_along(points, row, members[there, m], gap, share + share_there)
        if change < best:
            best, other = np.float64(change), np.int64(members[there, m])
    return best, other


@kernel
def anneal(parts, near, heat, rows, free, k, begin, end, moves, sweeps, start, state):
    """Try a move for one row after another while the temperature falls evenly from begin to end.

    ``rows`` are those of one region and ``free`` its empty clusters, how many in the last place.
    Without ``sweeps`` (``None``) any row is the first, and a row is swapped with any other of a
    cluster. With them, rows that lie together have as many turns before the next ones have theirs,
    from ``start`` on; the temperature is multiplied by the heat of each row; and of all swaps with
    a cluster the best is tried. Gives the change of SSE.
    """
    room = Room(
        np.empty((2 * k, 2), np.int64),
        np.empty(AHEAD, np.int64),
        np.empty(AHEAD),
        np.empty(parts.points.shape[1], parts.points.dtype),
    )
    return cool(parts, near, heat, rows, free, k, begin, end, moves, sweeps, start, state, room)


@lean
def cool(parts, near, heat, rows, free, k, begin, end, moves, sweeps, start, state, room):
    """Do what ``anneal`` does."""
    points, labels, members, place, sizes, sums, region = parts
    journal, picks, draws, gap = room
    fall = (end - begin) / moves
    total, at, large = 0.0, below(state, len(rows)), len(points) > LARGE
    if sweeps is not None:
        at = start
    first, stop, sweep = at, min(at + TOGETHER, len(rows)), 0
    for turn in range(AHEAD):
        picks[turn], draws[turn] = nearer(near, state), uniform(state)
    for move in range(moves):
        row, turn = rows[at], move % AHEAD
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
            look_ahead(parts, near, rows, picks, at, move)
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
