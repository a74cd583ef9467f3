"""Dominance: published means that a few entities make up by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from microagg_ops.columns.strata import numbered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What is reported where the release sets no limit.
DOMINANT = 0.5


@dataclass(frozen=True, slots=True)
class Parts:
    """What each entity contributes to the total of each cluster that it is in.

    Parameters
    ----------
    cluster, rank, part
        One entry an entity and cluster: the largest of a cluster has rank 0.
    """

    cluster: NDArray[np.int64]
    rank: NDArray[np.int64]
    part: NDArray[np.float64]

    def share(self, n: int) -> NDArray[np.float64]:
        """Give the share of each total that its n largest make up; 0 where there is nothing."""
        import numpy as np

        top, total = self._sum(self.rank < n), self._sum(self.rank >= 0)
        return np.where(total > 0, top / np.where(total > 0, total, 1.0), 0.0)

    def remainder(self) -> NDArray[np.float64]:
        """Give what each total has besides its two largest, in percent of the largest.

        This is how closely the second, who knows its own part, can estimate the first.
        """
        import numpy as np

        first, rest = self._sum(self.rank == 0), self._sum(self.rank > 1)
        return np.where(first > 0, 100 * rest / np.where(first > 0, first, 1.0), np.inf)

    def _sum(self, these: NDArray[np.bool_]) -> NDArray[np.float64]:
        import numpy as np

        clusters = int(self.cluster.max()) + 1
        return np.bincount(self.cluster[these], self.part[these], clusters).astype(np.float64)


def parts(
    values: NDArray[np.float64], labels: NDArray[np.int32], entities: NDArray[np.int64]
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
    return Parts(cluster, rank, part)
