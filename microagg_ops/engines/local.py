"""The engine of one machine: columns are NumPy arrays, and blocks are partitioned in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from microagg_ops.columns.strata import distinct_by
from microagg_ops.engines.base import Engine, Moments
from microagg_ops.engines.blocks import Block, Clusters, find_clusters
from microagg_ops.methods.partition import Progress, no_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LocalEngine(Engine["NDArray[np.float64]"]):
    """All rows in the memory of one process; methods use its threads themselves."""

    def moments(self, values: NDArray[np.float64]) -> Moments:
        """Compute moments and ends by NumPy."""
        import numpy as np

        with np.errstate(over="ignore", invalid="ignore"):
            found = values.mean(), values.std(), values.min(), values.max()
        return Moments(*map(float, found))

    def quantiles(self, values: NDArray[np.float64], shares: Sequence[float]) -> tuple[float, ...]:
        """Find quantiles by NumPy."""
        import numpy as np

        with np.errstate(over="ignore", invalid="ignore"):
            return tuple(np.quantile(values, shares).tolist())

    def class_sizes(
        self, classes: NDArray[np.int64], entities: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Count different pairs."""
        return distinct_by(classes, entities)

    def clusters(
        self, blocks: Iterable[Block], progress: Progress = no_progress
    ) -> Iterator[Clusters]:
        """Partition one block after the other."""
        done = 0.0
        for block in blocks:

            def tell(part: float, done: float = done, share: float = block.share) -> None:
                progress(done + part * share)

            yield find_clusters(block, tell)
            done += block.share


LOCAL = LocalEngine()
