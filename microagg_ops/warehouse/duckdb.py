"""DuckDB, the embedded default."""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import WarehouseError
from microagg_ops.sql import TableName, bind, parameters, quote
from microagg_ops.warehouse.base import (
    Rows,
    Warehouse,
    check_target,
    comparable,
    first_line,
    naive_utc,
    refusals,
    refuse_altered,
)

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# DuckDB lets one process write, or several read. A write takes seconds at most: to wait is to spare
# a retry. Longer than this somebody has the file open for work of their own.
PATIENCE = 60.0


class DuckDBWarehouse(Warehouse):
    """A DuckDB database file."""

    kind = "DuckDB"

    def __init__(self, path: str) -> None:
        self.path = path

    @contextmanager
    def _open(self, doing: str, *, write: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        import duckdb

        # Opening a path that does not exist would make an empty database there.
        if not os.path.isfile(self.path):
            raise WarehouseError(
                "The DuckDB file of the connection does not exist.",
                code="unreachable",
                hint="Check the path of the connection.",
            )
        with refusals(self.kind, doing, duckdb.Error, _judge), self._connect(write) as con:
            con.execute("set TimeZone = 'UTC'")
            con.execute("set enable_progress_bar = false")
            yield con

    def _connect(self, write: bool) -> duckdb.DuckDBPyConnection:
        """Open the file; another process that has it keeps us waiting for a while."""
        import duckdb

        until = time.monotonic() + PATIENCE
        while True:
            try:
                return duckdb.connect(self.path, read_only=not write)
            except duckdb.ConnectionException:
                # This process has the file open with the other setting; share that.
                return duckdb.connect(self.path, read_only=write)
            except duckdb.IOException as error:
                if "lock" not in str(error) or time.monotonic() > until:
                    raise
            # Two that wait must not keep step.
            time.sleep(random.uniform(0.01, 0.1))  # noqa: S311

    def describe(self, table: TableName) -> dict[str, str] | None:
        with self._open("to describe a table") as con:
            return _describe(con, table)

    def read(
        self,
        table: TableName,
        columns: Mapping[str, str],
        where: str | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        listed = ", ".join(quote(name) for name in columns)
        query = f"select {listed} from {table.quoted()}"  # noqa: S608 - quoted
        bound: dict[str, Any] = {}
        if where is not None:
            query += f" where ({bind(where, lambda name: f'${name}')})"
            bound = {name: naive_utc((values or {})[name]) for name in parameters(where)}
        with self._open("to read the source") as con:
            return con.sql(query, params=bound).to_arrow_table()

    def write(self, table: TableName, rows: Rows) -> None:
        target, passing = table.quoted(), f"microagg_{secrets.token_hex(8)}"
        listed = ", ".join(quote(name) for name in rows.data.column_names)
        these, bound = "", []
        if rows.interval is not None:
            these, bound = f" where {quote(rows.interval[0])} = $1", [naive_utc(rows.interval[1])]
        with self._open("to write the target", write=True) as con:
            con.begin()
            con.register(passing, rows.data)
            found = _describe(con, table)
            if found is None:
                con.execute(f"create table {target} ({_definitions(con, rows, passing)})")
            else:
                check_target(table, list(found), rows.data.column_names)
            con.execute(f"delete from {target}{these}", bound)  # noqa: S608 - quoted
            con.execute(f"insert into {target} ({listed}) select {listed} from {passing}")  # noqa: S608
            compared = ", ".join(quote(name) for name in comparable(rows.data))
            if compared:
                altered = con.execute(
                    f"select count(*) from (select {compared} from {passing} except all "  # noqa: S608
                    f"select {compared} from {target}{these})",
                    bound,
                ).fetchone()
                refuse_altered(table, altered[0] if altered else 0)
            con.commit()

    def make_schema(self, name: str) -> None:
        with self._open("to make a schema", write=True) as con:
            con.execute(f"create schema if not exists {quote(name)}")

    def identity(self, table: TableName) -> tuple[str, ...]:
        # DuckDB's names do not tell upper from lower case.
        schema = (table.schema or "main").lower()
        return ("duckdb", str(Path(self.path).resolve()), schema, table.name.lower())

    def dataset(self, table: TableName) -> tuple[str, str]:
        return f"duckdb://{Path(self.path).resolve()}", f"{table.schema or 'main'}.{table.name}"


def _describe(con: duckdb.DuckDBPyConnection, table: TableName) -> dict[str, str] | None:
    rows = con.execute(
        """select column_name, data_type from duckdb_columns()
           where lower(table_name) = lower($name)
             and lower(schema_name) = lower(coalesce($schema, current_schema()))
             and lower(database_name) = lower(coalesce($database, current_database()))
             and not internal
           order by column_index""",
        {
            "name": table.name,
            "schema": table.schema,
            "database": table.parts[0] if len(table.parts) > 2 else None,
        },
    ).fetchall()
    return dict(rows) or None


def _definitions(con: duckdb.DuckDBPyConnection, rows: Rows, passing: str) -> str:
    described = con.execute(f"describe {passing}").fetchall()
    return ", ".join(
        f"{quote(name)} {rows.types.get(name, found)}" for name, found, *_ in described
    )


def _judge(error: Exception) -> tuple[bool, str, str]:
    import duckdb

    if isinstance(error, duckdb.IOException):
        if "Permission denied" in str(error):
            return False, "read_only", "permission denied"
        return True, "unreachable", ""
    if isinstance(error, duckdb.TransactionException):
        return True, "conflict", ""
    # Parsing and binding happen before a row is read, so their texts hold names only.
    safe = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
    if isinstance(error, safe):
        return False, "bad_sql", first_line(error)
    if isinstance(error, duckdb.InvalidInputException) and "read-only" in str(error):
        return False, "read_only", "the database is read-only"
    return False, "refused", ""
