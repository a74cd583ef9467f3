"""Limits on sensitive columns: how far the people of a cluster are from meeting them.

Distinct, entropy and recursive l-diversity: Machanavajjhala and others, 2007,
doi:10.1145/1217299.1217302. t-closeness: Li and others, 2007, doi:10.1109/ICDE.2007.367856. All of
them are kept when clusters that meet them are joined.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import lean
from microagg_ops.kernels.measures.matching import match

DISTINCT, ENTROPY, RECURSIVE, NOMINAL, ORDERED = range(5)
# What is met but for rounding is met; a check allows ten times more.
ROUNDING = 1e-10


class Limits(NamedTuple):
    """What sensitive columns must have in every cluster.

    A person has one value of a column or several, then a share of each.
    """

    begin: np.ndarray  # (columns, people + 1) int64: where the values of a person begin
    ranks: np.ndarray  # (values,) int64: ranks of values, of all columns one after the other
    kinds: np.ndarray  # (limits,) int64, the limits of a column one after the other
    columns: np.ndarray  # (limits,) int64
    bounds: np.ndarray  # (limits, 2) float64: l or t; c
    first: np.ndarray  # (columns + 1,) int64: where the values of a column begin in the next two
    level: np.ndarray  # (different values,) float64: share of the table up to this value
    area: np.ndarray  # (different values,) float64: sum of the levels before this value


class Desk(NamedTuple):
    """Where the people of one cluster are counted."""

    rows: np.ndarray  # (people,) int64
    ranks: np.ndarray  # (values,) int64
    shares: np.ndarray  # (values,) float64
    who: np.ndarray  # (values,) int64
    counts: np.ndarray  # (values,) float64
    starts: np.ndarray  # (values + 1,) int64
    whose: np.ndarray  # (values,) int64
    queue: np.ndarray  # (values + 1,) int64
    given: np.ndarray  # (people,) int64
    came: np.ndarray  # (people,) int64
    seen: np.ndarray  # (people,) int64


@lean
def gather(limits, column, desk, people):
    """Collect the values of people on the desk, sorted by rank; return how many there are."""
    begin, ranks, shares, who = limits.begin, desk.ranks, desk.shares, desk.who
    found = 0
    for i in range(people):
        row = desk.rows[i]
        start, stop = begin[column, row], begin[column, row + 1]
        for j in range(start, stop):
            ranks[found], shares[found], who[found] = limits.ranks[j], 1.0 / (stop - start), i
            found += 1
    gap = 1
    while 3 * gap + 1 < found:
        gap = 3 * gap + 1
    while gap > 0:  # few values are as good as sorted at once
        for i in range(gap, found):
            rank, share, person, j = ranks[i], shares[i], who[i], i
            while j >= gap and ranks[j - gap] > rank:
                ranks[j], shares[j], who[j] = ranks[j - gap], shares[j - gap], who[j - gap]
                j -= gap
            ranks[j], shares[j], who[j] = rank, share, person
        gap //= 3
    return found


@lean
def tally(desk, found):
    """Count each different value; return how many there are, their ranks where ranks were."""
    different = 0
    for i in range(found):
        if different == 0 or desk.ranks[i] != desk.ranks[different - 1]:
            desk.ranks[different], desk.counts[different] = desk.ranks[i], 0.0
            desk.starts[different] = i
            different += 1
        desk.counts[different - 1] += desk.shares[i]
    desk.starts[different] = found
    return different


@lean
def matched(desk, different, people):
    """Count the people who can be given one value each, all different."""
    for value in range(different):
        desk.whose[value] = -1
    for i in range(people):
        desk.given[i] = desk.seen[i] = -1
    match(
        desk.starts, desk.who, 0, different, desk.whose, desk.given, desk.came, desk.seen,
        desk.queue,
    )  # fmt: skip
    many = 0
    for value in range(different):
        many += desk.whose[value] >= 0
    return many


@lean
def recursive_gap(counts, different, people, l, c):  # noqa: E741
    """Return by how much the most frequent value exceeds c times those from number l on."""
    for i in range(1, different):
        count, j = counts[i], i
        while j > 0 and counts[j - 1] < count:
            counts[j] = counts[j - 1]
            j -= 1
        counts[j] = count
    rest = 0.0
    for i in range(l - 1, different):
        rest += counts[i]
    if rest <= 0.0:
        return counts[0] / c + (l - different)
    gap = counts[0] / c - rest
    # At the bound itself the limit is not met.
    return max(gap, 0.0) + ROUNDING if gap >= -20 * ROUNDING * rest else 0.0


@lean
def variation(limits, column, desk, different, people):
    """Return the total variation between the people and the table."""
    first, excess = limits.first[column], 0.0
    for i in range(different):
        at = first + desk.ranks[i]
        share = limits.level[at] - (limits.level[at - 1] if at > first else 0.0)
        excess += max(0.0, desk.counts[i] / people - share)
    return excess


@lean
def earth_mover(limits, column, desk, different, people):
    """Return the earth mover's distance between the people and the table.

    It is the area between two cumulative shares, of which one is flat between values of the people
    and the other only rises: each flat stretch is two sums, left and right of where they cross.
    """
    first, steps = limits.first[column], limits.first[column + 1] - limits.first[column] - 1
    level, area = limits.level, limits.area
    if steps < 1:
        return 0.0
    total = area[first + desk.ranks[0]]
    flat = 0.0
    for i in range(different):
        flat += desk.counts[i] / people
        low = first + desk.ranks[i]
        high = first + (desk.ranks[i + 1] if i + 1 < different else steps)
        cross, above = low, high
        while cross < above:
            middle = (cross + above) // 2
            if level[middle] < flat:
                cross = middle + 1
            else:
                above = middle
        total += flat * (cross - low) - (area[cross] - area[low])
        total += (area[high] - area[cross]) - flat * (high - cross)
    return total / steps


@lean
def shortage(limits, desk, people):
    """Return how many people or so it would take for the limits to be met: 0 if they are."""
    total, column, different, found = 0.0, -1, 0, 0
    for i in range(len(limits.kinds)):
        kind, bound = limits.kinds[i], limits.bounds[i, 0]
        if limits.columns[i] != column or limits.kinds[i - 1] == RECURSIVE:
            column = limits.columns[i]
            found = gather(limits, column, desk, people)
            different = tally(desk, found)
        if kind == DISTINCT:
            many = different
            if found > people and different >= bound:
                many = matched(desk, different, people)
            total += max(0.0, bound - many)
        elif kind == ENTROPY:
            spread = np.log(people)
            for j in range(different):
                spread -= desk.counts[j] * np.log(desk.counts[j]) / people
            gap = np.log(bound) - spread
            total += gap * people if gap > ROUNDING else 0.0
        elif kind == RECURSIVE:
            gap = recursive_gap(desk.counts, different, people, int(bound), limits.bounds[i, 1])
            total += gap
        else:
            if kind == NOMINAL:
                away = variation(limits, column, desk, different, people)
            else:
                away = earth_mover(limits, column, desk, different, people)
            total += (away - bound) * people if away - bound > ROUNDING else 0.0
    return total
