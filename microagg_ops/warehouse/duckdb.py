"""DuckDB, the embedded default."""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError, WarehouseError
from microagg_ops.release.condition import Condition, parameters
from microagg_ops.sql import TableName, literal, quote
from microagg_ops.warehouse.base import (
    ADVICE,
    Rows,
    Warehouse,
    check_target,
    comparable,
    naive_utc,
    refusals,
    refuse_altered,
    refuse_types,
)

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from microagg_ops.warehouse.connection import Connection

# What DuckDB says of files, and what it means: whether to retry, a code, and words of our own.
SAID = {
    "Permission denied": (False, "read_only", "permission denied"),
    "Read-only file system": (False, "read_only", "the disk is read-only"),
    "No space left": (True, "disk_full", "the disk is full"),
    "Disk quota exceeded": (True, "disk_full", "the quota of the disk is used up"),
    "File too large": (True, "disk_full", "the file may not grow further"),
    "not a valid DuckDB database": (False, "not_a_database", "the file is no DuckDB database"),
    "sqlite_scanner": (False, "not_a_database", "the file is of SQLite"),
    "was created with": (False, "not_a_database", "the file is of another version of DuckDB"),
    "trying to read a database file": (False, "not_a_database", "the file is of another version"),
}
# What comes as bytes of DuckDB's own, wraps round above 10^38, or loses its offset.
REFUSED = {
    "BIT": "text", "BIGNUM": "DECIMAL or text", "VARINT": "DECIMAL or text",
    "UHUGEINT": "DECIMAL(38, 0)", "TIME WITH TIME ZONE": "TIME or text", "TIMETZ": "TIME or text",
}  # fmt: skip
# The extras of a connection that are settings of DuckDB.
SETTINGS = ("memory_limit", "threads", "temp_directory")
# DuckDB lets one process write, or several read. A write takes seconds at most: to wait is to spare
# a retry. Longer than this somebody has the file open for work of their own.
PATIENCE = 60.0
# A thread that opens a file while another does may find it without the functions for Arrow.
OPENING = threading.Lock()


def at_connection(connection: Connection) -> DuckDBWarehouse:
    """Choose the file that a connection names."""
    given = {name: connection.extra.get(name) for name in SETTINGS}
    settings = {name: str(value) for name, value in given.items() if value not in (None, "")}
    return DuckDBWarehouse(connection.path, settings)


