"""Iterated 2-opt and Or-opt over neighbour lists, with double-bridge-like kicks.

The tour is an array with the place of each node beside it. Every change is a sequence of 2-opt
moves, each written to a journal, so that a kick that did not pay is undone. A queue holds the nodes
whose edges changed: only they are examined again. ``near`` and ``lengths`` hold the nearest nodes
of each node and their distances. See tours.py for the dummy.
"""

from __future__ import annotations

from microagg_ops.kernels import kernel
from microagg_ops.kernels.paths.tours import distance
from microagg_ops.kernels.random import below

# The longest of the two neighbouring segments that a kick swaps: its damage stays local.
STRETCH = 50
LONGEST_SEGMENT = 3
# A gain must be more than rounding.
LEAST_GAIN = 1e-12


@kernel
def step(tour, place, node, way):
    """Return the node before (-1) or after (+1) a node."""
    n = len(tour)
    at = place[node] + way
    if at == n:
        at = 0
    elif at < 0:
        at = n - 1
    return tour[at]


@kernel
def reverse(tour, place, first, last):
    """Reverse the segment from one node forward to another, or, if shorter, the rest."""
    n = len(tour)
    i, j = place[first], place[last]
    length = (j - i) % n + 1
    if 2 * length > n:
        i, j = (j + 1) % n, (i - 1) % n
        length = n - length
    for _ in range(length // 2):
        a, b = tour[i], tour[j]
        tour[i], place[b] = b, i
        tour[j], place[a] = a, j
        i = i + 1 if i + 1 < n else 0
        j = j - 1 if j > 0 else n - 1


@kernel
def move(tour, place, a, b, c, d):
    """Replace the edges a-b and c-d by a-c and b-d; b follows a as d follows c, either way."""
    if step(tour, place, a, 1) == b:
        reverse(tour, place, b, c)
    else:
        reverse(tour, place, a, d)


@kernel
def change(tour, place, journal, queue, a, b, c, d):
    """Make a move, log it in the journal, and queue its nodes."""
    move(tour, place, a, b, c, d)
    made = journal[0, 0] + 1
    if made < len(journal):
        journal[made, 0], journal[made, 1], journal[made, 2], journal[made, 3] = a, b, c, d
    journal[0, 0] = made
    push(queue, a)
    push(queue, b)
    push(queue, c)
    push(queue, d)


@kernel
def push(queue, node):
    """Push a node onto the ring buffer, unless it is there: row 0 holds its head and size."""
    if queue[node + 1, 1] == 0:
        queue[node + 1, 1] = 1
        queue[1 + (queue[0, 0] + queue[0, 1]) % (len(queue) - 1), 0] = node
        queue[0, 1] += 1


@kernel
def pop(queue):
    """Pop the first node of the ring buffer."""
    node = queue[queue[0, 0] + 1, 0]
    queue[0, 0] = (queue[0, 0] + 1) % (len(queue) - 1)
    queue[0, 1] -= 1
    queue[node + 1, 1] = 0
    return node


@kernel
def transfer(tour, place, journal, queue, p, first, last, n, c, d, turned):
    """Move the segment first..last from between p and n to between c and d."""
    change(tour, place, journal, queue, p, first, c, d)
    if n != c:
        change(tour, place, journal, queue, p, c, n, last)
    if not turned:
        change(tour, place, journal, queue, c, last, first, d)


@kernel
def two_opt(points, tour, place, near, lengths, journal, queue, node, way):
    """Make the first improving 2-opt move of the edge on one side of a node; return the gain."""
    other = step(tour, place, node, way)
    length = distance(points, node, other)
    for i in range(near.shape[1]):
        gain = length - lengths[node, i]
        if gain <= LEAST_GAIN:
            return 0.0
        c = near[node, i]
        d = step(tour, place, c, way)
        gain += distance(points, c, d) - distance(points, other, d)
        if gain > LEAST_GAIN and c != other and d != node:
            change(tour, place, journal, queue, node, other, c, d)
            return gain
    return 0.0


@kernel
def or_opt(points, tour, place, near, lengths, journal, queue, node, way):
    """Make the first improving Or-opt move of a segment that begins at a node; return the gain."""
    p = step(tour, place, node, -way)
    last = node
    for size in range(1, min(LONGEST_SEGMENT, len(tour) - 3) + 1):
        if size > 1:
            last = step(tour, place, last, way)
        n = step(tour, place, last, way)
        if p in (last, n):
            return 0.0
        freed = distance(points, p, node) + distance(points, last, n) - distance(points, p, n)
        for i in range(near.shape[1]):
            gain = freed - lengths[node, i]
            if gain <= LEAST_GAIN:
                break
            c = near[node, i]
            if way * (place[c] - place[node]) % len(tour) < size:
                continue
            # Behind c the segment keeps its direction, before c it is turned.
            d = step(tour, place, c, way)
            straight = gain + distance(points, c, d) - distance(points, last, d)
            if straight > LEAST_GAIN and c != p:
                transfer(tour, place, journal, queue, p, node, last, n, c, d, False)
                return straight
            e = step(tour, place, c, -way)
            turned = gain + distance(points, c, e) - distance(points, last, e)
            if turned > LEAST_GAIN and c != n:
                transfer(tour, place, journal, queue, p, node, last, n, e, c, True)
                return turned
    return 0.0


@kernel
def improve(points, tour, place, near, lengths, journal, queue, segments, looks):
    """Examine queued nodes until none is left, or ``looks`` of them; return the gain."""
    gain = 0.0
    while queue[0, 1] > 0 and looks > 0:
        looks -= 1
        node = pop(queue)
        found = 0.0
        for way in (1, -1):
            if found == 0.0:
                found = two_opt(points, tour, place, near, lengths, journal, queue, node, way)
            if found == 0.0 and segments:
                found = or_opt(points, tour, place, near, lengths, journal, queue, node, way)
        if found > 0.0:
            gain += found
            push(queue, node)
    return gain


@kernel
def kick(points, tour, place, journal, queue, random):
    """Swap two random neighbouring segments; return the gain, which is most often negative."""
    n = len(tour)
    longest = min(STRETCH, (n - 2) // 2)
    at = below(random, n)
    one = 1 + below(random, longest)
    two = 1 + below(random, longest)
    p = tour[at]
    first, last = tour[(at + 1) % n], tour[(at + one) % n]
    c1, c2 = tour[(at + one + 1) % n], tour[(at + one + two) % n]
    d = tour[(at + one + two + 1) % n]
    gain = distance(points, p, first) + distance(points, last, c1) + distance(points, c2, d)
    gain -= distance(points, p, c1) + distance(points, c2, first) + distance(points, last, d)
    transfer(tour, place, journal, queue, p, first, last, c1, c2, d, False)
    return gain


@kernel
def search(points, tour, place, near, lengths, journal, queue, random, kicks):
    """Kick and improve; keep tours that are not longer, undo the others; return the gain."""
    total = 0.0
    # A look makes three moves at most, as does the kick: all of them can be undone.
    looks = (len(journal) - 4) // 3
    for _ in range(kicks):
        journal[0, 0] = 0
        gain = kick(points, tour, place, journal, queue, random)
        gain += improve(points, tour, place, near, lengths, journal, queue, True, looks)
        if gain >= 0.0:
            total += gain
            continue
        while queue[0, 1] > 0:
            pop(queue)
        for made in range(journal[0, 0], 0, -1):
            a, b, c, d = journal[made]
            move(tour, place, a, c, b, d)
    return total
