"""The bench that a warehouse is tried on: tables of our own, and how a claim about them fails."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import MicroaggError
from microagg_ops.release.condition import Condition
from microagg_ops.sql import TableName
from microagg_ops.warehouse.base import Commit, Rows, Warehouse

if TYPE_CHECKING:
    import pyarrow as pa


class BrokenError(Exception):
    """A claim does not hold; says how."""


class LackingError(Exception):
    """A warehouse cannot do what is good to have; says what happens instead."""


class CutError(Exception):
    """What ends a write just before its commit."""


class RefusalError(Exception):
    """A value was refused, and nothing was written."""


@dataclass
class Bench:
    """A warehouse, and the tables made in it."""

    warehouse: Warehouse
    schema: str | None = None
    made: list[TableName] = field(default_factory=list)

    def table(self, name: str = "") -> TableName:
        """Name a table that is nobody's."""
        parts = (f"microagg_{secrets.token_hex(6)}{name}",)
        self.made.append(TableName((self.schema, *parts) if self.schema else parts))
        return self.made[-1]

    def write(
        self, table: TableName, columns: Mapping[str, Any], commit: Commit | None = None
    ) -> None:
        """Replace the rows of a table."""
        self.warehouse.write(table, rows_of(columns, commit))

    def append(self, table: TableName, start: datetime, commit: Commit | None = None) -> None:
        """Write two rows of an interval; they tell when it began."""
        import pyarrow as pa

        moments = pa.array([start.replace(tzinfo=None)] * 2, pa.timestamp("us"))
        columns = {"a": [start.month, -start.month], "since": moments}
        self.warehouse.write(table, rows_of(columns, commit, ("since", start)))

    def read(self, table: TableName, where: str = "", **values: datetime) -> dict[str, list[Any]]:
        """Read all columns of the rows that meet a condition, in the order of the first."""
        described = self.warehouse.require(table)
        condition = Condition(where) if where else None
        found = self.warehouse.read(table, described, condition, values).to_pylist()
        first = next(iter(described))
        found.sort(key=lambda row: (row[first] is None, row[first]))
        return {name: [row[name] for row in found] for name in described}

    def clear(self) -> None:
        """Remove the tables again."""
        while self.made:
            self.warehouse.drop(self.made.pop())


def rows_of(
    columns: Mapping[str, Any],
    commit: Commit | None = None,
    interval: tuple[str, datetime] | None = None,
) -> Rows:
    """Make rows of columns."""
    import pyarrow as pa

    return Rows(pa.table(dict(columns)), {}, interval, commit or Commit())


def expect(found: object, wanted: object, how: str) -> None:
    """Break a claim unless two things are the same."""
    if not same(found, wanted):
        raise BrokenError(how)


def same(found: Any, wanted: Any) -> bool:
    """Whether values are the same: no truth is a number, no moment without a zone has one."""
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(same(found[n], wanted[n]) for n in wanted)
    if isinstance(wanted, list | tuple):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, float) and wanted != wanted:  # noqa: PLR0124
        return bool(found != found)  # noqa: PLR0124
    if isinstance(wanted, bool) or isinstance(found, bool):
        return found is wanted
    if isinstance(wanted, datetime) and isinstance(found, datetime):
        return (wanted.tzinfo is None) == (found.tzinfo is None) and found == wanted
    return bool(found == wanted)


@contextmanager
def refusing(bench: Bench, table: TableName, before: Any = None) -> Iterator[None]:
    """Expect a refusal that no retry heals, and leaves the target as it was."""
    try:
        yield
    except MicroaggError as error:
        if error.retryable:
            raise BrokenError(f"refused as if a retry could help ({error.code})") from None
        if before is None:
            # A database that commits DDL by itself may keep the table, but no row of it.
            left = bench.warehouse.describe(table)
            if left is not None and any(bench.read(table).values()):
                raise BrokenError("refused, but rows were left") from None
        else:
            expect(bench.read(table), before, "refused, but the target is not as it was")
        raise RefusalError(error.code) from None


def carried(values: Sequence[Any], kind: str) -> Callable[[Bench], None]:
    """Claim that values of an Arrow type are carried exactly, or refused."""

    def judge(bench: Bench) -> None:
        import pyarrow as pa

        table, numbers = bench.table(), list(range(len(values) + 1))
        data: pa.Array = pa.array([*values, None], type_named(kind))
        with refusing(bench, table):
            bench.write(table, {"n": numbers, "a": data})
        wanted = {"n": numbers, "a": data.to_pylist()}
        expect(bench.read(table), wanted, "other values came back")
        bench.write(table, {"n": numbers, "a": data})
        expect(bench.read(table), wanted, "other values came back from a table that was there")

    return judge


def type_named(kind: str) -> pa.DataType:
    """Return an Arrow type by its name here."""
    import pyarrow as pa

    return {
        "decimal": lambda: pa.decimal128(15, 2),
        "wide": lambda: pa.decimal128(38, 10),
        "moment": lambda: pa.timestamp("us"),
        "zoned": lambda: pa.timestamp("us", "UTC"),
        "number": pa.float64,
        "date": pa.date32,
        "bytes": pa.binary,
        "whole": pa.int64,
        "text": pa.string,
        "truth": pa.bool_,
        "nothing": pa.null,
    }[kind]()


def cut(bench: Bench, write: Callable[[Commit], None]) -> None:
    """End a write just before its commit."""

    def end() -> None:
        raise CutError

    if not bench.warehouse.tells_commit:
        raise LackingError("its commit cannot be told")
    try:
        write(Commit(end))
    except CutError:
        return
    raise BrokenError("it was written")
