"""Trees: the categories of a column below what is more general, by its hierarchy.

A column with a hierarchy has all nodes for categories: those that cells have, `ROOT`, and all that
lie between. So a code is a node, and a cell of a published row may hold any.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from microagg_ops.release.columns import Quasi
from microagg_ops.release.hierarchy import ROOT, level_of, steps_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """The nodes of a column's hierarchy.

    Parameters
    ----------
    paths
        ``int64[leaves, levels]``: the node of each category at each level, itself first, the root
        last.
    above
        ``int64[nodes, levels]``: the same of each node; -2 below its own level.
    width
        By node: the share of the other categories that are below it, 0 for a category and 1 for
        the root.
    """

    paths: NDArray[np.int64]
    above: NDArray[np.int64]
    width: NDArray[np.float64]


def nodes_of(how: Quasi, leaves: list[str]) -> list[str]:
    """List the categories, the root, and the nodes between, level by level."""
    between: dict[str, None] = {}
    for level in zip(*(path[1:] for path in paths_of(how, leaves)), strict=True):
        between |= dict.fromkeys(sorted({node for node in level if node != ROOT}))
    known = set(leaves)
    return [*leaves, ROOT, *(node for node in between if node not in known)]


def paths_of(how: Quasi, leaves: Iterable[str]) -> list[list[str]]:
    """Return of each category itself and all that is above it, without the root."""
    hierarchy = how.hierarchy or ""
    steps = steps_of(hierarchy)[level_of(hierarchy, how.level) :]
    found = []
    for leaf in leaves:
        path = [leaf]
        for step in steps:
            path.append(step(path[-1]) or ROOT)
        found.append(path)
    return found


def tree_of(how: Quasi, categories: Any) -> Tree:
    """Make the tree of a column from all its nodes."""
    hierarchy = how.hierarchy
    shown = json.dumps(dict(hierarchy) if isinstance(hierarchy, Mapping) else hierarchy)
    return _tree(shown, how.level, tuple(categories.to_pylist()))


@lru_cache(maxsize=16)
def _tree(hierarchy: str, level: int | str | None, nodes: tuple[str, ...]) -> Tree:
    import numpy as np

    how = Quasi("nominal", hierarchy=json.loads(hierarchy), level=level)
    number = {node: i for i, node in enumerate(nodes)}
    leaves = number[ROOT]
    # What cells never had may be published: the leaves are those before the root.
    paths = np.array(
        [[*(number[node] for node in path), leaves] for path in paths_of(how, nodes[:leaves])],
        np.int64,
    ).reshape(leaves, -1)
    levels = paths.shape[1]
    above = np.full((len(nodes), levels), -2, np.int64)
    below = np.zeros(len(nodes))
    for i in range(levels):
        below[:] = np.maximum(below, np.bincount(paths[:, i], minlength=len(nodes)))
        for j in range(i, levels):
            mine = above[paths[:, i], j]
            above[paths[:, i], j] = np.where(mine == -2, paths[:, j], mine)
    return Tree(paths, above, (below - 1) / max(leaves - 1, 1))


def ancestors(tree: Tree, codes: NDArray[np.int64], labels: NDArray[np.int32]) -> Codes:
    """Find the least common ancestor of the categories of each cluster."""
    import numpy as np

    clusters = int(labels.max()) + 1
    found = np.full(clusters, -1, np.int64)
    for level in range(tree.paths.shape[1]):
        nodes = tree.paths[codes, level]
        least = np.full(clusters, len(tree.width))
        largest = np.full(clusters, -1)
        np.minimum.at(least, labels, nodes)
        np.maximum.at(largest, labels, nodes)
        found = np.where((found < 0) & (least == largest), least, found)
    return found.astype(np.float64)


def levels_of(tree: Tree, codes: Codes) -> Codes:
    """Return the node of each cell at each level below the root; -2 where it is less precise."""
    import numpy as np

    there = ~np.isnan(codes)
    found = np.full((len(codes), tree.above.shape[1] - 1), -1.0)
    found[there] = tree.above[codes[there].astype(np.int64), :-1]
    return found
