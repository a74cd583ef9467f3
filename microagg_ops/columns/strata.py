"""Strata: what clusters never cross, and what becomes of those with fewer than k entities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Count = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]


@dataclass(frozen=True)
class Strata:
    """The strata of a table, each with k entities or more.

    Parameters
    ----------
    table
        The rows that are left, the columns of strata as they will be published.
    rows
        Their numbers in the table that was given.
    codes
        Row to stratum: 0, 1, … in the order in which they first appear.
    merged, dropped
        Strata that were too small, and the rows that this concerned.
    dropped_entities
        Those with a row that was dropped.
    under_null
        The rows whose strata were merged under NULL.
    """

    table: pa.Table
    rows: NDArray[np.int64]
    codes: NDArray[np.int64]
    merged: tuple[int, int] = (0, 0)
    dropped: tuple[int, int] = (0, 0)
    dropped_entities: int = 0
    under_null: NDArray[np.bool_] | None = None

    @property
    def joined(self) -> NDArray[np.bool_]:
        """Whether the stratum of each row was merged under NULL."""
        import numpy as np

        return np.zeros(len(self.rows), bool) if self.under_null is None else self.under_null


def settled(
    table: pa.Table,
    names: Sequence[str],
    entities: NDArray[np.int64],
    k: int,
    *,
    rule: str,
    what: str = "entities",
    count: Count | None = None,
) -> Strata:
    """Find the strata, and deal with those that have fewer than k entities.

    Parameters
    ----------
    table
        The rows, with the columns that make the strata.
    names
        Those columns.
    entities
        Row to entity.
    k
        The least number of entities.
    rule
        error, merge or drop.
    what
        What is counted, for the error.
    count
        Counts the different entities of each stratum.
    """
    import numpy as np

    count = count or distinct_by
    codes = stratum_codes(table, names)
    sizes = count(codes, entities)
    rows = np.arange(table.num_rows)
    small = sizes < k
    if not small.any():
        return Strata(table, rows, codes)
    if rule == "merge":
        return _merged(table, names, entities, k, count)
    if rule == "error" or small.all():
        raise DataError(
            f"A stratum of {', '.join(names)} has {sizes.min()} {what}, fewer than k = {k}.",
            code="small_stratum",
            hint="Lower k, or let small_strata be merge or drop.",
        )
    rows = np.flatnonzero(~small[codes])
    left = table.take(rows)
    gone = (int(small.sum()), table.num_rows - len(rows))
    whose = len(np.unique(entities[small[codes]]))
    found = stratum_codes(left, names)
    return Strata(left, rows, found, dropped=gone, dropped_entities=whose)


def _merged(
    table: pa.Table, names: Sequence[str], entities: NDArray[np.int64], k: int, count: Count
) -> Strata:
    """Join small strata under NULL, which would tell them apart no more."""
    import numpy as np

    joined = np.zeros(table.num_rows, bool)
    while True:
        now = suppressed(table, names, joined)
        codes = stratum_codes(now, names)
        sizes = count(codes, entities)
        small = np.flatnonzero(sizes < k)
        if not len(small):
            first = stratum_codes(table, names)
            many = (len(np.unique(first[joined])), int(joined.sum()))
            return Strata(now, np.arange(len(codes)), codes, merged=many, under_null=joined)
        if joined[codes == small[0]].all() and len(small) == 1:
            # Only the joined ones are left: with them goes the smallest of the others.
            others = [g for g in range(len(sizes)) if g != small[0]]
            small = np.array([small[0], min(others, key=lambda g: (sizes[g], g))])
        joined |= np.isin(codes, small)


def suppressed(table: pa.Table, names: Sequence[str], rows: NDArray[np.bool_]) -> pa.Table:
    """Set columns to NULL in some rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in names:
        column = table[name]
        empty = pa.scalar(None, column.type)
        table = table.set_column(
            table.column_names.index(name), name, pc.if_else(pa.array(rows), empty, column)
        )
    return table


def stratum_codes(table: pa.Table, names: Sequence[str]) -> NDArray[np.int64]:
    """Enumerate strata 0, 1, … in the order in which they first appear."""
    import pyarrow.compute as pc

    encoded = (
        pc.dictionary_encode(table[name].combine_chunks(), null_encoding="encode").indices
        for name in names
    )
    return numbered(table.num_rows, (indices.to_numpy() for indices in encoded))


def numbered(rows: int, columns: Iterable[NDArray[Any]]) -> NDArray[np.int64]:
    """Enumerate combinations of whole numbers 0, 1, … in order of first appearance."""
    import numpy as np

    codes = np.zeros(rows, np.int64)
    for column in columns:
        pairs = codes * (int(column.max(initial=0)) + 1) + column
        _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
        codes = np.argsort(np.argsort(first))[inverse]
    return codes


def distinct_by(groups: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the distinct values in each group."""
    import numpy as np

    pairs = np.unique(groups * (int(values.max()) + 1) + values)
    return np.bincount(pairs // (int(values.max()) + 1))


def rows_by(groups: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Return the rows of each group, in the order of the groups."""
    import numpy as np

    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
