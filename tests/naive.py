"""Slow, obvious versions of what the package does fast."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction

import numpy as np


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    """Squared distance, summed over the columns in their order."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (x - y) * (x - y)
    return total


def centroid(points: Sequence[Sequence[float]]) -> list[float]:
    """The mean of each column, its sum rounded once."""
    return [math.fsum(column) / len(points) for column in zip(*points, strict=True)]


def mdav(X: np.ndarray, k: int) -> list[int]:
    """MDAV by its definition; of equals the lowest row counts."""
    points = X.tolist()
    left = list(range(len(points)))
    clusters: list[list[int]] = []
    while len(left) >= 2 * k:
        centre = centroid([points[i] for i in left])
        for _ in range(2):
            row = max(left, key=lambda i: (distance(points[i], centre), -i))
            centre = points[row]
            near = sorted(left, key=lambda i: (distance(points[i], centre), i))[:k]
            clusters.append(near)
            left = [i for i in left if i not in set(near)]
    if len(left) >= k:
        clusters.append(left)
    elif left:
        centres = [centroid([points[i] for i in cluster]) for cluster in clusters]
        for i in left:
            nearest = min(range(len(centres)), key=lambda g: (distance(points[i], centres[g]), g))
            clusters[nearest].append(i)
    return labels_of(clusters, len(points))


def labels_of(clusters: Sequence[Sequence[int]], rows: int) -> list[int]:
    """Number clusters in the order in which they first appear."""
    cluster_of = {row: g for g, cluster in enumerate(clusters) for row in cluster}
    seen: dict[int, int] = {}
    return [seen.setdefault(cluster_of[row], len(seen)) for row in range(rows)]


def information_loss(before: np.ndarray, after: np.ndarray) -> float:
    """100 SSE/SST, in exact arithmetic."""
    lost = spread = Fraction(0)
    for j in range(before.shape[1]):
        column = [Fraction(float(v)) for v in before[:, j]]
        mean = sum(column) / len(column)
        spread += sum((v - mean) ** 2 for v in column)
        lost += sum((v - Fraction(float(w))) ** 2 for v, w in zip(column, after[:, j], strict=True))
    return float(100 * lost / spread) if spread else 0.0


def class_sizes(
    rows: Sequence[Sequence[Hashable]], entities: Sequence[Hashable] | None = None
) -> list[int]:
    """How many entities (or rows) share each combination, smallest first."""
    members: dict[tuple[Hashable, ...], list[Hashable]] = {}
    for i, row in enumerate(rows):
        members.setdefault(tuple(row), []).append(i if entities is None else entities[i])
    return sorted(len(set(found)) for found in members.values())


def xoshiro(seed: int, stream: int) -> Iterator[int]:
    """xoshiro256++ seeded by splitmix64, on Python's whole numbers."""
    mask = 2**64 - 1
    x = (seed + stream * 0xD1342543DE82EF95) & mask
    s = []
    for _ in range(4):
        x = (x + 0x9E3779B97F4A7C15) & mask
        z = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        s.append(z ^ (z >> 31))

    def rotated(value: int, by: int) -> int:
        return ((value << by) | (value >> (64 - by))) & mask

    while True:
        yield (rotated((s[0] + s[3]) & mask, 23) + s[0]) & mask
        t = (s[1] << 17) & mask
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotated(s[3], 45)


# Paths and tours


def spread(points: Sequence[Sequence[float]]) -> float:
    """The SSE of one cluster."""
    centre = centroid(points)
    return math.fsum(distance(point, centre) for point in points)


def cut(points: Sequence[Sequence[float]], k: int) -> float:
    """The least SSE of clusters of k or more neighbours along a path."""
    least = [0.0] + [math.inf] * len(points)
    for stop in range(k, len(points) + 1):
        for start in range(stop - k + 1):
            if least[start] < math.inf:
                least[stop] = min(least[stop], least[start] + spread(points[start:stop]))
    return least[-1]


