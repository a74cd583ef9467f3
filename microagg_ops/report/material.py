"""What the stages of a run left for its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import Encoded, read
from microagg_ops.columns.pairs import paired
from microagg_ops.metrics.tables import Pairs
from microagg_ops.release.model import Release

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Alternative:
    """A method that was tried on this table.

    Parameters
    ----------
    method
        Its name.
    information_loss
        SSE/SST in percent, on the values that it would publish.
    table
        What it would publish, rows as in `Material.before`.
    """

    method: str
    information_loss: float
    table: pa.Table


@dataclass(frozen=True)
class Material:
    """What a report is made of.

    Parameters
    ----------
    release, run_id, interval
        What was run.
    extracted, aggregated
        The summaries of these stages.
    verdict, treatment, groups, types
        The documents that stages left.
    before, after
        The published rows as they were and as they are, row by row, with the entity key.
    old
        The quasi-identifiers before, as codes.
    weights
        Of these rows.
    input_digest
        Of the rows that were read, keyed.
    strata
        How many strata there are.
    tried
        Other methods that were tried on the table.
    notes
        What could not be measured, and why.
    earlier
        The manifests of earlier runs of the release, latest first.
    """

    release: Release
    run_id: str
    interval: tuple[datetime, datetime] | None
    extracted: Mapping[str, Any]
    aggregated: Mapping[str, Any]
    verdict: Mapping[str, Any]
    treatment: Mapping[str, Any]
    groups: Sequence[Sequence[str]]
    types: Mapping[str, str]
    before: pa.Table
    after: pa.Table
    old: Mapping[str, Encoded]
    weights: NDArray[np.float64]
    input_digest: str
    strata: int = 1
    warnings: Sequence[str] = ()
    tried: Sequence[Alternative] = ()
    notes: Sequence[str] = ()
    earlier: Sequence[Mapping[str, Any]] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def new(self) -> dict[str, Encoded]:
        """The quasi-identifiers after, in the codes of before."""
        return self.encode(self.after)

    @cached_property
    def pairs(self) -> Pairs:
        """Both sides as measures read them."""
        return paired(self.old, self.new)

    @cached_property
    def entities(self) -> NDArray[np.int64]:
        """Row to entity; without a key every row is one."""
        import numpy as np

        key = self.release.columns.entity
        if key is None:
            return np.arange(self.before.num_rows)
        return np.asarray(self.before[key].to_numpy(), np.int64)

    def encode(self, table: pa.Table) -> dict[str, Encoded]:
        """Read the quasi-identifiers of a protected table in the codes of before."""
        return {
            name: read(name, old.how, table[name], old.categories) for name, old in self.old.items()
        }

    def pairs_with(self, table: pa.Table) -> Pairs:
        """Read the quasi-identifiers before and in a protected table, as the release reads them."""
        return paired(self.old, self.encode(table))
