"""Limits on sensitive columns by a plain count of people, and the crude repair to be better than.

A cluster is a list of people, and a person a set of values of each sensitive column: who has
several is split evenly over them. A table is the list of all people.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np

# Of the crude repair: the rows nearest to a cluster that it may be given.
NEAR = 50


def spread(people):
    """Count who has each value, each person being one."""
    found = Counter()
    for values in people:
        for value in set(values):
            found[value] += Fraction(1, len(set(values)))
    return found


def most_matched(people):
    """Count the people who can be given a value each, all different, by trying all ways."""
    several = [set(values) for values in people if len(set(values)) > 1]
    single = set().union(*(values for values in people if len(set(values)) == 1))
    return max(len(single | set(given)) for given in itertools.product(*several))


def entropy_of(people):
    """The exponential of the entropy of the values."""
    counts, size = spread(people), len(people)
    return math.exp(-sum(float(n / size) * math.log(n / size) for n in counts.values()))


def recursive_of(people, l):  # noqa: E741
    """The most frequent value over all from the l-th most frequent on."""
    counts = sorted(spread(people).values(), reverse=True)
    rest = sum(counts[l - 1 :])
    return float(counts[0] / rest) if rest else math.inf


def total_variation_of(people, table):
    """Half the sum of what shares differ by."""
    mine, whole = spread(people), spread(table)
    return float(sum(abs(mine[v] / len(people) - n / len(table)) for v, n in whole.items()) / 2)


def earth_mover_of(people, table):
    """What is carried over each step of the order of the values that occur, over the steps."""
    mine, whole = spread(people), spread(table)
    values = sorted(whole)
    carried, total = Fraction(0), Fraction(0)
    for value in values[:-1]:
        carried += mine[value] / len(people) - whole[value] / len(table)
        total += abs(carried)
    return float(total / (len(values) - 1)) if len(values) > 1 else 0.0


def meets(people, table, *, l=None, kind="distinct", c=None, t=None, ordered=False):  # noqa: E741
    """Say whether people meet a limit, as the checks of a release would."""
    if t is not None:
        far = earth_mover_of if ordered else total_variation_of
        return far(people, table) <= t + 1e-9
    if kind == "recursive":
        return recursive_of(people, int(l)) < c * (1 - 1e-9)
    return {"distinct": most_matched, "entropy": entropy_of}[kind](people) >= l * (1 - 1e-9)


def squares(points):
    """SSE of rows around their mean."""
    return float(((points - points.mean(0)) ** 2).sum())


def sse(points, labels):
    """SSE of a partition."""
    return sum(squares(points[labels == c]) for c in np.unique(labels))


def crude_repair(points, labels, values, l):  # noqa: E741
    """Swap a redundant row for a near one with a new value, then merge what is still short.

    A cluster that has fewer than l different values gives a row whose value it has twice, and
    takes one of the NEAR rows nearest to its centroid whose value is new to it, from a cluster
    that stays as diverse as it was or diverse enough; of all such swaps the one with the least
    change of SSE. What is short then joins the cluster with the nearest centroid, first come first.
    """
    labels = np.array(labels)
    for c in np.unique(labels).tolist():
        while different(values, labels, c) < l:
            best = min(swaps(points, labels, values, c, l), default=None)
            if best is None:
                break
            _, other, row = best
            labels[row], labels[other] = labels[other], c
    return merged(points, labels, lambda rows: len(set(values[rows].tolist())) >= l)


def different(values, labels, cluster):
    """Count the different values of a cluster."""
    return len(set(values[labels == cluster].tolist()))


def swaps(points, labels, values, c, l):  # noqa: E741
    """List the swaps that give a cluster a new value: change of SSE, the other row, and its own."""
    mine = np.flatnonzero(labels == c)
    counts = Counter(values[mine].tolist())
    away = ((points - points[mine].mean(0)) ** 2).sum(1)
    for other in np.argsort(away, kind="stable")[: NEAR + len(mine)].tolist():
        there = labels[other]
        if there == c or values[other] in counts:
            continue
        theirs = np.flatnonzero(labels == there)
        before = squares(points[mine]) + squares(points[theirs])
        least = min(l, different(values, labels, there))
        for row in mine[[counts[v] > 1 for v in values[mine].tolist()]].tolist():
            one, two = [*mine[mine != row], other], [*theirs[theirs != other], row]
            if len(set(values[two].tolist())) >= least:
                yield squares(points[one]) + squares(points[two]) - before, other, row


def merged(points, labels, enough):
    """Join each cluster that is not enough with the one that has the nearest centroid."""
    clusters = {c: np.flatnonzero(labels == c) for c in np.unique(labels).tolist()}
    while len(clusters) > 1:
        short = [c for c in sorted(clusters) if not enough(clusters[c])]
        if not short:
            break
        c = short[0]
        centre = points[clusters[c]].mean(0)
        near = min(
            (((points[clusters[o]].mean(0) - centre) ** 2).sum(), o) for o in clusters if o != c
        )[1]
        low, high = sorted((c, near))
        clusters[low] = np.concatenate([clusters[low], clusters.pop(high)])
    found = np.empty(len(points), np.int32)
    for i, rows in enumerate(clusters.values()):
        found[rows] = i
    return found