def cut_tour(points: Sequence[Sequence[float]], k: int) -> float:
    """The least SSE of clusters of k or more neighbours along a closed path."""
    return min(cut([*points[i:], *points[:i]], k) for i in range(len(points)))


def partitions(rows: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """Every partition of rows into clusters of k or more."""
    if not rows:
        yield []
        return
    first, rest = rows[0], list(rows[1:])
    for size in range(k - 1, len(rest) + 1):
        if 0 < len(rest) - size < k:
            continue
        for others in itertools.combinations(rest, size):
            left = [row for row in rest if row not in others]
            for found in partitions(left, k):
                yield [[first, *others], *found]


def optimal(X: np.ndarray, k: int) -> tuple[float, list[int]]:
    """The partition with the least SSE of all, for a dozen rows."""
    points = X.tolist()

    def sse(clusters: list[list[int]]) -> float:
        return math.fsum(spread([points[i] for i in cluster]) for cluster in clusters)

    best = min(partitions(range(len(points)), k), key=sse)
    return sse(best), labels_of(best, len(points))


def away(points: Sequence[Sequence[float]], a: int, b: int) -> float:
    """Distance of two nodes of a tour; the one after the last row is at zero from all."""
    if len(points) in (a, b):
        return 0.0
    return math.sqrt(distance(points[a], points[b]))


def length(points: Sequence[Sequence[float]], path: Sequence[int]) -> float:
    """Length of a path."""
    return math.fsum(away(points, a, b) for a, b in itertools.pairwise(path))


def shortest(points: Sequence[Sequence[float]]) -> float:
    """Length of the shortest path through a handful of rows."""
    return min(length(points, path) for path in itertools.permutations(range(len(points))))


def nearest_next(points: Sequence[Sequence[float]], start: int) -> list[int]:
    """The path from a row to the nearest that is left; of equals the lowest."""
    path = [start]
    while len(path) < len(points):
        left = [row for row in range(len(points)) if row not in path]
        path.append(min(left, key=lambda row: (distance(points[path[-1]], points[row]), row)))
    return path


def inserted(points: Sequence[Sequence[float]], rule: str, given: Sequence[int]) -> list[int]:
    """A path grown by insertion; ``given`` begins with the start and decides between equals."""
    dummy = len(points)
    tour, left = [given[0]], list(given[1:])

    def gap(node: int) -> float:
        return min(away(points, node, other) for other in tour)

    def longer(node: int, at: int) -> float:
        a, b = tour[at - 1], tour[at % len(tour)]
        return away(points, a, node) + away(points, node, b) - away(points, a, b)

    while left:
        node = left[0]
        if rule == "nearest_insertion":
            node = min(left, key=gap)
        elif rule == "farthest_insertion":
            node = max(left, key=gap)
        elif rule == "cheapest_insertion":
            node = min(left, key=lambda n: min(longer(n, at) for at in range(1, len(tour) + 1)))
        left.remove(node)
        tour.insert(min(range(1, len(tour) + 1), key=lambda at: longer(node, at)), node)
    at = tour.index(dummy)
    return tour[at + 1 :] + tour[:at]


def swapped(points: Sequence[Sequence[float]], path: Sequence[int]) -> float:
    """The shortest path that turning round one stretch of a path gives."""
    return min(
        length(points, [*path[:i], *reversed(path[i:j]), *path[j:]])
        for i, j in itertools.combinations(range(len(path) + 1), 2)
    )


# Searches over partitions


def loss(X: np.ndarray, labels: Sequence[int]) -> float:
    """The SSE of a partition."""
    points, of = X.tolist(), np.asarray(labels)
    return math.fsum(spread([points[i] for i in np.flatnonzero(of == g)]) for g in set(labels))


def replaced(X: np.ndarray, labels: Sequence[int], row: int, other: int) -> float:
    """Change of SSE in the cluster of a row whose place another takes."""
    members = [i for i, g in enumerate(labels) if g == labels[other]]
    after = [row if i == other else i for i in members]
    return spread(X[after].tolist()) - spread(X[members].tolist())


def scores(X: np.ndarray, labels: Sequence[int]) -> list[float]:
    """For each cluster what its records cost in the places of others, less the reverse."""
    totals = dict.fromkeys(sorted(set(labels)), 0.0)
    for row, other in itertools.permutations(range(len(X)), 2):
        if labels[row] != labels[other]:
            totals[labels[row]] += replaced(X, labels, row, other)
            totals[labels[other]] -= replaced(X, labels, row, other)
    return list(totals.values())


def best_circle(X: np.ndarray, labels: Sequence[int], k: int, ranks: Sequence[int]) -> float:
    """The least change of SSE by a circle over clusters of rising rank, from the first of them.

    A circle visits clusters at a record or at a free place: a record takes the place of the next
    record or the next free place; behind a free place a record leaves for nothing.
    """
    n, clusters = len(X), len(ranks)
    order = sorted(range(clusters), key=lambda g: ranks[g])
    before, least = loss(X, labels), math.inf
    for size in range(1, clusters):
        for others in itertools.combinations(order[1:], size):
            choices = [
                [*(i for i in range(n) if labels[i] == g), n + g] for g in (order[0], *others)
            ]
            for circle in itertools.product(*choices):
                after, fits = list(labels), True
                for a, b in zip(circle, [*circle[1:], circle[0]], strict=True):
                    if a >= n and b >= n:
                        fits = False
                    elif a < n:
                        after[a] = b - n if b >= n else labels[b]
                sizes = [after.count(g) for g in range(clusters)]
                if fits and min(sizes) >= k and max(sizes) < 2 * k:
                    least = min(least, loss(X, after) - before)
    return least


def shuffled(X: np.ndarray, k: int, labels: Sequence[int], least_gain: float) -> list[int]:
    """Random cluster shuffling without events."""
    of = list(labels)

    def nearest(row: int, own: int) -> int | None:
        sizes = {g: of.count(g) for g in sorted(set(of) - {own, -1})}
        room = [g for g, size in sizes.items() if size < 2 * k - 1]
        centres = {g: centroid([X[i].tolist() for i, h in enumerate(of) if h == g]) for g in room}
        return min(room, key=lambda g: distance(X[row], centres[g]), default=None)

    while True:
        start = loss(X, of)
        for row in range(len(X)):
            before, own = list(of), of[row]
            movers = [row] if of.count(own) > k else [i for i, g in enumerate(of) if g == own]
            for mover in movers:
                # Rows yet to move stay where they are until their turn, out of the others' way.
                found = nearest(mover, own)
                of[mover] = own if found is None else found
            if loss(X, of) >= loss(X, before) or 0 < of.count(own) < k:
                of = before
        if start - loss(X, of) <= least_gain * start:
            return of


def neighbours(matrix: Sequence[Sequence[int]], k: int) -> list[int]:
    """Clusters of k rows that are neighbours most often; -1 for rows that are left over."""
    free, labels, label = set(range(len(matrix))), [-1] * len(matrix), 0
    while True:
        pairs = [(a, b) for a in sorted(free) for b in sorted(free) if a != b and matrix[a][b]]
        if not pairs:
            return labels
        members = [max(pairs, key=lambda pair: (matrix[pair[0]][pair[1]], -pair[0], -pair[1]))[0]]
        free.discard(members[0])
        while len(members) < k:
            near = {row: max(matrix[m][row] for m in members) for row in sorted(free)}
            best = max(near, key=lambda row: (near[row], -row), default=None)
            if best is None or not near[best]:
                break
            members.append(best)
            free.discard(best)
        if len(members) == k:
            for member in members:
                labels[member] = label
            label += 1
