"""A tree of bounding boxes over points that leave one by one.

Thirty-two points make a leaf, sixteen leaves a group, sixteen groups a branch, sixteen branches a
group of branches. Boxes are tight, and are refitted when points have left. Coordinates are integers
on a grid: they rule points out, never in, since no point is farther from its grid point than half
the diagonal of a cell. A coordinate has 16 bits on the fine grid and 8 on the coarse one, so that
scanning a leaf reads little memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg_ops.kernels import lean
from microagg_ops.kernels.mdav.median_split import leaf_order
from microagg_ops.kernels.simd.floats import prefetch
from microagg_ops.kernels.simd.integers import (
    COLUMNS,
    LANES,
    POINTS,
    fit_group_box,
    fit_leaf_box,
    largest_in_group,
    largest_in_leaf,
    nonempty_children,
)

# The norm of the farthest point on the fine grid. The square of any distance in use, those to an
# antipode included, must stay below 2^30.
REACH = 8000
# The coarse grid: the offset that makes its coordinates unsigned bytes, their largest magnitude
# without it, and the largest norm, so that half its square fits into 16 bits.
MIDDLE, MOST_COARSE, COARSE_REACH = 128, 127, 200
ALL = (1 << LANES) - 1


class Tree(NamedTuple):
    """The tree. A place is a leaf times POINTS plus a slot in it; groups have LANES children."""

    coarse: np.ndarray  # (leaves, columns / 4, POINTS, 4) uint8: the coarse grid, plus MIDDLE
    bias: np.ndarray  # (leaves, POINTS) int16: half the squared norms on it
    cell: np.ndarray  # (2,) float64: the width of its cells, the largest distance to it
    fine: np.ndarray  # (places, columns rounded up to 16) int16: the fine grid
    norms: np.ndarray  # (leaves, POINTS) int32: squared norms on it
    alive: np.ndarray  # (leaves,) int64: a mask of the points that are left
    slots: np.ndarray  # (places,) int32: the point of each place, or -1
    place: np.ndarray  # (points,) int32: the place of each point
    low: np.ndarray  # (groups, columns / 2, LANES, 2) int16: the boxes of the children
    high: np.ndarray  # like low
    max_norms: np.ndarray  # (groups, LANES) int32: largest norm in each child, -1 if it is empty
    base: np.ndarray  # (4,) int64: the first group of each level, lowest level first, and the end
    stale: np.ndarray  # (leaves,) int32: leaves that points have left since the last fit
    stale_count: np.ndarray  # (1,) int64
    queued: np.ndarray  # (leaves + groups,) bool: is among ``stale``, or ``parents``
    parents: np.ndarray  # (groups,) int32: scratch, groups to refit
    scan_start: np.ndarray  # (1,) int64: the group of branches that some query scans just now


@lean
def extent(points):
    """Return the largest magnitude of a coordinate, and the largest norm."""
    largest = norm = np.int32(0)
    for i in range(len(points)):
        square = np.int32(0)
        for j in range(points.shape[1]):
            value = np.int32(points[i, j])
            largest = max(largest, abs(value))
            square += value * value
        norm = max(norm, square)
    return largest, np.sqrt(norm)


@lean
def fill(tree, words, points, order, starts, first, near):
    """Fill leaves, from number ``first`` on; return the largest distance to the coarse grid.

    ``order[starts[i]:starts[i + 1]]`` are the points of the i-th leaf. ``words`` is the coarse grid
    as (leaves, columns / 4, POINTS) uint32; ``near`` (columns,) int32 is scratch for a point.
    """
    fine, norms, alive, slots, place = tree.fine, tree.norms, tree.alive, tree.slots, tree.place
    bias, cell, off = tree.bias, np.int32(tree.cell[0]), np.int32(0)
    share = np.float32(1 / cell)
    for i in range(len(starts) - 1):
        leaf = first + i
        alive[leaf] = (np.int64(1) << (starts[i + 1] - starts[i])) - 1
        for slot in range(starts[i + 1] - starts[i]):
            if starts[i] + slot + POINTS < len(order):
                prefetch(points, order[starts[i] + slot + POINTS])
            point, at = order[starts[i] + slot], leaf * POINTS + slot
            slots[at], place[point] = point, at
            square = coarse_square = rest = np.int32(0)
            for j in range(len(near)):
                value = np.int32(points[point, j])
                whole = np.int32(np.rint(np.float32(value) * share))
                away = value - cell * whole
                fine[at, j], near[j] = value, whole + MIDDLE
                square += value * value
                coarse_square += whole * whole
                rest += away * away
            norms[leaf, slot], bias[leaf, slot] = square, coarse_square >> 1
            off = max(off, rest)
            for j in range(words.shape[1]):
                low, high = (
                    near[4 * j] | near[4 * j + 1] << 8,
                    near[4 * j + 2] | near[4 * j + 3] << 8,
                )
                words[leaf, j, slot] = low | high << 16
    return np.sqrt(off)


@lean
def fit_boxes(tree, leaves):
    """Fit the boxes of leaves, and of all groups above them."""
    low, high, max_norms, base, parents = (
        tree.low,
        tree.high,
        tree.max_norms,
        tree.base,
        tree.parents,
    )
    alive, queued, level, many = tree.alive, tree.queued, 0, 0
    # In ``queued``, groups come after the leaves.
    behind = len(alive)
    for leaf in leaves:
        queued[leaf] = False
        if alive[leaf]:
            fit_leaf_box(tree.fine, low, high, alive[leaf], leaf)
        group = leaf // LANES
        max_norms[group, leaf % LANES] = largest_in_leaf(tree.norms, alive[leaf], leaf)
        if not queued[behind + group]:
            queued[behind + group] = True
            parents[many] = group
            many += 1
    at = 0
    while at < many:
        group = parents[at]
        at += 1
        queued[behind + group] = False
        if group >= base[level + 1]:
            level += 1
        if level == len(base) - 2:
            continue
        index = group - base[level]
        parent, child = base[level + 1] + index // LANES, index % LANES
        full = nonempty_children(max_norms, group)
        if full:
            for pair in range(low.shape[1]):
                begin = (group * low.shape[1] + pair) * 2 * LANES
                fit_group_box(
                    low, high, full, begin, ((parent * low.shape[1] + pair) * LANES + child) * 2
                )
        max_norms[parent, child] = largest_in_group(max_norms, ALL, group)
        if not queued[behind + parent]:
            queued[behind + parent] = True
            parents[many] = parent
            many += 1


@lean
def remove(tree, point):
    """Remove a point; its boxes stay too large, and so valid, until they are refreshed."""
    stale, leaf = tree.stale, tree.place[point] // POINTS
    tree.alive[leaf] &= ~(np.int64(1) << (tree.place[point] % POINTS))
    if not tree.queued[leaf]:
        tree.queued[leaf] = True
        stale[tree.stale_count[0]] = leaf
        tree.stale_count[0] += 1


@lean
def refresh(tree):
    """Refit the boxes that points have left."""
    fit_boxes(tree, tree.stale[: tree.stale_count[0]])
    tree.stale_count[0] = 0


def aligned(shape: tuple[int, ...], kind: type) -> np.ndarray:
    """Allocate zeros aligned to 64 bytes, the width of a cache line."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    raw = np.zeros(size + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(kind).reshape(shape)


