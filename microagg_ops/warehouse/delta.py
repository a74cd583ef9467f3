"""Delta tables below a folder or a URI of an object store; a schema is a folder."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from microagg_ops.errors import DataError, WarehouseError
from microagg_ops.sql import TableName, literal, quote
from microagg_ops.warehouse.base import Rows
from microagg_ops.warehouse.lake import LakeWarehouse, marker

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.warehouse.connection import Connection

RETRIED = ("CommitFailedError", "OSError", "ConnectionError", "TimeoutError")


def at_connection(connection: Connection) -> DeltaWarehouse:
    """Choose the folder, or the URI, that a connection names; its extra is for the store."""
    options = {name: str(value) for name, value in connection.extra.items() if name != "database"}
    return DeltaWarehouse(connection.path, options)


class DeltaWarehouse(LakeWarehouse):
    """Delta tables below one place."""

    kind = "Delta"

    def __init__(self, at: str, options: dict[str, str] | None = None) -> None:
        self._at = at.rstrip("/")
        self._options = options or {}

    def _uri(self, table: TableName) -> str:
        """Return where a table is; no name leads out of the warehouse."""
        if any(part in ("", ".", "..") or {"/", "\0"} & set(part) for part in table.parts):
            raise DataError(f"{str(table)!r} is no name of a Delta table.", code="bad_name")
        if "://" not in self._at and not Path(self._at).is_dir():
            raise WarehouseError(
                "The folder of the connection does not exist.",
                code="unreachable",
                hint="Check the path of the connection.",
            )
        return "/".join((self._at, *table.parts))

    def _open(self, table: TableName) -> Any:
        try:
            import deltalake
        except ImportError:
            raise WarehouseError(
                "Delta tables need a library that is not installed.",
                code="no_driver",
                retryable=False,
                hint="Install microagg-ops[delta].",
            ) from None
        uri = self._uri(table)
        if not deltalake.DeltaTable.is_deltatable(uri, self._options):
            return None
        return deltalake.DeltaTable(uri, storage_options=self._options)

    def _schema(self, table: TableName) -> pa.Schema | None:
        import pyarrow as pa

        found = self._open(table)
        return None if found is None else pa.schema(found.to_pyarrow_dataset().schema)

    def _rows(self, table: TableName, columns: list[str] | None) -> Any:
        found = self._open(table)
        return found.to_pyarrow_table(columns=columns) if columns else found.to_pyarrow_dataset()

    def _put(self, table: TableName, data: pa.Table, rows: Rows, *, new: bool) -> None:
        from deltalake import write_deltalake

        # Where another has made the table in the meantime, its rows are not to be lost.
        how: dict[str, Any] = {"mode": "error" if new else "overwrite"}
        if rows.interval is not None and not new:
            how["predicate"] = f"{quote(rows.interval[0])} = {written(marker(rows, data))}"
        where = self._uri(table) if new else self._open(table)
        with rows.commit:
            write_deltalake(where, data, storage_options=self._options, **how)

    def _errors(self) -> tuple[type[Exception], ...]:
        from deltalake.exceptions import DeltaError

        return (DeltaError,)

    def _judge(self, error: Exception) -> tuple[bool, str, str]:
        name = type(error).__name__
        if name == "CommitFailedError" or "already exists" in str(error):
            return True, "conflict", "another write came between"
        lost = isinstance(error, OSError) or name in RETRIED
        return lost, "unreachable" if lost else "refused", ""

    def make_schema(self, name: str) -> None:
        """Do nothing: a folder comes with its first table."""

    def drop(self, table: TableName) -> None:
        if "://" in self._at:
            super().drop(table)
        shutil.rmtree(self._uri(table), ignore_errors=True)

    def identity(self, table: TableName) -> tuple[str, ...]:
        at = self._at if "://" in self._at else str(Path(self._at).resolve())
        return ("delta", at, *table.parts)

    def dataset(self, table: TableName) -> tuple[str, str]:
        url = urlsplit(self._at)
        path = "/".join((url.path, *table.parts))
        return (f"{url.scheme}://{url.netloc}", path.lstrip("/")) if url.scheme else ("file", path)


def written(value: Any) -> str:
    """Write a moment or a date for Delta's conditions, of the very type of its column."""
    if not isinstance(value, datetime):
        return f"date {literal(value.isoformat())}"
    zone = 'Some("UTC")' if value.tzinfo else "None"
    return f"arrow_cast({literal(value.isoformat())}, {literal(f'Timestamp(Microsecond, {zone})')})"
