"""PostgreSQL, in Arrow both ways through ADBC."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from microagg_ops.errors import DataError, WarehouseError
from microagg_ops.release.condition import Condition
from microagg_ops.sql import TableName, quote
from microagg_ops.warehouse.base import (
    Rows,
    Warehouse,
    check_target,
    comparable,
    naive_utc,
    refusals,
    refuse_altered,
)
from microagg_ops.warehouse.postgres_refusals import judge

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.warehouse.connection import Connection

# How long to ask for the fate of a commit whose answer was lost, and how often: a server that
# starts again takes some seconds.
PATIENCE, PAUSE = 20.0, 0.2
# What the driver reads into an Arrow type of its own; the rest is read as text.
DIRECT = {
    "smallint", "integer", "bigint", "real", "double precision", "boolean", "text", "date", "bytea",
    "timestamp without time zone", "timestamp with time zone", "character varying", "character",
}  # fmt: skip


def at_connection(connection: Connection) -> PostgresWarehouse:
    """Choose the database that a connection names."""
    return PostgresWarehouse(url_of(connection))


def url_of(connection: Connection) -> str:
    """Return the URL of a connection for libpq, with the search path among its options."""
    path = search_path(connection.extra.get("search_path"))
    given = " ".join(part for part in (connection.passed.get("options"), path) if part)
    extra = {**connection.extra, "options": given}
    return replace(connection, extra=extra).url("postgresql")


def search_path(schemas: Any) -> str:
    """Return the option of the server that sets where names without a schema are looked for."""
    if not schemas:
        return ""
    listed = schemas if isinstance(schemas, str) else ",".join(map(str, schemas))
    # The server takes options apart at spaces, unless a backslash is before them.
    return "-c search_path=" + re.sub(r"([\\\s])", r"\\\1", listed)


class PostgresWarehouse(Warehouse):
    """A PostgreSQL database."""

    kind = "PostgreSQL"
    dialect = "postgres"
    tells_commit = True

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
            refusals(self.kind, doing, adbc.Error, judge),
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
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        listed = ", ".join(_readable(name, kind) for name, kind in columns.items())
        query = f"select {listed} from {table.quoted()}"  # noqa: S608 - quoted
        order: list[str] = []
        if where is not None:
            self.check_condition(where)
        with self._open("to read the source") as cursor:
            if where is not None:
                described = _describe(cursor, table) or {}
                numbered = self.condition(where, described, lambda name: _numbered(order, name))
                query += f" where ({numbered})"
            cursor.execute(query, _bound([naive_utc((values or {})[name]) for name in order]))
            found = cursor.fetch_arrow_table()
        check_finite(found)
        return with_decimals(found, columns)

    def write(self, table: TableName, rows: Rows) -> None:
        passing = TableName(("pg_temp", f"microagg_{secrets.token_hex(8)}"))
        with self._open("to write the target") as cursor:
            # Two runs of one target wait for each other instead of failing.
            cursor.execute("select pg_advisory_xact_lock(hashtext($1))", _bound([str(table)]))
            cursor.fetchall()
            found = _describe(cursor, table)
            if found is not None:
                check_target(table, list(found), rows.data.column_names)
            cursor.adbc_ingest(passing.name, rows.data, mode="create", temporary=True)
            made = _describe(cursor, passing) or {}
            types = found or made | {n: t for n, t in rows.types.items() if n in made}
            if found is None:
                definitions = ", ".join(f"{quote(name)} {kind}" for name, kind in types.items())
                cursor.execute(f"create table {table.quoted()} ({definitions})")
            # Two names of one table (t, public.t) are two locks so far.
            cursor.execute(f"lock table {table.quoted()} in share row exclusive mode")
            _replace(cursor, table, passing, rows, types)
            refuse_altered(table, _altered(cursor, table, passing, rows, made))
            cursor.execute(f"drop table {passing.quoted()}")
            cursor.execute("select pg_current_xact_id()::text")
            transaction = str(cursor.fetchone()[0])
            with rows.commit:
                self._commit(cursor, transaction)
        if found is not None:
            self._tidy(table)

    def _commit(self, cursor: Any, transaction: str) -> None:
        """Commit; if the answer is lost, ask a new connection what became of the transaction."""
        import adbc_driver_postgresql.dbapi as adbc

        try:
            cursor.connection.commit()
        except adbc.Error as error:
            if not judge(error)[0]:
                raise
        else:
            return
        state, until = "", time.monotonic() + PATIENCE
        while state not in ("committed", "aborted") and time.monotonic() < until:
            time.sleep(PAUSE)
            with suppress(adbc.Error):
                state = self._became(transaction)
        if state == "committed":
            return
        raise WarehouseError(
            "The connection to PostgreSQL was lost at the commit"
            + (", which was undone." if state else "; what became of it cannot be asked."),
            code="undone" if state else "commit_unknown",
        )

    def _became(self, transaction: str) -> str:
        """Ask what became of a transaction: committed, aborted or in progress."""
        import adbc_driver_postgresql.dbapi as adbc

        with adbc.connect(self._url) as con, con.cursor() as cursor:
            cursor.execute("select pg_xact_status($1::text::xid8)", _bound([transaction]))
            return str(cursor.fetchone()[0])

    def _tidy(self, table: TableName) -> None:
        """Let the room of replaced rows be used again: many publishes may outrun autovacuum.

        Best effort: who may write a table need not be its owner.
        """
        import adbc_driver_postgresql.dbapi as adbc

        with (
            suppress(adbc.Error),
            adbc.connect(self._url, autocommit=True) as con,
            con.cursor() as cursor,
        ):
            cursor.execute(f"vacuum (skip_locked, truncate false) {table.quoted()}")

    def make_schema(self, name: str) -> None:
        with self._open("to make a schema") as cursor:
            cursor.execute(f"create schema if not exists {quote(name)}")
            cursor.connection.commit()

    def drop(self, table: TableName) -> None:
        with self._open("to drop a table") as cursor:
            cursor.execute(f"drop table if exists {table.quoted()}")
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

    def dataset(self, table: TableName) -> tuple[str, str]:
        url = urlsplit(self._url)
        database = unquote(url.path.lstrip("/"))
        where = f"postgres://{url.hostname or 'localhost'}:{url.port or 5432}"
        return where, f"{database}.{table.schema or 'public'}.{table.name}"


def _these(rows: Rows) -> tuple[str, list[Any]]:
    """Return the condition on the rows that are replaced, and what is bound in it."""
    if rows.interval is None:
        return "", []
    column, start = rows.interval
    return f" where {quote(column)} = $1", [naive_utc(start)]


def _replace(
    cursor: Any, table: TableName, passing: TableName, rows: Rows, types: Mapping[str, str]
) -> None:
    these, values = _these(rows)
    names = rows.data.column_names
    listed = ", ".join(quote(name) for name in names)
    cast = ", ".join(f"cast({quote(name)} as {_castable(types[name])})" for name in names)
    cursor.execute(f"delete from {table.quoted()}{these}", _bound(values))  # noqa: S608 - quoted
    cursor.execute(
        f"insert into {table.quoted()} ({listed}) select {cast} from {passing.quoted()}"  # noqa: S608
    )


def _altered(
    cursor: Any, table: TableName, passing: TableName, rows: Rows, made: Mapping[str, str]
) -> int:
    """Count the rows that the target does not hold as they were passed."""
    these, values = _these(rows)
    names = comparable(rows.data, _describe(cursor, table) or {})
    if not names:
        return 0
    listed = ", ".join(quote(name) for name in names)
    back = ", ".join(f"cast({quote(name)} as {made[name]})" for name in names)
    cursor.execute(
        f"select count(*) from (select {listed} from {passing.quoted()} except all "  # noqa: S608
        f"select {back} from {table.quoted()}{these}) altered",
        _bound(values),
    )
    return int(cursor.fetchone()[0])


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
    """Return the expression that reads a column into the Arrow type nearest to its own."""
    if _plain(kind) in DIRECT:
        return quote(name)
    return f"cast({quote(name)} as text) as {quote(name)}"


def _plain(kind: str) -> str:
    return re.sub(r"\(.*\)", "", kind)  # timestamp(3) without time zone, numeric(10,2)


def check_finite(table: pa.Table) -> None:
    """Refuse infinite dates: Arrow has none, and the driver gives days before the calendar."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for field in table.schema:
        if pa.types.is_date32(field.type):
            days, least = table[field.name].cast(pa.int32()), -(2**31) + 20_000
        elif pa.types.is_timestamp(field.type):
            days, least = table[field.name].cast(pa.int64()), -(2**63) + 10**15
        else:
            continue
        infinite = pc.sum(pc.less(days, least)).as_py()
        if infinite:
            raise DataError(
                f"Column {field.name!r} is infinite in {infinite} of {len(table)} rows.",
                code="infinite",
                hint="Exclude these rows in source.where, or cast the column in a view.",
            )


