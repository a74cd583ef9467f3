"""What stages ask of a table: the seam that every engine fills.

A stage decides, an engine counts. What an engine is asked has a small answer (a few moments, a size
a class) or is a task that needs nothing but itself (`microagg_ops.engines.blocks`), so that neither
a stage nor the driver of a cluster must hold all rows for it. Answers may not depend on the order
of the rows, nor on where a block was partitioned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from microagg_ops.methods.partition import Progress, no_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.engines.blocks import Block, Clusters

#: What an engine holds a column of numbers as: an array here, an expression elsewhere.
Column = TypeVar("Column")


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean, standard deviation (of the population) and ends of a column without NULLs."""

    mean: float
    deviation: float
    least: float
    largest: float


class Engine(ABC, Generic[Column]):
    """One way to answer what stages ask."""

    @abstractmethod
    def moments(self, values: Column) -> Moments:
        """Compute moments and ends; what is too large to be squared has no finite deviation."""

    @abstractmethod
    def quantiles(self, values: Column, shares: Sequence[float]) -> tuple[float, ...]:
        """Find quantiles, interpolated between neighbours."""

    @abstractmethod
    def class_sizes(self, classes: Any, entities: Any) -> NDArray[np.int64]:
        """Count the different entities of each class.

        Parameters
        ----------
        classes, entities
            Row to class 0, 1, …, and row to entity.
        """

    @abstractmethod
    def clusters(
        self, blocks: Iterable[Block], progress: Progress = no_progress
    ) -> Iterator[Clusters]:
        """Partition blocks, each by itself; yield what was found in the order of the blocks.

        Parameters
        ----------
        blocks
            Made one after the other, so that an engine need not hold all of them at a time.
        progress
            Told the share that is done, each block counting by its own share.
        """
