"""Tables and views of Spark's own catalogues, as a warehouse."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from microagg_ops.engines.spark.session import master_of, open_session, refused
from microagg_ops.errors import WarehouseError
from microagg_ops.release.condition import Condition
from microagg_ops.sql import TableName
from microagg_ops.warehouse.base import Commit, Rows, Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.warehouse.connection import Connection


def at_connection(connection: Connection) -> SparkWarehouse:
    """Choose the cluster that a connection names; nothing is opened yet."""
    return SparkWarehouse(connection)


class SparkWarehouse(Warehouse):
    """The catalogues of a Spark session; rows come and go by ``engine: spark`` alone."""

    kind = "Spark"
    dialect = "spark"
    tells_commit = True

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @property
    def session(self) -> Any:
        """The session."""
        return open_session(self.connection)

    def frame(self, table: TableName) -> Any:
        """Open a table or a view."""
        with refused("to read the source"):
            return self.session.table(named(table))

    def describe(self, table: TableName) -> dict[str, str] | None:
        with refused("to describe a table"):
            if not self.session.catalog.tableExists(named(table)):
                return None
            fields = self.session.table(named(table)).schema.fields
        return {field.name: field.dataType.simpleString() for field in fields}

    def read(
        self,
        table: TableName,
        columns: Mapping[str, str],
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        raise alone()

    def write(self, table: TableName, rows: Rows) -> None:
        raise alone()

    def replace(
        self, table: TableName, frame: Any, commit: Commit, check: Callable[[Any], None]
    ) -> None:
        """Write a table beside the target, check it, and let it take the target's name.

        Catalogues have no step that exchanges two names. Between two renamings there is no table of
        this name; if the second fails the first is undone.
        """
        new, old = (
            TableName((*table.parts[:-1], f"microagg_{secrets.token_hex(8)}")) for _ in range(2)
        )
        with refused("to write the target"):
            try:
                frame.write.saveAsTable(named(new))
                check(self.session.table(named(new)))
                with commit:
                    self._take_name(table, new, old)
            finally:
                for left in (new, old):
                    if commit.done or left is new:
                        self.session.sql(f"drop table if exists {named(left)}")

    def _take_name(self, table: TableName, new: TableName, old: TableName) -> None:
        is_there = self.session.catalog.tableExists(named(table))
        if is_there:
            self.session.sql(f"alter table {named(table)} rename to {named(old)}")
        try:
            self.session.sql(f"alter table {named(new)} rename to {named(table)}")
        except Exception:
            if is_there:
                self.session.sql(f"alter table {named(old)} rename to {named(table)}")
            raise

    def make_schema(self, name: str) -> None:
        with refused("to make a schema"):
            self.session.sql(f"create schema if not exists {named(TableName((name,)))}")

    def identity(self, table: TableName) -> tuple[str, ...]:
        return ("spark", master_of(self.connection).partition(";")[0], str(table).lower())

    def dataset(self, table: TableName) -> tuple[str, str]:
        return master_of(self.connection).partition("/;")[0], str(table)


def named(table: TableName) -> str:
    """Write the name of a table in the SQL of Spark."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in table.parts)


def alone() -> WarehouseError:
    """Say that rows of Spark are not for one machine."""
    return WarehouseError(
        "Tables of Spark are read and written by Spark.",
        code="no_spark",
        retryable=False,
        hint="Let the release ask for engine: spark.",
    )
