"""A tree of boxes over points that leave one by one.

Thirty-two points make a leaf, sixteen leaves a group, sixteen groups a branch, sixteen branches a
group of them. Boxes are tight, and shrink when points have left. Coordinates are whole numbers,
points of a grid: they say where to look, never what is found there. A point with equal coordinates
lies nowhere farther from its place on the grid than half a diagonal of a cell. On the fine grid a
coordinate has 16 bits; on the coarse one it has 8, so that looking at all points of a leaf reads
little memory.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from microagg_ops.kernels import lean
from microagg_ops.kernels.halving import cut_up
from microagg_ops.kernels.simd import (
    COLUMNS,
    LANES,
    POINTS,
    draw_group,
    draw_leaf,
    filled,
    top_of_group,
    top_of_leaf,
)
from microagg_ops.kernels.vectors import ask

# The norm of the farthest point on the grid. Squares of all distances that are looked at, those
# to a point beyond the origin included, must stay below 2^30.
REACH = 8000
# What is added to numbers of the coarse grid, which are bytes, and how far they may go without; and
# the largest norm there, so that half its square has 16 bits.
MIDDLE, MOST_ROUGH, ROUGH_REACH = 128, 127, 200
ALL = (1 << LANES) - 1

# rough: points of the coarse grid, leaves by fours of columns by points by four; bias: half their
# squared norms; cell: how wide its cells are, and how far a point may be from its place; fine:
# points of the fine grid by columns, leaf after leaf; norms: their squared norms; alive: a bit for
# each point of a leaf that is left; slots: the point of each place; place: point to its place.
# low, high: groups by pairs of columns by children by two; tops: the largest squared norm among the
# points of each child, or -1 for one without points; base: the first group of each level, lowest
# first; stale: leaves that points have left since their boxes were drawn, how many in the last
# place, and known: which they are; redrawn: room for groups; turn: where searches are.
Tree = namedtuple(
    "Tree",
    "rough bias cell fine norms alive slots place low high tops base stale known redrawn turn",
)


@lean
def extent(points):
    """Give the largest coordinate of points, without its sign, and the largest norm."""
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
    """Put points into leaves, the first of which has this number; give how far they are off.

    ``words`` is the coarse grid, four columns in a number; ``near`` is room for a point.
    """
    fine, norms, alive, slots, place = tree.fine, tree.norms, tree.alive, tree.slots, tree.place
    bias, cell, off = tree.bias, np.int32(tree.cell[0]), np.int32(0)
    share = np.float32(1 / cell)
    for i in range(len(starts) - 1):
        leaf = first + i
        alive[leaf] = (np.int64(1) << (starts[i + 1] - starts[i])) - 1
        for slot in range(starts[i + 1] - starts[i]):
            if starts[i] + slot + POINTS < len(order):
                ask(points, order[starts[i] + slot + POINTS])
            point, at = order[starts[i] + slot], leaf * POINTS + slot
            slots[at], place[point] = point, at
            square = rough_square = rest = np.int32(0)
            for j in range(len(near)):
                value = np.int32(points[point, j])
                whole = np.int32(np.rint(np.float32(value) * share))
                away = value - cell * whole
                fine[at, j], near[j] = value, whole + MIDDLE
                square += value * value
                rough_square += whole * whole
                rest += away * away
            norms[leaf, slot], bias[leaf, slot] = square, rough_square >> 1
            off = max(off, rest)
            for j in range(words.shape[1]):
                low, high = (
                    near[4 * j] | near[4 * j + 1] << 8,
                    near[4 * j + 2] | near[4 * j + 3] << 8,
                )
                words[leaf, j, slot] = low | high << 16
    return np.sqrt(off)


@lean
def draw(tree, leaves):
    """Draw the boxes of leaves, and of all groups that they are in."""
    low, high, tops, base, redrawn = tree.low, tree.high, tree.tops, tree.base, tree.redrawn
    alive, known, level, many = tree.alive, tree.known, 0, 0
    # Groups are known by numbers behind those of the leaves.
    behind = len(alive)
    for leaf in leaves:
        known[leaf] = False
        if alive[leaf]:
            draw_leaf(tree.fine, low, high, alive[leaf], leaf)
        group = leaf // LANES
        tops[group, leaf % LANES] = top_of_leaf(tree.norms, alive[leaf], leaf)
        if not known[behind + group]:
            known[behind + group] = True
            redrawn[many] = group
            many += 1
    at = 0
    while at < many:
        group = redrawn[at]
        at += 1
        known[behind + group] = False
        if group >= base[level + 1]:
            level += 1
        if level == len(base) - 2:
            continue
        index = group - base[level]
        parent, child = base[level + 1] + index // LANES, index % LANES
        full = filled(tops, group)
        if full:
            for pair in range(low.shape[1]):
                begin = (group * low.shape[1] + pair) * 2 * LANES
                draw_group(
                    low, high, full, begin, ((parent * low.shape[1] + pair) * LANES + child) * 2
                )
        tops[parent, child] = top_of_group(tops, ALL, group)
        if not known[behind + parent]:
            known[behind + parent] = True
            redrawn[many] = parent
            many += 1


@lean
def remove(tree, point):
    """Let a point leave; boxes stay as they are until they are mended."""
    stale, leaf = tree.stale, tree.place[point] // POINTS
    tree.alive[leaf] &= ~(np.int64(1) << (tree.place[point] % POINTS))
    if not tree.known[leaf]:
        tree.known[leaf] = True
        stale[stale[-1]] = leaf
        stale[-1] += 1


@lean
def mend(tree):
    """Draw the boxes anew that points have left."""
    draw(tree, tree.stale[: tree.stale[-1]])
    tree.stale[-1] = 0


def aligned(shape: tuple[int, ...], kind: type) -> np.ndarray:
    """Make an array of zeros that begins where vectors in memory do."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    raw = np.zeros(size + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(kind).reshape(shape)


