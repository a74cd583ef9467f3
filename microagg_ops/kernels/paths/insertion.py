"""Tours by insertion: each next row goes where it lengthens the tour least.

The tour is a linked list of rows and the dummy (see tours.py): ``after[node]`` is the next node.
The rules differ in which node comes next. The dummy is a node like any other, so the rules treat
it as its zero distances make them: the nearest rule takes it at once, and then, since every row is
at distance zero from the tour, the rows at random; the cheapest rule takes it at once; the farthest
rule takes it last and so cuts the longest edge.
"""

from __future__ import annotations

import numpy as np

from microagg_ops.kernels import kernel
from microagg_ops.kernels.paths.tours import distance

NEAREST, FARTHEST, ARBITRARY = 0, 1, 2
IN_TOUR, TAKEN = -1, -2


@kernel
def best_place(points, after, first, to):
    """Find the cheapest place for a node, given its distances ``to`` all; start at ``first``."""
    a = first
    best = np.inf
    place = -1
    while True:
        b = after[a]
        longer = to[a] + to[b] - distance(points, a, b)
        if longer < best:
            best = longer
            place = a
        a = b
        if a == first:
            return place, best


@kernel
def next_node(rule, gaps, given, step):
    """Choose a node by the rule; ties go to the first in the given order."""
    if rule == ARBITRARY:
        return given[step]
    best = -1
    for node in given:
        if gaps[node] >= 0.0 and (
            best < 0
            or (rule == NEAREST and gaps[node] < gaps[best])
            or (rule == FARTHEST and gaps[node] > gaps[best])
        ):
            best = node
    return best


@kernel
def insert(points, after, first, rule, gaps, given, start, stop):
    """Insert the nodes of steps ``start`` to ``stop - 1`` into a tour that ``first`` began.

    ``gaps`` holds the distance of each node to the nearest node of the tour, -1 for those in it.
    """
    to = np.zeros(len(gaps))
    for step in range(start, stop):
        node = next_node(rule, gaps, given, step)
        gaps[node] = -1.0
        for other in range(len(gaps)):
            if rule != ARBITRARY or gaps[other] < 0.0:
                to[other] = distance(points, node, other)
                gaps[other] = min(gaps[other], to[other])
        place, _ = best_place(points, after, first, to)
        after[node] = after[place]
        after[place] = node


@kernel
def cheapest_row(points, after, cheapest, where):
    """Choose the row that lengthens the tour least; ties go to the lowest."""
    dummy = len(points)
    to = np.zeros(dummy + 1)
    while True:
        row = -1
        for other in range(dummy):
            if where[other] != IN_TOUR and (row < 0 or cheapest[other] < cheapest[row]):
                row = other
        if where[row] != TAKEN:
            return row
        a = after[dummy]
        while a != dummy:
            to[a] = distance(points, row, a)
            a = after[a]
        where[row], cheapest[row] = best_place(points, after, dummy, to)


@kernel
def insert_cheapest(points, after, cheapest, where, steps):
    """Insert ``steps`` times the row that lengthens the tour least.

    The tour begins as one row and the dummy. ``cheapest`` and ``where`` hold what each row would
    cost and behind which node. When that place is taken, the cost is still a lower bound: another
    place is sought only when the row would come next.
    """
    for _ in range(steps):
        row = cheapest_row(points, after, cheapest, where)
        place = where[row]
        where[row] = IN_TOUR
        b = after[place]
        after[row] = b
        after[place] = row
        left, right = distance(points, place, row), distance(points, row, b)
        for other in range(len(points)):
            if where[other] == IN_TOUR:
                continue
            if where[other] == place:
                where[other] = TAKEN
            to = distance(points, other, row)
            before = distance(points, other, place) + to - left
            if before < cheapest[other]:
                where[other], cheapest[other] = place, before
            behind = to + distance(points, other, b) - right
            if behind < cheapest[other]:
                where[other], cheapest[other] = row, behind


@kernel
def unlinked(after, path):
    """Write the linked tour as a path that begins after the dummy."""
    dummy = len(path)
    row = after[dummy]
    for i in range(dummy):
        path[i] = row
        row = after[row]
