"""Iterated local search by chains, with a journal: break, repair around it, keep it or undo it.

In a chain each row takes the place of the next; the last takes the place of the first, or joins a
cluster with room. Clusters of k rows cannot give one away, so chains get out of places where no
shift and no swap helps. Nothing here costs more than the neighbourhood that is touched.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.anneal import (
    accepted,
    cost_of_joining,
    gain_of_leaving,
    join,
    leave,
)
from microagg_ops.kernels.random import below
from microagg_ops.kernels.vectors import LARGE, apart, ask, to_centroid

# journal: row and the cluster it came from; dirty: clusters to look at, marks: which are among
# them; chains: lengths by width by rows, with their costs; best: the best chain, the cluster it
# ends in and its length. How much of journal and dirty is used stands in their last place.
# radii: the squared distance of each row to its centroid, where its cluster is fresh; distances:
# those of all rows, squared, or nothing where they are many; seen: when a cluster was last met,
# and in the last place what time it is.
Room = namedtuple("Room", "journal dirty marks chains costs best radii fresh distances seen")

# Another partition, from which clusters may be taken over.
Others = namedtuple("Others", "labels members sizes")

EPS = 1e-12


def make_room(clusters: int, length: int, width: int, distances: np.ndarray, rows: int) -> Room:
    """Make room for chains of so many rows, so many of which are followed at a time."""
    return Room(
        journal=np.zeros((2001, 2), np.int64),
        dirty=np.zeros(2001, np.int64),
        marks=np.zeros(clusters, np.bool_),
        chains=np.zeros((length, width, length + 1), np.int64),
        costs=np.zeros((length, width)),
        best=np.zeros(length + 3, np.int64),
        radii=np.zeros(rows),
        fresh=np.zeros(clusters, np.bool_),
        distances=distances,
        seen=np.zeros(clusters + 1, np.int64),
    )


@kernel
def all_distances(points):
    """Give the squared distances of all rows to all rows."""
    rows = len(points)
    distances = np.empty((rows, rows))
    for a in range(rows):
        for b in range(rows):
            distances[a, b] = apart(points, a, b)
    return distances


@inlined
def move(parts, room, row, there):
    """Move a row, write it down, and mark both clusters; give the change of SSE."""
    points, labels, members, place, sizes, sums, _ = parts
    journal, dirty, marks = room.journal, room.dirty, room.marks
    here = np.int64(labels[row])
    change = 0.0
    if sizes[here] > 1:
        change -= gain_of_leaving(points, row, sums, sizes, here)
    if sizes[there] > 0:
        change += cost_of_joining(points, row, sums, sizes, there)
    leave(points, members, place, sizes, sums, row, here)
    join(points, labels, members, place, sizes, sums, row, there)
    journal[journal[-1, 0], 0], journal[journal[-1, 0], 1] = row, here
    journal[-1, 0] += 1
    for cluster in (here, np.int64(there)):
        room.fresh[cluster] = False
        if not marks[cluster]:
            marks[cluster] = True
            dirty[dirty[-1]] = cluster
            dirty[-1] += 1
    return change


@kernel
def spread_out(parts, near, room, cluster, k):
    """Send each row of a cluster to the best cluster of its neighbours.

    Gives the change of SSE, or infinity where a row finds no cluster with room.
    """
    points, labels, members, _, sizes, sums, region = parts
    change = 0.0
    while sizes[cluster] > 0:
        row = members[cluster, sizes[cluster] - 1]
        best, there = np.inf, np.int64(-1)
        for i in range(near.shape[1]):
            other = np.int64(labels[near[row, i]])
            if (
                other != cluster and other != there and 0 < sizes[other] < 2 * k - 1
                and region[other] == region[cluster]
            ):  # fmt: skip
                cost = cost_of_joining(points, row, sums, sizes, other)
                if cost < best:
                    best, there = cost, other
        if there < 0 or room.journal[-1, 0] > len(room.journal) - 3:
            return np.inf
        change += move(parts, room, row, there)
    return change


@kernel
def found_anew(parts, near, room, row, cluster, k):
    """Found a cluster of a row and its neighbours; clusters that lose too much are dissolved."""
    _, labels, _, _, sizes, _, region = parts
    change = move(parts, room, row, cluster)
    for i in range(near.shape[1]):
        if sizes[cluster] == k:
            break
        other = near[row, i]
        if labels[other] != cluster and region[labels[other]] == region[cluster]:
            change += move(parts, room, other, cluster)
    if sizes[cluster] < k:
        return np.inf
    return change + spread_donors(parts, near, room, k)


@kernel
def take_over(parts, near, room, others, row, cluster, k):
    """Found a cluster like that of a row in another partition; give the change of SSE.

    Infinity where it is there already, reaches into another region, or cannot be founded.
    """
    _, labels, _, _, sizes, _, region = parts
    theirs = others.labels[row]
    here, same = labels[row], sizes[labels[row]] == others.sizes[theirs]
    for i in range(others.sizes[theirs]):
        other = labels[others.members[theirs, i]]
        same &= other == here
        if region[other] != region[cluster]:
            return np.inf
    if same:
        return np.inf
    change = 0.0
    for i in range(others.sizes[theirs]):
        change += move(parts, room, np.int64(others.members[theirs, i]), cluster)
    return change + spread_donors(parts, near, room, k)


@kernel
def spread_donors(parts, near, room, k):
    """Dissolve the marked clusters that have lost too much; give the change of SSE."""
    change = 0.0
    for i in range(room.dirty[-1]):
        donor = room.dirty[i]
        if 0 < parts.sizes[donor] < k:
            change += spread_out(parts, near, room, donor, k)
            if change == np.inf:
                break
    return change


@inlined
def note(best, chains, level, chain, last, goal):
    """Write down the best chain: its rows, one more (or -1), and the cluster it ends in (or -1)."""
    for s in range(level + 1):
        best[s] = chains[level, chain, s]
    best[-1], best[-2] = level + 1, goal
    if last >= 0:
        best[level + 1] = last
        best[-1] += 1


@inlined
def follow(chains, costs, level, chain, other, cost, count):
    """Put a longer chain among those that are followed, the least costly first; give how many."""
    width = chains.shape[1]
    if count < width:
        at = count
        count += 1
    elif cost < costs[level + 1, width - 1]:
        at = width - 1
    else:
        return count
    while at > 0 and costs[level + 1, at - 1] > cost:
        costs[level + 1, at] = costs[level + 1, at - 1]
        for s in range(level + 2):
            chains[level + 1, at, s] = chains[level + 1, at - 1, s]
        at -= 1
    costs[level + 1, at] = cost
    for s in range(level + 1):
        chains[level + 1, at, s] = chains[level, chain, s]
    chains[level + 1, at, level + 1] = other
    return count


@kernel
def best_chain(
    points, labels, members, sizes, sums, region, near, start, k, chains, costs, best, radii, fresh,
    distances, seen,
):  # fmt: skip
    """Find the best chain that begins with a row; give its change of SSE and the work.

    A chain is followed while it has gained more than it cost: of a chain that gains in the end,
    some rotation does so all along.
    """
    home = labels[start]
    known_all, large = len(distances) > 0, len(points) > LARGE
    spare, share_home = sizes[home] > k, 1.0 / sizes[home]
    from_home = to_centroid(points, start, sums, home, share_home)
    gain = from_home * sizes[home] / (sizes[home] - 1)
    found, work, count = -EPS, 0, 1
    best[-1] = 0
    chains[0, 0, 0], costs[0, 0] = start, -gain
    for level in range(chains.shape[0] - 1):
        following = 0
        for c in range(count):
            row, before = chains[level, c, level], costs[level, c]
            seen[-1] += 1
            now = seen[-1]
            for s in range(level + 1):
                seen[labels[chains[level, c, s]]] = now
            for i in range(near.shape[1]):
                if large and i + 1 < near.shape[1]:
                    soon = labels[near[row, i + 1]]
                    ask(sums, soon)
                    for m in range(sizes[soon]):
                        ask(points, members[soon, m])
                there = labels[near[row, i]]
                if seen[there] == now or region[there] != region[home]:
                    continue
                seen[there] = now
                size = sizes[there]
                share = 1.0 / size
                work += size
                away = to_centroid(points, row, sums, there, share)
                if not fresh[there]:
                    fresh[there] = True
                    for m in range(size):
                        other = members[there, m]
                        radii[other] = to_centroid(points, other, sums, there, share)
                if spare and size < 2 * k - 1:
                    change = before + away * size / (size + 1)
                    if change < found:
                        found = change
                        note(best, chains, level, c, -1, there)
                for m in range(size):
                    other = members[there, m]
                    between = distances[row, other] if known_all else apart(points, row, other)
                    cost = before + away - radii[other] - between * share
                    if cost >= 0.0:
                        continue
                    back = to_centroid(points, other, sums, home, share_home)
                    change = (
                        cost + gain + back - from_home - apart(points, start, other) * share_home
                    )
                    if change < found:
                        found = change
                        note(best, chains, level, c, other, -1)
                    following = follow(chains, costs, level, c, other, cost, following)
        count = following
    return found, work


@kernel
def settle(parts, near, room, k):
    """Improve around the marked clusters until nothing improves.

    Gives the change of SSE, the work, and whether there was room to the end.
    """
    points, labels, members, _, sizes, sums, region = parts
    journal, dirty, best = room.journal, room.dirty, room.best
    total, work, at = 0.0, 0, 0
    while at < dirty[-1]:
        cluster = dirty[at]
        at += 1
        room.marks[cluster] = False
        i = 0
        while i < sizes[cluster]:
            row = members[cluster, i]
            i += 1
            _, looked = best_chain(
                points, labels, members, sizes, sums, region, near, row, k,
                room.chains, room.costs, best, room.radii, room.fresh, room.distances,
                room.seen,
            )  # fmt: skip
            work += looked
            if best[-1] == 0:
                continue
            if max(journal[-1, 0], dirty[-1]) > len(journal) - 3 * len(best):
                return total, work, False
            # From the last row to the first: each goes where the next has just left.
            goal = best[-2] if best[-2] >= 0 else np.int64(labels[row])
            for c in range(best[-1] - 1, -1, -1):
                leaving = np.int64(labels[best[c]])
                total += move(parts, room, best[c], goal)
                goal = leaving
            i = 0
    return total, work, True


@kernel
def iterate(parts, near, room, others, settled, rows, free, k, temperature, most, state):
    """Settle every cluster, then break and repair, for so much work; give the change of SSE."""
    points, labels, members, place, sizes, sums, _ = parts
    journal, dirty, marks = room.journal, room.dirty, room.marks
    room.fresh[:] = False
    total, work, at = 0.0, 0, 0
    while work < most:
        journal[-1, 0] = dirty[-1] = 0
        while at < len(rows) and settled[labels[rows[at]]]:
            at += 1
        if at < len(rows):
            dirty[0], dirty[-1] = labels[rows[at]], 1
            settled[dirty[0]] = True
            change, looked, _ = settle(parts, near, room, k)
            for i in range(dirty[-1]):
                marks[dirty[i]] = False
            total += change
            work += looked
            continue
        row = rows[below(state, len(rows))]
        empty = free[free[-1] - 1]
        way = below(state, 2 + 2 * (len(others.labels) > 0)) if free[-1] > 0 else 1
        if way >= 2:
            change = take_over(parts, near, room, others, row, empty, k)
        elif way == 0:
            change = found_anew(parts, near, room, row, empty, k)
        else:
            change = spread_out(parts, near, room, np.int64(labels[row]), k)
        work += 10 * k
        good = change < np.inf
        if good:
            more, looked, whole = settle(parts, near, room, k)
            change += more
            work += looked
            good = whole or change < 0.0
        for i in range(dirty[-1]):
            marks[dirty[i]] = False
        if not (good and accepted(change, temperature, state)):
            for i in range(journal[-1, 0] - 1, -1, -1):
                moved = journal[i, 0]
                room.fresh[labels[moved]] = room.fresh[journal[i, 1]] = False
                leave(points, members, place, sizes, sums, moved, labels[moved])
                join(points, labels, members, place, sizes, sums, moved, journal[i, 1])
            continue
        total += change
        list_empty(free, sizes, dirty, marks)
    return total


@kernel
def list_empty(free, sizes, dirty, marks):
    """Bring the list of empty clusters up to date after a change."""
    if free[-1] > 0 and sizes[free[free[-1] - 1]] > 0:
        free[-1] -= 1
    for i in range(free[-1]):
        marks[free[i]] = True
    for i in range(dirty[-1]):
        if sizes[dirty[i]] == 0 and not marks[dirty[i]]:
            marks[dirty[i]] = True
            free[free[-1]] = dirty[i]
            free[-1] += 1
    for i in range(free[-1]):
        marks[free[i]] = False


@kernel
def fill(parts):
    """Make members, places, sizes and sums anew from the labels."""
    points, labels, members, place, sizes, sums, _ = parts
    sizes[:] = 0
    sums[:] = 0.0
    for row in range(len(labels)):
        join(points, labels, members, place, sizes, sums, row, np.int64(labels[row]))
    total = 0.0
    for row in range(len(labels)):
        total += to_centroid(points, row, sums, labels[row], 1.0 / sizes[labels[row]])
    return total
