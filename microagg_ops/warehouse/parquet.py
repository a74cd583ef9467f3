"""A folder of Parquet: each table is a file or a folder of files in it."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import ReleaseError, WarehouseError
from microagg_ops.release.condition import Condition, parameters
from microagg_ops.sql import TableName, quote
from microagg_ops.warehouse.base import Rows, Warehouse, check_target, naive_utc, refusals

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.warehouse.connection import Connection

# What `renameat2` calls from the folder that the process is in, and an exchange of two names.
HERE, EXCHANGE = -100, 2
BESIDE = ".microagg-"


def at_connection(connection: Connection) -> ParquetWarehouse:
    """Choose the folder that a connection names."""
    return ParquetWarehouse(connection.path)


class ParquetWarehouse(Warehouse):
    """A folder with tables: ``a.b`` is the file ``a/b.parquet`` or the files of the folder ``a/b``.

    A table is written as a folder beside its place, which then takes its place: in one step where
    the file system can exchange two names (Linux, on its own file systems), else in two, between
    which there is no table. What a killed process leaves is hidden from readers by its name, and
    goes with the next write.
    """

    kind = "Parquet"
    dialect = "duckdb"
    tells_commit = True

    def __init__(self, root: str) -> None:
        self.root = Path(root)

    def place(self, table: TableName) -> Path:
        """Return the folder of a table, whether or not it is there."""
        for part in table.parts:
            if part.startswith(".") or "/" in part or "\0" in part:
                raise ReleaseError(
                    f"The table {str(table)!r} cannot be a folder of Parquet.",
                    code="bad_table",
                    hint="Use a name without slashes that does not begin with a dot.",
                )
        return self.root.joinpath(*table.parts)

    def found(self, table: TableName) -> Path | None:
        """Find the folder or the file of a table."""
        folder = self.place(table)
        file = folder.with_name(f"{folder.name}.parquet")
        return next((path for path in (folder, file) if path.exists()), None)

    def schema(self, table: TableName) -> pa.Schema | None:
        """Read the columns of a table; they are those of its first file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.found(table)
        if path is None:
            return None
        with refusals(self.kind, "to describe a table", (OSError, pa.ArrowException), _judge):
            files = data_files(path)
            return pq.read_schema(files[0]) if files else None

    def describe(self, table: TableName) -> dict[str, str] | None:
        schema = self.schema(table)
        return None if schema is None else {field.name: str(field.type) for field in schema}

    def read(
        self,
        table: TableName,
        columns: Mapping[str, str],
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        import duckdb

        described, path = self.require(table), self.found(table)
        files = [str(file) for file in data_files(path)] if path else []
        query = f"select {', '.join(map(quote, columns))} from read_parquet($files)"  # noqa: S608
        bound: dict[str, Any] = {"files": files}
        if where is not None:
            self.check_condition(where)
            query += f" where ({self.condition(where, described, lambda n: f'${n}')})"
            bound |= {name: naive_utc((values or {})[name]) for name in parameters(where.text)}
        with (
            refusals(self.kind, "to read the source", duckdb.Error, _judge),
            duckdb.connect() as con,
        ):
            con.execute("set TimeZone = 'UTC'")
            return con.sql(query, params=bound).to_arrow_table()

    def write(self, table: TableName, rows: Rows) -> None:
        import pyarrow.parquet as pq

        found = self.describe(table)
        if found is not None:
            check_target(table, list(found), rows.data.column_names)
        if rows.interval is not None:
            raise WarehouseError(
                "Rows of one interval cannot be replaced in Parquet.",
                code="refused",
                retryable=False,
                hint="Publish with mode: replace.",
            )
        with self.replacing(table, rows) as folder:
            pq.write_table(rows.data, folder / "part-0.parquet", compression="zstd")

    @contextmanager
    def replacing(self, table: TableName, rows: Any) -> Iterator[Path]:
        """Make a new folder for the files of a table; it takes the table's place at the end."""
        place = self.place(table)
        with refusals(self.kind, "to write the target", OSError, _judge):
            place.parent.mkdir(parents=True, exist_ok=True)
            for left in place.parent.glob(f"{BESIDE}{place.name}-*"):
                shutil.rmtree(left)
            new = place.with_name(f"{BESIDE}{place.name}-{secrets.token_hex(8)}")
            try:
                new.mkdir()
                yield new
                with rows.commit:
                    take_place(new, place)
            finally:
                with suppress(OSError):
                    shutil.rmtree(new)

    def make_schema(self, name: str) -> None:
        (self.root / name).mkdir(parents=True, exist_ok=True)

    def identity(self, table: TableName) -> tuple[str, ...]:
        return ("parquet", str(self.place(table).resolve()))

    def dataset(self, table: TableName) -> tuple[str, str]:
        return "file", str(self.place(table).resolve())


def data_files(path: Path) -> list[Path]:
    """List the files of a table; what begins with a dot or an underscore is none of them."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.glob("*.parquet") if file.name[0] not in "._")


def take_place(new: Path, place: Path) -> None:
    """Put a folder in the place of another, which is then where the new one was."""
    if not place.exists():
        os.rename(new, place)
    elif not exchanged(new, place):
        aside = new.with_name(f"{new.name}-old")
        os.rename(place, aside)
        try:
            os.rename(new, place)
        except OSError:
            os.rename(aside, place)
            raise
        os.rename(aside, new)


def exchanged(one: Path, other: Path) -> bool:
    """Exchange two names in one step, if the system can."""
    try:
        call = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):
        return False
    return bool(call(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0)


def _judge(error: Exception) -> tuple[bool, str, str]:
    if isinstance(error, PermissionError):
        return False, "read_only", "permission denied"
    return isinstance(error, OSError), "refused", ""