class DuckDBWarehouse(Warehouse):
    """A DuckDB database file."""

    kind = "DuckDB"
    dialect = "duckdb"
    tells_commit = True

    def __init__(self, path: str, settings: Mapping[str, str] | None = None) -> None:
        self.path = path
        self._settings = dict(settings or {})

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
        with refusals(self.kind, doing, duckdb.Error, judge), self._connect(write) as con:
            con.execute("set TimeZone = 'UTC'")
            con.execute("set enable_progress_bar = false")
            self._set(con)
            try:
                yield con
            except RuntimeError as error:
                # What a signal raised while a query ran, DuckDB replaces by an error of its own.
                if str(error) == "Query interrupted":
                    raise KeyboardInterrupt from None
                raise

    def _set(self, con: duckdb.DuckDBPyConnection) -> None:
        import duckdb

        for name, value in self._settings.items():
            try:
                con.execute(f"set {name} = {literal(value)}")
            except duckdb.Error:
                raise WarehouseError(
                    f"DuckDB refuses the value of {name} in the extra of the connection.",
                    code="bad_option",
                    retryable=False,
                    hint=ADVICE["bad_option"],
                ) from None

    def _connect(self, write: bool) -> duckdb.DuckDBPyConnection:
        """Open the file; another process that has it keeps us waiting for a while."""
        import duckdb

        until = time.monotonic() + PATIENCE
        while True:
            try:
                with OPENING:
                    return self._connect_once(write)
            except duckdb.IOException as error:
                if "lock" not in str(error) or time.monotonic() > until:
                    raise
            # Two that wait must not keep step.
            time.sleep(random.uniform(0.01, 0.1))  # noqa: S311

    def _connect_once(self, write: bool) -> duckdb.DuckDBPyConnection:
        import duckdb

        try:
            return duckdb.connect(self.path, read_only=not write)
        except duckdb.ConnectionException:
            # This process has the file open with the other setting; share that.
            return duckdb.connect(self.path, read_only=write)

    def describe(self, table: TableName) -> dict[str, str] | None:
        with self._open("to describe a table") as con:
            return _describe(con, table)

    def read(
        self,
        table: TableName,
        columns: Mapping[str, str],
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        refuse_types(columns, REFUSED)
        listed = ", ".join(quote(name) for name in columns)
        query = f"select {listed} from {table.quoted()}"  # noqa: S608 - quoted
        bound: dict[str, Any] = {}
        if where is not None:
            self.check_condition(where)
        with self._open("to read the source") as con:
            if where is not None:
                described = _describe(con, table) or {}
                query += f" where ({self.condition(where, described, lambda n: f'${n}')})"
                bound = {name: naive_utc((values or {})[name]) for name in parameters(where.text)}
            found = con.sql(query, params=bound).to_arrow_table()
        check_width(found)
        return found

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
            refuse_altered(table, _altered(con, table, passing, rows, (these, bound)))
            with rows.commit:
                con.commit()

    def make_schema(self, name: str) -> None:
        with self._open("to make a schema", write=True) as con:
            con.execute(f"create schema if not exists {quote(name)}")

    def drop(self, table: TableName) -> None:
        with self._open("to drop a table", write=True) as con:
            con.execute(f"drop table if exists {table.quoted()}")

    def identity(self, table: TableName) -> tuple[str, ...]:
        # DuckDB's names do not tell upper from lower case.
        schema = (table.schema or "main").lower()
        return ("duckdb", str(Path(self.path).resolve()), schema, table.name.lower())

    def dataset(self, table: TableName) -> tuple[str, str]:
        return f"duckdb://{Path(self.path).resolve()}", f"{table.schema or 'main'}.{table.name}"


def check_width(table: pa.Table) -> None:
    """Refuse whole numbers of 39 digits (HUGEINT): the driver hands them over as decimals of 38."""
    import pyarrow as pa

    for field in table.schema:
        if not pa.types.is_decimal(field.type):
            continue
        try:
            table[field.name].validate(full=True)
        except pa.ArrowInvalid:
            raise DataError(
                f"Column {field.name!r} holds numbers of more than 38 digits.",
                code="bad_type",
                hint="Cast the column to text in a view.",
            ) from None


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


def _altered(
    con: duckdb.DuckDBPyConnection, table: TableName, passing: str, rows: Rows, where: Any
) -> int:
    """Count the rows that the target does not hold as they were passed."""
    these, bound = where
    made = {name: kind for name, kind, *_ in con.execute(f"describe {passing}").fetchall()}
    names = comparable(rows.data, _describe(con, table) or {})
    if not names:
        return 0
    listed = ", ".join(quote(name) for name in names)
    back = ", ".join(f"cast({quote(name)} as {made[name]})" for name in names)
    found = con.execute(
        f"select count(*) from (select {listed} from {passing} except all "  # noqa: S608 - quoted
        f"select {back} from {table.quoted()}{these})",
        bound,
    ).fetchone()
    return int(found[0]) if found else 0


def _definitions(con: duckdb.DuckDBPyConnection, rows: Rows, passing: str) -> str:
    described = con.execute(f"describe {passing}").fetchall()
    return ", ".join(
        f"{quote(name)} {rows.types.get(name, found)}" for name, found, *_ in described
    )


def judge(error: Exception) -> tuple[bool, str, str]:
    """Say of an error whether a retry may help, what code it has, and what to say of it."""
    import duckdb

    if isinstance(error, duckdb.IOException | duckdb.FatalException | duckdb.TransactionException):
        found = next((said for words, said in SAID.items() if words in str(error)), None)
        if found is not None:
            return found
    for kind, retryable, code, words in (
        (duckdb.IOException, True, "unreachable", ""),
        (duckdb.OutOfMemoryException, True, "out_of_memory", "out of memory"),
        (duckdb.TransactionException, True, "conflict", ""),
        (duckdb.ParserException, False, "bad_sql", "SQL that it cannot read"),
        (duckdb.BinderException, False, "bad_sql", "names or types that do not fit"),
        (
            duckdb.CatalogException, False, "bad_sql",
            "a schema, table, type or function that is not there",
        ),
    ):  # fmt: skip
        if isinstance(error, kind):
            return retryable, code, words
    if isinstance(error, duckdb.InvalidInputException) and "read-only" in str(error):
        return False, "read_only", "the database is read-only"
    return False, "refused", ""
