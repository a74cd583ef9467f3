"""Pricing by branch and bound: how far the prices of rows exceed the SSE of any cluster.

Prices y bound the loss where no cluster of k to 2k - 1 rows costs less than its rows, SSE < y(C).
A cluster is looked for from its first row in an order, its anchor, one row after the other. With
rows P chosen and r of s to come, the reduced cost SSE(C) - y(C) is at least

    (pairs of P) / s - y(P) + sum over the r least of  (sum_p |x_q - x_p|² + W_q(r - 1)) / s - y_q

where W_q(t) is the sum of the t least parts that row q bears of its pairs: see split.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import inlined, kernel

# Candidates up to which the parts are summed anew over them alone.
CLOSE = 40


class Prices(NamedTuple):
    """Rows with their prices, in the order of anchors."""

    points: np.ndarray  # (rows, columns) float64
    price: np.ndarray  # (rows,) float64
    sums: np.ndarray  # (rows, 2k - 1) float64: W
    order: np.ndarray  # (rows,) int64
    head: np.ndarray  # as in Split
    other: np.ndarray
    half: np.ndarray
    shift: np.ndarray


class Found(NamedTuple):
    """What pricing finds from each anchor."""

    least: np.ndarray  # (anchors,) float64: a lower bound of the reduced costs, or the goal
    rows: np.ndarray  # (clusters, 2k - 1) int32: clusters below the goal
    sizes: np.ndarray  # (clusters,) int64
    total: np.ndarray  # (1,) int64: how many clusters


class Tree(NamedTuple):
    """The chosen rows by depth, and the candidates to come."""

    places: np.ndarray  # (depths, rows) int64: candidates, the cheapest first
    many: np.ndarray  # (depths,) int64: how many candidates
    pairs: np.ndarray  # (depths, rows) float64: sum of the squares to the chosen rows
    costs: np.ndarray  # (depths, rows) float64
    at: np.ndarray  # (depths,) int64: the next candidate to choose
    base: np.ndarray  # (depths,) float64: cost of what is chosen
    chosen: np.ndarray  # (depths,) int64


@inlined
def keep_small(values, room, value):
    """Insert a value into a sorted full list of the least ones."""
    if value < values[room - 1]:
        at = room - 1
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value


@inlined
def bound(tree, depth, left):
    """Return the least cost below a node that begins with its next candidate; inf without."""
    at = tree.at[depth]
    total = np.inf
    if at + left <= tree.many[depth]:
        total = tree.base[depth]
        for i in range(at, at + left):
            total += tree.costs[depth, i]
    return total


@inlined
def sort_and_cut(tree, depth, left, goal, order, spare):
    """Sort candidates by cost; drop those that lead to no cluster below the goal."""
    count = tree.many[depth]
    order[:count] = np.argsort(tree.costs[depth, :count], kind="mergesort")
    rest = tree.base[depth]
    for i in range(min(left - 1, count)):
        rest += tree.costs[depth, order[i]]
    kept = 0
    while kept < count and rest + tree.costs[depth, order[kept]] < goal:
        kept += 1
    if kept < left:
        kept = 0
    for values in (tree.costs, tree.pairs):
        for i in range(kept):
            spare[i] = values[depth, order[i]]
        values[depth, :kept] = spare[:kept]
    for i in range(kept):
        order[i] = tree.places[depth, order[i]]
    tree.places[depth, :kept] = order[:kept]
    tree.many[depth], tree.at[depth] = kept, 0


@inlined
def near_costs(tree, depth, left, size, parts, ids, price, small):
    """Raise the costs of candidates by what they bear of their pairs with each other."""
    count = tree.many[depth]
    for i in range(count):
        one = tree.places[depth, i]
        small[: left - 1] = np.inf
        for j in range(count):
            keep_small(small, left - 1, parts[one, tree.places[depth, j]])
        tree.costs[depth, i] = (tree.pairs[depth, i] + small[: left - 1].sum()) / size - price[
            ids[one]
        ]


@inlined
def measure_candidates(prices, ids, count, square, parts, where):
    """Measure the candidates' pairs, and what each bears of them."""
    points = prices.points
    for i in range(count):
        where[ids[i]] = i
        for j in range(i):
            away = 0.0
            for c in range(points.shape[1]):
                gap = points[ids[i], c] - points[ids[j], c]
                away += gap * gap
            square[i, j] = square[j, i] = away
            parts[i, j] = parts[j, i] = 0.5 * away
        parts[i, i] = np.inf
    for i in range(count):
        for at in range(prices.head[ids[i]], prices.head[ids[i] + 1]):
            j = where[prices.other[at]]
            if j >= 0:
                parts[i, j] = np.float64(prices.half[at]) + prices.shift[at]
    for i in range(count):
        where[ids[i]] = -1


