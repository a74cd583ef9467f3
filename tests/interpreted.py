"""Kernels without a compiler (``NUMBA_DISABLE_JIT=1``), with plain Python for each intrinsic.

So coverage and debuggers see what is compiled otherwise, and the vector code has a second opinion.
Places behind the last that is written are left alone here, where the vector code may overwrite
them: no kernel may depend on that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.naive_simd import (
    Array,
    box_distances,
    box_of,
    fixed_order,
    in_reach,
    lanes,
    largest,
    mask_of,
    scan,
    squared,
)

LANES, POINTS, BLOCK = 16, 32, 64
# What is tried of a module whose other tests would take hours, or are about time or compiling.
TRIED = {
    "test_ils": ("swap", "shift", "reach", "is_that_of_the_definition"),
    "test_mdav": (
        "partition_is_that_of", "searches_find_what_measuring", "means_are_kept", "middle", "turns",
    ),
    "test_best": ("best_chain", "change_of_sse", "rows_take_turns", "four_columns", "equal_rows"),
    "test_aware": ("cluster_is_short", "sizes_and_limits"),
    "test_bound": ("optimum_of_small", "weighted_rows", "shares", "pricing"),
    "test_optimal": ("no_partition", "no_runs", "values"),
    "test_series": (), "test_columns": (), "test_recoded": (),
}  # fmt: skip


def is_tried(module: str, test: str) -> bool:
    """Whether a test is run without a compiler."""
    return any(word in test for word in TRIED.get(module.rpartition(".")[2], ("",)))


def signed(mask: int) -> int:
    """Read 64 bits as an int64."""
    return mask - (1 << 64) if mask >> 63 else mask


def bits(mask: Any, width: int) -> Array:
    return lanes(int(mask) & ((1 << width) - 1), width)


def to_centroid(points: Array, row: int, sums: Array, cluster: int, share: float) -> float:
    off = points[row].astype(float) - sums[cluster] * share
    return fixed_order(off * off)


def add_row(sums: Array, cluster: int, points: Array, row: int) -> None:
    sums[cluster] += points[row]


def distance_of_rows(points: Array, a: int, b: int) -> float:
    off = points[a].astype(float) - points[b].astype(float)
    return fixed_order(off * off)


def dot_along_line(points: Array, row: int, centres: Array, own: int, a: int, b: int) -> float:
    off = points[row].astype(float) - centres[own]
    return fixed_order(off * (centres[b] - centres[a]))


def change_of_swap(
    points: Array, row: int, other: int, sums: Array, here: int, there: int, one: float, two: float
) -> float:
    off = points[other].astype(float) - points[row].astype(float)
    gap = sums[there] * two - sums[here] * one
    return fixed_order(off * ((gap + gap) - off * (one + two)))


def change_of_swap_along(points: Array, row: int, other: int, gap: Array, both: Any) -> Any:
    off = points[other] - points[row]
    terms = off * (gap[: len(off)] - off * points.dtype.type(both))
    total = terms.reshape(-1, 4).cumsum(axis=0, dtype=terms.dtype)[-1]
    return (total[0] + total[1]) + (total[2] + total[3])


def reach(marks: Array, place: int, start: int) -> int:
    return signed(in_reach(marks, place, start, BLOCK))


def nothing(*_: Any) -> None:
    """Do nothing: of prefetching and pauses there is nothing to see."""


def load(numbers: Array, index: int) -> int:
    return int(numbers[index])


def store(numbers: Array, index: int, value: int) -> None:
    numbers[index] = value


def compare_and_swap(numbers: Array, index: int, before: int, after: int) -> bool:
    same = int(numbers[index]) == before
    if same:
        numbers[index] = after
    return same


def distance_to(points: Array, point: Array, index: int) -> int:
    return squared(points[index], point)


def boxes(
    low: Array, high: Array, tops: Array, centre: Array, out: Array, group: int, pairs: int,
    weight: int, threshold: int,
) -> int:  # fmt: skip
    of = (low[group, :pairs], high[group, :pairs], tops[group], centre[:pairs])
    out[:LANES], mask = box_distances(*of, int(weight), int(threshold))
    return mask


def fit_leaf_box(points: Array, low: Array, high: Array, mask: int, leaf: int) -> None:
    columns = points.shape[1]
    own = points[leaf * POINTS : (leaf + 1) * POINTS]
    some = bits(mask, POINTS)
    empty = np.full(columns, 32767), np.full(columns, -32768)
    least, most = box_of(own, mask_of(some)) if some.any() else empty
    group, child = divmod(leaf, LANES)
    low[group, :, child], high[group, :, child] = least.reshape(-1, 2), most.reshape(-1, 2)


def fit_group_box(low: Array, high: Array, mask: int, begin: int, to: int) -> None:
    there = bits(mask, LANES)
    for box, pick, rest in ((low, np.min, 32767), (high, np.max, -32768)):
        flat = box.reshape(-1)
        values = flat[begin : begin + 2 * LANES].reshape(LANES, 2)[there]
        flat[to : to + 2] = pick(values, axis=0) if len(values) else rest


def largest_in_leaf(numbers: Array, mask: int, index: int) -> int:
    own = numbers.reshape(-1)[index * POINTS : (index + 1) * POINTS]
    return largest(own, mask_of(bits(mask, POINTS)))


def largest_in_group(numbers: Array, mask: int, index: int) -> int:
    own = numbers.reshape(-1)[index * LANES : (index + 1) * LANES]
    return largest(own, mask_of(bits(mask, LANES)))


def nonempty_children(tops: Array, group: int) -> int:
    return mask_of(tops.reshape(-1)[group * LANES : (group + 1) * LANES] >= 0)


def lowest_bit(mask: int) -> int:
    return (int(mask) & -int(mask)).bit_length() - 1


def partition_keys(
    keys: Array, order: Array, index: int, low: int, spare: Array, others: Array, high: int,
    limit: int,
) -> int:  # fmt: skip
    own, rows = keys[index : index + LANES].copy(), order[index : index + LANES].copy()
    below = own < limit
    few = int(below.sum())
    spare[high : high + LANES - few], others[high : high + LANES - few] = own[~below], rows[~below]
    keys[low : low + few], order[low : low + few] = own[below], rows[below]
    return few


def append_set_bits(numbers: Array, size: int, mask: int, first: int) -> int:
    found = first + np.flatnonzero(bits(mask, LANES))
    numbers[size : size + len(found)] = found
    return int(size + len(found))


def scan_leaves(
    points: Array, bias: Array, alive: Array, weights: Array, leaves: Array, hits: Array, many: int,
    quads: int, flip: int, limit: int,
) -> int:  # fmt: skip
    by_leaf = points[:, :quads].transpose(0, 1, 3, 2).reshape(len(points), 4 * quads, POINTS)
    own = weights.reshape(-1)[: 4 * quads]
    found = scan(by_leaf, bias, alive, own, leaves[:many], int(flip), int(limit))
    hits[: len(found)] = found
    return len(found)


def install() -> None:
    """Replace the intrinsics, before any kernel has imported one."""
    from microagg_ops.kernels.simd import atomics, compress, floats, integers

    replaced: dict[Any, dict[str, Any]] = {
        floats: {
            "to_centroid": to_centroid, "add_row": add_row, "squared_distance": distance_of_rows,
            "dot_along_line": dot_along_line, "change_of_swap": change_of_swap,
            "change_of_swap_along": change_of_swap_along, "in_reach": reach, "prefetch": nothing,
        },
        atomics: {
            "load_acquire": load, "store_release": store, "compare_and_swap": compare_and_swap,
            "spin_pause": nothing,
        },
        integers: {
            "squared_distance": distance_to, "box_distances": boxes, "fit_leaf_box": fit_leaf_box,
            "fit_group_box": fit_group_box, "largest_in_leaf": largest_in_leaf,
            "largest_in_group": largest_in_group, "nonempty_children": nonempty_children,
            "lowest_bit": lowest_bit,
        },
        compress: {
            "partition_keys": partition_keys, "append_set_bits": append_set_bits,
            "scan_leaves": scan_leaves,
        },
    }  # fmt: skip
    for module, functions in replaced.items():
        for name, function in functions.items():
            assert hasattr(module, name), name
            setattr(module, name, function)
