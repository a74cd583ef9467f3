"""A block as a task: all that a worker needs to find the clusters of some rows, and what it finds.

A block carries its arrays and parameters and refers to nothing else, so that it can be sent to
another thread, process or machine. Rows of two blocks never share a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.dominance import Rule, parts
from microagg_ops.columns.encoding import Encoded
from microagg_ops.columns.merging import Breaks, merged_clusters
from microagg_ops.columns.representatives import medoids, representable
from microagg_ops.methods import partition
from microagg_ops.methods.limits import Mended, Sensitive
from microagg_ops.methods.partition import Point, Progress, no_progress
from microagg_ops.metrics.loss import centroids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Search:
    """How the clusters of a block are searched for.

    Parameters
    ----------
    method, k, seed, params
        As for `microagg_ops.methods.partition`.
    seconds
        The longest time to search; without one there is no limit.
    threads
        How many to use at most.
    """

    method: str
    k: int
    seed: int = 0
    seconds: float | None = None
    params: Mapping[str, Any] | None = None
    threads: int | None = None


@dataclass(frozen=True)
class Block:
    """Rows that may share clusters: of one stratum, and NULL in the same columns.

    Parameters
    ----------
    points
        Their coordinates, ``float64[rows, dimensions]``, without the columns that are NULL.
    entities
        ``int32[rows]``, row to entity, numbered as they first appear: keys decide no tie.
    weights
        ``float64[rows]``.
    shown
        The columns whose medians or medoids are published, which could be one entity's alone.
    rule
        What makes a cluster shared: none breaks it that could be joined with another one.
    search
        How clusters are found; nothing where all rows are one cluster.
    share
        Of the work of all blocks.
    sensitive
        The sensitive columns with limits that every cluster must meet.
    """

    points: NDArray[np.float64]
    entities: NDArray[np.int32]
    weights: NDArray[np.float64]
    shown: tuple[Encoded, ...]
    rule: Rule
    search: Search | None
    share: float = 1.0
    sensitive: tuple[Sensitive, ...] = ()

    def breaks(self) -> Breaks:
        """Make the question which clusters one entity outweighs, or is shown by."""
        import numpy as np

        def ask(rows: NDArray[np.int64], labels: NDArray[np.int32]) -> NDArray[np.bool_]:
            entities, weights = self.entities[rows].astype(np.int64), self.weights[rows]
            found = parts(weights, labels, entities)
            broken = self.rule.outweighs(found) | self.rule.estimable(found)
            for whole in self.shown:
                column = replace(whole, codes=whole.codes[rows])
                codes = (
                    column.codes[medoids(self.points[rows], labels, weights)]
                    if column.how.statistic == "medoid"
                    else representable(column, labels, weights, entities)
                )
                broken |= self.rule.exposes(column, codes, labels, entities)
            return broken

        return ask


@dataclass(frozen=True)
class Clusters:
    """What was found in a block.

    Parameters
    ----------
    labels
        ``int32[rows]``, row to cluster 0, 1, …
    method
        By which they were searched for; nothing where all rows are one cluster.
    trajectory
        The points of the search, if it tells any.
    mended
        The partition before it met the limits and after, where there are any.
    """

    labels: NDArray[np.int32]
    method: str | None = None
    trajectory: tuple[Point, ...] = ()
    mended: tuple[Mended, ...] = ()


def find_clusters(block: Block, progress: Progress = no_progress) -> Clusters:
    """Partition the entities of a block, each at the mean of its rows, so that a cluster has k.

    All rows of an entity that are NULL in the same columns share a cluster: were they spread over
    several, each would tell of the others.
    """
    import numpy as np

    how, trajectory, mended = block.search, list[Point](), list[Mended]()
    if how is None:
        return Clusters(np.zeros(len(block.entities), np.int32))
    centres = block.points
    if block.entities.max() + 1 < len(centres):
        centres = centroids(centres, block.entities)
    found = partition(
        centres, how.k, how.method, seed=how.seed, budget=how.seconds, progress=progress,
        trajectory=trajectory, threads=how.threads, sensitive=block.sensitive or None,
        mended=mended,
        **(how.params or {}),
    )  # fmt: skip
    labels = merged_clusters(block.points, found[block.entities], block.breaks())
    return Clusters(labels, how.method, tuple(trajectory), tuple(mended))