@inlined
def choose_candidates(prices, k, goal, a, away, wanted, spare, small):
    """Mark the rows after anchor ``a`` that a cluster below the goal may have; measure all."""
    points, price, order, rows = prices.points, prices.price, prices.order, len(prices.points)
    anchor = order[a]
    for b in range(a + 1, rows):
        square = 0.0
        for c in range(points.shape[1]):
            gap = points[anchor, c] - points[order[b], c]
            square += gap * gap
        away[b] = square
        wanted[b] = False
    for size in range(k, min(2 * k - 1, rows - a) + 1):
        left = size - 1
        small[:left] = np.inf
        for b in range(a + 1, rows):
            q = order[b]
            spare[b] = (away[b] + prices.sums[q, left - 1]) / size - price[q]
            keep_small(small, left, spare[b])
        rest = small[: left - 1].sum() - price[anchor]
        if rest + small[left - 1] < goal:
            for b in range(a + 1, rows):
                wanted[b] |= rest + spare[b] < goal


@inlined
def descend(prices, tree, depth, at, ids, square, size):
    """Choose a candidate; list those after it one level below, with their costs."""
    one, left, count = tree.places[depth, at], size - 1 - depth, 0
    tree.base[depth + 1] = tree.base[depth] + tree.pairs[depth, at] / size - prices.price[ids[one]]
    for i in range(at + 1, tree.many[depth]):
        other = tree.places[depth, i]
        pairs = tree.pairs[depth, i] + square[one, other]
        tree.places[depth + 1, count], tree.pairs[depth + 1, count] = other, pairs
        tree.costs[depth + 1, count] = (
            pairs + prices.sums[ids[other], left - 2]
        ) / size - prices.price[ids[other]]
        count += 1
    tree.many[depth + 1] = count


@inlined
def add_cluster(tree, found, anchor, ids, size):
    """Add the chosen rows to the clusters found, if there is room."""
    here = found.total[0]
    if here < len(found.sizes):
        found.rows[here, 0], found.sizes[here] = anchor, size
        for i in range(size - 1):
            found.rows[here, i + 1] = ids[tree.chosen[i]]
        found.total[0] += 1


@inlined
def make_tree(rows, depths):
    """Allocate a tree for a number of rows."""
    return Tree(
        np.empty((depths, rows), np.int64),
        np.zeros(depths, np.int64),
        np.empty((depths, rows)),
        np.empty((depths, rows)),
        np.zeros(depths, np.int64),
        np.empty(depths),
        np.empty(depths, np.int64),
    )


@kernel
def price_anchors(prices, k, goal, nodes, found, start, stop):
    """Look for clusters cheaper than ``goal`` from the anchors ``start:stop``.

    At most ``nodes`` nodes are opened for an anchor; the bounds of those left open count then.
    """
    price, order, rows, widest = prices.price, prices.order, len(prices.points), 2 * k - 1
    away, where, wanted = np.empty(rows), np.full(rows, -1, np.int64), np.zeros(rows, np.bool_)
    small, spare, sorting = np.empty(widest + 1), np.empty(rows), np.empty(rows, np.int64)
    ids, tree = np.empty(rows, np.int64), make_tree(rows, widest)
    for a in range(start, stop):
        anchor, opened, many = order[a], 0, 0
        found.least[a] = goal
        choose_candidates(prices, k, goal, a, away, wanted, spare, small)
        for b in range(a + 1, rows):
            if wanted[b]:
                ids[many], away[many] = order[b], away[b]
                many += 1
        square, parts = np.empty((many, many)), np.empty((many, many))
        measure_candidates(prices, ids, many, square, parts, where)
        for size in range(k, min(widest, many + 1) + 1):
            tree.base[0], tree.many[0], depth, best = -price[anchor], many, 0, goal
            for i in range(many):
                tree.places[0, i], tree.pairs[0, i] = i, away[i]
                tree.costs[0, i] = (away[i] + prices.sums[ids[i], size - 2]) / size - price[ids[i]]
            sort_and_cut(tree, 0, size - 1, goal, sorting, spare)
            while depth >= 0:
                left = size - 1 - depth
                least = bound(tree, depth, left)
                if least >= goal:
                    depth -= 1
                elif opened >= nodes:
                    # Where it ends early, what is open may hold what its bound allows.
                    found.least[a] = min(found.least[a], least)
                    depth -= 1
                elif left == 1:
                    opened += 1
                    tree.chosen[depth] = tree.places[depth, tree.at[depth]]
                    found.least[a] = min(found.least[a], least)
                    if least < best:
                        best = least
                        add_cluster(tree, found, anchor, ids, size)
                    depth -= 1  # the other candidates are dearer
                else:
                    opened += 1
                    at = tree.at[depth]
                    tree.at[depth] += 1
                    tree.chosen[depth] = tree.places[depth, at]
                    descend(prices, tree, depth, at, ids, square, size)
                    depth += 1
                    sort_and_cut(tree, depth, left - 1, goal, sorting, spare)
                    if left > 2 and 0 < tree.many[depth] <= CLOSE:
                        near_costs(tree, depth, left - 1, size, parts, ids, price, small)
                        sort_and_cut(tree, depth, left - 1, goal, sorting, spare)
