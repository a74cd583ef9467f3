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
SEARCHES = ("best", "icsm", "optimal", "rcs")


def starting_labels(
    points: NDArray[np.float64], k: int, start: Any, seed: int, clock: Clock
) -> NDArray[np.int32]:
    """Give the labels that a search begins with."""
    import numpy as np

    if isinstance(start, str):
        one_of("start", start, sorted(set(METHODS) - set(SEARCHES)))
        own = replace(clock, trajectory=[])
        return renumbered(METHODS[start].load()(points, k, seed=seed, clock=own))
    labels = np.asarray(start)
    if labels.shape != (len(points),):
        raise ReleaseError("The 'start' parameter must be a method or one label a row.")
    labels = renumbered(labels)
    if np.bincount(labels).min() < k:
        raise ReleaseError(f"The 'start' parameter has a cluster of fewer than k = {k} rows.")
    return labels
