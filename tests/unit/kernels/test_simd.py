"""The vector intrinsics equal their definitions in plain NumPy."""

from __future__ import annotations

import os
from typing import Any

import numba
import numpy as np
import pytest

from microagg_ops.kernels.simd import atomics, compress, floats, integers
from tests import naive_simd as naive

if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    pytest.skip("intrinsics exist in compiled code alone", allow_module_level=True)

LANES, POINTS = integers.LANES, integers.POINTS
SEEDS = pytest.mark.parametrize("seed", range(5))
jit = numba.njit


@jit
def squared(points: Any, point: Any, index: Any) -> Any:
    return integers.squared_distance(points, point, index)


@jit
def bounds(low: Any, high: Any, tops: Any, centre: Any, out: Any, at: Any, w: Any, t: Any) -> Any:
    return integers.box_distances(low, high, tops, centre, out, at, len(centre), w, t)


@jit
def fit(points: Any, low: Any, high: Any, mask: Any, leaf: Any) -> None:
    integers.fit_leaf_box(points, low, high, mask, leaf)


@jit
def fit_group(low: Any, high: Any, mask: Any, begin: Any, to: Any) -> None:
    integers.fit_group_box(low, high, mask, begin, to)


@jit
def masks(norms: Any, tops: Any, mask: Any, index: Any) -> Any:
    return (
        integers.largest_in_leaf(norms, mask, index),
        integers.largest_in_group(tops, mask, index),
        integers.nonempty_children(tops, index),
        integers.lowest_bit(mask),
    )


@jit
def scan(p: Any, b: Any, alive: Any, w: Any, leaves: Any, hits: Any, flip: Any, limit: Any) -> Any:
    return compress.scan_leaves(p, b, alive, w, leaves, hits, len(leaves), len(w), flip, limit)


@jit
def append(numbers: Any, size: Any, mask: Any, first: Any) -> Any:
    return compress.append_set_bits(numbers, size, mask, first)


@jit
def split(keys: Any, order: Any, spare: Any, others: Any, pivot: Any) -> Any:
    return compress.partition_keys(keys, order, 0, 0, spare, others, 0, pivot)


@jit
def changes(points: Any, sums: Any, shares: Any, gap: Any) -> Any:
    return (
        floats.to_centroid(points, 0, sums, 1, shares[1]),
        floats.squared_distance(points, 0, 1),
        floats.dot_along_line(points, 0, sums, 0, 0, 1),
        floats.change_of_swap(points, 0, 1, sums, 0, 1, shares[0], shares[1]),
        floats.change_of_swap_along(points, 0, 1, gap, shares[0] + shares[1]),
    )


@jit
def reach(marks: Any, place: Any, start: Any) -> Any:
    return floats.in_reach(marks, place, start)


@jit
def atomic(numbers: Any) -> Any:
    atomics.store_release(numbers, 1, np.int32(5))
    first = atomics.compare_and_swap(numbers, 1, np.int32(5), np.int32(6))
    second = atomics.compare_and_swap(numbers, 1, np.int32(5), np.int32(7))
    atomics.spin_pause()
    return first, second, atomics.load_acquire(numbers, 1)


def grid(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-8000, 8001, shape).astype(np.int16)


@SEEDS
def test_distances_to_points_and_boxes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = grid(rng, 5, 16 * (1 + seed % 2)) // 6
    assert squared(points, points[0], 3) == naive.squared(points[0], points[3])
    pairs = 1 + seed
    sides = np.sort(grid(rng, 2, 3, pairs + 1, LANES, 2), axis=0)
    low, high = np.ascontiguousarray(sides[0]), np.ascontiguousarray(sides[1])
    tops = rng.integers(-1, 3, (3, LANES)).astype(np.int32) * 1_000_000
    tops[tops < 0] = -1
    centre, out = grid(rng, pairs, 2), np.zeros(LANES, np.int32)
    for weight, threshold in ((0, 50_000_000), (20, 1_000_000)):
        expected, mask = naive.box_distances(
            low[1, :pairs], high[1, :pairs], tops[1], centre, weight, threshold
        )
        found = bounds(low, high, tops, centre, out, 1, np.int32(weight), np.int32(threshold))
        assert out.tolist() == expected.tolist()
        assert found == mask


