"""Files of SAS, SPSS and Stata, through pyreadstat.

Values come as they are stored, not as their labels: those are for people to read. Numbers are
doubles in all of these; a column that has no fractions is one of whole numbers.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError, WarehouseError
from microagg_ops.release.files import READ, Format, suffix
from microagg_ops.warehouse.delimited import check_names
from microagg_ops.warehouse.text_cells import without

if TYPE_CHECKING:
    import pyarrow as pa

READERS = {
    "sas": "read_sas7bdat", "xport": "read_xport", "spss": "read_sav", "stata": "read_dta",
}  # fmt: skip
LARGEST_WHOLE = 2.0**53


def describe(file: Any, how: Format) -> dict[str, str]:
    """List the columns of a file with the types that its program calls them by."""
    _, meta = _read(file, how, metadataonly=True)
    check_names(file.name, meta.column_names)
    types = meta.readstat_variable_types or {}
    return {name: types.get(name, "") for name in meta.column_names}


def read(file: Any, columns: Collection[str], how: Format) -> pa.Table:
    """Read columns of a file."""
    import pyarrow as pa

    wanted = [name for name in describe(file, how) if name in columns]
    frame, _ = _read(file, how, usecols=wanted, disable_datetime_conversion=False)
    return pa.table({name: _column(frame[name], how) for name in wanted})


def _column(values: Any, how: Format) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pa.array(values, from_pandas=True)
    if pa.types.is_string(found.type) or pa.types.is_large_string(found.type):
        # None of these programs has a NULL in text: it is the empty text.
        return without(found.cast(pa.string()), ("", *how.nulls))
    if pa.types.is_floating(found.type):
        known = found.drop_null()
        whole = pc.and_(pc.equal(pc.floor(known), known), pc.less(pc.abs(known), LARGEST_WHOLE))
        if len(known) and pc.all(whole).as_py():
            return found.cast(pa.int64())
    return found


def _read(file: Any, how: Format, **options: Any) -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise WarehouseError(
            "Files of SAS, SPSS and Stata need pyreadstat, which is not installed.",
            code="no_driver",
            retryable=False,
            hint="Install microagg-ops[statistics].",
        ) from None
    kind = READ[suffix(file.name)]
    if how.encoding != "utf-8" and kind != "spss":
        options["encoding"] = how.encoding
    with _here(file) as path:
        try:
            return getattr(pyreadstat, READERS[kind])(str(path), **options)
        except (pyreadstat.ReadstatError, UnicodeDecodeError, ValueError) as error:
            raise DataError(
                f"{file.name!r} cannot be read as a file of this kind ({type(error).__name__}).",
                code="bad_file",
                hint="Look whether it is whole; of text in it source.format.encoding may say more.",
            ) from None


@contextmanager
def _here(file: Any) -> Iterator[Path]:
    """Bring a file to this machine: the reader takes paths alone. Nobody else can read it."""
    if isinstance(file, Path):
        yield file
        return
    handle, name = tempfile.mkstemp(suffix=Path(file.name).suffix)
    try:
        with os.fdopen(handle, "wb") as copy, file.open("rb") as stream:
            copy.write(stream.read())
        yield Path(name)
    finally:
        os.unlink(name)
