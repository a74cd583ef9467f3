"""Iterated local search: dissolve a cluster or distill a new one, search, accept or restore.

Laszlo and Mukherjee, 2015, doi:10.1016/j.jss.2014.10.012, and Bierman, Improvements to Iterated
Local Search for Microaggregation, Nova Southeastern University, 2020. Restoring copies the clusters
that differ from the best partition row by row in their order, so that they are equal to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import inlined, kernel
from microagg_ops.kernels.random import below, uniform
from microagg_ops.kernels.search.local_search import COUNT, DONE, descend, differ, list_clusters
from microagg_ops.kernels.search.swap_shift import CAPACITY, EPS, distance, measure


class Best(NamedTuple):
    """The best partition so far."""

    members: np.ndarray  # like those of Clusters
    sizes: np.ndarray  # (clusters,) int64
    losses: np.ndarray  # (clusters,) float64
    total: np.ndarray  # (1,) float64: the SSE


class Rules(NamedTuple):
    """The rules of a search."""

    cached: bool  # skip pairs that cannot have changed
    least: int  # the least number of clusters
    most: int  # the largest
    samples: int  # the cluster of the highest SSE among this number of drawn ones is dissolved
    chance: float  # the probability to keep a worse partition, or 0 for a temperature
    temperature: float  # as a share of the best SSE


@kernel
def remeasure(clusters, plan, cluster):
    """Recompute a cluster that a perturbation changed, and make it hot."""
    measure(clusters, cluster)
    plan.hot[cluster] = True
    differ(plan, cluster)


@kernel
def drawn(sizes, random):
    """Draw a cluster that is not empty."""
    while True:
        cluster = below(random, len(sizes))
        if sizes[cluster] > 0:
            return cluster


@kernel
def dissolve(clusters, plan, samples, random):
    """Dissolve a drawn cluster: each row joins the nearest other cluster with room."""
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
            # By the triangle inequality; with a margin for rounding.
            far = abs(norms[other] - norm) - 1e-12 * (norms[other] + norm)
            if far < bound and 0 < sizes[other] < CAPACITY * k - 1 and other != chosen:
                d = distance(points, row, centres, other)
                if d < best:
                    best, there, bound = d, other, np.sqrt(d)
        members[first[there] + sizes[there]] = row
        sizes[there] += 1
        remeasure(clusters, plan, there)


@inlined
def next_farthest(away, begin, size, last, far):
    """Return the place of the row that is next farthest from its centroid, and its distance."""
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
    """Remove a row from a cluster; the last row takes its place."""
    members, first, sizes = clusters.members, clusters.first, clusters.sizes
    sizes[cluster] -= 1
    last = first[cluster] + sizes[cluster]
    for p in range(first[cluster], last):
        if members[p] == row:
            members[p] = members[last]
            break


@kernel
def distill(clusters, plan, random):
    """Distill a cluster from an excess row and those nearest to its centroid as it grows."""
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
    """Dissolve or distill, as the number of clusters allows; return whether either was possible."""
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
    """Copy this partition to the best, or restore it from the best, where they differ."""
    members, first, sizes = clusters.members, clusters.first, clusters.sizes
    for i in range(plan.touched_count[0]):
        cluster = plan.touched[i]
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
    plan.touched_count[0] = 0


@kernel
def accept(clusters, plan, best, rules, random):
    """Accept the local optimum, or restore the best partition."""
    change = 0.0
    for i in range(plan.touched_count[0]):
        cluster = plan.touched[i]
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
    """Perturb and search until ``goal`` iterations are done or the work budget is used up.

    An unfinished search is resumed by the next call. Return the iterations done, and whether there
    is anything to perturb at all.
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
