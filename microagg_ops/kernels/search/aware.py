"""Clusters that meet limits: a search that may break them at a price, which rises.

Clusters are lists, of any size from k on. What a partition costs is its SSE and, for all people
that its clusters are short of, a price each; moves are those of simulated annealing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import inlined, lean
from microagg_ops.kernels.random import below, uniform
from microagg_ops.kernels.search.limits import shortage
from microagg_ops.kernels.search.partition import cost_of_joining, gain_of_leaving
from microagg_ops.kernels.simd.floats import change_of_swap, to_centroid

# One move in RARE founds a cluster or dissolves one.
RARE = 32
HOPELESS = 21.0
NOBODY = np.int64(-1)


class Lists(NamedTuple):
    """A partition whose clusters are lists."""

    points: np.ndarray  # (rows, columns padded to a multiple of 4) float64
    labels: np.ndarray  # (rows,) int64
    head: np.ndarray  # (clusters,) int64: the first row of a list
    after: np.ndarray  # (rows,) int64: the next one, -1 for none
    before: np.ndarray  # (rows,) int64
    sizes: np.ndarray  # (clusters,) int64: 0 for a cluster that is free
    sums: np.ndarray  # (clusters, columns) float64
    short: np.ndarray  # (clusters,) float64: what the cluster is short of
    free: np.ndarray  # (clusters + 1,) int64: a stack of free clusters, its height at the end


@inlined
def leave(lists, row, cluster):
    """Remove a row from its cluster."""
    one, two = lists.before[row], lists.after[row]
    if one < 0:
        lists.head[cluster] = two
    else:
        lists.after[one] = two
    if two >= 0:
        lists.before[two] = one
    lists.sizes[cluster] -= 1
    for j in range(lists.points.shape[1]):
        lists.sums[cluster, j] -= lists.points[row, j]


@inlined
def join(lists, row, cluster):
    """Add a row to a cluster."""
    two = lists.head[cluster]
    lists.head[cluster] = row
    lists.before[row], lists.after[row] = -1, two
    if two >= 0:
        lists.before[two] = row
    lists.labels[row] = cluster
    lists.sizes[cluster] += 1
    for j in range(lists.points.shape[1]):
        lists.sums[cluster, j] += lists.points[row, j]


@lean
def move(lists, row, cluster):
    """Move a row to another cluster."""
    leave(lists, row, lists.labels[row])
    join(lists, row, cluster)


@lean
def short_of(lists, limits, desk, cluster, new, old):
    """Return what a cluster is short of with a row more and another one less (-1 for none)."""
    people, row = 0, lists.head[cluster]
    while row >= 0:
        if row != old:
            desk.rows[people] = row
            people += 1
        row = lists.after[row]
    if new >= 0:
        desk.rows[people] = new
        people += 1
    return shortage(limits, desk, people) if people > 0 else 0.0


@lean
def rebuild(lists, limits, desk):
    """Rebuild lists, sums and shortages from the labels; return the SSE."""
    lists.sizes[:] = 0
    lists.sums[:] = 0.0
    lists.head[:] = -1
    for row in range(len(lists.labels) - 1, -1, -1):
        join(lists, row, lists.labels[row])
    high = 0
    for cluster in range(len(lists.sizes) - 1, -1, -1):
        lists.short[cluster] = short_of(lists, limits, desk, cluster, NOBODY, NOBODY)
        if lists.sizes[cluster] == 0:
            lists.free[high] = cluster
            high += 1
    lists.free[-1] = high
    total = 0.0
    for row in range(len(lists.labels)):
        cluster = lists.labels[row]
        total += to_centroid(lists.points, row, lists.sums, cluster, 1.0 / lists.sizes[cluster])
    return total


@inlined
def accepted(change, temperature, state):
    """Return whether a change of cost is accepted (Metropolis)."""
    return change < 0.0 or (
        change < HOPELESS * temperature and uniform(state) < np.exp(-change / temperature)
    )


@lean
def shift(lists, limits, desk, row, there, price, temperature, state):
    """Try to move a row to another cluster."""
    here = lists.labels[row]
    change = cost_of_joining(lists.points, row, lists.sums, lists.sizes, there)
    change -= gain_of_leaving(lists.points, row, lists.sums, lists.sizes, here)
    hope = price * (lists.short[here] + lists.short[there])
    if change - hope >= HOPELESS * temperature:
        return False
    one = short_of(lists, limits, desk, here, NOBODY, row)
    two = short_of(lists, limits, desk, there, row, NOBODY)
    if accepted(change + price * (one + two) - hope, temperature, state):
        move(lists, row, there)
        lists.short[here], lists.short[there] = one, two
        return True
    return False


@lean
def swap(lists, limits, desk, row, other, price, temperature, state):
    """Try to swap two rows."""
    here, there = lists.labels[row], lists.labels[other]
    change = change_of_swap(
        lists.points, row, other, lists.sums, here, there,
        1.0 / lists.sizes[here], 1.0 / lists.sizes[there],
    )  # fmt: skip
    hope = price * (lists.short[here] + lists.short[there])
    if change - hope >= HOPELESS * temperature:
        return False
    one = short_of(lists, limits, desk, here, other, row)
    two = short_of(lists, limits, desk, there, row, other)
    if accepted(change + price * (one + two) - hope, temperature, state):
        move(lists, row, there)
        move(lists, other, here)
        lists.short[here], lists.short[there] = one, two
        return True
    return False


@lean
def undo(lists, limits, desk, journal, steps):
    """Undo the steps of a journal, the last first."""
    for i in range(steps - 1, -1, -1):
        row = journal[i, 0]
        here = lists.labels[row]
        move(lists, row, journal[i, 1])
        lists.short[here] = short_of(lists, limits, desk, here, NOBODY, NOBODY)
    for i in range(steps):
        here = journal[i, 1]
        lists.short[here] = short_of(lists, limits, desk, here, NOBODY, NOBODY)


@lean
def dissolve(lists, limits, desk, near, line, cluster, price, temperature, state, journal):
    """Try to dissolve a cluster: each row joins where it costs least."""
    change, steps = -price * lists.short[cluster], 0
    if lists.sizes[cluster] > len(journal):
        return False
    while lists.sizes[cluster] > 0:
        row = lists.head[cluster]
        best, there, left = np.inf, NOBODY, 0.0
        for i in range(near.shape[1]):
            other = lists.labels[near[line[row], i]]
            if other in (cluster, there):
                continue
            cost = cost_of_joining(lists.points, row, lists.sums, lists.sizes, other)
            if cost - price * lists.short[other] >= best:
                continue
            short = short_of(lists, limits, desk, other, row, NOBODY)
            cost += price * (short - lists.short[other])
            if cost < best:
                best, there, left = cost, other, short
        if there < 0:
            break
        if lists.sizes[cluster] > 1:
            change -= gain_of_leaving(lists.points, row, lists.sums, lists.sizes, cluster)
        change += best
        move(lists, row, there)
        lists.short[there] = left
        journal[steps, 0], journal[steps, 1] = row, cluster
        steps += 1
    if lists.sizes[cluster] == 0 and accepted(change, temperature, state):
        lists.short[cluster] = 0.0
        lists.free[lists.free[-1]] = cluster
        lists.free[-1] += 1
        return True
    undo(lists, limits, desk, journal, steps)
    return False


@lean
def found(lists, limits, desk, near, line, row, k, price, temperature, state, journal):
    """Try to found a cluster of a row and those near it that can be spared."""
    if lists.free[-1] == 0:
        return False
    cluster = lists.free[lists.free[-1] - 1]
    change, steps, short = 0.0, 0, 0.0
    for i in range(-1, near.shape[1]):
        other = row if i < 0 else near[line[row], i]
        here = lists.labels[other]
        if here == cluster or lists.sizes[here] <= k:
            continue
        left = short_of(lists, limits, desk, here, NOBODY, other)
        if left > lists.short[here]:
            continue
        new = short_of(lists, limits, desk, cluster, other, NOBODY)
        if steps >= k and new >= short:
            continue
        change -= gain_of_leaving(lists.points, other, lists.sums, lists.sizes, here)
        if steps > 0:
            change += cost_of_joining(lists.points, other, lists.sums, lists.sizes, cluster)
        change += price * (left - lists.short[here])
        move(lists, other, cluster)
        lists.short[here], short = left, new
        journal[steps, 0], journal[steps, 1] = other, here
        steps += 1
        if (steps >= k and short == 0.0) or steps == len(journal):
            break
    if steps >= k and accepted(change + price * short, temperature, state):
        lists.short[cluster] = short
        lists.free[-1] -= 1
        return True
    undo(lists, limits, desk, journal, steps)
    lists.short[cluster] = 0.0
    return False


@lean
def search(lists, limits, desk, near, line, rows, k, schedule, moves, state, journal):
    """Try moves of some rows in turn while the temperature falls and the price rises.

    Parameters
    ----------
    near, line
        (lines, neighbours) int64 and (rows,) int64: the rows near those of a line, and the line of
        each row.
    rows
        (n,) int64
    schedule
        (4,) float64: temperature and price of the first move, and the factors of both from move to
        move; all four are carried on.
    journal
        (steps, 2) int64: scratch, and with that the most rows of a cluster that may be dissolved.
    """
    temperature, price, cool, raised = schedule
    at = below(state, len(rows))
    for turn in range(moves):
        row = rows[at]
        at = at + 1 if at + 1 < len(rows) else 0
        here = lists.labels[row]
        temperature *= cool
        price *= raised
        if turn % RARE == 0:
            if below(state, 2) == 0:
                found(lists, limits, desk, near, line, row, k, price, temperature, state, journal)
            else:
                dissolve(lists, limits, desk, near, line, here, price, temperature, state, journal)
            continue
        pick = int(uniform(state) * uniform(state) * near.shape[1])
        there = lists.labels[near[line[row], pick]]
        if there == here:
            continue
        if lists.sizes[here] > k and below(state, 2) == 0:
            shift(lists, limits, desk, row, there, price, temperature, state)
            continue
        other = lists.head[there]
        for _ in range(below(state, lists.sizes[there])):
            other = lists.after[other]
        swap(lists, limits, desk, row, other, price, temperature, state)
    schedule[0], schedule[1] = temperature, price


@lean
def join_short(lists, limits, desk):
    """Join the first cluster that is short of something with the one that this costs least.

    Return whether there was one to join it with.
    """
    sums, sizes = lists.sums, lists.sizes
    for cluster in range(len(sizes)):
        if sizes[cluster] == 0 or lists.short[cluster] == 0.0:
            continue
        best, there = np.inf, NOBODY
        for other in range(len(sizes)):
            if other == cluster or sizes[other] == 0:
                continue
            away = 0.0
            for j in range(sums.shape[1]):
                gap = sums[cluster, j] / sizes[cluster] - sums[other, j] / sizes[other]
                away += gap * gap
            away *= 1.0 / (1.0 / sizes[cluster] + 1.0 / sizes[other])
            if away < best:
                best, there = away, np.int64(other)
        if there < 0:
            return False
        while sizes[cluster] > 0:
            move(lists, lists.head[cluster], there)
        lists.short[cluster] = 0.0
        lists.short[there] = short_of(lists, limits, desk, there, NOBODY, NOBODY)
        return True
    return False
