"""The split bound: each pair's squared distance is split between its two rows.

    SSE(C) = sum of m_i m_j |x_i - x_j|² over the pairs of C / m(C),   m(C) = sum of the masses

With w_ij + w_ji = m_i m_j |x_i - x_j|², row i's share of the SSE of any cluster is at least the
least of (sum of w_i. over the others) / m(C) over all sets of k - 1 to 2k - 2 others. Any split
will do; subgradients improve it. Pairs of a neighbour graph are split freely, all others in halves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import inlined, kernel

# Newton steps to a row's least share where masses differ; after any number of them it is a bound.
STEPS = 20


class Split(NamedTuple):
    """The pairs of a neighbour graph, each seen from either row, ordered by row."""

    head: np.ndarray  # (rows + 1,) int64: the pairs of row i are head[i]:head[i + 1]
    other: np.ndarray  # (pairs,) int32: the other row
    twin: np.ndarray  # (pairs,) int32: the place of the same pair seen from the other row
    half: np.ndarray  # (pairs,) float32: half of what is split, rounded down
    shift: np.ndarray  # (pairs,) float32: what the row bears beyond half; the twin's is opposite
    way: np.ndarray  # (pairs,) float32: the direction of ascent
    drawn: np.ndarray  # (pairs,) float32: 1 / m(C) where the least set of the row has it, else 0
    beyond: np.ndarray  # (rows,) float64: half the least m_i |x_i - x_j|² of a row j not listed
    mass: np.ndarray  # (rows,) float64; empty where each is 1
    share: np.ndarray  # (rows,) float64: the least share
    largest: np.ndarray  # (rows,) float64: the largest |half| + |shift|, for the rounding


@inlined
def lists(near, row, other):
    """Return whether a row is in the list of another."""
    found = False
    for i in range(near.shape[1]):
        found |= near[other, i] == row
    return found


@kernel
def count_pairs(near, many, start, stop):
    """Add to ``many`` the pairs of each row that the lists of the rows ``start:stop`` make."""
    for row in range(start, stop):
        for other in near[row]:
            many[row] += 1
            if not lists(near, row, other):
                many[other] += 1


@kernel
def link_pairs(near, end, other, twin, start, stop):
    """Link the pairs that the lists of the rows ``start:stop`` make.

    ``end`` is (rows,) int64: how far the pairs of each row are filled.
    """
    for row in range(start, stop):
        for one in near[row]:
            if row < one or not lists(near, row, one):
                here, there = end[row], end[one]
                other[here], other[there] = one, row
                twin[here], twin[there] = there, here
                end[row] += 1
                end[one] += 1


@kernel
def measure_pairs(points, near, split, safe, start, stop):
    """Measure all pairs of the rows ``start:stop``; ``safe`` is a factor that covers rounding."""
    complete = near.shape[1] == len(near) - 1
    for row in range(start, stop):
        mass = split.mass[row] if len(split.mass) else 1.0
        for at in range(split.head[row], split.head[row + 1]):
            other, away = split.other[at], 0.0
            for j in range(points.shape[1]):
                gap = points[row, j] - points[other, j]
                away += gap * gap
            if len(split.mass):
                away *= mass * split.mass[other]
            split.half[at] = np.float32(0.5 * away * safe)
        worst = 0.0
        for j in range(points.shape[1]):
            gap = points[row, j] - points[near[row, near.shape[1] - 1], j]
            worst += gap * gap
        split.beyond[row] = np.inf if complete else 0.5 * mass * worst * safe


@inlined
def keep_least(values, places, count, room, value, place):
    """Insert a value into a sorted list of limited length; return its new length."""
    at = count
    if count == room:
        at = room - 1
    while at > 0 and values[at - 1] > value:
        values[at], places[at] = values[at - 1], places[at - 1]
        at -= 1
    values[at], places[at] = value, place
    return min(count + 1, room)


@kernel
def draw_alike(split, k, step, start, stop):
    """Take a step along the way, and find the least shares of the rows ``start:stop``.

    For rows of mass 1.
    """
    room = min(2 * k - 2, len(split.share) - 1)
    values, places = np.empty(room), np.empty(room, np.int64)
    for row in range(start, stop):
        count, largest, far = 0, 0.0, split.beyond[row]
        for at in range(split.head[row], split.head[row + 1]):
            split.shift[at] += step * split.way[at]
            split.drawn[at] = 0.0
            value = np.float64(split.half[at]) + split.shift[at]
            largest = max(largest, split.half[at] + abs(split.shift[at]))
            if count < room or value < values[room - 1]:
                count = keep_least(values, places, count, room, value, at)
        part, taken, share, drawn, size = 0.0, 0, np.inf, 0, 0
        for others in range(1, room + 1):
            if taken < count and values[taken] <= far:
                part += values[taken]
                taken += 1
            else:
                part += far
            if others >= k - 1 and part < share * (others + 1):
                share, drawn, size = part / (others + 1), taken, others + 1
        for place in places[:drawn]:
            split.drawn[place] = 1.0 / size
        split.share[row] = share
        split.largest[row] = max(largest, far) if far < np.inf else largest


@kernel
def draw(split, k, lightest, heaviest, step, start, stop):
    """Do the same as ``draw_alike`` for rows of any mass, from the lightest to the heaviest."""
    room = min(2 * k - 2, len(split.share) - 1)
    keys, places = np.empty(room), np.empty(room, np.int64)
    for row in range(start, stop):
        largest, far = 0.0, split.beyond[row]
        for at in range(split.head[row], split.head[row + 1]):
            split.shift[at] += step * split.way[at]
            split.drawn[at] = 0.0
            largest = max(largest, split.half[at] + abs(split.shift[at]))
        share = np.inf
        for attempt in range(STEPS):
            # The set that is least for a price on mass, then the price that makes it worth 0.
            price, count = share if attempt else 0.0, 0
            for at in range(split.head[row], split.head[row + 1]):
                key = np.float64(split.half[at]) + split.shift[at]
                key -= price * split.mass[split.other[at]]
                if count < room or key < keys[room - 1]:
                    count = keep_least(keys, places, count, room, key, at)
            apart = far - price
            outside = apart * (lightest if apart > 0 else heaviest)
            part, mass, taken = 0.0, split.mass[row], 0
            value = -price * mass
            for others in range(1, room + 1):
                listed = taken < count and keys[taken] <= outside
                key = keys[taken] if listed else outside
                if others > k - 1 and key >= 0:
                    break
                value += key
                if listed:
                    weight = split.mass[split.other[places[taken]]]
                    part += np.float64(split.half[places[taken]]) + split.shift[places[taken]]
                    taken += 1
                else:
                    weight = lightest if apart > 0 else heaviest
                    part += far * weight
                mass += weight
            if attempt and value >= 0:
                break
            if attempt == STEPS - 1:
                share += value / (split.mass[row] + (k - 1) * lightest)
                break
            for at in range(split.head[row], split.head[row + 1]):
                split.drawn[at] = 0.0
            for place in places[:taken]:
                split.drawn[place] = 1.0 / mass
            share = part / mass
        split.share[row] = share
        split.largest[row] = (max(largest, far * heaviest) if far < np.inf else largest) / lightest


@kernel
def turn(split, kept, start, stop):
    """Turn the way of the pairs ``start:stop`` to the subgradient, and keep part of the old one.

    Return its square.
    """
    square = 0.0
    for at in range(start, stop):
        # The difference first: the twin's way must be the opposite, to the bit.
        way = kept * split.way[at] + (split.drawn[at] - split.drawn[split.twin[at]])
        split.way[at] = way
        square += way * way
    return square


@kernel
def least_sums(split, sums, start, stop):
    """Write for the rows ``start:stop`` the sums of the t least values of their pairs, t = 0, ….

    ``sums`` is (rows, largest t + 1).
    """
    room = sums.shape[1] - 1
    values, places = np.empty(room), np.empty(room, np.int64)
    for row in range(start, stop):
        count, taken = 0, 0
        for at in range(split.head[row], split.head[row + 1]):
            value = np.float64(split.half[at]) + split.shift[at]
            if count < room or value < values[room - 1]:
                count = keep_least(values, places, count, room, value, at)
        sums[row, 0] = 0.0
        for others in range(room):
            far = split.beyond[row]
            if taken < count and values[taken] <= far:
                far = values[taken]
                taken += 1
            sums[row, others + 1] = sums[row, others] + far
