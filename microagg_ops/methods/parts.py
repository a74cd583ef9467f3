"""Parts of a large table that can meet limits on sensitive columns, each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from microagg_ops.methods.limits import Sensitive
from microagg_ops.methods.neighbours import spatial_order

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rows of a part, or so.
PART = 20_000
# Parts are flattened along directions that are correlated with a sensitive column by more than it.
CORRELATED = 0.1


def divided(
    points: NDArray[np.float64], labels: NDArray[np.int32], columns: Sequence[Sensitive]
) -> list[NDArray[np.int64]]:
    """Divide a table along clusters into parts that can meet the limits each."""
    import numpy as np

    from microagg_ops.metrics.loss import centroids

    order = spatial_order(flattened(centroids(points, labels), points, columns))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    rows = np.argsort(place[labels], kind="stable")
    sizes = np.bincount(labels)[order]
    part = np.repeat((np.cumsum(sizes) - sizes) // PART, sizes)
    parts: list[NDArray[np.int64]] = []
    for one in np.split(rows, np.flatnonzero(np.diff(part)) + 1):
        if parts and not can(columns, parts[-1]):
            parts[-1] = np.concatenate([parts[-1], one])
        else:
            parts.append(one)
    while len(parts) > 1 and not can(columns, parts[-1]):
        last = parts.pop()
        parts[-1] = np.concatenate([parts[-1], last])
    return [np.sort(one) for one in parts]


def flattened(
    centres: NDArray[np.float64], points: NDArray[np.float64], columns: Sequence[Sensitive]
) -> NDArray[np.float64]:
    """Take out of centroids the directions along which sensitive columns change.

    A part that lies at one end of such a direction could hardly meet limits that the whole table
    does; one that goes from end to end can. Parts stay small along all other directions.
    """
    import numpy as np

    spread = points - points.mean(0)
    found = [spread.T @ one / len(points) for column in columns for one in column.scores()]
    slopes = np.array([one for one in found if np.linalg.norm(one) > 0]).reshape(-1, len(spread.T))
    size = np.sqrt((spread**2).mean(0).max())
    _, strength, axes = np.linalg.svd(slopes / (size or 1.0), full_matrices=False)
    axes = axes[strength > CORRELATED]
    return centres - centres @ axes.T @ axes if len(axes) < centres.shape[1] else centres


def can(columns: Sequence[Sensitive], rows: NDArray[np.int64]) -> bool:
    """Say whether rows together meet the limits."""
    return not any(fault for column in columns for fault in column.of(rows).faults())
