"""Any other database with a SQLAlchemy dialect: slower, and with no more types than it has.

What it cannot hold as it was validated is refused: SQLite has no decimals of more than 15 digits,
no NaN and no zones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import WarehouseError
from microagg_ops.release.condition import Condition
from microagg_ops.sql import TableName
from microagg_ops.warehouse.base import (
    Rows,
    Warehouse,
    check_target,
    naive_utc,
    refusals,
    refuse_altered,
)
from microagg_ops.warehouse.generic_refusals import judge
from microagg_ops.warehouse.generic_types import (
    arrow_column,
    fetched_as,
    known_type,
    read_as,
    sql_type,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlalchemy as sa

    from microagg_ops.warehouse.connection import Connection

ROWS_PER_BATCH = 20_000
# What sqlglot calls a dialect of SQLAlchemy; any other must do with what all SQL shares.
DIALECTS = {
    "sqlite": "sqlite", "mysql": "mysql", "mariadb": "mysql", "mssql": "tsql", "oracle": "oracle",
    "snowflake": "snowflake", "bigquery": "bigquery", "redshift": "redshift", "trino": "trino",
    "presto": "presto", "databricks": "databricks", "clickhouse": "clickhouse",
    "postgresql": "postgres", "cockroachdb": "postgres", "duckdb": "duckdb",
}  # fmt: skip


# The extras of a connection to SQLite that are options of its URLs.
SQLITE = ("mode", "cache", "immutable", "timeout")
# Those of MySQL; TLS may be an object too, as Airflow's hook takes it.
MYSQL = (
    "ssl_ca", "ssl_cert", "ssl_key", "ssl_check_hostname", "unix_socket", "read_timeout",
    "write_timeout",
)  # fmt: skip


def at_sqlite_file(connection: Connection) -> GenericWarehouse:
    """Choose the SQLite file that a connection names."""
    options = {n: str(connection.extra[n]) for n in SQLITE if connection.extra.get(n)}
    return GenericWarehouse.at_file(connection.path, options)


def at_mysql(connection: Connection) -> GenericWarehouse:
    """Choose the MySQL or MariaDB database that a connection names; its text is all of Unicode."""
    import sqlalchemy as sa

    extra = {"charset": "utf8mb4", **connection.extra}
    # Without it SQLAlchemy takes mysqlclient, which Airflow's provider of MySQL brings.
    driver = "mysql+pymysql" if find_spec("pymysql") else "mysql"
    tls = extra.get("ssl")
    given = {f"ssl_{name}": value for name, value in tls.items()} if isinstance(tls, dict) else {}
    given |= {name: extra[name] for name in MYSQL if extra.get(name)}
    url = sa.make_url(replace(connection, extra=extra).url(driver))
    return GenericWarehouse.at(url.update_query_dict({n: str(v) for n, v in given.items()}))


def at_url(connection: Connection) -> GenericWarehouse:
    """Choose the database that SQLAlchemy finds for a connection."""
    return GenericWarehouse.at(connection.url(connection.conn_type))


class GenericWarehouse(Warehouse):
    """A database through its DB-API driver, as SQLAlchemy knows it."""

    tells_commit = True

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.kind = engine.dialect.name
        self.dialect = DIALECTS.get(self.kind, "")
        if self.kind == "sqlite":
            _begin_at_once(engine)

    @classmethod
    def at_file(cls, path: str, options: Mapping[str, str] | None = None) -> GenericWarehouse:
        """Open an SQLite file; one that does not exist is not made."""
        import sqlalchemy as sa

        file = Path(path).resolve().as_uri()
        query = {"mode": "rw", **(options or {}), "uri": "true"}
        return cls.at(sa.URL.create("sqlite", database=file, query=query))

    @classmethod
    def at(cls, url: str | sa.URL) -> GenericWarehouse:
        """Open the database at a SQLAlchemy URL."""
        import sqlalchemy as sa

        try:
            return cls(sa.create_engine(url, hide_parameters=True))
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ImportError) as error:
            raise WarehouseError(
                f"There is no driver for this kind of connection ({type(error).__name__}).",
                code="no_driver",
                retryable=False,
                hint="Install the SQLAlchemy dialect and driver of the database.",
            ) from None

    @contextmanager
    def _refusals(self, doing: str) -> Iterator[None]:
        import sqlalchemy as sa

        # A value that the driver cannot convert is quoted in a Python error of no common class.
        errors = (sa.exc.SQLAlchemyError, ValueError, TypeError, ArithmeticError)
        with refusals(self.kind, doing, errors, judge):
            yield

    def describe(self, table: TableName) -> dict[str, str] | None:
        import sqlalchemy as sa

        with self._refusals("to describe a table"), self._engine.connect() as con:
            return self._describe(sa.inspect(con), table)

    def _describe(self, inspector: sa.Inspector, table: TableName) -> dict[str, str] | None:
        import sqlalchemy as sa

        try:
            columns = inspector.get_columns(table.name, schema=_schema(table))
        except sa.exc.NoSuchTableError:
            return None
        return {str(column["name"]): str(column["type"]) for column in columns}

    def read(
        self,
        table: TableName,
        columns: Mapping[str, str],
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        import pyarrow as pa
        import sqlalchemy as sa

        if where is not None:
            self.check_condition(where)
        with self._refusals("to read the source"), self._engine.connect() as con:
            # Reflection knows how the driver's values become Python's (dates in SQLite, say).
            known = sa.Table(table.name, sa.MetaData(), schema=_schema(table), autoload_with=con)
            kinds = [read_as(self.kind, known.c[name].type) for name in columns]
            raw = zip(columns, (fetched_as(self.kind, kind) for kind in kinds), strict=True)
            query = sa.select(*(sa.type_coerce(known.c[name], kind) for name, kind in raw))
            bound: dict[str, Any] = {}
            if where is not None:
                query = query.where(sa.text(f"({self._written(where, known)})"))
                bound = {n: self._bound(v) for n, v in (values or {}).items()}
            result = con.execute(query, bound)
            found = result.all()
        lists = zip(*found, strict=True) if found else ([] for _ in columns)
        read = zip(columns, kinds, lists, strict=True)
        return pa.table({name: arrow_column(name, list(cells), kind) for name, kind, cells in read})

    def _written(self, where: Condition, known: sa.Table) -> str:
        """Write a condition as SQLAlchemy reads it: a colon that binds nothing is escaped."""
        names = self._engine.dialect.identifier_preparer
        # Oracle and its like call an unquoted name by another case than their catalogues.
        folds = self._engine.dialect.requires_name_normalize
        quoted = names.quote if folds else names.quote_identifier
        marked = self.condition(where, known.c.keys(), lambda name: f"\0{name}\0", quoted)
        return re.sub("\0(\\w+)\0", r":\1", marked.replace(":", r"\:"))

    def _bound(self, moment: datetime) -> Any:
        moment = naive_utc(moment)
        # SQLite compares text, where a day comes before its own midnight.
        midnight = moment.time() == time.min
        return moment.date() if self.kind == "sqlite" and midnight else moment

    def write(self, table: TableName, rows: Rows) -> None:
        import sqlalchemy as sa

        names = rows.data.column_names
        with self._refusals("to write the target"), self._engine.connect() as con:
            found = self._describe(sa.inspect(con), table)
            if found is not None:
                check_target(table, list(found), names)
            columns = [
                sa.Column(
                    name,
                    (known_type(self._engine.dialect, rows.types.get(name)) if not found else None)
                    or sql_type(rows.data.schema.field(name).type),
                )
                for name in names
            ]
            target = sa.Table(table.name, sa.MetaData(), *columns, schema=_schema(table))
            target.create(con, checkfirst=True)
            stale = sa.delete(target)
            if rows.interval is not None:
                column, start = rows.interval
                stale = stale.where(target.c[column] == naive_utc(start))
            con.execute(stale)
            for batch in rows.data.to_batches(max_chunksize=ROWS_PER_BATCH):
                con.execute(sa.insert(target), batch.to_pylist())
            refuse_altered(table, _altered(con, target, rows))
            with rows.commit:
                con.commit()

    def make_schema(self, name: str) -> None:
        import sqlalchemy as sa

        with self._refusals("to make a schema"), self._engine.begin() as con:
            if name not in sa.inspect(con).get_schema_names():
                con.execute(sa.schema.CreateSchema(name))

    def drop(self, table: TableName) -> None:
        import sqlalchemy as sa

        with self._refusals("to drop a table"), self._engine.begin() as con:
            sa.Table(table.name, sa.MetaData(), schema=_schema(table)).drop(con, checkfirst=True)

    def identity(self, table: TableName) -> tuple[str, ...]:
        import sqlalchemy as sa

        url = self._engine.url.set(password=None)
        with self._refusals("to find a table"):
            schema = _schema(table) or sa.inspect(self._engine).default_schema_name or ""
        # Many databases do not tell upper from lower case; to mistake two tables for one is safe.
        return (url.render_as_string(), schema.lower(), table.name.lower())

    def dataset(self, table: TableName) -> tuple[str, str]:
        url = self._engine.url
        port = f":{url.port}" if url.port else ""
        parts = (url.database, *table.parts) if len(table.parts) < 3 else table.parts
        where = f"{url.host}{port}" if url.host else ""
        return f"{self.kind}://{where}", ".".join(part for part in parts if part)


def _altered(con: sa.Connection, target: sa.Table, rows: Rows) -> int:
    """Count the rows that the target does not hold as they were validated."""
    import sqlalchemy as sa

    # Text too: some databases cut it, or take what looks like a number for one.
    names = [field.name for field in rows.data.schema if field.type != "null"]
    if not names:
        return 0
    query = sa.select(*(target.c[name] for name in names))
    if rows.interval is not None:
        column, start = rows.interval
        query = query.where(target.c[column] == naive_utc(start))
    wanted = Counter(
        map(_told_apart, zip(*rows.data.select(names).to_pydict().values(), strict=True))
    )
    return (wanted - Counter(map(_told_apart, con.execute(query)))).total()


def _told_apart(row: Iterable[Any]) -> tuple[Any, ...]:
    """Take a row as a key: NaN equals itself, and no number equals a text or a truth."""
    return tuple(
        (bool, cell) if isinstance(cell, bool) else "NaN" if cell != cell else cell  # noqa: PLR0124
        for cell in row
    )


def _begin_at_once(engine: sa.Engine) -> None:
    """Let SQLite undo a new table too: its driver begins a transaction at the first row only."""
    import sqlalchemy as sa

    if not sa.event.contains(engine, "begin", _begin):
        sa.event.listen(engine, "connect", _by_hand)
        sa.event.listen(engine, "begin", _begin)


def _by_hand(connection: Any, _: Any) -> None:
    connection.isolation_level = None


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("begin")


def _schema(table: TableName) -> str | None:
    return ".".join(table.parts[:-1]) or None