@SEEDS
def test_boxes_fit_the_points_in_the_mask(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = 16 * (1 + seed % 2)
    points = grid(rng, 20 * POINTS, columns)
    low, high = np.zeros((2, 3, columns // 2, LANES, 2), np.int16)
    leaf, mask = 18, int(rng.integers(1, 1 << POINTS))
    fit(points, low, high, mask, leaf)
    least, most = naive.box_of(points[leaf * POINTS : (leaf + 1) * POINTS], mask)
    assert low[1, :, 2].ravel().tolist() == least.tolist()
    assert high[1, :, 2].ravel().tolist() == most.tolist()
    assert not low[0].any()
    low, high = grid(rng, 2, 2, columns // 2, LANES, 2)
    before, mask = (low.copy(), high.copy()), int(rng.integers(1, 1 << LANES))
    # The third pair of columns of group 0 becomes that of child 5 of group 1.
    fit_group(low, high, mask, 2 * 2 * LANES, ((columns // 2 + 2) * LANES + 5) * 2)
    chosen = naive.lanes(mask, LANES)
    assert low[1, 2, 5].tolist() == before[0][0, 2, chosen].min(axis=0).tolist()
    assert high[1, 2, 5].tolist() == before[1][0, 2, chosen].max(axis=0).tolist()


@SEEDS
def test_masks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    norms = rng.integers(0, 1000, (4, POINTS)).astype(np.int32)
    tops = rng.integers(-1, 3, (4, LANES)).astype(np.int32)
    mask = int(rng.integers(1, 1 << LANES)) & ~seed or 1
    leaf, group, full, lowest = masks(norms, tops, mask, 2)
    assert leaf == naive.largest(norms[2], mask)
    assert group == naive.largest(tops[2], mask)
    assert full == naive.mask_of(tops[2] >= 0)
    assert lowest == (mask & -mask).bit_length() - 1


@SEEDS
@pytest.mark.parametrize("quads", [1, 4, 7])
def test_a_scan_of_leaves_finds_the_places_within_the_limit(seed: int, quads: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 256, (6, quads, POINTS, 4)).astype(np.uint8)
    bias = rng.integers(0, 20_000, (6, POINTS)).astype(np.int16)
    weights = rng.integers(-127, 128, (quads, 4)).astype(np.int8)
    alive = rng.integers(0, 1 << POINTS, 6)
    leaves, hits = np.array([4, 0, 5], np.int32), np.zeros(4 * POINTS + LANES, np.int32)
    total = 0
    for flip, limit in ((0, 9000), (-1, -9001)):
        expected = naive.scan(points, bias, alive, weights, leaves, flip, limit)
        count = scan(points, bias, alive, weights, leaves, hits, np.int32(flip), np.int32(limit))
        assert hits[:count].tolist() == expected
        total += count
    assert total > 0


@SEEDS
def test_compaction_keeps_the_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mask, numbers = int(rng.integers(1 << LANES)), np.full(40, -1, np.int32)
    size = append(numbers, 3, mask, 100)
    assert numbers[3:size].tolist() == (100 + np.flatnonzero(naive.lanes(mask, LANES))).tolist()
    assert (numbers[:3] == -1).all()
    keys, order = rng.integers(-5, 5, LANES).astype(np.int32), np.arange(LANES, dtype=np.int32)
    below, before = keys < 1, keys.copy()
    spare, others = np.zeros((2, LANES), np.int32)
    count = split(keys, order, spare, others, np.int32(1))
    assert keys[:count].tolist() == before[below].tolist()
    assert order[:count].tolist() == np.flatnonzero(below).tolist()
    assert spare[: LANES - count].tolist() == before[~below].tolist()
    assert others[: LANES - count].tolist() == np.flatnonzero(~below).tolist()


@SEEDS
def test_sums_of_floats_have_the_fixed_order_to_the_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, sums = rng.normal(size=(2, 2, 12))
    shares = 1 / rng.integers(3, 9, 2)
    gap = 2 * (sums[1] * shares[1] - sums[0] * shares[0])
    v, centroid = points[1] - points[0], sums[1] * shares[1]
    half = sums[1] * shares[1] - sums[0] * shares[0]
    expected = (
        (points[0] - centroid) * (points[0] - centroid),
        (points[0] - points[1]) * (points[0] - points[1]),
        (points[0] - sums[0]) * (sums[1] - sums[0]),
        v * ((half + half) - v * (shares[0] + shares[1])),
        v * (gap - v * (shares[0] + shares[1])),
    )
    assert changes(points, sums, shares, gap) == tuple(map(naive.fixed_order, expected))


@SEEDS
def test_clusters_in_reach(seed: int) -> None:
    marks = np.random.default_rng(seed).random((3, 3 * floats.BLOCK))
    marks[2] /= 8
    found = int(reach(marks, 7, 70))
    assert found % (1 << 64) == naive.in_reach(marks, 7, 70, floats.BLOCK)
    assert 0 < found % (1 << 64) < (1 << 64) - 1


def test_one_thread_alone_makes_a_change() -> None:
    assert atomic(np.zeros(3, np.int32)) == (True, False, 6)
