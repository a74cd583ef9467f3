"""What the stages of a run left for its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.coded import Coded, read
from microagg_ops.columns.space import is_nominal
from microagg_ops.metrics.tables import Pairs
from microagg_ops.release import Release

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

DAY = 86_400.0


@dataclass(frozen=True)
class Tried:
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
    weights
        Of these rows.
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
    weights: NDArray[np.float64]
    strata: int = 1
    warnings: Sequence[str] = ()
    tried: Sequence[Tried] = ()
    notes: Sequence[str] = ()
    earlier: Sequence[Mapping[str, Any]] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def old(self) -> dict[str, Coded]:
        """The quasi-identifiers before, as codes."""
        how = self.release.columns.quasi
        return {name: read(name, how[name], self.before[name]) for name in how}

    @cached_property
    def new(self) -> dict[str, Coded]:
        """The quasi-identifiers after, in the codes of before."""
        return self.coded(self.after)

    @cached_property
    def pairs(self) -> Pairs:
        """Both sides as measures read them."""
        return self.pairs_with(self.after)

    @cached_property
    def entities(self) -> NDArray[np.int64]:
        """Row to entity; without a key every row is one."""
        import numpy as np

        key = self.release.columns.entity
        if key is None:
            return np.arange(self.before.num_rows)
        return np.asarray(self.before[key].to_numpy(), np.int64)

    def coded(self, table: pa.Table) -> dict[str, Coded]:
        """Read the quasi-identifiers of a protected table in the codes of before."""
        return {
            name: read(name, old.how, table[name], old.categories) for name, old in self.old.items()
        }

    def pairs_with(self, table: pa.Table) -> Pairs:
        """Give the quasi-identifiers before and in a protected table, as the release reads them."""
        import numpy as np

        new = self.coded(table)
        return Pairs(
            tuple(self.old),
            np.column_stack([values(coded) for coded in self.old.values()]),
            np.column_stack([values(coded) for coded in new.values()]),
            np.array([is_nominal(coded) for coded in self.old.values()], bool),
            True,
        )


def values(coded: Coded) -> NDArray[np.float64]:
    """Give codes in the unit of people: moments in days since 1970; NULL is NaN, or a category."""
    import numpy as np

    if is_nominal(coded):
        return np.where(coded.missing, -1.0, coded.codes)
    if coded.how.type == "timestamp":
        return np.asarray(coded.codes / (DAY * per_second(coded)))
    return np.asarray(coded.codes * coded.unit)


def per_second(coded: Coded) -> float:
    """Give how many steps of a timestamp are a second."""
    return {"s": 1.0, "ms": 1e3}.get(coded.source.unit, 1e6)
