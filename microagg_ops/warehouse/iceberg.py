"""Iceberg tables of a catalogue; a schema is a namespace."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import WarehouseError
from microagg_ops.sql import TableName
from microagg_ops.warehouse.base import Rows
from microagg_ops.warehouse.lake import LakeWarehouse, marker

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.warehouse.connection import Connection

# Names without a schema stand there.
NAMESPACE = "default"
CONFLICTS = (
    "CommitFailedException", "TableAlreadyExistsError", "IntegrityError", "ValidationException",
)  # fmt: skip
RETRIED = (
    "OperationalError", "ServerError", "ServiceUnavailableError", "CommitStateUnknownException",
    "ConnectionError", "WaitingForLockException",
)  # fmt: skip


def at_connection(connection: Connection) -> IcebergWarehouse:
    """Choose the catalogue that a connection names; its extra holds pyiceberg's properties."""
    options = {name: str(value) for name, value in connection.extra.items() if value is not None}
    if connection.host:
        options.setdefault("uri", connection.host)
    if connection.login:
        options.setdefault("credential", f"{connection.login}:{connection.password}")
    return IcebergWarehouse(options)


class IcebergWarehouse(LakeWarehouse):
    """The tables of an Iceberg catalogue."""

    kind = "Iceberg"

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    @cached_property
    def _catalogue(self) -> Any:
        try:
            from pyiceberg.catalog import load_catalog
        except ImportError:
            raise WarehouseError(
                "Iceberg tables need a library that is not installed.",
                code="no_driver",
                retryable=False,
                hint="Install microagg-ops[iceberg].",
            ) from None
        return load_catalog(self._options.get("name", "default"), **self._options)

    def _schema(self, table: TableName) -> pa.Schema | None:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        found = self._table(table)
        return None if found is None else schema_to_pyarrow(found.schema(), include_field_ids=False)

    def _table(self, table: TableName) -> Any:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self._catalogue.load_table(_identifier(table))
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def _rows(self, table: TableName, columns: list[str] | None) -> Any:
        return self._table(table).scan(selected_fields=tuple(columns or ("*",))).to_arrow()

    def _put(self, table: TableName, data: pa.Table, rows: Rows, *, new: bool) -> None:
        from pyiceberg import expressions as where

        if new:
            self._catalogue.create_namespace_if_not_exists(_identifier(table)[:-1])
            change = self._catalogue.create_table_transaction(_identifier(table), data.schema)
            change.append(data)
        else:
            change = self._table(table).transaction()
            stale: Any = where.AlwaysTrue()
            if rows.interval is not None:
                column = where.Reference(rows.interval[0])
                stale = where.EqualTo(term=column, value=marker(rows, data).isoformat())
            change.overwrite(data, overwrite_filter=stale)
        with rows.commit:
            change.commit_transaction()

    def _errors(self) -> tuple[type[Exception], ...]:
        from pyiceberg import exceptions
        from sqlalchemy.exc import SQLAlchemyError

        # They have no ancestor in common but Exception.
        theirs = (e for e in vars(exceptions).values() if isinstance(e, type))
        return (*(e for e in theirs if issubclass(e, Exception)), SQLAlchemyError)

    def _judge(self, error: Exception) -> tuple[bool, str, str]:
        name = type(error).__name__
        if name in CONFLICTS:
            return True, "conflict", "another write came between"
        lost = isinstance(error, OSError) or name in RETRIED
        return lost, "unreachable" if lost else "refused", ""

    def make_schema(self, name: str) -> None:
        with self._refusals("to make a schema"):
            self._catalogue.create_namespace_if_not_exists((name,))

    def drop(self, table: TableName) -> None:
        from pyiceberg.exceptions import NoSuchTableError

        with self._refusals("to drop a table"):
            try:
                self._catalogue.drop_table(_identifier(table))
            except NoSuchTableError:
                return

    def identity(self, table: TableName) -> tuple[str, ...]:
        return ("iceberg", self._options.get("uri", ""), *_identifier(table))

    def dataset(self, table: TableName) -> tuple[str, str]:
        return self._options.get("uri", "iceberg"), ".".join(_identifier(table))


def _identifier(table: TableName) -> tuple[str, ...]:
    return table.parts if len(table.parts) > 1 else (NAMESPACE, *table.parts)