def make_grid(count: int, columns: int) -> np.ndarray:
    """Allocate points of the fine grid, int16, columns padded with zeros to a multiple of 16."""
    return aligned((count, -(-columns // COLUMNS) * COLUMNS), np.int16)


def make_tree(points: np.ndarray, columns: int) -> Tree:
    """Build a tree over ``points`` of the fine grid, of which the first ``columns`` are in use."""
    wide, leaves = points.shape[1], -(-len(points) // POINTS)
    sizes = [-(-leaves // LANES)]
    while len(sizes) < 3:
        sizes.append(-(-sizes[-1] // LANES))
    base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    groups = int(base[-1])
    tree = Tree(
        coarse=aligned((leaves, -(-columns // 4), POINTS, 4), np.uint8),
        bias=aligned((leaves, POINTS), np.int16),
        cell=np.zeros(2),
        fine=aligned((leaves * POINTS, wide), np.int16),
        norms=aligned((leaves, POINTS), np.int32),
        alive=np.zeros(leaves, np.int64),
        slots=np.full(leaves * POINTS, -1, np.int32),
        place=np.empty(len(points), np.int32),
        low=aligned((groups, wide // 2, LANES, 2), np.int16),
        high=aligned((groups, wide // 2, LANES, 2), np.int16),
        max_norms=np.full((groups, LANES), -1, np.int32),
        base=base,
        stale=np.zeros(leaves, np.int32),
        stale_count=np.zeros(1, np.int64),
        queued=np.zeros(leaves + groups, np.bool_),
        parents=np.zeros(groups, np.int32),
        scan_start=np.zeros(1, np.int64),
    )
    largest, norm = extent(points)
    tree.cell[0] = max(1, np.ceil(largest / MOST_COARSE), np.ceil(norm / COARSE_REACH))

    words = tree.coarse.view(np.uint32)[..., 0]

    def filled_in(order: np.ndarray, starts: np.ndarray, first: int) -> float:
        near = np.empty(wide, np.int32)
        return float(fill(tree, words, points, order, starts, first, near))

    _, offs = leaf_order(points, filled_in, columns)
    tree.cell[1] = max(offs)
    fit_boxes(tree, np.arange(leaves, dtype=np.int32))
    return tree
