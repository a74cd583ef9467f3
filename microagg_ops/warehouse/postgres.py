"""PostgreSQL, in Arrow both ways through ADBC."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from microagg_ops.errors import WarehouseError
from microagg_ops.sql import TableName, bind, quote
from microagg_ops.warehouse.base import (
    Rows,
    Warehouse,
    check_target,
    first_line,
    naive_utc,
    refusals,
)

if TYPE_CHECKING:
    import pyarrow as pa

# What the driver reads into an Arrow type of its own; the rest is read as text.
DIRECT = {
    "smallint", "integer", "bigint", "real", "double precision", "boolean", "text", "date", "bytea",
    "timestamp without time zone", "timestamp with time zone",
}  # fmt: skip


class PostgresWarehouse(Warehouse):
    """A PostgreSQL database."""

    kind = "PostgreSQL"

    def __init__(self, url: str) -> None:
        self._url = url

    @contextmanager
    def _open(self, doing: str) -> Iterator[Any]:
        try:
            import adbc_driver_postgresql.dbapi as adbc
        except ImportError:
            raise WarehouseError(
                "The PostgreSQL driver is not installed.",
                code="no_driver",
                retryable=False,
                hint="Install microagg-ops[postgres].",
            ) from None
        # The context managers close without committing: what was not committed is undone.
        with (
            refusals(self.kind, doing, adbc.Error, _judge),
            adbc.connect(self._url) as con,
            con.cursor() as cursor,
        ):
            cursor.execute("set local time zone 'UTC'")
            yield cursor

    def describe(self, table: TableName) -> dict[str, str] | None:
        with self._open("to describe a table") as cursor:
            return _describe(cursor, table)

    def read(
        self,
        table: TableName,
        columns: Mapping[str, str],
        where: str | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        listed = ", ".join(_readable(name, kind) for name, kind in columns.items())
        query = f"select {listed} from {table.quoted()}"  # noqa: S608 - quoted
        order: list[str] = []
        if where is not None:
            query += f" where ({bind(where, lambda name: _numbered(order, name))})"
        with self._open("to read the source") as cursor:
            cursor.execute(query, _bound([naive_utc((values or {})[name]) for name in order]))
            return cursor.fetch_arrow_table()

    def write(self, table: TableName, rows: Rows) -> None:
        target, passing = table.quoted(), f"microagg_{secrets.token_hex(8)}"
        names = rows.data.column_names
        listed = ", ".join(quote(name) for name in names)
        with self._open("to write the target") as cursor:
            # Two runs of one target wait for each other instead of failing.
            cursor.execute("select pg_advisory_xact_lock(hashtext($1))", _bound([str(table)]))
            cursor.fetchall()
            found = _describe(cursor, table)
            if found is not None:
                check_target(table, list(found), names)
            cursor.adbc_ingest(passing, rows.data, mode="create", temporary=True)
            made = found or _describe(cursor, TableName((passing,))) or {}
            types = {
                name: found[name] if found else rows.types.get(name, made[name]) for name in names
            }
            if found is None:
                definitions = ", ".join(f"{quote(name)} {types[name]}" for name in names)
                cursor.execute(f"create table {target} ({definitions})")
            if rows.interval is None:
                cursor.execute(f"delete from {target}")  # noqa: S608 - quoted
            else:
                column, start = rows.interval
                cursor.execute(
                    f"delete from {target} where {quote(column)} = $1",  # noqa: S608 - quoted
                    _bound([naive_utc(start)]),
                )
            cast = ", ".join(f"cast({quote(name)} as {types[name]})" for name in names)
            cursor.execute(
                f"insert into {target} ({listed}) select {cast} from pg_temp.{quote(passing)}"  # noqa: S608
            )
            cursor.execute(f"drop table pg_temp.{quote(passing)}")
            cursor.connection.commit()

    def identity(self, table: TableName) -> tuple[str, ...]:
        url = urlsplit(self._url)
        with self._open("to find a table") as cursor:
            cursor.execute(
                "select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
                "where c.oid = to_regclass($1)",
                _bound([_local(table)]),
            )
            found = cursor.fetchone()
            if found is None and table.schema is None:
                cursor.execute("select current_schema()")
                found = cursor.fetchone()
        schema = table.schema or str(found[0] if found else "public")
        return (
            "postgresql",
            url.hostname or "",
            str(url.port or 5432),
            url.path,
            schema,
            table.name,
        )


def _local(table: TableName) -> str:
    return ".".join(quote(part) for part in table.parts[-2:])


def _describe(cursor: Any, table: TableName) -> dict[str, str] | None:
    cursor.execute(
        "select attname::text, format_type(atttypid, atttypmod) from pg_attribute "
        "where attrelid = to_regclass($1) and attnum > 0 and not attisdropped order by attnum",
        _bound([_local(table)]),
    )
    return dict(cursor.fetchall()) or None


def _readable(name: str, kind: str) -> str:
    """Give the expression that reads a column into the Arrow type nearest to its own."""
    if kind in DIRECT or kind.startswith(("character", "varchar")):
        return quote(name)
    as_type = "double precision" if kind.startswith("numeric") else "text"
    return f"cast({quote(name)} as {as_type}) as {quote(name)}"


def _numbered(order: list[str], name: str) -> str:
    if name not in order:
        order.append(name)
    return f"${order.index(name) + 1}"


def _bound(values: list[Any]) -> Any:
    """Give parameters with their Arrow types, so that the server need not guess."""
    import pyarrow as pa

    if not values:
        return None
    arrays = [
        pa.array([v], pa.timestamp("us") if isinstance(v, datetime) else None) for v in values
    ]
    return pa.record_batch(arrays, names=[f"p{i}" for i in range(len(arrays))])


def _judge(error: Exception) -> tuple[bool, str, str]:
    state = str(getattr(error, "sqlstate", None) or "")
    if not state:
        return True, "unreachable", ""
    if state in ("25006", "42501"):
        return (
            False,
            "read_only",
            "the connection may not write there" if state == "25006" else ("permission denied"),
        )
    if state[:2] in ("08", "40", "53", "55", "57"):
        return True, "unreachable", f"SQLSTATE {state}"
    # Class 42 is found while parsing, before a row is read, so its text holds names only.
    text = first_line(error) if state.startswith("42") else ""
    return False, "bad_sql" if text else "refused", text or f"SQLSTATE {state}"
