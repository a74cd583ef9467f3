"""What the vector intrinsics compute, in plain NumPy, a lane at a time or all at once."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def lanes(mask: int, width: int) -> Array:
    """The bits of a mask as booleans."""
    return np.array([mask >> lane & 1 for lane in range(width)], bool)


def mask_of(truths: Array) -> int:
    """Booleans as the bits of a mask."""
    return sum(1 << lane for lane, truth in enumerate(truths) if truth)


def squared(a: Array, b: Array) -> int:
    """The squared distance of two points of a grid."""
    return int(((a.astype(np.int64) - b.astype(np.int64)) ** 2).sum())


def box_distances(
    low: Array, high: Array, tops: Array, centre: Array, weight: int, threshold: int
) -> tuple[Array, int]:
    """The bounds of the boxes of one group, and a mask of those that are full and in reach.

    ``low`` and ``high`` are pairs of columns by children by two, ``centre`` pairs by two.
    """
    at = centre.astype(np.int64)[:, None, :]
    short = low.astype(np.int64) - at
    beyond = at - high.astype(np.int64)
    outside = np.maximum(np.maximum(short, beyond), 0)
    bounds = (outside**2).sum(axis=(0, 2)) + (-weight * tops.astype(np.int64) >> 3)
    return bounds, mask_of((bounds <= threshold) & (tops >= 0))


def box_of(points: Array, mask: int) -> tuple[Array, Array]:
    """The least and the largest coordinates of the points in a mask."""
    some = points[lanes(mask, len(points))]
    return some.min(axis=0), some.max(axis=0)


def largest(numbers: Array, mask: int) -> int:
    """The largest number in a mask; -1 where it is empty."""
    return int(numbers[lanes(mask, len(numbers))].max(initial=-1))


def scan(
    points: Array, bias: Array, alive: Array, weights: Array, leaves: Array, flip: int, limit: int
) -> list[int]:
    """The places of points whose dot product with the weights, plus bias, is within the limit."""
    found = []
    for leaf in leaves:
        for slot in range(points.shape[2]):
            dot = (points[leaf, :, slot].astype(np.int64) * weights.astype(np.int64)).sum()
            value = (int(dot) + int(bias[leaf, slot])) ^ flip
            if value <= limit and int(alive[leaf]) >> slot & 1:
                found.append(int(leaf) * points.shape[2] + slot)
    return found


def fixed_order(terms: Array) -> float:
    """A sum over columns in the order of the vector code: four partial sums, then two and two."""
    a, b, c, d = (0.0, 0.0, 0.0, 0.0)
    for column in range(0, len(terms), 4):
        a, b = a + terms[column], b + terms[column + 1]
        c, d = c + terms[column + 2], d + terms[column + 3]
    return float((a + b) + (c + d))


def in_reach(marks: Array, place: int, start: int, width: int) -> int:
    """A mask of the clusters of a block whose norms and diagonals are within both reaches."""
    block, own = marks[:, start : start + width], marks[:, place]
    reach = own[2] + block[2]
    near = (np.abs(block[0] - own[0]) <= reach) & (np.abs(block[1] - own[1]) <= reach)
    return mask_of(near)
