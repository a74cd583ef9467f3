"""Where a search or a path begins: the labels of another method, or labels that are given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import ReleaseError
from microagg_ops.methods.partition import Clock, one_of, renumbered
from microagg_ops.methods.registry import METHODS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Besides the methods: a partition by chance.
RANDOM = "random"


def starting_labels(
    points: NDArray[np.float64], k: int, start: Any, seed: int, clock: Clock
) -> NDArray[np.int32]:
    """Return the labels that a search begins with."""
    import numpy as np

    if isinstance(start, str):
        starts = {name for name, method in METHODS.items() if method.starts}
        one_of("start", start, sorted(starts | {RANDOM}))
        if start == RANDOM:
            return random_labels(len(points), k, seed)
        # MDAV is the partition that a search has to give back in any case, however soon its budget
        # is used up: a table in many strata has many small shares of it.
        own = replace(clock, trajectory=[], budget=None if start == "mdav" else clock.budget)
        return renumbered(METHODS[start].load()(points, k, seed=seed, clock=own))
    labels = np.asarray(start)
    if labels.shape != (len(points),):
        raise ReleaseError("The 'start' parameter must be a method or one label a row.")
    labels = renumbered(labels)
    if np.bincount(labels).min() < k:
        raise ReleaseError(f"The 'start' parameter has a cluster of fewer than k = {k} rows.")
    return labels


def cluster_range(rows: int, k: int) -> tuple[int, int]:
    """Return the least and the largest number of clusters that a search considers.

    The top fifth of what clusters of k to 2k - 1 rows allow: fewer clusters lose more.
    """
    least, most = -(-rows // (2 * k - 1)), rows // k
    return most - (most - least) // 5, most


def random_labels(rows: int, k: int, seed: int) -> NDArray[np.int32]:
    """Draw a random partition: k rows to each cluster, then the rest wherever there is room."""
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
