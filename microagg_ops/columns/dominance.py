"""Dominance: published values that a few entities make up by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from microagg_ops.columns.encoding import Encoded
from microagg_ops.columns.strata import numbered
from microagg_ops.release.model import Release

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
# What is reported where the release sets no limit.
DOMINANT = 0.5
# A share is a quotient of sums, and may exceed what it is by their rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Parts:
    """What each entity contributes to the total of each cluster that it is in.

    Parameters
    ----------
    cluster, rank, part
        One entry an entity and cluster: the largest of a cluster has rank 0.
    clusters
        How many there are.
    """

    cluster: NDArray[np.int64]
    rank: NDArray[np.int64]
    part: NDArray[np.float64]
    clusters: int

    def entities(self) -> NDArray[np.int64]:
        """Count the entities of each cluster."""
        import numpy as np

        return np.bincount(self.cluster, minlength=self.clusters)

    def share(self, n: int) -> NDArray[np.float64]:
        """Compute the share of each total that its n largest make up; 0 where there is nothing."""
        import numpy as np

        top, total = self._sum(self.rank < n), self._sum(self.rank >= 0)
        return np.where(total > 0, top / np.where(total > 0, total, 1.0), 0.0)

    def remainder(self) -> NDArray[np.float64]:
        """Return what each total has besides its two largest, in percent of the largest.

        This is how closely the second, who knows its own part, can estimate the first.
        """
        import numpy as np

        first, rest = self._sum(self.rank == 0), self._sum(self.rank > 1)
        return np.where(first > 0, 100 * rest / np.where(first > 0, first, 1.0), np.inf)

    def _sum(self, these: NDArray[np.bool_]) -> NDArray[np.float64]:
        import numpy as np

        found = np.bincount(self.cluster[these], self.part[these], self.clusters)
        return found.astype(np.float64)


def parts(
    values: NDArray[np.float64],
    labels: NDArray[np.integer],
    entities: NDArray[np.int64],
    clusters: int | None = None,
) -> Parts:
    """Add up what each entity contributes to its clusters; no value is negative."""
    import numpy as np

    pairs = numbered(len(values), [labels.astype(np.int64), entities])
    _, first = np.unique(pairs, return_index=True)
    cluster, part = labels[first].astype(np.int64), np.bincount(pairs, values).astype(np.float64)
    order = np.lexsort((-part, cluster))
    cluster, part = cluster[order], part[order]
    sizes = np.bincount(cluster)
    rank = np.arange(len(cluster)) - (np.cumsum(sizes) - sizes)[cluster]
    return Parts(cluster, rank, part, len(sizes) if clusters is None else clusters)


@dataclass(frozen=True, slots=True)
class Rule:
    """What makes a value shared: k entities, of whom none outweighs the others.

    Parameters
    ----------
    k
        The least number of entities.
    n, share
        The most of the weight that the n heaviest may have.
    p
        The least that the weights besides the two heaviest must be, in percent of the heaviest.
    """

    k: int
    n: int
    share: float
    p: float

    @classmethod
    def of(cls, release: Release) -> Rule:
        """Take what a release demands."""
        how, k = release.validate.dominance, release.aggregate.k
        return cls(k, how.n, *how.limits(k))

    def outweighs(self, found: Parts) -> NDArray[np.bool_]:
        """Say in which clusters few have too much of the weight."""
        return found.share(self.n) > self.share + ROUNDING

    def estimable(self, found: Parts) -> NDArray[np.bool_]:
        """Say in which clusters too little is left besides the two heaviest."""
        return found.remainder() < self.p - ROUNDING

    def holds(self, found: Parts) -> NDArray[np.bool_]:
        """Say which clusters have enough entities that contribute, and none that dominates."""
        few = found.entities() < self.k
        return ~(few | self.outweighs(found) | self.estimable(found))

    def exposes(
        self,
        encoded: Encoded,
        shown: NDArray[np.float64],
        labels: NDArray[np.integer],
        entities: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Say which clusters show of a column what one entity alone has.

        A median is one entity's if it is the least or the largest value and nobody else's; a mode
        if another value has more entities, but less weight; what a medoid has of a column that has
        an order, or has none, likewise. An ancestor is of all. Where a share of 1 is asked for, so
        is this.
        """
        import numpy as np

        there = ~encoded.missing
        codes, labels, entities = encoded.codes[there], labels[there], entities[there]
        found = np.zeros(len(shown), bool)
        statistic = encoded.how.statistic
        if statistic in ("mean", "ancestor") or self.share >= 1 or not len(codes):
            return found
        # Each value of a cluster once for each entity that has it.
        own = numbered(len(codes), [labels, np.unique(codes, return_inverse=True)[1]])
        once = np.unique(numbered(len(codes), [own, entities]), return_index=True)[1]
        values = np.unique(own, return_index=True)[1]
        many, cluster, code = np.bincount(own[once]), labels[values], codes[values]
        alone = np.bincount(cluster, (many == 1) & (code == shown[cluster]), len(found)) > 0
        if statistic == "mode" or encoded.how.type in ("nominal", "boolean"):
            return alone & (np.bincount(cluster, many > 1, len(found)) > 0)
        least, largest = np.full(len(found), np.inf), np.full(len(found), -np.inf)
        np.minimum.at(least, cluster, code)
        np.maximum.at(largest, cluster, code)
        return np.asarray(alone & ((shown == least) | (shown == largest)))
