"""CSV files: every cell as text first, and what is wrong with a file told by its line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.release.files import Format, suffix
from microagg_ops.warehouse.text_cells import DATE, NUMBER

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = (",", ";", "\t", "|")
LONGEST_HEADER = 1 << 20
YEAR = re.compile(r"^(19|20)[0-9]{2}$")


def header(file: Any, how: Format) -> list[str]:
    """Read the names of the columns; refuse a first line that holds none."""
    names = _first_record(file, how)[0]
    check_names(file.name, names)
    return names


def read(file: Any, columns: Collection[str], how: Format) -> pa.Table:
    """Read columns as text, NULL where a cell is empty and not quoted."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    names, delimiter = _first_record(file, how)
    check_names(file.name, names)
    encoding = _encoding(file, how)
    ragged: list[Any] = []

    def passed_by(row: Any) -> str:
        ragged.append(row)
        return "skip"

    def parsed(threads: bool) -> pa.Table:
        with opened(file) as stream:
            return arrow.read_csv(
                stream,
                arrow.ReadOptions(use_threads=threads, encoding=encoding),
                arrow.ParseOptions(
                    delimiter=delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=len(names) > 1,
                    invalid_row_handler=passed_by,
                ),
                arrow.ConvertOptions(
                    include_columns=[name for name in names if name in columns],
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )

    try:
        table = parsed(True)
        if ragged:
            ragged.clear()
            parsed(False)  # one thread knows the number of a row
            raise _is_ragged(file, ragged)
        check_quotes(file, delimiter, encoding)
    except (pa.ArrowInvalid, UnicodeDecodeError, csv.Error):
        raise _is_unreadable(file, how) from None
    return table


def check_quotes(file: Any, delimiter: str, encoding: str) -> None:
    """Refuse a quote that is not closed: all that follows it would be one cell."""
    with opened(file) as stream:
        quotes = sum(chunk.count(b'"') for chunk in iter(lambda: stream.read(1 << 20), b""))
    if quotes % 2 == 0:
        return
    # A quote inside of a cell that is not quoted is a letter: what is odd may be right.
    with opened(file) as stream:
        text = io.TextIOWrapper(stream, encoding, newline="")
        try:
            for _ in csv.reader(text, delimiter=delimiter, strict=True):
                pass
        except csv.Error as error:
            if "end of data" in str(error) or "field larger" in str(error):
                raise


def write(table: pa.Table, sink: Any, name: str) -> None:
    """Write CSV as RFC 4180 has it, in UTF-8; text is quoted, and NULL is an empty cell."""
    from pyarrow import csv as arrow

    delimiter = "\t" if suffix(name) == ".tsv" else ","
    arrow.write_csv(table, sink, arrow.WriteOptions(delimiter=delimiter))


def opened(file: Any) -> Any:
    """Open a file that may be compressed."""
    import gzip

    stream = file.open("rb")
    return gzip.open(stream) if file.name.lower().endswith(".gz") else stream


def check_names(file: str, names: Sequence[str]) -> None:
    """Refuse columns without a name of their own; none is shown, for they could be cells."""
    values = sum(
        bool(re.match(NUMBER, n) or re.match(DATE, n)) and not YEAR.match(n) for n in names
    )
    if 2 * values >= len(names):
        raise DataError(
            f"The first line of {file!r} holds no names of columns: {values} of its {len(names)} "
            "cells are numbers or dates.",
            code="no_header",
            hint="Put a line with the names of the columns first.",
        )
    for place, name in enumerate(names, 1):
        if not name.strip():
            what = "has no name"
        elif not name.isprintable():
            what = "has a control character in its name"
        elif name in names[: place - 1]:
            what = f"has the name of column {names.index(name) + 1}"
        else:
            continue
        raise DataError(
            f"Column {place} of {file!r} {what}.",
            code="duplicate_column" if name in names[: place - 1] else "bad_column_name",
            hint="Name it in the first line of the file.",
        )


def _first_record(file: Any, how: Format) -> tuple[list[str], str]:
    with opened(file) as stream:
        start = stream.read(LONGEST_HEADER)
    if not start.strip():
        raise DataError(
            f"The file {file.name!r} is empty.",
            code="empty",
            hint="Its first line should hold the names of the columns.",
        )
    try:
        # The end may lie within a letter.
        text = start.decode(_encoding(file, how, start), "strict" if len(start) < LONGEST_HEADER
                            else "ignore").removeprefix("\ufeff")  # fmt: skip
    except (UnicodeDecodeError, LookupError):
        raise _is_unreadable(file, how) from None
    delimiter = how.delimiter or ("\t" if suffix(file.name) == ".tsv" else _most(text))
    record = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    return record, delimiter


def _most(text: str) -> str:
    """Find the delimiter that the first line has most of, outside of quotes."""
    line = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").partition("\n")[0])
    return max(DELIMITERS, key=line.count)


def _encoding(file: Any, how: Format, start: bytes | None = None) -> str:
    if start is None:
        with opened(file) as stream:
            start = stream.read(2)
    utf16 = start[:2] in (b"\xff\xfe", b"\xfe\xff") and how.encoding == "utf-8"
    return "utf-16" if utf16 else how.encoding


def _is_ragged(file: Any, rows: Sequence[Any]) -> DataError:
    first = rows[0]
    return DataError(
        f"{len(rows)} rows of {file.name!r} have not as many cells as its first line: row "
        f"{first.number}, the first of them, has {first.actual_columns} instead of "
        f"{first.expected_columns}.",
        code="ragged_rows",
        hint="Look for a delimiter inside of a cell that is not quoted.",
    )


def _is_unreadable(file: Any, how: Format) -> DataError:
    """Say in which line a file is not of its encoding, or that its quotes do not close."""
    with opened(file) as stream:
        content = stream.read()
    try:
        content.decode(_encoding(file, how, content[:2]))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return DataError(
            f"Line {line} of {file.name!r} is not in {how.encoding}.",
            code="bad_encoding",
            hint="Name its encoding in the release: source.format: {encoding: latin-1}, say.",
        )
    except LookupError:
        return DataError(
            f"There is no encoding {how.encoding!r}.",
            code="bad_encoding",
            hint="Write one that Python knows, such as utf-8, latin-1 or cp1252.",
        )
    return DataError(
        f"{file.name!r} cannot be read as CSV.",
        code="bad_file",
        hint="Look for a quote that is not closed.",
    )
