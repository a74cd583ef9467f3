"""The kinds of warehouses there are, each registered with the connections that it serves.

A package adds one by an entry point of the group ``microagg_ops.warehouses`` that leads to a
`Kind`. Connections that no kind serves go through SQLAlchemy, as `GenericWarehouse` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from microagg_ops.plugins import plugins

if TYPE_CHECKING:
    from microagg_ops.warehouse.base import Warehouse
    from microagg_ops.warehouse.connection import Connection


@dataclass(frozen=True)
class Kind:
    """A kind of warehouse.

    Parameters
    ----------
    name
        What people call it.
    conn_types
        The types of Airflow connections, and schemes of URLs, that lead to it.
    where
        ``module:function`` that opens a connection: ``f(connection) -> Warehouse``.
    arrow
        Whether rows come and go as Arrow, without a Python object for each cell.
    transactional
        Whether a new table is undone with its transaction: else a failure can leave it, empty.
    """

    name: str
    conn_types: tuple[str, ...]
    where: str
    arrow: bool = False
    transactional: bool = True

    def open(self, connection: Connection) -> Warehouse:
        """Choose the warehouse of a connection; nothing is opened yet."""
        module, _, function = self.where.partition(":")
        found: Warehouse = getattr(import_module(module), function)(connection)
        return found


KINDS = (
    Kind("DuckDB", ("duckdb",), "microagg_ops.warehouse.duckdb:at_connection", arrow=True),
    Kind(
        "PostgreSQL",
        ("postgres", "postgresql"),
        "microagg_ops.warehouse.postgres:at_connection",
        arrow=True,
    ),
    Kind("files", ("file",), "microagg_ops.warehouse.files:at_connection", arrow=True),
    Kind("SQLite", ("sqlite",), "microagg_ops.warehouse.generic:at_sqlite_file"),
    Kind("Parquet", ("parquet",), "microagg_ops.warehouse.parquet:at_connection", arrow=True),
    Kind(
        "Spark", ("spark", "spark_connect", "sc"), "microagg_ops.engines.spark.tables:at_connection"
    ),
    Kind(
        "MySQL",
        ("mysql", "mariadb"),
        "microagg_ops.warehouse.generic:at_mysql",
        transactional=False,
    ),
    Kind("Delta", ("delta",), "microagg_ops.warehouse.delta:at_connection", arrow=True),
    Kind("Iceberg", ("iceberg",), "microagg_ops.warehouse.iceberg:at_connection", arrow=True),
)
GENERIC = Kind("SQLAlchemy", (), "microagg_ops.warehouse.generic:at_url", transactional=False)


@cache
def kinds() -> tuple[Kind, ...]:
    """List the kinds of this package, then those that others add."""
    return (*KINDS, *(entry.load() for entry in plugins("warehouses").values()))


def kind_of(conn_type: str) -> Kind | None:
    """Find the kind that serves a type of connection."""
    wanted = conn_type.replace("-", "_")
    own = (kind for kind in KINDS if wanted in kind.conn_types)
    added = (kind for kind in kinds() if wanted in kind.conn_types)
    return next(own, None) or next(added, None)
