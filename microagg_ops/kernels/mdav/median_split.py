"""The order of a k-d tree: points split at medians of their widest column, again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from microagg_ops import threads
from microagg_ops.kernels import kernel, lean
from microagg_ops.kernels.simd.compress import partition_keys
from microagg_ops.kernels.simd.floats import prefetch
from microagg_ops.kernels.simd.integers import LANES, POINTS

# Points sampled to find the widest column.
JUDGES = 64
# Keys sampled for a pivot: SAMPLE of a stretch longer than LONG, FEW of others; up to SHORT keys
# are sorted.
SAMPLE, LONG, FEW, SHORT = 31, 1000, 9, 32
# Stretches that two threads share, and the number of leaves from which that is faster.
BOTH, WORTH = 16, 100
# Leaves of a stretch whose points are copied next to each other.
TOGETHER = 1000
# The prefetch distance, in points.
AHEAD = 16


@lean
def as_key(value):
    """Return an int32 that orders like the value as float32."""
    bits = np.float32(value).view(np.int32)
    return bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))


@lean
def sort(keys, order, first, stop):
    """Sort ``keys[first:stop]`` by insertion, and ``order`` with them."""
    for i in range(first + 1, stop):
        key, row, at = keys[i], order[i], i
        while at > first and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, row


@lean
def divide(keys, order, spare, others, first, stop, limit):
    """Partition ``keys[first:stop]`` at a pivot, stably; return where the second part begins."""
    low, high, i = first, 0, first
    while i + LANES <= stop:
        count = partition_keys(keys, order, i, low, spare, others, high, limit)
        low, high, i = low + count, high + LANES - count, i + LANES
    for at in range(i, stop):
        if keys[at] < limit:
            keys[low], order[low] = keys[at], order[at]
            low += 1
        else:
            spare[high], others[high] = keys[at], order[at]
            high += 1
    for at in range(high):
        keys[low + at], order[low + at] = spare[at], others[at]
    return low


@lean
def select(keys, order, spare, others, first, stop, middle):
    """Select: let no key before ``middle`` be larger than one behind it (quickselect)."""
    while stop - first > SHORT and first < middle < stop:
        # A sample tells which pivot is near the middle.
        count = stop - first
        some = SAMPLE if count > LONG else FEW
        for i in range(some):
            spare[i] = keys[first + (count - 1) * i // (some - 1)]
        sort(spare, others, 0, some)
        limit = spare[(middle - first) * some // count]
        cut = divide(keys, order, spare, others, first, stop, limit)
        if cut == first:
            # None is below: those that are equal are the least.
            cut = divide(keys, order, spare, others, first, stop, limit + np.int32(1))
            if middle <= cut:
                return
        if middle < cut:
            stop = cut
        else:
            first = cut
    if first < middle < stop:
        sort(keys, order, first, stop)


@kernel
def widest_column(points, order, first, stop, columns):
    """Return the column of the largest variance, estimated from a sample of a stretch."""
    step = max(1, (stop - first) // JUDGES)
    total, squares = np.zeros(columns), np.zeros(columns)
    for i in range(first, stop, step):
        row = order[i]
        for j in range(columns):
            value = np.float64(points[row, j])
            total[j] += value
            squares[j] += value * value
    count = (stop - first + step - 1) // step
    best, column = -1.0, 0
    for j in range(columns):
        spread = squares[j] / count - (total[j] / count) ** 2
        if spread > best:
            best, column = spread, j
    return column


@kernel
def halve(points, order, keys, starts, leaves, columns):
    """Split each stretch of more than one leaf at the median of its widest column.

    ``starts`` (stretches + 1,) int64 are the bounds of the stretches, ``leaves`` (stretches,) int64
    their numbers of leaves. A split is at a whole number of leaves, groups or branches. Return the
    new bounds and numbers.
    """
    stretches = len(leaves)
    halves = np.empty(2 * stretches + 1, np.int64)
    parts = np.empty(2 * stretches, np.int64)
    room = LANES + max(SAMPLE, np.max(np.diff(starts)))
    spare, others = np.empty(room, keys.dtype), np.empty(room, order.dtype)
    many = 0
    for s in range(stretches):
        first, stop = starts[s], starts[s + 1]
        halves[many], parts[many] = first, leaves[s]
        many += 1
        if leaves[s] == 1:
            continue
        unit = 1
        while unit * LANES < leaves[s]:
            unit *= LANES
        left = (leaves[s] // unit + 1) // 2 * unit
        middle = first + left * POINTS
        column = widest_column(points, order, first, stop, columns)
        for i in range(first, stop):
            keys[i] = as_key(points[order[i], column])
        select(keys, order, spare, others, first, stop, middle)
        parts[many - 1] = left
        halves[many], parts[many] = middle, leaves[s] - left
        many += 1
    halves[many] = starts[stretches]
    return halves[: many + 1], parts[:many]


@kernel
def split_into_leaves(points, order, leaves, columns):
    """Order a stretch by leaves, all full but the last."""
    count = len(order)
    # Points that are read again and again are copied next to each other.
    near = np.empty((count, columns), points.dtype)
    for i in range(count):
        prefetch(points, order[min(i + AHEAD, count - 1)])
        for j in range(columns):
            near[i, j] = points[order[i], j]
    inner, keys = np.arange(count).astype(np.int32), np.empty(count, np.int32)
    starts, parts = np.array([0, count]), np.array([leaves])
    while parts.max() > 1:
        starts, parts = halve(near, inner, keys, starts, parts, columns)
    order[:] = order[inner]


def leaf_order(
    points: np.ndarray, then: Callable[..., Any] = lambda *_: None, columns: int | None = None
) -> tuple[np.ndarray, list[Any]]:
    """Order points so that each leaf, group and branch is a stretch of near points.

    ``then(order, starts, first)`` is called for both halves of the order, in two threads if there
    are enough leaves; ``starts`` are the bounds of the leaves in the order, ``first`` the number of
    the first one. Return the order, (points,) int32, and the results of the calls. Only the first
    ``columns`` are used.
    """
    count, columns = len(points), columns or points.shape[1]
    order, keys = np.arange(count, dtype=np.int32), np.empty(count, np.int32)
    starts, parts = np.array([0, count]), np.array([-(-count // POINTS)])
    while len(parts) < parts.sum() and (len(parts) < BOTH or parts.max() > TOGETHER):
        starts, parts = halve(points, order, keys, starts, parts, columns)
    middle = np.searchsorted(np.cumsum(parts), parts.sum() / 2) + 1

    def divided(first: int, stop: int) -> Any:
        # Neither side touches what the other does.
        for i in range(first, stop):
            split_into_leaves(points, order[starts[i] : starts[i + 1]], parts[i], columns)
        bounds = np.append(np.arange(starts[first], starts[stop], POINTS), starts[stop])
        return then(order, bounds, parts[:first].sum())

    if parts.sum() < WORTH or middle == len(parts):
        return order, [divided(0, len(parts))]
    with threads.pool(2) as pool:
        return order, list(pool.map(divided, (0, middle), (middle, len(parts))))
