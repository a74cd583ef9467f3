"""Cuts: how rows are divided into blocks by hyperplanes that a sample of them tells.

Each cut goes across the principal axis of the rows that it divides, near the quantile that gives
both sides their share of blocks and there where the sample has its widest gap: the loss of a cut is
that of the clusters it goes through. A tree of cuts is plain numbers, and rows are numbered by
sums in a fixed order, so that every worker and every machine gives the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Points = NDArray[np.float64]

# The share of the rows of a cut by which it may miss its quantile, to go through a gap.
SLACK = 0.1
# From this number of parts on one of them is the tail.
TAILED = 4
# Tails are heavy where the farthest of this number of rows have more than this share of the spread
# (of a normal column they have 0.08, of several less).
FAR, HEAVY = 100, 0.15
# Steps towards the principal axis, and the grid that it is rounded to: the last digits of a sum
# differ between machines, and must not decide.
STEPS, GRID = 32, 1024.0


@dataclass(frozen=True)
class Node:
    """A cut: rows below ``at`` along ``axis`` go left. A side is a node, or ``~leaf``.

    With a ``centre`` it is the squared distance from there that is looked at, axis by axis.
    """

    axis: tuple[float, ...]
    at: float
    left: int
    right: int
    centre: tuple[float, ...] = ()

    def along(self, points: Points) -> Points:
        """Measure where rows are along the cut."""
        if self.centre:
            import numpy as np

            return projected(np.square(points - np.array(self.centre)), self.axis)
        return projected(points, self.axis)


@dataclass(frozen=True)
class Cuts:
    """A tree of cuts.

    Parameters
    ----------
    nodes
        The root comes first; without nodes there is one block.
    paths
        Of each leaf, from left to right, the sides taken to it.
    blocks
        Leaf to block; leaves that are too small share one.
    """

    nodes: tuple[Node, ...]
    paths: tuple[str, ...]
    blocks: tuple[int, ...]

    @property
    def many(self) -> int:
        """The number of blocks."""
        return max(self.blocks) + 1


def cut(sample: Points, parts: int) -> Cuts:
    """Divide a sample into parts of about the same size; fewer where rows are equal.

    Where tails are heavy, one part of four or more has the rows that are farthest from the middle:
    most of the loss is out there, where rows are few, and a cut would part them from the nearest
    others that they have.
    """
    nodes: list[Node | None] = []
    paths: list[str] = []

    def leaf(path: str) -> int:
        paths.append(path)
        return ~(len(paths) - 1)

    def divide(rows: Points, parts: int, path: str) -> int:
        found = place(rows, parts) if parts > 1 else None
        if found is None:
            return leaf(path)
        axis, at, left = found
        number = len(nodes)
        nodes.append(None)
        one = divide(rows[left], parts // 2, path + "0")
        other = divide(rows[~left], parts - parts // 2, path + "1")
        nodes[number] = Node(axis, at, one, other)
        return number

    apart = tail(sample, parts) if parts >= TAILED else None
    if apart is None:
        divide(sample, parts, "")
    else:
        nodes.append(None)
        body = sample[apart.along(sample) < apart.at]
        nodes[0] = replace(apart, left=divide(body, parts - 1, "0"), right=leaf("1"))
    whole = tuple(node for node in nodes if node is not None)
    return Cuts(whole, tuple(paths), tuple(range(len(paths))))


def tail(rows: Points, parts: int) -> Node | None:
    """Find the distance from the middle beyond which one part of the rows lies, if it is heavy."""
    import numpy as np

    centre = np.median(rows, axis=0) if len(rows) else np.zeros(rows.shape[1])
    node = Node((1.0,) * rows.shape[1], 0.0, 0, 0, tuple(centre.tolist()))
    along = np.sort(node.along(rows))
    far = along[len(along) - len(along) // FAR :]
    if not far.sum() > HEAVY * along.sum():
        return None
    at = float(along[len(along) - max(1, len(along) // parts)])
    return replace(node, at=at) if along[0] < at else None


def place(rows: Points, parts: int) -> tuple[tuple[float, ...], float, NDArray[np.bool_]] | None:
    """Find where to cut rows: axis, place and the rows on the left; none where all are equal."""
    import numpy as np

    axis = principal_axis(rows)
    along = projected(rows, axis)
    order = np.sort(along)
    if len(order) < 2 or order[0] == order[-1]:
        return None
    middle = len(order) * (parts // 2) / parts
    low = max(1, int(middle - SLACK * len(order)))
    high = min(len(order) - 1, int(middle + SLACK * len(order)))
    gaps = order[low : high + 1] - order[low - 1 : high]
    if not gaps.any():  # a run of equal rows: the nearest end of it
        ends = np.flatnonzero(np.diff(order)) + 1
        first = int(ends[np.argmin(np.abs(ends - middle))])
    else:
        first = low + int(np.argmax(gaps))
    at = float(order[first])
    return tuple(axis.tolist()), at, along < at


def principal_axis(rows: Points) -> Points:
    """Find the direction in which rows spread most, on a grid."""
    import numpy as np

    apart = rows - rows.mean(axis=0)
    spread = apart.T @ apart
    axis = np.zeros(rows.shape[1])
    axis[int(np.argmax(np.diag(spread)))] = 1.0
    for _ in range(STEPS):
        turned = spread @ axis
        size = float(np.abs(turned).max())
        if not size:
            break
        axis = turned / size
    found: Points = np.rint(axis * GRID) / GRID
    return found


def projected(rows: Points, axis: Sequence[float] | Points) -> Points:
    """Project rows onto an axis, by sums in one order."""
    import numpy as np

    along = np.zeros(len(rows))
    for j, part in enumerate(axis):
        if part:
            along = along + rows[:, j] * part
    return along


def numbers(points: Points, cuts: Cuts) -> NDArray[np.int32]:
    """Find the number of each row's block."""
    import numpy as np

    found = np.zeros(len(points), np.int32)
    if not cuts.nodes:
        return found
    waiting = [(0, np.arange(len(points)))]
    while waiting:
        number, rows = waiting.pop()
        if number < 0:
            found[rows] = cuts.blocks[~number]
            continue
        node = cuts.nodes[number]
        left = node.along(points[rows]) < node.at
        waiting += [(node.left, rows[left]), (node.right, rows[~left])]
    return found


