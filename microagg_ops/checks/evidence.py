"""What checks may look at: the rows to be published, alone or beside what they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from microagg_ops.columns.contributors import Backed
from microagg_ops.columns.encoding import Encoded
from microagg_ops.metrics.linkage import Linkage
from microagg_ops.release.model import Release

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from microagg_ops.metrics.tables import RowClasses

Groups = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Published:
    """The very bytes to be published, and whose rows they are: what publish counts on again.

    Parameters
    ----------
    release
        What is demanded: of whom, in which classes, with which rule for NULL.
    table
        The rows; where the release has a key of entities, with its column.
    groups
        The columns that were aggregated together.
    """

    release: Release
    table: pa.Table
    groups: Groups

    @cached_property
    def classes(self) -> RowClasses:
        """The classes of all quasi-identifiers within strata."""
        from microagg_ops.metrics.tables import row_classes

        return row_classes(self.table, [*self.release.quasi, *self.release.strata])


class SourceRows(Protocol):
    """The source rows as the aggregator had them, one entry a row."""

    @property
    def before(self) -> Mapping[str, Encoded]:
        """The quasi-identifiers as numbers."""
        ...

    @property
    def entities(self) -> NDArray[np.int64]:
        """The number of the entity."""
        ...

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight."""
        ...


class Evidence(Protocol):
    """The rows to be published beside their source; `microagg_ops.stages.evidence` collects it."""

    @property
    def run(self) -> Any:
        """The run."""
        ...

    @property
    def treatment(self) -> Mapping[str, Any]:
        """What was done to the rows, in counts."""
        ...

    @property
    def release(self) -> Release:
        """What was asked for."""
        ...

    @property
    def protected(self) -> pa.Table:
        """The very bytes to be published."""
        ...

    @property
    def with_entities(self) -> pa.Table:
        """The same with the key that entities are counted by."""
        ...

    @property
    def groups(self) -> Groups:
        """The columns that were aggregated together."""
        ...

    @property
    def declared(self) -> Mapping[str, str | None]:
        """The columns that must be published, in their order, with what they hold if known."""
        ...

    @property
    def has_source(self) -> bool:
        """Whether the source rows are there; all below but `claimed` needs them."""
        ...

    @property
    def claimed(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
        """The weight, the class and the entity of each row that is said to be protected."""
        ...

    @property
    def microdata(self) -> SourceRows:
        """The source rows."""
        ...

    @property
    def labels(self) -> Sequence[NDArray[np.int32]]:
        """The cluster of each source row, by group of columns."""
        ...

    @property
    def after(self) -> Mapping[str, Encoded]:
        """The protected quasi-identifiers as numbers, in the order of the source rows."""
        ...

    @property
    def behind(self) -> Mapping[str, Backed]:
        """What columns with imputed cells should say, and who is behind it."""
        ...

    @property
    def information_loss(self) -> float:
        """SSE/SST in percent."""
        ...

    @property
    def linkage(self) -> Linkage:
        """The rows that are linked within their strata."""
        ...

    @property
    def totals(self) -> Mapping[str, tuple[float, float]]:
        """What columns published as means were in total, and in absolute total."""
        ...

    @property
    def counted(self) -> Mapping[str, str]:
        """The columns, beside the rows, with the values whose totals must be kept."""
        ...

    @property
    def weight(self) -> str | None:
        """The column, beside the rows, with the weights."""
        ...

    @property
    def attacks(self) -> Mapping[str, Any] | None:
        """What attacks found out, where the release sets limits to them."""
        ...
