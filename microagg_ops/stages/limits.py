"""The limits on sensitive columns that clusters are built to meet, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from microagg_ops.columns.nulls import blocks
from microagg_ops.methods.limits import Sensitive, held_values, refuse_impossible, spread_of
from microagg_ops.methods.partition import renumbered
from microagg_ops.metrics.tables import column_of, is_ordered
from microagg_ops.metrics.values import value_ranks
from microagg_ops.release.model import Release
from microagg_ops.release.validate import Close, Diverse
from microagg_ops.stages.microdata import Microdata

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Column:
    """A sensitive column of all rows: ranks of values, who has each in the table, and limits."""

    name: str
    ranks: NDArray[np.int64]
    table: NDArray[np.float64]
    diverse: Diverse | None
    close: Close | None


# The columns of what is told of the whole table: a value, and how many have it.
VALUE, SHARE = "value", "share"
NOBODY: Mapping[str, pa.Table] = MappingProxyType({})


def within(whole: pa.Table, part: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rank the values of a part of a table among those of the whole; tell who has each there."""
    import numpy as np
    import pyarrow as pa

    values = pa.chunked_array([*whole[VALUE].cast(part.type).chunks, *part.chunks], part.type)
    ranks = value_ranks(pa.table({VALUE: values}), VALUE)
    spread = np.zeros(int(ranks.max(initial=-1)) + 1)
    spread[ranks[: whole.num_rows]] = whole[SHARE].to_numpy()
    return ranks[whole.num_rows :], spread


@dataclass(frozen=True)
class Limited:
    """The sensitive columns with limits; none where clusters need not be built to meet them."""

    columns: tuple[Column, ...]
    microdata: Microdata

    @classmethod
    def of(
        cls, release: Release, microdata: Microdata, spreads: Mapping[str, pa.Table] = NOBODY
    ) -> Limited:
        """Read the columns that a release limits, as its checks will: entities count once.

        Where the rows are but a part of the table, ``spreads`` has the values of the whole, and
        how many have each.
        """
        table, limits = microdata.strata.table, release.validate
        entities = renumbered(microdata.entities)
        found = []
        for name in dict.fromkeys((*limits.l, *limits.t)) if release.aggregate.aware else ():
            close = limits.t.get(name)
            if close is not None and close.ordered is None:
                close = replace(close, ordered=is_ordered(column_of(table, name).type))
            if name in spreads:
                ranks, spread = within(spreads[name], column_of(table, name))
            else:
                ranks = value_ranks(table, name)
                spread = spread_of(entities, ranks)
            found.append(Column(name, ranks, spread, limits.l.get(name), close))
        return cls(tuple(found), microdata)

    def of_block(
        self, rows: NDArray[np.int64], entities: NDArray[np.int32]
    ) -> tuple[Sensitive, ...]:
        """Take the rows of a block, whose entities are numbers from 0 on."""
        return tuple(
            Sensitive(
                one.name, *held_values(entities, one.ranks[rows]), one.table, one.diverse, one.close
            )
            for one in self.columns
        )

    def enough(self, rows: NDArray[np.int64]) -> bool:
        """Say whether some rows can meet the limits."""
        columns = self.of_block(rows, renumbered(self.microdata.entities[rows]))
        return not any(fault for column in columns for fault in column.faults())

    def refuse_impossible(self, hidden: Iterable[NDArray[np.bool_]]) -> None:
        """Refuse limits that the rows of a block cannot meet, before anything is searched."""
        if not self.columns:
            return
        strata = self.microdata.strata.codes
        for none in hidden:
            for rows in blocks(strata, none):
                where = " of one stratum" if strata.max() else ""
                entities = renumbered(self.microdata.entities[rows])
                refuse_impossible(self.of_block(rows, entities), where)
