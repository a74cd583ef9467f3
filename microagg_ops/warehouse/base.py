"""What a warehouse can do, and how its refusals become errors that show no data."""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError, MicroaggError, ReleaseError, WarehouseError
from microagg_ops.release.condition import Condition, resolve
from microagg_ops.sql import TableName, quote

if TYPE_CHECKING:
    import pyarrow as pa

# How the names of types of numbers begin, in DuckDB and in PostgreSQL.
NUMBERS = re.compile(r"(u?(small|big|tiny|huge)?int(eger)?|numeric|decimal|real|double|float)\b")

# What to do about a connection that is refused, by the code of the refusal.
ADVICE = {
    "unknown_host": "Correct the host of the connection.",
    "bad_login": "Correct login and password of the connection.",
    "no_database": "Correct the database (the schema of an Airflow connection).",
    "bad_option": "Correct the extra of the connection.",
    "no_tls": "Correct sslmode and the certificates in the extra of the connection.",
}


class Commit:
    """The moment that a write becomes true: a warehouse enters it around its commit alone.

    Before it the target is as it was; after it the rows are published, whatever happens then.
    """

    def __init__(self, begin: Callable[[], object] | None = None) -> None:
        self._begin = begin
        self.began = self.done = False

    def __enter__(self) -> None:
        if self._begin is not None:
            self._begin()
        self.began, self.done = True, False

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.done = kind is None


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to publish, and what they replace.

    Parameters
    ----------
    data
        The rows, columns in their published order.
    types
        The SQL type of a column in a table that is made new, where it is known.
    interval
        The column and value that mark the rows of one interval; ``None`` replaces all rows.
    commit
        Entered around the commit.
    """

    data: pa.Table
    types: Mapping[str, str]
    interval: tuple[str, datetime] | None = None
    commit: Commit = field(default_factory=Commit, compare=False)


class Warehouse(ABC):
    """A database that tables are read from and published to."""

    kind: str
    # What sqlglot calls the SQL of the warehouse.
    dialect: str
    # Whether `write` enters ``rows.commit``; signals wait for the whole of a write that does not.
    tells_commit: bool = False

    @abstractmethod
    def describe(self, table: TableName) -> dict[str, str] | None:
        """List the columns of a table with their SQL types, in order; ``None`` if there is none."""

    @abstractmethod
    def read(
        self,
        table: TableName,
        columns: Mapping[str, str],
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        """Read columns (name to SQL type) of the rows that meet a condition.

        The condition is checked against the columns of the table, and written anew.
        """

    @abstractmethod
    def write(self, table: TableName, rows: Rows) -> None:
        """Replace the table's rows, or those of an interval, in one transaction."""

    @abstractmethod
    def identity(self, table: TableName) -> tuple[str, ...]:
        """Return a key that is the same for two names of one table."""

    @abstractmethod
    def dataset(self, table: TableName) -> tuple[str, str]:
        """Return the namespace and the name of a table in OpenLineage; nothing is asked of it."""

    @abstractmethod
    def make_schema(self, name: str) -> None:
        """Make a schema, if there is none of this name."""

    def drop(self, table: TableName) -> None:
        """Remove a table, if there is one: what was tried on a warehouse leaves nothing."""
        raise WarehouseError(
            f"Tables of the {self.kind} warehouse cannot be dropped.",
            code="no_drop",
            retryable=False,
        )

    def reach(self) -> None:
        """Open the warehouse, and ask it something: an error says why that cannot be."""
        self.describe(TableName(("microagg_reach",)))

    def require(self, table: TableName) -> dict[str, str]:
        """Describe a table that must be there."""
        found = self.describe(table)
        if found is None:
            raise DataError(
                f"There is no table {str(table)!r} in the {self.kind} warehouse.",
                code="no_table",
                hint="Check the name, its schema and the rights of the connection.",
            )
        return found

    def check_condition(self, where: Condition) -> None:
        """Refuse what could be more than a condition, before the database is asked anything."""
        try:
            where.check(self.dialect)
        except ValueError as error:
            raise ReleaseError(
                f"The condition on the source holds {error}.",
                code="bad_where",
                hint="Write one SQL condition on its columns; a view can hold what is more.",
            ) from None

    def condition(
        self,
        where: Condition,
        described: Iterable[str],
        placeholder: Callable[[str], str],
        quoted: Callable[[str], str] = quote,
    ) -> str:
        """Write a condition that was checked on the columns of a table."""
        names = list(described)

        def column(name: str, as_written: bool) -> str:
            found = resolve(name, as_written, names, self.dialect)
            if found is None:
                raise no_column("The source", name, names, "source.where names it.")
            return quoted(found)

        return where.written(self.dialect, column, placeholder)


