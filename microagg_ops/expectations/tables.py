"""A table as expectations see it, whichever engine holds it.

Each engine gives the same few counts of a table. Wherever it holds: NULL equals NULL, NaN is NULL
and -0.0 is 0.0; a NULL in an entity key is an entity; an error says no more than its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from microagg_ops.errors import DataError
from microagg_ops.metrics.anonymity import class_sizes
from microagg_ops.metrics.loss import ByColumn, standardized_loss
from microagg_ops.metrics.tables import column_names, column_of, measured, one_class, refined
from microagg_ops.metrics.values import Values, values_of, values_of_counts, values_of_entities

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

# What a column holds, in the words of a release file.
ORDERED = ("number", "integer", "decimal", "boolean", "date", "timestamp")
KINDS = (*ORDERED, "text", "other")
# What of a row of a ledger is a step of a trace.
STEP = ("class", "since", "until", "changed")


@dataclass(frozen=True)
class Total:
    """The total of a column, and that of its absolute values; of how many rows."""

    total: float
    size: float
    rows: int


class Table(Protocol):
    """What an engine can tell of a table."""

    def rows(self) -> int:
        """Count the rows."""
        ...

    def kinds(self) -> dict[str, str]:
        """Return the columns in their order, each with what it holds."""
        ...

    def sizes(self, columns: Sequence[str], entity: str | None) -> dict[int, int]:
        """Count the classes by the number of their entities (without a key: of their rows)."""
        ...

    def null_rows(self, columns: Sequence[str]) -> int:
        """Count the rows that are NULL in some column."""
        ...

    def values(self, columns: Sequence[str], sensitive: str, entity: str | None) -> Values:
        """Count who has each value of a sensitive column in each class."""
        ...

    def total(self, column: str, weight: str | None) -> Total:
        """Sum a column up, each row by its weight; NULL is left out."""
        ...

    def loss(self, columns: Mapping[str, str]) -> ByColumn:
        """Compute SSE/SST of protected columns from their originals in percent."""
        ...

    def traces(self) -> dict[int, int]:
        """Count the traces of a ledger's epoch by the number of their entities."""
        ...

    def fetch(self, columns: Sequence[str]) -> pa.Table:
        """Take columns out of the engine, for what it cannot do in its own language."""
        ...


def class_columns(quasi: Sequence[str], strata: Sequence[str]) -> list[str]:
    """List the columns that make classes; without any, no row would differ from another."""
    if not quasi:
        raise DataError("A class needs one column or more.", code="no_column")
    return [*quasi, *strata]


def check_ordered(kinds: Mapping[str, str], columns: Sequence[str]) -> None:
    """Refuse columns that are not there or that have no order, and so no sum."""
    for name in columns:
        if name not in kinds:
            raise DataError(f"The table has no column {name!r}.", code="no_column")
        if kinds[name] not in ORDERED:
            raise DataError(f"Column {name!r} holds {kinds[name]}, not numbers.", code="bad_type")


