"""Slow, obvious oracles of the lower bound."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np


def scatter(points: np.ndarray, mass: np.ndarray) -> float:
    """Sum of weighted squares around the weighted mean."""
    away = points - (mass[:, None] * points).sum(0) / mass.sum()
    return float((mass[:, None] * away * away).sum())


def least_loss(X: np.ndarray, k: int, mass: np.ndarray | None = None) -> float:
    """The least SSE of all partitions into clusters of at least k rows, one after the other."""
    mass = np.ones(len(X)) if mass is None else mass

    @cache
    def least(left: tuple[int, ...]) -> float:
        if not left:
            return 0.0
        best = np.inf
        first, *others = left
        for size in range(k, len(left) + 1):
            if 0 < len(left) - size < k:
                continue
            for chosen in combinations(others, size - 1):
                rows = [first, *chosen]
                rest = tuple(row for row in others if row not in chosen)
                best = min(best, scatter(X[rows], mass[rows]) + least(rest))
        return best

    return least(tuple(range(len(X))))


def shares(square: np.ndarray, k: int, mass: np.ndarray) -> np.ndarray:
    """Each row's least share of a cluster, over all sets of k - 1 to 2k - 2 others.

    ``square[i, j]`` is the part that row i bears of its pair with row j.
    """
    found = []
    for i in range(len(square)):
        others = [j for j in range(len(square)) if j != i]
        found.append(
            min(
                square[i, list(chosen)].sum() / (mass[i] + mass[list(chosen)].sum())
                for size in range(k - 1, min(2 * k - 2, len(others)) + 1)
                for chosen in combinations(others, size)
            )
        )
    return np.array(found)


def least_reduced(X: np.ndarray, prices: np.ndarray, k: int, order: list[int]) -> np.ndarray:
    """From each anchor, the least SSE less prices of a cluster of it and later rows."""
    found = np.full(len(X), np.inf)
    for at, anchor in enumerate(order):
        for size in range(k - 1, 2 * k - 1):
            for chosen in combinations(order[at + 1 :], size):
                rows = [anchor, *chosen]
                cost = scatter(X[rows], np.ones(len(rows))) - prices[rows].sum()
                found[at] = min(found[at], cost)
    return found
