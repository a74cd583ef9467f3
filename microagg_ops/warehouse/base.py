"""What a warehouse can do, and how its refusals become errors that show no data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError, MicroaggError, WarehouseError
from microagg_ops.sql import TableName

if TYPE_CHECKING:
    import pyarrow as pa


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
    """

    data: pa.Table
    types: Mapping[str, str]
    interval: tuple[str, datetime] | None = None


class Warehouse(ABC):
    """A database that tables are read from and published to."""

    kind: str

    @abstractmethod
    def describe(self, table: TableName) -> dict[str, str] | None:
        """Give the columns of a table with their SQL types, in order; ``None`` if there is none."""

    @abstractmethod
    def read(
        self,
        table: TableName,
        columns: Mapping[str, str],
        where: str | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        """Read columns (name to SQL type) of the rows that meet a condition."""

    @abstractmethod
    def write(self, table: TableName, rows: Rows) -> None:
        """Replace the table's rows, or those of an interval, in one transaction."""

    @abstractmethod
    def identity(self, table: TableName) -> tuple[str, ...]:
        """Give a key that is the same for two names of one table."""

    @abstractmethod
    def dataset(self, table: TableName) -> tuple[str, str]:
        """Give the namespace and the name of a table in OpenLineage; nothing is asked of it."""

    @abstractmethod
    def make_schema(self, name: str) -> None:
        """Make a schema, if there is none of this name."""

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


def comparable(data: pa.Table) -> list[str]:
    """Name the columns that a type of the target could alter; text fits or is refused."""
    import pyarrow.types as t

    kept = (t.is_string, t.is_large_string, t.is_binary, t.is_null)
    return [field.name for field in data.schema if not any(is_(field.type) for is_ in kept)]


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

    A driver's text may quote data. ``judge(error)`` says whether a retry may help, what code the
    refusal has, and gives the text only where it cannot come from a row.
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
            hint="" if retryable else "A retry will not help.",
        ) from None


def first_line(error: Exception) -> str:
    """Give the first line of a driver's text, without its trailing point."""
    return str(error).strip().split("\n", 1)[0].rstrip(".")
