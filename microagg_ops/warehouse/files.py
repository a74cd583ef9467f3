"""Files as a warehouse: each is a table, whole or not there.

A condition on the rows is checked as everywhere, and asked of DuckDB, which sees the columns of
the file in memory and nothing else.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.release.condition import Condition, parameters
from microagg_ops.release.files import Format
from microagg_ops.sql import TableName, quote
from microagg_ops.warehouse import file_formats
from microagg_ops.warehouse.base import (
    Rows,
    Warehouse,
    check_target,
    naive_utc,
    refusals,
    refuse_altered,
)
from microagg_ops.warehouse.file_places import files_at, locked, place, replace

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.warehouse.connection import Connection

# What the system says: whether to retry, a code, and words of our own.
SAID = {
    errno.EACCES: (False, "read_only", "permission denied"),
    errno.EPERM: (False, "read_only", "permission denied"),
    errno.EROFS: (False, "read_only", "the disk is read-only"),
    errno.ENOSPC: (True, "disk_full", "the disk is full"),
    errno.EDQUOT: (True, "disk_full", "the quota of the disk is used up"),
    errno.EFBIG: (True, "disk_full", "the file may not grow further"),
    errno.ENOTDIR: (False, "unreachable", "a file is in the place of a folder"),
    errno.EISDIR: (False, "unreachable", "a folder is in the place of a file"),
}


def at_connection(connection: Connection) -> FileWarehouse:
    """Choose the folder that a connection names."""
    return FileWarehouse(connection.path or "/")


class FileWarehouse(Warehouse):
    """The files of a folder, or at URIs.

    Parameters
    ----------
    folder
        Where paths begin that are not absolute.
    formats
        How files are read, by their names.
    """

    kind = "file"
    dialect = "duckdb"
    tells_commit = True

    def __init__(self, folder: str | Path, formats: Mapping[str, Format] | None = None) -> None:
        self.folder = str(folder)
        self._formats = formats or {}

    def describe(self, table: TableName) -> dict[str, str] | None:
        with self._refusals("to look at a file"):
            files = self._files(table)
            return file_formats.describe(files, self._how(table)) if files else None

    def require(self, table: TableName) -> dict[str, str]:
        found = self.describe(table)
        if found is None:
            where = "" if "://" in str(table) else f" (looked for from {self.folder})"
            raise DataError(
                f"There is no file {str(table)!r}{where}.",
                code="no_table",
                hint="Paths begin where the release file lies.",
            )
        return found

    def read(
        self,
        table: TableName,
        columns: Mapping[str, str],
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        if where is not None:
            self.check_condition(where)
        with self._refusals("to read a file"):
            described = self.require(table)
            names = set(columns)
            if where is not None:
                lower = {name.lower(): name for name in described}
                names |= {lower.get(name.lower(), name) for name, _ in where.columns(self.dialect)}
            found = file_formats.read(self._files(table), names, self._how(table))
        if where is not None:
            found = self._filtered(found, where, described, values or {})
        return found.select([name for name in found.column_names if name in columns])

    def _filtered(
        self,
        found: pa.Table,
        where: Condition,
        described: Mapping[str, str],
        values: Mapping[str, Any],
    ) -> pa.Table:
        """Take the rows that meet a condition; their types stay those of the file."""
        import duckdb
        import pyarrow as pa

        from microagg_ops.warehouse.duckdb import judge

        row, passing = (f"microagg_{secrets.token_hex(8)}" for _ in range(2))
        written = self.condition(where, described, lambda name: f"${name}")
        bound = {name: naive_utc(values[name]) for name in parameters(where.text)}
        with refusals(self.kind, "to filter a file", duckdb.Error, judge), duckdb.connect() as con:
            con.execute("set enable_external_access = false")
            con.execute("set TimeZone = 'UTC'")
            con.execute("set enable_progress_bar = false")
            con.register(passing, found.append_column(row, pa.array(range(found.num_rows))))
            query = f"select {quote(row)} from {passing} where ({written})"  # noqa: S608 - quoted
            kept = con.sql(query, params=bound).to_arrow_table()[row]
        return found.take(kept.combine_chunks().sort())

    def write(self, table: TableName, rows: Rows) -> None:
        at = place(self.folder, str(table))
        kind = file_formats.kind_of(at)
        with self._refusals("to write the target"), locked(at):
            found = self.describe(table)
            if found is not None:
                check_target(table, list(found), rows.data.column_names)
            data = rows.data
            if rows.interval is not None and found is not None:
                data = self._with_other_intervals(table, rows, *rows.interval)

            def check(partial: Any) -> None:
                back = kind.finish(kind.read(partial, data.column_names, Format()), Format())
                refuse_altered(table, _altered(data, file_formats.of_types(back, data.schema)))

            if kind.write is None:
                raise AssertionError("the release file was not checked")
            write = kind.write
            replace(at, lambda sink: write(data, sink, at.name), check, rows.commit)

    def _with_other_intervals(
        self, table: TableName, rows: Rows, mark: str, start: datetime
    ) -> pa.Table:
        """Return the rows of the file that are of other intervals, and the new ones."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = dict.fromkeys(rows.data.column_names, "")
        old = file_formats.of_types(self.read(table, names), rows.data.schema)
        if old.schema.types != rows.data.schema.types:
            raise DataError(
                f"The target {str(table)!r} holds rows of other types than those to be published.",
                code="target_differs",
                hint="Publish to another file, or remove this one first.",
            )
        others = pc.not_equal(old[mark], pa.scalar(naive_utc(start), old[mark].type))
        return pa.concat_tables([old.filter(others), rows.data.cast(old.schema)])

    def make_schema(self, name: str) -> None:
        with self._refusals("to make a folder"):
            place(self.folder, name).mkdir(parents=True, exist_ok=True)

    def identity(self, table: TableName) -> tuple[str, ...]:
        at = place(self.folder, str(table))
        return ("file", str(at.resolve() if isinstance(at, Path) else at))

    def dataset(self, table: TableName) -> tuple[str, str]:
        at = place(self.folder, str(table))
        if isinstance(at, Path):
            return "file", str(at.resolve())
        scheme, _, rest = str(at).partition("://")
        bucket, _, path = rest.partition("/")
        return f"{scheme}://{bucket}", path

    def _files(self, table: TableName) -> list[Any]:
        return files_at(place(self.folder, str(table)))

    def _how(self, table: TableName) -> Format:
        return self._formats.get(str(table), Format())

    @contextmanager
    def _refusals(self, doing: str) -> Iterator[None]:
        import pyarrow as pa

        # What fsspec's drivers raise is of no common class.
        with refusals(self.kind, doing, (OSError, pa.ArrowException, ImportError), _judge):
            yield


def _altered(wanted: pa.Table, found: pa.Table) -> int:
    """Count the rows that a file does not hold as they were passed."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if found.schema.names != wanted.schema.names or found.num_rows != wanted.num_rows:
        return max(int(wanted.num_rows), 1)
    wrong = np.zeros(wanted.num_rows, bool)
    for name in wanted.column_names:
        one, other = wanted[name], found[name]
        if one.type != other.type:
            wrong |= not (pa.types.is_null(one.type) and other.null_count == len(other))
            continue
        same = pc.equal(one, other)
        if pa.types.is_floating(one.type):
            same = pc.or_(same, pc.and_(pc.is_nan(one), pc.is_nan(other)))
        missing = pc.and_(pc.is_null(one), pc.is_null(other))
        wrong |= ~pc.or_(pc.fill_null(same, False), missing).to_numpy()
    return int(wrong.sum())


def _judge(error: Exception) -> tuple[bool, str, str]:
    said = SAID.get(getattr(error, "errno", None) or 0)
    if said is not None:
        return said
    return (
        isinstance(error, OSError),
        "unreachable" if isinstance(error, OSError) else "refused",
        "",
    )
