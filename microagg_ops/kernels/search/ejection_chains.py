"""Iterated local search by ejection chains, with a journal: perturb, repair, keep or undo.

In an ejection chain each row takes the place of the next; the last takes the place of the first, or
joins a cluster with room. Clusters of k rows cannot give one away, so chains leave local optima of
shifts and swaps. Every step is written to the journal, so that a trial costs no more than the
neighbourhood that it touches, kept or undone.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import inlined, kernel, lean
from microagg_ops.kernels.random import below
from microagg_ops.kernels.search.annealing import accepted
from microagg_ops.kernels.search.journal import move, roll_back
from microagg_ops.kernels.search.partition import cost_of_joining
from microagg_ops.kernels.simd.floats import LARGE, prefetch, squared_distance, to_centroid

EPS = 1e-12


@kernel
def spread_out(parts, near, scratch, cluster, k):
    """Move each row of a cluster to the cheapest cluster among its neighbours'.

    Return the change of SSE, or infinity where a row finds no cluster with room.
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
        if there < 0 or scratch.journal_size[0] > len(scratch.journal) - 2:
            return np.inf
        change += move(parts, scratch, row, there)
    return change


@kernel
def found_anew(parts, near, scratch, row, cluster, k):
    """Found a cluster of a row and its neighbours; dissolve clusters left with fewer than k rows.

    Return the change of SSE, or infinity where that is not possible.
    """
    _, labels, _, _, sizes, _, region = parts
    change = move(parts, scratch, row, cluster)
    for i in range(near.shape[1]):
        if sizes[cluster] == k:
            break
        other = near[row, i]
        if labels[other] != cluster and region[labels[other]] == region[cluster]:
            change += move(parts, scratch, other, cluster)
    if sizes[cluster] < k:
        return np.inf
    return change + spread_donors(parts, near, scratch, k)


@kernel
def take_over(parts, near, scratch, guide, row, cluster, k):
    """Found the cluster that a row has in the guide; return the change of SSE.

    Infinity where it is there already, reaches into another region, or cannot be founded.
    """
    _, labels, _, _, sizes, _, region = parts
    theirs = guide.labels[row]
    here, same = labels[row], sizes[labels[row]] == guide.sizes[theirs]
    for i in range(guide.sizes[theirs]):
        other = labels[guide.members[theirs, i]]
        same &= other == here
        if region[other] != region[cluster]:
            return np.inf
    if same:
        return np.inf
    change = 0.0
    for i in range(guide.sizes[theirs]):
        change += move(parts, scratch, np.int64(guide.members[theirs, i]), cluster)
    return change + spread_donors(parts, near, scratch, k)


@kernel
def spread_donors(parts, near, scratch, k):
    """Dissolve the dirty clusters left with fewer than k rows; return the change of SSE."""
    change = 0.0
    for i in range(scratch.dirty_size[0]):
        donor = scratch.dirty[i]
        if 0 < parts.sizes[donor] < k:
            change += spread_out(parts, near, scratch, donor, k)
            if change == np.inf:
                break
    return change


@inlined
def record_best(scratch, level, chain, last, goal):
    """Record the best chain: its rows, one more (or -1), and the cluster it ends in (or -1)."""
    best, chains = scratch.best, scratch.chains
    for s in range(level + 1):
        best[s] = chains[level, chain, s]
    scratch.best_size[0], scratch.best_goal[0] = level + 1, goal
    if last >= 0:
        best[level + 1] = last
        scratch.best_size[0] += 1


@inlined
def follow(chains, costs, level, chain, other, cost, count):
    """Insert a longer chain into the beam of its length, cheapest first; return its new width."""
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


@lean
def best_chain(parts, near, scratch, start, k):
    """Find the best ejection chain from row ``start``, by beam search.

    A chain is extended while its partial gain is positive: of any chain that gains in the end, some
    rotation does so all along. Record the chain in ``scratch``; return its change of SSE, and the
    rows looked at.
    """
    points, labels, members, _, sizes, sums, region = parts
    chains, costs, radii, fresh = scratch.chains, scratch.costs, scratch.radii, scratch.fresh
    distances, seen = scratch.distances, scratch.seen
    home = labels[start]
    known_all, large = len(distances) > 0, len(points) > LARGE
    spare, share_home = sizes[home] > k, 1.0 / sizes[home]
    from_home = to_centroid(points, start, sums, home, share_home)
    gain = from_home * sizes[home] / (sizes[home] - 1)
    found, work, count = -EPS, 0, 1
    scratch.best_size[0] = 0
    chains[0, 0, 0], costs[0, 0] = start, -gain
    for level in range(chains.shape[0] - 1):
        following = 0
        for c in range(count):
            row, before = chains[level, c, level], costs[level, c]
            scratch.epoch[0] += 1
            now = scratch.epoch[0]
            for s in range(level + 1):
                seen[labels[chains[level, c, s]]] = now
            for i in range(near.shape[1]):
                if large and i + 1 < near.shape[1]:
                    soon = labels[near[row, i + 1]]
                    prefetch(sums, soon)
                    for m in range(sizes[soon]):
                        prefetch(points, members[soon, m])
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
                        record_best(scratch, level, c, -1, there)
                for m in range(size):
                    other = members[there, m]
                    between = (
                        distances[row, other] if known_all else squared_distance(points, row, other)
                    )
                    cost = before + away - radii[other] - between * share
                    if cost >= 0.0:
                        continue
                    back = to_centroid(points, other, sums, home, share_home)
                    change = (
                        cost
                        + gain
                        + back
                        - from_home
                        - squared_distance(points, start, other) * share_home
                    )
                    if change < found:
                        found = change
                        record_best(scratch, level, c, other, -1)
                    following = follow(chains, costs, level, c, other, cost, following)
        count = following
    return found, work


