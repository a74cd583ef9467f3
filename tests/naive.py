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
    return labels_of(with_the_rest(clusters, left, points, k), len(points))


def with_the_rest(
    clusters: list[list[int]], left: list[int], points: list[list[float]], k: int
) -> list[list[int]]:
    """Rows that are left: a cluster if they are k, else each to the nearest centroid."""
    if len(left) >= k:
        return [*clusters, left]
    centres = [centroid([points[i] for i in cluster]) for cluster in clusters]
    for i in left:
        nearest = min(range(len(centres)), key=lambda g: (distance(points[i], centres[g]), g))
        clusters[nearest].append(i)
    return clusters


def vmdav(X: np.ndarray, k: int, gain: float) -> list[int]:
    """V-MDAV by its definition; of equals the lowest row counts."""
    points = X.tolist()
    left = list(range(len(points)))
    clusters: list[list[int]] = []
    centre = centroid(points)
    while len(left) >= 2 * k:
        row = max(left, key=lambda i: (distance(points[i], centre), -i))
        cluster = sorted(left, key=lambda i: (distance(points[i], points[row]), i))[:k]
        left = [i for i in left if i not in cluster]
        while left and len(cluster) < 2 * k - 1:
            inside, row = min(
                (min(distance(points[i], points[m]) for m in cluster), i) for i in left
            )
            others = [distance(points[i], points[row]) for i in left if i != row]
            if gain == 0 or not inside < gain**2 * min(others, default=math.inf):
                break
            cluster.append(row)
            left.remove(row)
        clusters.append(cluster)
    return labels_of(with_the_rest(clusters, left, points, k), len(points))


def least_sse(values: Sequence[float], k: int) -> Fraction:
    """The least SSE of any partition of one column, by trying every one, in exact arithmetic."""
    exact = [Fraction(float(value)) for value in values]

    def spread(chosen: Sequence[Fraction]) -> Fraction:
        mean = sum(chosen) / len(chosen)
        return sum(((value - mean) ** 2 for value in chosen), Fraction(0))

    def best(left: tuple[int, ...]) -> Fraction:
        found = spread([exact[i] for i in left])  # all in one
        for size in range(k, len(left) - k + 1):
            for others in itertools.combinations(left[1:], size - 1):
                cluster = (left[0], *others)
                rest = tuple(i for i in left if i not in cluster)
                found = min(found, spread([exact[i] for i in cluster]) + best(rest))
        return found

    return best(tuple(range(len(exact))))


def least_sse_of_runs(values: Sequence[float], k: int) -> float:
    """The least SSE of any partition of one column into runs of its sorted values."""
    ordered = np.sort(np.asarray(values, float))
    least = [0.0] + [math.inf] * len(ordered)
    for stop in range(k, len(ordered) + 1):
        for start in range(stop - k + 1):
            run = ordered[start:stop]
            least[stop] = min(least[stop], least[start] + float(((run - run.mean()) ** 2).sum()))
    return least[-1]


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
