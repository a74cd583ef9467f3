"""Excel files, through openpyxl, and columns of cells that have each a type of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError, WarehouseError
from microagg_ops.release.files import Format
from microagg_ops.warehouse.delimited import check_names
from microagg_ops.warehouse.text_cells import NULLS

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 1_048_575


def describe(file: Any, how: Format) -> dict[str, str]:
    """List the columns of a sheet."""
    with _rows(file, how) as rows:
        return dict.fromkeys(_names(file, rows), "cell")


def read(file: Any, columns: Collection[str], how: Format) -> pa.Table:
    """Read columns of a sheet."""
    import pyarrow as pa

    with _rows(file, how) as rows:
        names = _names(file, rows)
        places = [i for i, name in enumerate(names) if name in columns]
        cells: list[list[Any]] = [[] for _ in places]
        for number, row in enumerate(rows, 2):
            if any(cell is not None for cell in row[len(names) :]):
                raise DataError(
                    f"Row {number} of {file.name!r} has cells beside its last column.",
                    code="ragged_rows",
                    hint="Name the column in the first row, or empty these cells.",
                )
            if all(cell is None for cell in row):
                continue
            for i, place in enumerate(places):
                cell = row[place] if place < len(row) else None
                cells[i].append(None if cell in how.nulls else cell)
    return pa.table({names[p]: column(file, names[p], cells[i]) for i, p in enumerate(places)})


def column(file: Any, name: str, cells: Sequence[Any]) -> pa.Array:
    """Make a column of cells that are of one kind; days alone are dates."""
    import pyarrow as pa

    kinds = {_kind(cell) for cell in cells if cell is not None}
    if "text" in kinds and len(kinds) > 1:  # a word for NULL among others is none among numbers
        cells = [None if cell in NULLS else cell for cell in cells]
        kinds = {_kind(cell) for cell in cells if cell is not None}
    if kinds == {"moment"} and all(c is None or c.time() == time() for c in cells):
        return pa.array([c and c.date() for c in cells], pa.date32())
    if kinds <= {"whole", "number"} and "number" in kinds:
        return pa.array([None if c is None else float(c) for c in cells], pa.float64())
    try:
        if len(kinds) <= 1 and "other" not in kinds:
            return pa.array(cells, pa.string() if not kinds else None)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        kinds.add("number of more than 64 bits")
    raise DataError(
        f"Column {name!r} of {file.name!r} holds cells of several kinds or of none that can be "
        f"released ({', '.join(sorted(kinds))}).",
        code="bad_type",
        hint="Give its cells one type, or make them text.",
    )


def _kind(cell: Any) -> str:
    kinds = (
        (bool, "true or false"), (int, "whole"), (float, "number"), (str, "text"),
        (datetime, "moment"), (date, "date"),
    )  # fmt: skip
    return next((word for kind, word in kinds if isinstance(cell, kind)), "other")


def write(table: pa.Table, sink: Any, name: str) -> None:
    """Write a sheet; text that begins like a formula stays text."""
    openpyxl = _openpyxl()
    if table.num_rows > MOST_ROWS:
        raise DataError(
            f"A sheet of Excel holds {MOST_ROWS:,} rows at most.",
            code="target_alters",
            hint="Publish to a CSV or Parquet file.",
        )
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("published")

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        made = WriteOnlyCell(sheet, value)
        made.data_type = "s"
        return made

    sheet.append([cell(name) for name in table.column_names])
    for batch in table.to_batches(max_chunksize=10_000):
        for row in zip(*batch.to_pydict().values(), strict=True):
            sheet.append([cell(value) for value in row])
    book.save(sink)


@contextmanager
def _rows(file: Any, how: Format) -> Iterator[Iterator[tuple[Any, ...]]]:
    openpyxl = _openpyxl()
    from zipfile import BadZipFile

    with file.open("rb") as stream:
        try:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        except (BadZipFile, KeyError, ValueError, openpyxl.utils.exceptions.InvalidFileException):
            raise DataError(
                f"{file.name!r} cannot be read as an Excel file.", code="bad_file"
            ) from None
        if how.sheet is not None and how.sheet not in book.sheetnames:
            raise DataError(
                f"{file.name!r} has no sheet {how.sheet!r}.",
                code="no_table",
                hint=f"It has {len(book.sheetnames)}; correct source.format.sheet.",
            )
        yield (book[how.sheet] if how.sheet else book.worksheets[0]).iter_rows(values_only=True)


def _names(file: Any, rows: Iterator[tuple[Any, ...]]) -> list[str]:
    first = list(next(rows, ()))
    while first and first[-1] is None:
        first.pop()
    if not first:
        raise DataError(f"The sheet of {file.name!r} is empty.", code="empty")
    names = ["" if cell is None else str(cell) for cell in first]
    check_names(file.name, names)
    return names


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise WarehouseError(
            "Excel files need openpyxl, which is not installed.",
            code="no_driver",
            retryable=False,
            hint="Install microagg-ops[excel].",
        ) from None
    return openpyxl