def joined(cuts: Cuts, sizes: Sequence[int], least: int) -> Cuts:
    """Let blocks that are too small share one with their neighbour in the tree.

    Parameters
    ----------
    cuts
        A tree as `cut` gave it.
    sizes
        The entities of each leaf.
    least
        How many a block must have; if all have fewer together, one block is left.
    """
    groups = [([leaf], size) for leaf, size in enumerate(sizes)]
    while len(groups) > 1:
        small = min(range(len(groups)), key=lambda i: (groups[i][1], i))
        if groups[small][1] >= least:
            break
        beside = [i for i in (small - 1, small + 1) if 0 <= i < len(groups)]
        near = max(beside, key=lambda i: (_shared(cuts, groups[small][0], groups[i][0]), -i))
        one, other = sorted((small, near))
        leaves = [*groups[one][0], *groups[other][0]]
        groups[one : other + 1] = [(leaves, groups[one][1] + groups[other][1])]
    blocks = [0] * len(sizes)
    for block, (leaves, _) in enumerate(groups):
        for leaf in leaves:
            blocks[leaf] = block
    return replace(cuts, blocks=tuple(blocks))


def _shared(cuts: Cuts, one: Sequence[int], other: Sequence[int]) -> int:
    paths = [cuts.paths[leaf] for leaf in (*one, *other)]
    # The sides that the first and the last path share, all between them share.
    pairs = enumerate(zip(min(paths), max(paths), strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(map(len, paths)))
