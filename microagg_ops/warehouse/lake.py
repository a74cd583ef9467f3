"""What tables of files share: rows in Arrow both ways, a schema that is exact, one commit.

Parquet holds what Arrow holds, so that only a target that is there already can alter a value; that
is looked for before anything is written. Conditions are DuckDB's.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError, WarehouseError
from microagg_ops.release.condition import Condition, parameters
from microagg_ops.sql import TableName, quote
from microagg_ops.warehouse.base import (
    Rows,
    Warehouse,
    check_target,
    naive_utc,
    refusals,
    refuse_altered,
)

if TYPE_CHECKING:
    import pyarrow as pa


class LakeWarehouse(Warehouse):
    """Tables of Parquet files, each with a log of what belongs to it."""

    dialect = "duckdb"
    tells_commit = True

    @abstractmethod
    def _schema(self, table: TableName) -> pa.Schema | None:
        """Return the columns of a table; ``None`` if there is none."""

    @abstractmethod
    def _rows(self, table: TableName, columns: list[str] | None) -> Any:
        """Return the rows of a table, all columns or some, as DuckDB reads them."""

    @abstractmethod
    def _put(self, table: TableName, data: pa.Table, rows: Rows, *, new: bool) -> None:
        """Replace rows of a table by others that fit it, in one commit."""

    @abstractmethod
    def _judge(self, error: Exception) -> tuple[bool, str, str]:
        """Say of an error whether a retry may help, what code it has, and what it means."""

    @abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]:
        """List the errors of the library."""

    @contextmanager
    def _refusals(self, doing: str) -> Iterator[None]:
        import duckdb
        import pyarrow as pa

        foreign = (duckdb.Error, pa.ArrowException, OSError, ValueError, TypeError)
        with refusals(self.kind, doing, (*foreign, *self._errors()), self._judge):
            yield

    def describe(self, table: TableName) -> dict[str, str] | None:
        import duckdb

        with self._refusals("to describe a table"):
            schema = self._schema(table)
            if schema is None:
                return None
            with duckdb.connect() as con:
                con.register("described", schema.empty_table())
                return {
                    name: kind for name, kind, *_ in con.execute("describe described").fetchall()
                }

    def read(
        self,
        table: TableName,
        columns: Mapping[str, str],
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        import duckdb

        listed, bound, condition = ", ".join(quote(name) for name in columns), {}, ""
        if where is not None:
            self.check_condition(where)
            described = self.require(table)
            condition = f" where ({self.condition(where, described, lambda name: f'${name}')})"
            bound = {name: naive_utc((values or {})[name]) for name in parameters(where.text)}
        with self._refusals("to read the source"), duckdb.connect() as con:
            con.execute("set TimeZone = 'UTC'")
            con.register("rows_of_table", self._rows(table, None if where else list(columns)))
            query = f"select {listed} from rows_of_table{condition}"  # noqa: S608 - quoted
            return con.sql(query, params=bound).to_arrow_table()

    def write(self, table: TableName, rows: Rows) -> None:
        with self._refusals("to write the target"):
            schema = self._schema(table)
            if schema is not None:
                check_target(table, schema.names, rows.data.column_names)
            data = fitted(table, rows.data, schema)
            self._put(table, data, rows, new=schema is None)


def fitted(table: TableName, data: pa.Table, schema: pa.Schema | None) -> pa.Table:
    """Cast rows to the types of the target, if that alters none; a new one takes theirs."""
    import pyarrow as pa

    if len({name.lower() for name in data.column_names}) < len(data.column_names):
        raise DataError(
            "Names of columns differ in upper and lower case alone, which conditions cannot tell.",
            code="bad_name",
            hint="Rename one of them in a view.",
        )
    for i, field in enumerate(data.schema):
        wanted = storable(field.type) if schema is None else schema.field(field.name).type
        if wanted == field.type:
            continue
        try:
            column = data[field.name].cast(wanted)
            back = data[field.name] if pa.types.is_null(field.type) else column.cast(field.type)
        except pa.ArrowException as error:
            raise WarehouseError(
                f"The target {str(table)!r} has a column of another type than {field.name!r} "
                f"({type(error).__name__}).",
                code="refused",
                retryable=False,
                hint="Give its columns the types of the published table, or publish to a new one.",
            ) from None
        if not back.equals(data[field.name]):
            pairs = zip(back.to_pylist(), data[field.name].to_pylist(), strict=True)
            refuse_altered(table, sum(was != now for was, now in pairs))
        data = data.set_column(i, pa.field(field.name, wanted), column)
    return data


def storable(kind: pa.DataType) -> pa.DataType:
    """Return the type that a file has for an Arrow type, where it has none of that kind."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_null(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        return pa.string()
    if t.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    return kind


def marker(rows: Rows, data: pa.Table) -> Any:
    """Return what the column of the interval holds in its rows."""
    import pyarrow as pa

    if rows.interval is None:
        return None
    column, start = rows.interval
    moment = pa.scalar(naive_utc(start), pa.timestamp("us"))
    kind = data.schema.field(column).type
    if pa.types.is_timestamp(kind) and kind.tz:
        return moment.cast(pa.timestamp("us", "UTC")).as_py()
    return moment.cast(kind).as_py()
