"""Where a ledger is kept: a private file, or a table of a warehouse connection.

Beside the ledger there is the next one, written before the target and put in its place after it: so
a run that died in between is found by the next, and what the target holds tells which of the two
is true. Never is a ledger half written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from microagg_ops.errors import StagingError
from microagg_ops.series.ledger import COLUMNS, Ledger, read_ledger
from microagg_ops.sql import TableName
from microagg_ops.staging.digests import from_parquet, to_parquet
from microagg_ops.staging.private import LocalFolder, NotOursError, reason, write_private
from microagg_ops.warehouse.base import Rows, Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

NEXT = "_next"


class LedgerStore(ABC):
    """A place for a ledger and the next one.

    Attributes
    ----------
    name
        What tells it from other places.
    """

    name: str

    @abstractmethod
    def read(self, which: str = "") -> Ledger | None:
        """Read the ledger, or the next one; ``None`` if there is none."""

    @abstractmethod
    def write(self, ledger: pa.Table | None, which: str = "") -> None:
        """Write the ledger or the next one, whole or not at all; ``None`` takes it away."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs of the series out; where nothing can, they find the ledger changed."""
        yield


class FileLedger(LedgerStore):
    """A Parquet file of mode 0600."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    def _path(self, which: str) -> Path:
        return self.path.with_name(self.path.name + which)

    def read(self, which: str = "") -> Ledger | None:
        path = self._path(which)
        try:
            content = LocalFolder(path.parent).read(path.name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unusable(path, error) from None
        return read_ledger(from_parquet(content))

    def write(self, ledger: pa.Table | None, which: str = "") -> None:
        path = self._path(which)
        try:
            if ledger is None:
                path.unlink(missing_ok=True)
            else:
                write_private(path, to_parquet(ledger))
        except OSError as error:
            raise unusable(path, error) from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        import fcntl
        import os

        from microagg_ops.staging.private import make_private

        path = self._path(".lock")
        try:
            make_private(path.parent)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unusable(path, error) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # the system lets go of it when the process ends
            yield
        finally:
            os.close(handle)


class TableLedger(LedgerStore):
    """A table of a warehouse, and one beside it for the next ledger."""

    def __init__(self, warehouse: Warehouse, table: TableName, conn_id: str) -> None:
        self.warehouse, self.table, self.name = warehouse, table, f"{conn_id}:{table}"

    def _table(self, which: str) -> TableName:
        *path, name = self.table.parts
        return TableName((*path, name + which))

    def read(self, which: str = "") -> Ledger | None:
        table = self._table(which)
        found = self.warehouse.describe(table)
        if found is None:
            return None
        rows = self.warehouse.read(table, {name: found.get(name, "") for name in COLUMNS})
        return read_ledger(rows) if rows.num_rows else None

    def write(self, ledger: pa.Table | None, which: str = "") -> None:
        import pyarrow as pa

        if ledger is None:
            kinds = [(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()]
            ledger = pa.schema(kinds).empty_table()
        self.warehouse.write(self._table(which), Rows(ledger, {}))


def unusable(path: Path, error: OSError) -> StagingError:
    """Say why a ledger cannot be had; without it nothing is published."""
    return StagingError(
        f"The ledger {path} cannot be used ({reason(error)}).",
        code="no_ledger",
        hint="Check that the folder exists, is ours, is writable and has room.",
        retryable=not isinstance(error, NotOursError),
    )
