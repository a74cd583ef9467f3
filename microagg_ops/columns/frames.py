"""Frames of pandas, polars and Arrow: as Arrow tables, and columns of those back in their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError, lacks_memory

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

KINDS = ("pandas", "polars", "pyarrow")
# Types that hold the same: what was given in one can be given back in it.
ALIKE = (
    ("is_floating",),
    ("is_date",),
    ("is_timestamp",),
    ("is_decimal",),
    ("is_string", "is_large_string", "is_string_view"),
)


def kind_of_frame(value: Any) -> str:
    """Name the library that a frame is of; an empty text for what is no frame."""
    kind = type(value).__module__.partition(".")[0]
    return kind if kind in KINDS and hasattr(type(value), "columns") else ""


def is_lazy(frame: Any) -> bool:
    """Whether a frame is yet to be computed."""
    return hasattr(type(frame), "collect_schema") and hasattr(type(frame), "collect")


def names_of(frame: Any) -> list[str]:
    """List the columns of a frame; pandas may name some by what is no text."""
    if kind_of_frame(frame) == "pyarrow":
        return list(frame.schema.names)
    return list(frame.collect_schema().names() if is_lazy(frame) else frame.columns)


def selected(frame: Any, columns: Sequence[str]) -> Any:
    """Take columns of a frame; of one that is yet to be computed, only they are."""
    if kind_of_frame(frame) == "pandas":
        return frame[list(columns)]
    found = frame.select(list(columns))
    return found.collect() if is_lazy(frame) else found


def taken(frame: Any, rows: NDArray[np.int64]) -> Any:
    """Take rows of a frame by their places."""
    if len(rows) == (frame.num_rows if kind_of_frame(frame) == "pyarrow" else len(frame)):
        return frame
    take = {"pandas": lambda: frame.iloc[rows], "polars": lambda: frame[rows]}
    return take.get(kind_of_frame(frame), lambda: frame.take(rows))()


def as_arrow(frame: Any, columns: Sequence[str]) -> pa.Table:
    """Take columns of a frame as Arrow, without its index; they must be there."""
    import pyarrow as pa

    frame = selected(frame, columns)
    return pa.table({name: _read(frame, name) for name in columns})


def replaced(frame: Any, columns: pa.Table) -> Any:
    """Put columns into a copy of a frame, in the types that they have there where these fit."""
    kind = kind_of_frame(frame)
    if kind == "pandas":
        frame = frame.copy()
    for name in columns.column_names:
        values = as_given(columns[name], _read(frame, name))
        if kind == "pandas":
            frame[name] = _as_pandas(values, frame[name], values.type == _read(frame, name).type)
        elif kind == "polars":
            frame = frame.with_columns(_as_polars(values, name, frame.schema[name]))
        else:
            place = frame.schema.names.index(name)
            values = values if hasattr(frame, "combine_chunks") else values.combine_chunks()
            frame = frame.set_column(place, name, values)
    return frame


def as_given(values: pa.ChunkedArray, given: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast values to the type that a column was given in, if they are of its kind.

    A category stays one, with all categories and in their order. A number that was declared to be
    one in a column of whole numbers has no way back.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    kind = given.type
    if t.is_dictionary(kind):
        every = given.unify_dictionaries()
        known = every.chunk(0).dictionary if every.num_chunks else pa.array([], kind.value_type)
        if not _alike(values.type, known.type):
            return values
        found = pc.index_in(values.cast(known.type), known).cast(kind.index_type)
        return pa.chunked_array(
            [pa.DictionaryArray.from_arrays(c, known, ordered=kind.ordered) for c in found.chunks],
            kind,
        )
    if not _alike(values.type, kind):
        return values
    if t.is_timestamp(kind) and kind.unit == "s":  # in files milliseconds are the coarsest
        values = pc.round_temporal(values, 1, "second")
    return values.cast(kind)


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    import pyarrow.types as t

    return one == other or any(
        all(any(getattr(t, test)(kind) for test in tests) for kind in (one, other))
        for tests in ALIKE
    )


def _as_pandas(values: pa.ChunkedArray, given: Any, fits: bool) -> Any:
    """Return values as a column of pandas, of the type of the one that was given if they fit."""
    import pandas as pd

    kind = given.dtype
    if fits and isinstance(kind, pd.CategoricalDtype):
        plain = values.cast(values.type.value_type).to_pandas()
        return pd.Series(pd.Categorical(plain, dtype=kind), given.index)
    if fits and hasattr(kind, "__from_arrow__"):
        return pd.Series(kind.__from_arrow__(values), given.index)
    found = values.to_pandas()
    if kind.name == "object":
        found = found.astype(object)
    found.index = given.index
    return found


def _as_polars(values: pa.ChunkedArray, name: str, kind: Any) -> Any:
    import polars as pl

    made: Any = pl.from_arrow(values)
    if isinstance(kind, pl.Categorical | pl.Enum) and made.dtype in (pl.Categorical, pl.Enum):
        made = made.cast(pl.String).cast(kind)
    return made.rename(name)


def _read(frame: Any, name: str) -> pa.ChunkedArray:
    """Read one column as Arrow; say of what it is, if it cannot be read, without its cells."""
    import pyarrow as pa

    kind = kind_of_frame(frame)
    try:
        if kind == "polars":
            found = frame.get_column(name).to_arrow()
        elif kind == "pandas":
            found = pa.array(frame[name], from_pandas=True)
        else:
            found = frame.column(name)
    except Exception as error:
        if lacks_memory(error):
            raise
        raise _unfit(name, _dtype(frame, name)) from None
    found = found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
    plain = found.type.value_type if pa.types.is_dictionary(found.type) else found.type
    if isinstance(plain, pa.BaseExtensionType) or _dtype(frame, name) == "Object":
        raise _unfit(name, _dtype(frame, name))
    return found


def _dtype(frame: Any, name: str) -> str:
    """Name the type of a column by no more than its kind: a type's text may hold categories."""
    if kind_of_frame(frame) == "polars":
        return str(frame.schema[name].base_type().__name__)
    if kind_of_frame(frame) == "pyarrow":
        return str(getattr(frame.schema.field(name).type, "extension_name", "of no known type"))
    kind = frame[name].dtype
    if kind.name == "category":
        return f"a category of {_plain(kind.categories.dtype)}"
    return _plain(kind)


def _plain(kind: Any) -> str:
    own = type(kind).__module__.startswith("numpy")
    return str(kind) if own else type(kind).__name__.removesuffix("Dtype").lower()


def _unfit(name: str, kind: str) -> DataError:
    mixed = kind in ("object", "Object")
    return DataError(
        f"Column {name!r} {'mixes types, or holds objects' if mixed else f'is {kind}'}, which "
        "cannot be released.",
        code="bad_type",
        hint="Cast it to numbers, dates or text first.",
    )