@kernel
def settle(parts, near, scratch, k):
    """Apply improving chains around the dirty clusters until there are none.

    Return the change of SSE, the work, and whether the journal was long enough.
    """
    labels, members, sizes = parts.labels, parts.members, parts.sizes
    journal, dirty, best = scratch.journal, scratch.dirty, scratch.best
    steps, dirty_size = scratch.journal_size, scratch.dirty_size
    total, work, at = 0.0, 0, 0
    while at < dirty_size[0]:
        cluster = dirty[at]
        at += 1
        scratch.marks[cluster] = False
        i = 0
        while i < sizes[cluster]:
            row = np.int64(members[cluster, i])
            i += 1
            _, looked = best_chain(parts, near, scratch, row, k)
            work += looked
            size = scratch.best_size[0]
            if size == 0:
                continue
            if max(steps[0], dirty_size[0]) > len(journal) - 3 * len(best) - 5:
                return total, work, False
            # From the last row to the first: each goes where the next has just left.
            goal = scratch.best_goal[0]
            goal = goal if goal >= 0 else np.int64(labels[row])
            for c in range(size - 1, -1, -1):
                leaving = np.int64(labels[best[c]])
                total += move(parts, scratch, best[c], goal)
                goal = leaving
            i = 0
    return total, work, True


@kernel
def perturb(parts, near, scratch, guide, row, free, k, state):
    """Found a cluster around a row, take one over from the guide, or dissolve the row's own.

    Return the change of SSE, or infinity where that is not possible.
    """
    count = free.size[0]
    way = below(state, 2 + 2 * (len(guide.labels) > 0)) if count > 0 else 1
    if way >= 2:
        return take_over(parts, near, scratch, guide, row, free.clusters[count - 1], k)
    if way == 0:
        return found_anew(parts, near, scratch, row, free.clusters[count - 1], k)
    return spread_out(parts, near, scratch, np.int64(parts.labels[row]), k)


@kernel
def iterate(parts, near, scratch, guide, settled, rows, free, k, temperature, most, state):
    """Settle every cluster, then perturb, repair and accept or undo; return the change of SSE.

    ``settled`` (clusters,) bool tells which need not be settled first. The search ends after
    looking at ``most`` rows.
    """
    dirty, marks, dirty_size = scratch.dirty, scratch.marks, scratch.dirty_size
    scratch.fresh[:] = False
    total, work, at = 0.0, 0, 0
    while work < most:
        scratch.journal_size[0] = dirty_size[0] = 0
        while at < len(rows) and settled[parts.labels[rows[at]]]:
            at += 1
        if at < len(rows):
            dirty[0], dirty_size[0] = parts.labels[rows[at]], 1
            settled[dirty[0]] = True
            change, looked, _ = settle(parts, near, scratch, k)
            for i in range(dirty_size[0]):
                marks[dirty[i]] = False
            total += change
            work += looked
            continue
        row = rows[below(state, len(rows))]
        change = perturb(parts, near, scratch, guide, row, free, k, state)
        work += 10 * k
        good = change < np.inf
        if good:
            more, looked, whole = settle(parts, near, scratch, k)
            change += more
            work += looked
            good = whole or change < 0.0
        for i in range(dirty_size[0]):
            marks[dirty[i]] = False
        if not (good and accepted(change, temperature, state)):
            roll_back(parts, scratch)
            continue
        total += change
        list_empty(free, parts.sizes, scratch)
    return total


@kernel
def list_empty(free, sizes, scratch):
    """Update the free list after a trial was accepted."""
    clusters, count = free.clusters, free.size
    dirty, marks = scratch.dirty, scratch.marks
    if count[0] > 0 and sizes[clusters[count[0] - 1]] > 0:
        count[0] -= 1
    for i in range(count[0]):
        marks[clusters[i]] = True
    for i in range(scratch.dirty_size[0]):
        if sizes[dirty[i]] == 0 and not marks[dirty[i]]:
            marks[dirty[i]] = True
            clusters[count[0]] = dirty[i]
            count[0] += 1
    for i in range(count[0]):
        marks[clusters[i]] = False
