"""The formats of files: what columns one has, its rows, and how rows become one."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.release.files import READ, Format, suffix
from microagg_ops.warehouse import delimited, sheets, statistical
from microagg_ops.warehouse.delimited import check_names, opened
from microagg_ops.warehouse.text_cells import typed_cells

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Kind:
    """A format.

    Parameters
    ----------
    describe
        Returns the columns of a file with their types, as far as they can be had without its rows.
    read
        Returns columns of a file.
    write
        Writes rows: ``f(rows, sink, name)``.
    finish
        Gives the columns of all files together their types.
    """

    describe: Callable[[Any, Format], Mapping[str, str]]
    read: Callable[[Any, Collection[str], Format], pa.Table]
    write: Callable[[pa.Table, Any, str], None] | None = None
    finish: Callable[[pa.Table, Format], pa.Table] = lambda table, how: table


def kind_of(file: Any) -> Kind:
    """Find the format of a file by how its name ends."""
    return KINDS[READ[suffix(file.name)]]


def describe(files: Sequence[Any], how: Format) -> dict[str, str]:
    """List the columns of files with their types; all files must have the same ones."""
    first, *others = files
    found = dict(kind_of(first).describe(first, how))
    for file in others:
        if list(kind_of(file).describe(file, how)) != list(found):
            raise DataError(
                f"{file.name!r} has other columns than {first.name!r}.",
                code="files_differ",
                hint="Files that are read together have the same columns in the same order.",
            )
    return found


def read(files: Sequence[Any], columns: Collection[str], how: Format) -> pa.Table:
    """Read columns of files, one after the other."""
    import pyarrow as pa

    kind = kind_of(files[0])
    tables = [kind_of(file).read(file, columns, how) for file in files]
    try:
        joined = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowTypeError:
        raise DataError(
            "A column has types in the files that do not go together.",
            code="files_differ",
            hint="Write the files anew, with one type a column.",
        ) from None
    return kind.finish(joined, how)


def of_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Read what was written, with the types that it had; what does not fit stays as it is."""
    import pyarrow as pa

    for i, field in enumerate(schema):
        if i < table.num_columns and table.schema.field(i).type != field.type:
            try:
                table = table.set_column(i, field.name, table[i].cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue
    return table


def _parquet_types(file: Any, how: Format) -> dict[str, str]:
    import pyarrow.parquet as pq

    with _parquet(file) as stream:
        schema = pq.read_schema(stream)
    return {field.name: str(field.type) for field in schema}


def _read_parquet(file: Any, columns: Collection[str], how: Format) -> pa.Table:
    import pyarrow.parquet as pq

    with _parquet(file) as stream:
        # A path of ours is no dataset: what its folders are called is no column of it.
        parts = pq.ParquetFile(stream)
        return parts.read(columns=[n for n in parts.schema_arrow.names if n in columns])


def _parquet(file: Any) -> Any:
    import pyarrow as pa

    return (
        pa.OSFile(str(file)) if isinstance(file, Path) else pa.PythonFile(file.open("rb"), mode="r")
    )


def _write_parquet(table: pa.Table, sink: Any, name: str) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, sink, compression="zstd")


def _lines(file: Any, how: Format) -> Iterable[Mapping[str, Any]]:
    """Read the objects of a JSON lines file."""
    with opened(file) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                found = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                raise DataError(
                    f"Line {number} of {file.name!r} is no JSON object.",
                    code="bad_file",
                    hint="Each line of such a file holds one object: names of columns and cells.",
                )
            yield found


def _line_types(file: Any, how: Format) -> dict[str, str]:
    names: dict[str, str] = {}
    for line in _lines(file, how):
        names |= dict.fromkeys(line, "json")
    if not names:
        raise DataError(f"The file {file.name!r} is empty.", code="empty")
    check_names(file.name, list(names))
    return names


def _read_lines(file: Any, columns: Collection[str], how: Format) -> pa.Table:
    import pyarrow as pa

    wanted = [name for name in _line_types(file, how) if name in columns]
    cells: dict[str, list[Any]] = {name: [] for name in wanted}
    for line in _lines(file, how):
        for name in wanted:
            cells[name].append(line.get(name))
    return pa.table({name: sheets.column(file, name, cells[name]) for name in wanted})


def _write_lines(table: pa.Table, sink: Any, name: str) -> None:
    for batch in table.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            try:
                line = json.dumps(row, ensure_ascii=False, allow_nan=False, default=_as_text)
            except ValueError:
                raise DataError(
                    "JSON has neither NaN nor infinite numbers.",
                    code="target_alters",
                    hint="Publish to a Parquet file, or let them be NULL in the source.",
                ) from None
            sink.write(line.encode() + b"\n")


def _as_text(cell: Any) -> str:
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)


def _typed_csv(table: pa.Table, how: Format) -> pa.Table:
    for i, name in enumerate(table.column_names):
        table = table.set_column(i, name, typed_cells(table[i], how.nulls, how.decimal))
    return table


def _typed_texts(table: pa.Table, how: Format) -> pa.Table:
    """Read dates and moments, which JSON has as text; digits that are text stay so."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            found = typed_cells(table[i], how.nulls, ".")
            if pa.types.is_temporal(found.type):
                table = table.set_column(i, field.name, found)
    return table


def _header(file: Any, how: Format) -> dict[str, str]:
    return dict.fromkeys(delimited.header(file, how), "text")


KINDS = {
    "csv": Kind(_header, delimited.read, delimited.write, _typed_csv),
    "parquet": Kind(_parquet_types, _read_parquet, _write_parquet),
    "jsonl": Kind(_line_types, _read_lines, _write_lines, _typed_texts),
    "excel": Kind(sheets.describe, sheets.read, sheets.write),
    **{
        name: Kind(statistical.describe, statistical.read)
        for name in ("sas", "xport", "spss", "stata")
    },
}
