"""Columns recoded before anything else looks at them, as a view of the source would.

Losses, risks and totals are measured from what a column holds then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import ACCEPTED
from microagg_ops.errors import DataError
from microagg_ops.release.columns import Quasi
from microagg_ops.release.hierarchy import ROOT, level_of, steps_of

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
TRUTHS = {
    **dict.fromkeys(("1", "1.0", "true", "t", "yes", "y"), True),
    **dict.fromkeys(("0", "0.0", "false", "f", "no", "n"), False),
}
LARGEST = 2**63


def recoded(table: pa.Table, quasi: Mapping[str, Quasi]) -> pa.Table:
    """Recode the quasi-identifiers of a table as the release says."""
    for i, name in enumerate(table.column_names):
        how = quasi.get(name)
        if how is None:
            continue
        column = as_cast(name, how, table[name])
        if how.hierarchy is not None:
            column = generalized(name, how, column)
        if how.is_coded:
            column = coded(how, column)
        if column is not table[name]:
            table = table.set_column(i, name, column)
    return table


def as_cast(name: str, how: Quasi, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast a column to its declared type, if the release says so and it is of another one."""
    import pyarrow as pa
    import pyarrow.types as t

    if not how.cast or t.is_null(column.type):
        return column
    if any(getattr(t, test)(column.type) for test in ACCEPTED[how.type]):
        return column
    read, kind = Reader(how.cast if isinstance(how.cast, str) else None).of(how.type)
    found = mapped(name, column, read, f"cannot be cast to {how.type}", "bad_cast")
    if how.type == "decimal":
        kind = pa.decimal128(38, max((-c.as_tuple().exponent for c in found if c), default=0))
    return pa.chunked_array([pa.array(found, kind)])


def mapped(
    name: str, column: pa.ChunkedArray, read: Callable[[Any], Any], failed: str, code: str
) -> list[Any]:
    """Map each different value once; where one has no image, say in how many rows it is."""
    encoded = column.combine_chunks().dictionary_encode()
    images = [read(value) for value in encoded.dictionary.to_pylist()]
    places = encoded.indices.to_pylist()
    bad = sum(place is not None and images[place] is None for place in places)
    if bad:
        raise DataError(
            f"Quasi-identifier {name!r} {failed} in {bad} of {len(places)} rows.",
            code=code,
            hint="Correct columns.quasi, or the column in a view.",
        )
    return [None if place is None else images[place] for place in places]


@dataclass(frozen=True)
class Reader:
    """Reads cells of one type as those of another.

    Parameters
    ----------
    form
        How dates and moments are written, as `datetime.strptime` has it; by default ISO 8601.
    """

    form: str | None = None

    def of(self, declared: str) -> tuple[Callable[[Any], Any], pa.DataType]:
        """Return what reads a cell, nothing for one that is none, and the Arrow type of that."""
        import pyarrow as pa

        kinds: dict[str, tuple[Callable[[Any], Any], pa.DataType]] = {
            "boolean": (self.truth, pa.bool_()),
            "number": (self.number, pa.float64()),
            "integer": (self.whole, pa.int64()),
            "decimal": (self.decimal, None),
            "date": (self.day, pa.date32()),
            "timestamp": (self.moment, pa.timestamp("us")),
            "ordinal": (self.whole, pa.int64()),
            "nominal": (self.text, pa.string()),
        }
        return kinds[declared]

    def truth(self, cell: Any) -> bool | None:
        """Read 0 and 1, or words for them."""
        return TRUTHS.get(str(cell).strip().lower())

    def decimal(self, cell: Any) -> Decimal | None:
        """Read digits."""
        if isinstance(cell, bool | date):
            return None
        text = str(cell).strip()
        return Decimal(text) if NUMBER.fullmatch(text) else None

    def number(self, cell: Any) -> float | None:
        """Read a number."""
        found = float(cell) if isinstance(cell, bool) else self.decimal(cell)
        return None if found is None else float(found)

    def whole(self, cell: Any) -> int | None:
        """Read a whole number, however it is written."""
        found = Decimal(cell) if isinstance(cell, bool) else self.decimal(cell)
        if found is None or found != found.to_integral_value() or not -LARGEST <= found < LARGEST:
            return None
        return int(found)

    def day(self, cell: Any) -> date | None:
        """Read a day; of a moment only its day stays."""
        found = self.moment(cell)
        return None if found is None else found.date()

    def moment(self, cell: Any) -> datetime | None:
        """Read a moment; one that tells its zone becomes one of UTC."""
        if isinstance(cell, date) and not isinstance(cell, datetime):
            return datetime(cell.year, cell.month, cell.day)
        if not isinstance(cell, datetime):
            try:
                text = str(cell).strip()
                cell = (
                    datetime.strptime(text, self.form)
                    if self.form
                    else datetime.fromisoformat(text)
                )
            except ValueError:
                return None
        found: datetime = cell
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)

    def text(self, cell: Any) -> str | None:
        """Write a day, a moment or a number as text; whole numbers without a point."""
        if isinstance(cell, str):
            return cell
        whole = None if isinstance(cell, date) else self.whole(cell)
        return str(cell if whole is None or isinstance(cell, bool) else whole)


def generalized(name: str, how: Quasi, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write categories as text, of the level that the release asks for; all must be known."""
    import pyarrow as pa

    hierarchy = how.hierarchy or ""
    steps, level = steps_of(hierarchy), level_of(hierarchy, how.level)
    write = Reader().text

    def lifted(cell: Any) -> str | None:
        path = [write(cell)]
        for step in steps:
            path.append(None if path[-1] is None else step(path[-1]))
        return None if path[-1] is None or path[0] == ROOT else path[level]

    failed = "holds what its hierarchy does not have"
    return pa.chunked_array(
        [pa.array(mapped(name, column, lifted, failed, "not_in_hierarchy"), pa.string())]
    )


def coded(how: Quasi, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Round values to multiples, then bring those below the bottom and above the top there."""
    import pyarrow.compute as pc

    kind = column.type
    if how.round is not None:
        column = pc.round_to_multiple(column, multiple=bound(how, how.round, kind)).cast(kind)
    for limit, choose in ((how.bottom, pc.max_element_wise), (how.top, pc.min_element_wise)):
        if limit is not None:
            column = choose(column, bound(how, limit, kind), skip_nulls=False)
    return column


def bound(how: Quasi, limit: Any, kind: pa.DataType) -> pa.Scalar:
    """Return a limit in the type of a column."""
    import pyarrow as pa

    if how.type == "date":
        return pa.scalar(date.fromisoformat(limit)).cast(kind)
    if how.type == "timestamp":
        return pa.scalar(datetime.fromisoformat(limit), pa.timestamp("us")).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(str(limit)).quantize(Decimal(1).scaleb(-kind.scale)), kind)
    return pa.scalar(limit).cast(kind)
