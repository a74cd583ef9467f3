"""Tables as bytes, and digests of what they hold."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def to_parquet(table: pa.Table) -> bytes:
    """Encode a table; the same table gives the same bytes."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def from_parquet(content: bytes) -> pa.Table:
    """Decode what `to_parquet` wrote."""
    import pyarrow.parquet as pq

    return pq.read_table(io.BytesIO(content))


def schema_of(content: bytes) -> pa.Schema:
    """Read the columns and types of what `to_parquet` wrote, without its rows."""
    import pyarrow.parquet as pq

    return pq.read_schema(io.BytesIO(content))


def content_digest(table: pa.Table) -> str:
    """SHA-256 of a table's content, whatever its row order or chunks.

    The rows are sorted by all columns and written as CSV, so that anybody can recompute it.
    """
    return ordered_digest(in_order(table))


def ordered_digest(table: pa.Table) -> str:
    """SHA-256 of the content of a table whose rows are sorted by all columns already."""
    from pyarrow import csv

    sink = hashlib.sha256()
    csv.write_csv(_as_text(one_zero(table)), _HashFile(sink))
    return sink.hexdigest()


def digest_of_sorted(files: Iterable[Path]) -> str:
    """Digest the rows of Parquet files, sorted by all columns from the first file to the last.

    It is that of `ordered_digest` of all rows, of which only a batch is held at a time.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    sink, header = hashlib.sha256(), True
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(1 << 16):
            rows = one_zero(pa.Table.from_batches([batch]))
            how = csv.WriteOptions(include_header=header)
            csv.write_csv(rows, _HashFile(sink), how)
            header = False
    return sink.hexdigest()


def in_order(table: pa.Table) -> pa.Table:
    """Sort a table by all its columns; rows that are equal are interchangeable."""
    return one_zero(table).sort_by([(name, "ascending") for name in table.column_names])


def one_zero(table: pa.Table) -> pa.Table:
    """Write -0.0 as 0.0: the two sort alike, so their order would be that of the source."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            table = table.set_column(i, field, pc.add(table[i], pa.scalar(0.0, field.type)))
    return table


def _as_text(table: pa.Table) -> pa.Table:
    """Write bytes that are no text as hexadecimal digits, which CSV can hold."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            digits = [None if one is None else one.hex() for one in table[i].to_pylist()]
            table = table.set_column(i, field.name, pa.chunked_array([digits], pa.string()))
    return table


class _HashFile(io.RawIOBase):
    def __init__(self, digest: Any) -> None:
        self._digest = digest

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._digest.update(content)
        return memoryview(content).nbytes


def sha256(content: bytes) -> str:
    """SHA-256 of bytes, in hex."""
    return hashlib.sha256(content).hexdigest()
