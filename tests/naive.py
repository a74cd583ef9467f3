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


# Columns


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """In exact arithmetic."""
    pairs = [(Fraction(v), Fraction(w)) for v, w in zip(values, weights, strict=True)]
    return float(sum(v * w for v, w in pairs) / sum(w for _, w in pairs))


def weighted_median(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """The lowest and the highest value with half the weight on either side."""
    half = sum(map(Fraction, weights)) / 2

    def fits(middle: float) -> bool:
        pairs = list(zip(values, map(Fraction, weights), strict=True))
        below = sum(w for v, w in pairs if v < middle)
        above = sum(w for v, w in pairs if v > middle)
        return below <= half and above <= half

    middles = [value for value in values if fits(value)]
    return min(middles), max(middles)


def mode(
    values: Sequence[Hashable],
    weights: Sequence[float],
    everything: Sequence[Hashable],
    every_weight: Sequence[float],
) -> Hashable:
    """The most frequent value; of equals the most frequent overall, then the first by name."""

    def frequency(of: Hashable, where: Sequence[Hashable], by: Sequence[float]) -> Fraction:
        return sum((Fraction(w) for v, w in zip(where, by, strict=True) if v == of), Fraction(0))

    return min(
        set(values),
        key=lambda v: (-frequency(v, values, weights), -frequency(v, everything, every_weight), v),
    )


def contributions(
    values: Sequence[float], labels: Sequence[int], entities: Sequence[int]
) -> dict[int, list[float]]:
    """What each entity adds to the total of each cluster, the largest first."""
    found: dict[int, dict[int, float]] = {}
    for value, label, entity in zip(values, labels, entities, strict=True):
        cluster = found.setdefault(label, {})
        cluster[entity] = cluster.get(entity, 0.0) + value
    return {label: sorted(parts.values(), reverse=True) for label, parts in found.items()}


def least_suppression(patterns: Sequence[Sequence[bool]], k: int) -> int:
    """The fewest cells to suppress so that every pattern of NULLs has k rows, by trying all."""
    columns = len(patterns[0])
    masks = [sum(1 << j for j, none in enumerate(p) if none) for p in patterns]
    ways = [[t for t in range(2**columns) if t & mask == mask] for mask in masks]
    fewest = len(patterns) * columns
    for targets in itertools.product(*ways):
        if min(targets.count(t) for t in targets) >= k:
            cells = sum((t ^ m).bit_count() for t, m in zip(targets, masks, strict=True))
            fewest = min(fewest, cells)
    return fewest