def with_decimals(table: pa.Table, columns: Mapping[str, str]) -> pa.Table:
    """Turn each numeric column, read as text, into decimals: a double would round it."""
    for i, (name, kind) in enumerate(columns.items()):
        if _plain(kind) == "numeric":
            table = table.set_column(i, name, _decimal(table[name], kind))
    return table


def _decimal(text: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    def longest(but: str) -> int:
        return pc.max(pc.utf8_length(pc.replace_substring_regex(text, but, ""))).as_py() or 0

    declared = re.fullmatch(r"numeric\((\d+),(\d+)\)", kind)
    precision, scale = map(int, declared.groups()) if declared else (38, longest(r"^[^.]*\.?"))
    # Arrow does not notice that a number is too long for it.
    if precision <= 38 and longest(r"^-|\..*") + scale <= 38:
        try:
            return text.cast(pa.decimal128(precision, scale))
        except pa.ArrowInvalid:
            pass  # NaN or infinite
    return text.cast(pa.float64())


def _castable(kind: str) -> str:
    """Return the type to cast to before an insert; a cast to a length would cut text silently."""
    return "text" if kind.startswith("character") and not kind.endswith("[]") else kind


def _numbered(order: list[str], name: str) -> str:
    if name not in order:
        order.append(name)
    return f"${order.index(name) + 1}"


def _bound(values: list[Any]) -> Any:
    """Return parameters with their Arrow types, so that the server need not guess."""
    import pyarrow as pa

    if not values:
        return None
    arrays = [
        pa.array([v], pa.timestamp("us") if isinstance(v, datetime) else None) for v in values
    ]
    return pa.record_batch(arrays, names=[f"p{i}" for i in range(len(arrays))])