def make_grid(count: int, columns: int) -> np.ndarray:
    """Make room for points of the grid, filled up to sixteens of columns."""
    return aligned((count, -(-columns // COLUMNS) * COLUMNS), np.int16)


def make_tree(points: np.ndarray, columns: int) -> Tree:
    """Build a tree over points of the grid, of which so many columns count, in steps."""
    wide, leaves = points.shape[1], -(-len(points) // POINTS)
    sizes = [-(-leaves // LANES)]
    while len(sizes) < 3:
        sizes.append(-(-sizes[-1] // LANES))
    base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    groups = int(base[-1])
    tree = Tree(
        rough=aligned((leaves, -(-columns // 4), POINTS, 4), np.uint8),
        bias=aligned((leaves, POINTS), np.int16),
        cell=np.zeros(2),
        fine=aligned((leaves * POINTS, wide), np.int16),
        norms=aligned((leaves, POINTS), np.int32),
        alive=np.zeros(leaves, np.int64),
        slots=np.full(leaves * POINTS, -1, np.int32),
        place=np.empty(len(points), np.int32),
        low=aligned((groups, wide // 2, LANES, 2), np.int16),
        high=aligned((groups, wide // 2, LANES, 2), np.int16),
        tops=np.full((groups, LANES), -1, np.int32),
        base=base,
        stale=np.zeros(leaves + 1, np.int32),
        known=np.zeros(leaves + groups, np.bool_),
        redrawn=np.zeros(groups, np.int32),
        turn=np.zeros(1, np.int64),
    )
    largest, norm = extent(points)
    tree.cell[0] = max(1, np.ceil(largest / MOST_ROUGH), np.ceil(norm / ROUGH_REACH))

    words = tree.rough.view(np.uint32)[..., 0]

    def filled_in(order: np.ndarray, starts: np.ndarray, first: int) -> float:
        near = np.empty(wide, np.int32)
        return float(fill(tree, words, points, order, starts, first, near))

    _, offs = cut_up(points, filled_in, columns)
    tree.cell[1] = max(offs)
    draw(tree, np.arange(leaves, dtype=np.int32))
    return tree
