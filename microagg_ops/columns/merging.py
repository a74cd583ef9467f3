"""Join clusters that break a rule with those nearest to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.strata import rows_by
from microagg_ops.metrics.loss import centroids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Labels = NDArray[np.int32]

# Of some rows, and labels of theirs: which clusters break a rule.
Breaks = Callable[[Any, Any], Any]
# Searches in one call of the kernel: a fraction of a second.
PER_CALL = 1 << 10


def merged_clusters(points: NDArray[np.float64], labels: Labels, breaks: Breaks) -> Labels:
    """Join clusters that break a rule with the nearest, until it holds or all are one.

    All that break it at a time are joined at once, then what has become of them is looked at.

    Parameters
    ----------
    points
        Rows by columns: clusters are as far apart as their centroids, and of two that are equally
        near the first is taken.
    labels
        Row to cluster.
    breaks
        Says of some rows and their labels 0, 1, … which clusters break a rule.
    """
    import numpy as np

    bad = np.flatnonzero(breaks(np.arange(len(labels)), labels)).tolist()
    if not bad or not labels.max():
        return labels
    centres, rows = centroids(points, labels), dict(enumerate(rows_by(labels)))
    whole = np.arange(len(centres))  # cluster to the first of those that it was joined with
    while bad and len(rows) > 1:
        there = np.array(sorted(rows))
        for cluster, near in zip(bad, neighbours(centres, there, np.array(bad)), strict=True):
            low, high = sorted((first_of(whole, cluster), first_of(whole, near)))
            if low != high:
                weights = len(rows[low]), len(rows[high])
                centres[low] = np.average(centres[[low, high]], axis=0, weights=weights)
                rows[low] = np.concatenate([rows[low], rows.pop(high)])
                whole[high] = low
        changed = sorted({first_of(whole, cluster) for cluster in bad})
        sizes = [len(rows[cluster]) for cluster in changed]
        places = np.repeat(np.arange(len(changed), dtype=np.int32), sizes)
        broken = breaks(np.concatenate([rows[cluster] for cluster in changed]), places)
        bad = [cluster for cluster, is_bad in zip(changed, broken, strict=True) if is_bad]
    found = np.empty(len(labels), np.int32)
    for i, cluster in enumerate(sorted(rows)):
        found[rows[cluster]] = i
    return found


def first_of(whole: NDArray[np.int64], cluster: int) -> int:
    """Find the first of the clusters that one was joined with."""
    while whole[cluster] != cluster:
        whole[cluster] = whole[whole[cluster]]
        cluster = int(whole[cluster])
    return cluster


def neighbours(
    centres: NDArray[np.float64], there: NDArray[np.int64], bad: NDArray[np.int64]
) -> list[int]:
    """Find of each bad cluster the nearest of those that are there."""
    import numpy as np

    from microagg_ops.kernels.measures.nearest import nearest

    left = centres[there]
    columns = np.argsort(-np.ptp(left, axis=0), kind="stable")  # the widest ends a search soonest
    order = np.lexsort((there, left[:, columns[0]]))
    points = np.ascontiguousarray(left[order][:, columns])
    places = np.empty(len(centres), np.int64)
    places[there[order]] = np.arange(len(order))
    out = np.empty(len(bad), np.int64)
    for start in range(0, len(bad), PER_CALL):
        stop = min(start + PER_CALL, len(bad))
        nearest(points, there[order], places[bad], start, stop, out)
    found: list[int] = out.tolist()
    return found
