"""Iterated local search: dissolve a cluster or distill a new one, search, keep it or go back.

Going back restores the clusters that differ from the best partition, row by row in their order,
so that they are what they were, to the bit.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.descent import COUNT, DONE, descend, differ, list_clusters
from microagg_ops.kernels.pairs import EPS, ROOM, distance, measure
from microagg_ops.kernels.random import below, uniform

# The best partition so far; its SSE is the only entry of ``total``.
Best = namedtuple("Best", "members sizes losses total")

# least, most: between how many clusters there may be; samples: of so many clusters the one with
# the highest SSE is dissolved; chance: how likely a worse partition is kept, or, when it is 0,
# with what temperature as a share of the SSE.
Rules = namedtuple("Rules", "cached least most samples chance temperature")


@kernel
def remeasure(clusters, plan, cluster):
    """Bring a cluster that a perturbation changed up to date, for the search to look at."""
    measure(clusters, cluster)
    plan.hot[cluster] = True
    differ(plan, cluster)


@kernel
def drawn(sizes, random):
    """Draw a cluster."""
    while True:
        cluster = below(random, len(sizes))
        if sizes[cluster] > 0:
            return cluster


@kernel
def dissolve(clusters, plan, samples, random):
    """Send each row of a cluster to the nearest other one with room."""
    k, points, members, first, sizes, centres, _, _, losses, norms, _, _, _ = clusters
    chosen = drawn(sizes, random)
    for _ in range(samples - 1):
        other = drawn(sizes, random)
        if losses[other] > losses[chosen]:
            chosen = other
    size = sizes[chosen]
    sizes[chosen] = 0
    remeasure(clusters, plan, chosen)
    for p in range(first[chosen], first[chosen] + size):
        row, best, bound, there = members[p], np.inf, np.inf, -1
        norm = np.sqrt(np.sum(points[row] ** 2))
        for other in range(len(sizes)):
            # A centroid is no nearer than its distance to zero differs; with room for rounding.
            far = abs(norms[other] - norm) - 1e-12 * (norms[other] + norm)
            if far < bound and 0 < sizes[other] < ROOM * k - 1 and other != chosen:
                d = distance(points, row, centres, other)
                if d < best:
                    best, there, bound = d, other, np.sqrt(d)
        members[first[there] + sizes[there]] = row
        sizes[there] += 1
        remeasure(clusters, plan, there)


@inlined
def next_farthest(away, begin, size, last, far):
    """Give the place of the row that is next farthest from its centroid, and how far."""
    place, most = -1, -1.0
    for p in range(begin, begin + size):
        if away[p] >= most and (away[p] < far or (away[p] == far and p < last)):
            place, most = p, away[p]
    return place, most


@kernel
def excess_of(clusters):
    """Collect the rows that are not among the k nearest to their centroid, and their clusters."""
    k, _, members, first, sizes, _, away, _, _, _, _, _, _ = clusters
    many = 0
    for cluster in range(len(sizes)):
        many += max(sizes[cluster] - k, 0)
    rows, homes = np.empty(many, np.int64), np.empty(many, np.int64)
    many = 0
    for cluster in range(len(sizes)):
        if sizes[cluster] > k:
            # The farthest first; of equals the last of the cluster.
            last, far = -1, np.inf
            for _ in range(sizes[cluster] - k):
                last, far = next_farthest(away, first[cluster], sizes[cluster], last, far)
                rows[many], homes[many] = members[last], cluster
                many += 1
    return rows, homes


@kernel
def take_out(clusters, row, cluster):
    """Take a row out of a cluster; the last row takes its place."""
    members, first, sizes = clusters.members, clusters.first, clusters.sizes
    sizes[cluster] -= 1
    last = first[cluster] + sizes[cluster]
    for p in range(first[cluster], last):
        if members[p] == row:
            members[p] = members[last]
            break


@kernel
def distill(clusters, plan, random):
    """Make a cluster of an excess row and those nearest to its centroid as it grows."""
    k, points, members, first, sizes, centres, _, _, _, _, _, _, _ = clusters
    rows, homes = excess_of(clusters)
    new = 0
    while sizes[new] > 0:
        new += 1
    left = len(rows)
    nearest = below(random, left)
    while True:
        members[first[new] + sizes[new]] = rows[nearest]
        sizes[new] += 1
        remeasure(clusters, plan, new)
        take_out(clusters, rows[nearest], homes[nearest])
        remeasure(clusters, plan, homes[nearest])
        if sizes[new] == k:
            return
        # What is left keeps its order, so that of equals the first is taken.
        left -= 1
        rows[nearest:left], homes[nearest:left] = (
            rows[nearest + 1 : left + 1].copy(),
            homes[nearest + 1 : left + 1].copy(),
        )
        best = np.inf
        for i in range(left):
            d = distance(points, rows[i], centres, new)
            if d < best:
                best, nearest = d, i


@kernel
def perturb(clusters, plan, rules, random):
    """Dissolve or distill, as the number of clusters allows; tell whether either could be."""
    count = plan.cursor[COUNT]
    fewer, more = count > rules.least, count < rules.most
    if not fewer and not more:
        return False
    if more and (not fewer or uniform(random) < 0.5):
        distill(clusters, plan, random)
    else:
        dissolve(clusters, plan, rules.samples, random)
    list_clusters(plan, clusters.sizes)
    return True


@kernel
def settle(clusters, plan, best, restore):
    """Make the best partition this one, or this one the best again, where they differ."""
    members, first, sizes = clusters.members, clusters.first, clusters.sizes
    for i in range(plan.odd[-1]):
        cluster = plan.odd[i]
        plan.differs[cluster] = False
        size = best.sizes[cluster] if restore else sizes[cluster]
        begin, end = first[cluster], first[cluster] + size
        if restore:
            members[begin:end] = best.members[begin:end]
            sizes[cluster] = size
            measure(clusters, cluster)
        else:
            best.members[begin:end] = members[begin:end]
            best.sizes[cluster], best.losses[cluster] = size, clusters.losses[cluster]
    plan.odd[-1] = 0


@kernel
def accept(clusters, plan, best, rules, random):
    """Keep what the search came to, or go back to the best partition."""
    change = 0.0
    for i in range(plan.odd[-1]):
        cluster = plan.odd[i]
        change += clusters.losses[cluster] - best.losses[cluster]
    if change < -EPS * best.total[0]:
        best.total[0] += change
        settle(clusters, plan, best, False)
        return
    chance = rules.chance
    if chance == 0.0:
        chance = np.exp(-change / max(rules.temperature * best.total[0], 1e-300))
    if uniform(random) >= chance:
        settle(clusters, plan, best, True)
        list_clusters(plan, clusters.sizes)


@kernel
def iterate(clusters, plan, best, rules, done, goal, most_work, random):
    """Perturb and search until so many iterations are done or the work is.

    An iteration whose search is under way is carried on by the next call. Gives how many are done,
    and whether there is anything to perturb at all.
    """
    work = 0
    while done < goal:
        # A search that has come to its end has no pass under way and no cluster to look at.
        if plan.cursor[DONE] < 0:
            if work >= most_work:
                break
            work += clusters.k * plan.cursor[COUNT]
            if not perturb(clusters, plan, rules, random):
                return done, False
        ended, worked = descend(
            clusters, plan, rules.cached, np.int64(1) << 62, most_work - work, random
        )
        work += worked
        if not ended:
            break
        accept(clusters, plan, best, rules, random)
        done += 1
    return done, True