@dataclass(frozen=True)
class FrameTable:
    """A pandas frame."""

    frame: Any

    def rows(self) -> int:
        """Count the rows."""
        return len(self.frame)

    def kinds(self) -> dict[str, str]:
        """Return the columns in their order, each with what it holds; "null" holds nothing."""
        return {name: kind_of(self.type_of(name)) for name in column_names(self.frame)}

    def type_of(self, name: str) -> pa.DataType:
        """Return the Arrow type of a column."""
        return column_of(self.frame, name).type

    def sizes(self, columns: Sequence[str], entity: str | None) -> dict[int, int]:
        """Count the classes by the number of their entities."""
        import numpy as np

        found = np.unique(class_sizes(self.frame, columns, entity), return_counts=True)
        return dict(zip(*(part.tolist() for part in found), strict=True))

    def null_rows(self, columns: Sequence[str]) -> int:
        """Count the rows that are NULL in some column."""
        import numpy as np

        missing = [is_missing(column_of(self.frame, name)) for name in columns]
        return int(np.logical_or.reduce(missing).sum()) if missing else 0

    def values(self, columns: Sequence[str], sensitive: str, entity: str | None) -> Values:
        """Count who has each value of a sensitive column in each class."""
        return values_of(self.frame, columns, sensitive, entity)

    def total(self, column: str, weight: str | None) -> Total:
        """Sum a column up, each row by its weight."""
        import math

        import numpy as np

        names = [column, *([weight] if weight else [])]
        check_ordered(self.kinds_of(names), names)
        values = measured(column_of(self.frame, column))
        if weight:
            values = values * measured(column_of(self.frame, weight))
        values = values[~np.isnan(values)]
        return Total(math.fsum(values), math.fsum(np.abs(values)), len(values))

    def traces(self) -> dict[int, int]:
        """Count the traces of a ledger's epoch by the number of their entities."""
        import numpy as np
        import pyarrow.compute as pc

        ledger = self.fetch(["part", *STEP, "entity"])
        (began,) = ledger.filter(pc.equal(ledger["part"], "series"))["since"].to_pylist()
        members = ledger.filter(
            pc.and_(pc.equal(ledger["part"], "member"), pc.greater_equal(ledger["since"], began))
        ).sort_by([("entity", "ascending"), ("since", "ascending")])
        step = one_class(len(members))
        for name in STEP:
            step = refined(step, coded(members[name]))
        whose = coded(members["entity"])
        first = np.flatnonzero(np.diff(whose, prepend=-1))
        many = np.diff(first, append=len(whose))
        # Step by step: who has the same trace so far, and the same step now, has the same trace.
        found = np.zeros(len(first), np.int64)
        for i in range(int(many.max(initial=0))):
            goes_on = many > i
            now = np.full(len(first), -1)
            now[goes_on] = step.ids[first[goes_on] + i]
            found = np.unique(np.column_stack([found, now]), axis=0, return_inverse=True)[1]
        sizes = np.unique(np.bincount(found)[np.bincount(found) > 0], return_counts=True)
        return dict(zip(*(part.tolist() for part in sizes), strict=True))

    def kinds_of(self, names: Sequence[str]) -> dict[str, str]:
        """Return what some columns hold; one that is NULL throughout counts as numbers."""
        found = {name: kind_of(self.type_of(name)) for name in names}
        return {name: "number" if kind == "null" else kind for name, kind in found.items()}

    def loss(self, columns: Mapping[str, str]) -> ByColumn:
        """Compute SSE/SST of protected columns from their originals in percent."""
        both = [*columns, *columns.values()]
        check_ordered(self.kinds_of(both), both)
        if not self.rows():
            return losses_of([], [], [])
        after, before = (self.renamed(columns, side) for side in (columns, columns.values()))
        return standardized_loss(before, after)

    def renamed(self, columns: Mapping[str, str], sources: Any) -> pa.Table:
        """Take columns under the names of the protected ones."""
        import pyarrow as pa

        pairs = zip(columns, sources, strict=True)
        return pa.table({name: column_of(self.frame, source) for name, source in pairs})

    def fetch(self, columns: Sequence[str]) -> pa.Table:
        """Take columns as Arrow."""
        import pyarrow as pa

        return pa.table({name: column_of(self.frame, name) for name in columns})


def numbered_values(found: NDArray[np.int64], *, entities: bool) -> Values:
    """Read rows of class, value, and count or entity: all but counts are numbered from 1."""
    import numpy as np

    parents, ranks, last = (np.ascontiguousarray(column) for column in found.T)
    if not entities:
        return values_of_counts(parents - 1, ranks - 1, last)
    return values_of_entities(refined(one_class(len(found)), parents), ranks - 1, last - 1)


def losses_of(names: Sequence[str], squares: Sequence[float], varies: Sequence[bool]) -> ByColumn:
    """Turn SSE and SST of each column into percent; one without spread has nothing to lose."""
    shares, counted = {}, []
    for i, name in enumerate(names):
        lost, there = squares[2 * i], squares[2 * i + 1]
        shares[name] = 100.0 * lost / there if varies[i] and there > 0 else 0.0
        if varies[i] and there > 0:
            counted.append(shares[name])
    return ByColumn(sum(counted) / len(counted) if counted else 0.0, shares)


def coded(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the values of a column as numbers; NULL is one of them."""
    import numpy as np

    found = column.combine_chunks().dictionary_encode("encode")
    return np.asarray(found.indices.to_numpy(), np.int64)


def is_missing(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Say which rows are NULL or NaN."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    return np.asarray(found.to_numpy())


def kind_of(column: pa.DataType) -> str:
    """Return what an Arrow type holds, in the words of a release file."""
    import pyarrow.types as t

    if t.is_dictionary(column):
        column = column.value_type
    tests = {
        "null": t.is_null, "boolean": t.is_boolean, "integer": t.is_integer,
        "number": t.is_floating, "decimal": t.is_decimal, "date": t.is_date,
        "timestamp": t.is_timestamp, "text": t.is_string,
    }  # fmt: skip
    for kind, holds in tests.items():
        if holds(column):
            return kind
    return "text" if t.is_large_string(column) or t.is_string_view(column) else "other"
