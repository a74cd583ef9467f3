"""Files in a release: what stands for their connection, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath
from posixpath import basename, dirname, normpath
from typing import Any, Protocol
from urllib.parse import urlsplit

from microagg_ops.sql import TableName

# The connection of all files. No other may be called so, and nobody need define it.
FILES = "file"
# What a file is, by how its name ends; ``.gz`` may follow those of text.
READ = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".xlsx": "excel", ".xlsm": "excel",
    ".sas7bdat": "sas", ".xpt": "xport", ".sav": "spss", ".zsav": "spss", ".dta": "stata",
}  # fmt: skip
WRITTEN = (".csv", ".tsv", ".parquet", ".pq", ".jsonl", ".ndjson", ".xlsx")


class Place(Protocol):
    """A source or a target."""

    @property
    def conn_id(self) -> str:
        """The connection."""

    @property
    def table(self) -> TableName:
        """The table, or the file."""


@dataclass(frozen=True, slots=True)
class Format:
    """How a file is read, where it does not tell by itself.

    Parameters
    ----------
    delimiter
        What is between the cells of a CSV file; by default what its first line has most of.
    decimal
        What is before the decimals of a number.
    encoding
        The encoding of a text file.
    nulls
        Words that mean NULL in columns of text too.
    sheet
        The sheet of an Excel file; by default the first.
    """

    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    nulls: tuple[str, ...] = ()
    sheet: str | None = None


def built_place(section: Mapping[str, Any]) -> dict[str, Any]:
    """Name the place of a source or a target: a file is a table of the connection of files."""
    given = dict(section)
    file = given.pop("file", None)
    if file is not None:
        return given | {"conn_id": FILES, "table": TableName((file,))}
    return given | {"table": TableName.parse(given["table"])}


def suffix(path: str) -> str:
    """Return how the name of a file ends, but for its compression."""
    return PurePosixPath(path.lower().removesuffix(".gz")).suffix


def is_pattern(path: str) -> bool:
    """Whether a path may stand for many files."""
    return any(sign in path for sign in "*?[")


def file_faults(source: Place, publish: Place) -> Iterator[tuple[str, str, str]]:
    """List what is wrong with the paths of files: pointer, what was found, what is allowed."""
    for at, place in (("/source/file", source), ("/publish/file", publish)):
        if place.conn_id == FILES and "@" in urlsplit(str(place.table)).netloc:
            yield at, "a user or password in a URI", "a URI: what opens it is in the environment"
    path, target = str(source.table), str(publish.table)
    # A folder has no ending; what is in it is looked at when it is read.
    named = source.conn_id == FILES and suffix(path) and not is_pattern(path)
    if named and suffix(path) not in READ:
        yield "/source/file", repr(suffix(path)), f"{', '.join(READ)}, or a folder"
    if publish.conn_id != FILES:
        return
    if is_pattern(target) or suffix(target) not in WRITTEN or target.lower().endswith(".gz"):
        yield "/publish/file", "no single file that can be written", ", ".join(WRITTEN)
    elif source.conn_id == FILES and _reads(normpath(path), normpath(target)):
        yield "/publish/file", "a file that source.file reads", "a file beside those of the source"


def _reads(path: str, target: str) -> bool:
    """Whether a folder or a pattern has a file among its own."""
    if is_pattern(path):
        return dirname(path) == dirname(target) and fnmatch(basename(target), basename(path))
    return not suffix(path) and target.startswith(f"{path}/")
