"""Where a search or a path begins: the labels of another method, or labels that are given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import ReleaseError
from microagg_ops.methods.partition import METHODS, Clock, one_of, renumbered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Methods that begin at a start themselves, and the one for a single column.
SEARCHES = ("best", "icsm", "ilsm", "ilsmc", "ls", "lsc", "optimal", "rcs")
# Rows up to which MDAV takes no time to speak of.
AT_ONCE = 20_000
# Besides the methods: a partition by chance.
RANDOM = "random"


def starting_labels(
    points: NDArray[np.float64], k: int, start: Any, seed: int, clock: Clock
) -> NDArray[np.int32]:
    """Give the labels that a search begins with."""
    import numpy as np

    if isinstance(start, str):
        one_of("start", start, sorted({*METHODS, RANDOM} - set(SEARCHES)))
        if start == RANDOM:
            return random_labels(len(points), k, seed)
        # Of a small table MDAV is there at once, even if the budget was used up by then: a table
        # in many strata has many small shares of the budget.
        at_once = start == "mdav" and len(points) <= AT_ONCE
        own = replace(clock, trajectory=[], budget=None if at_once else clock.budget)
        return renumbered(METHODS[start].load()(points, k, seed=seed, clock=own))
    labels = np.asarray(start)
    if labels.shape != (len(points),):
        raise ReleaseError("The 'start' parameter must be a method or one label a row.")
    labels = renumbered(labels)
    if np.bincount(labels).min() < k:
        raise ReleaseError(f"The 'start' parameter has a cluster of fewer than k = {k} rows.")
    return labels


def cluster_range(rows: int, k: int) -> tuple[int, int]:
    """Give the least and the largest number of clusters that a search looks at.

    The top fifth of what clusters of k to 2k - 1 rows allow: fewer clusters lose more.
    """
    least, most = -(-rows // (2 * k - 1)), rows // k
    return most - (most - least) // 5, most


def random_labels(rows: int, k: int, seed: int) -> NDArray[np.int32]:
    """Give a random partition: k rows to each cluster, then the rest wherever there is room."""
    import numpy as np

    from microagg_ops.kernels.random import below, seeded, shuffle

    random = seeded(seed, 4)
    least, most = cluster_range(rows, k)
    clusters = least + below(random, most - least + 1)
    places = np.repeat(np.arange(clusters), k - 1)
    shuffle(random, places)
    order = np.arange(rows)
    shuffle(random, order)
    labels = np.empty(rows, np.int32)
    labels[order] = np.append(np.repeat(np.arange(clusters), k), places)[:rows]
    return renumbered(labels)