def no_column(where: str, name: str, names: Sequence[str], why: str = "") -> DataError:
    """Say that a column is not there, and which was meant perhaps."""
    lower = {found.lower(): found for found in names}
    close = [lower[c] for c in difflib.get_close_matches(name.lower(), lower, 1)]
    meant = f"Did you mean {close[0]!r}?" if close else f"It has {len(names)} others."
    return DataError(
        f"{where} has no column {name!r}.", code="no_column", hint=f"{why} {meant}".lstrip()
    )


def refuse_types(columns: Mapping[str, str], refused: Mapping[str, str]) -> None:
    """Refuse SQL types that the driver would alter; ``refused`` says what to cast them to."""
    for name, kind in columns.items():
        if kind.upper() in refused:
            raise DataError(
                f"Column {name!r} is of type {kind}, which cannot be carried exactly.",
                code="bad_type",
                hint=f"Cast the column to {refused[kind.upper()]} in a view.",
            )


def check_target(table: TableName, found: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a target that has other columns than those to be published."""
    if list(found) == list(wanted):
        return
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    how = "; ".join(
        f"{what}: {', '.join(names)}"
        for what, names in (("it lacks", missing), ("it has besides", extra))
        if names
    )
    raise DataError(
        f"The target {str(table)!r} exists with other columns ({how or 'in another order'}).",
        code="target_differs",
        hint="Publish to another table, or drop or alter this one first.",
    )


def comparable(data: pa.Table, types: Mapping[str, str]) -> list[str]:
    """Name the columns that a type of the target could alter.

    Text fits or is refused, but for text of digits in a column of numbers: 02 would become 2.
    """
    import pyarrow.types as t

    def is_kept(field: pa.Field) -> bool:
        if t.is_string(field.type) or t.is_large_string(field.type):
            return NUMBERS.match(types[field.name].lower()) is None
        return bool(t.is_binary(field.type) or t.is_null(field.type))

    return [field.name for field in data.schema if not is_kept(field)]


def refuse_altered(table: TableName, altered: int) -> None:
    """Refuse a target that does not hold the rows as they were validated."""
    if altered:
        raise DataError(
            f"The target {str(table)!r} has a column whose type alters {altered} of the rows.",
            code="target_alters",
            hint="Give its columns the types of the published table, or publish to a new table.",
        )


def naive_utc(moment: datetime) -> datetime:
    """Express a moment in UTC without a zone: sessions run in UTC, so it compares with any type."""
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(UTC).replace(tzinfo=None)


@contextmanager
def refusals(
    kind: str, doing: str, errors: type[Exception] | tuple[type[Exception], ...], judge: Any
) -> Iterator[None]:
    """Turn a driver's exception into ours.

    A driver's text may quote data, at any time: a cast that reads a catalogue fails on a row with
    the code of an unknown name. So none of it is shown. ``judge(error)`` says whether a retry may
    help, what code the refusal has, and what to say of it in words of our own.
    """
    try:
        yield
    except MicroaggError:
        raise
    except errors as error:
        retryable, code, text = judge(error)
        shown = f": {text}" if text else ""
        raise WarehouseError(
            f"The {kind} warehouse refused {doing} ({type(error).__name__}{shown}).",
            code=code,
            retryable=retryable,
            hint=ADVICE.get(code, "" if retryable else "A retry will not help."),
        ) from None
