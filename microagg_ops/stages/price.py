"""What limits on sensitive columns cost: the loss with them, without them, and by a larger k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from microagg_ops.methods import partition
from microagg_ops.methods.aware import meets
from microagg_ops.methods.limits import Mended
from microagg_ops.methods.partition import renumbered
from microagg_ops.methods.parts import divided
from microagg_ops.metrics.loss import centroids
from microagg_ops.release.model import Release

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Entities on which larger k are tried, about, and by how much k grows from one trial to the next.
TRIED, GROWS = 100_000, 1.25


def price(parts: Sequence[Mended], release: Release) -> dict[str, Any] | None:
    """Measure the loss in percent of the rows that were searched; nothing where none was limited.

    A larger k is tried with `mdav`, of many rows on a sample: the first that meets the limits
    without looking at them. What it loses is then told from how many times more the sample loses.
    """
    if not parts:
        return None
    entities = sum(len(part.points) for part in parts)
    step = -(-entities // TRIED)
    tried = sampled(parts, step)
    k = release.aggregate.k
    while (labels := raised(tried, k)) is None:
        k = max(k + 1, int(GROWS * k))
    without = lost(parts, [part.before for part in parts])
    times = lost(tried, labels) / (lost(tried, [part.before for part in tried]) or 1.0)
    return {
        "without": without,
        "with": lost(parts, [part.after for part in parts]),
        "raised_k": k,
        "raised": without * times if step > 1 else lost(parts, labels),
        "entities": entities,
        "tried": sum(len(part.points) for part in tried),
    }


def sampled(parts: Sequence[Mended], step: int) -> list[Mended]:
    """Take evenly spaced stretches of neighbouring clusters of each part, as dense as it is."""
    if step == 1:
        return list(parts)
    return [
        replace(
            part,
            points=part.points[rows],
            columns=tuple(column.of(rows) for column in part.columns),
            before=renumbered(part.before[rows]),
            after=renumbered(part.after[rows]),
        )
        for part in parts
        for rows in divided(part.points, part.before, part.columns)[::step]
    ]


def raised(parts: Sequence[Mended], k: int) -> list[NDArray[np.int32]] | None:
    """Partition each part with a larger k; return nothing when one does not meet the limits."""
    import numpy as np

    found = []
    for part in parts:
        labels = np.zeros(len(part.points), np.int32)
        if len(labels) >= 2 * k:
            labels = partition(part.points, k)
            if not meets(part.points, labels, part.columns):
                return None
        found.append(labels)
    return found


def lost(parts: Sequence[Mended], labels: Sequence[NDArray[np.int32]]) -> float:
    """Information loss in percent, of parts that share their columns; groups add up."""
    import numpy as np

    within, total = 0.0, 0.0
    by_width: dict[int, list[NDArray[np.float64]]] = {}
    for part, own in zip(parts, labels, strict=True):
        within += float(((part.points - centroids(part.points, own)[own]) ** 2).sum())
        by_width.setdefault(part.points.shape[1], []).append(part.points)
    for points in by_width.values():
        together = np.concatenate(points)
        total += float(((together - together.mean(axis=0)) ** 2).sum())
    return 100.0 * within / total if total else 0.0
