"""Hooks for types of connections that no installed provider has.

Each gives a DB-API connection, so that other operators can use the connection too, and tests a
connection the way a release will use it: by the same driver, with the same options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.common.sql.hooks.sql import DbApiHook

from microagg_ops.errors import MicroaggError
from microagg_ops.hooks.connections import connection_of

if TYPE_CHECKING:
    from microagg_ops.warehouse import Connection, Warehouse


class WarehouseHook(DbApiHook):
    """A connection to a warehouse that this package knows."""

    @property
    def given(self) -> Connection:
        """The fields of the connection."""
        return connection_of(self.get_connection(self.get_conn_id()))

    @property
    def warehouse(self) -> Warehouse:
        """The warehouse of the connection; nothing is opened yet."""
        from microagg_ops.warehouse import connect

        return connect(self.given)

    def test_connection(self) -> tuple[bool, str]:  # type: ignore[override]
        """Reach the warehouse as a release would, and say why it cannot be reached."""
        try:
            self.warehouse.reach()
        except MicroaggError as error:
            return False, str(error)
        return True, "Connection successfully tested"


class DuckDBHook(WarehouseHook):
    """A DuckDB file."""

    conn_name_attr = "duckdb_conn_id"
    default_conn_name = "duckdb_default"
    conn_type = "duckdb"
    hook_name = "DuckDB"
    _placeholder = "?"

    def get_conn(self) -> Any:
        """Open the file; one that is not there is made."""
        import duckdb

        return duckdb.connect(self.given.path)


class SQLiteHook(WarehouseHook):
    """An SQLite file."""

    conn_name_attr = "sqlite_conn_id"
    default_conn_name = "sqlite_default"
    conn_type = "sqlite"
    hook_name = "SQLite"
    _placeholder = "?"

    def get_conn(self) -> Any:
        """Open the file; one that is not there is made."""
        import sqlite3

        return sqlite3.connect(self.given.path)


class PostgresHook(WarehouseHook):
    """A PostgreSQL database."""

    conn_name_attr = "postgres_conn_id"
    default_conn_name = "postgres_default"
    conn_type = "postgres"
    hook_name = "PostgreSQL"
    supports_autocommit = True

    def get_conn(self) -> Any:
        """Connect with psycopg2, as SQL operators expect."""
        import psycopg2

        from microagg_ops.warehouse.postgres import url_of

        return psycopg2.connect(url_of(self.given))


class MySQLHook(WarehouseHook):
    """A MySQL or MariaDB database."""

    conn_name_attr = "mysql_conn_id"
    default_conn_name = "mysql_default"
    conn_type = "mysql"
    hook_name = "MySQL"

    def get_conn(self) -> Any:
        """Connect with PyMySQL."""
        import pymysql

        at = self.given
        return pymysql.connect(
            host=at.host,
            port=at.port or 3306,
            user=at.login,
            password=at.password,
            database=at.schema or None,
            charset="utf8mb4",
        )


class DeltaHook(WarehouseHook):
    """Delta tables below one place; they have no SQL."""

    conn_name_attr = "delta_conn_id"
    default_conn_name = "delta_default"
    conn_type = "delta"
    hook_name = "Delta tables"


class IcebergHook(WarehouseHook):
    """The Iceberg tables of a catalogue; they have no SQL."""

    conn_name_attr = "iceberg_conn_id"
    default_conn_name = "iceberg_default"
    conn_type = "iceberg"
    hook_name = "Iceberg catalogue"
