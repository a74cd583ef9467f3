"""Frames of pandas, polars and Arrow, as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("pandas", "polars", "pyarrow")


def kind_of_frame(value: Any) -> str:
    """Name the library that a frame is of; an empty text for what is no frame."""
    kind = type(value).__module__.partition(".")[0]
    return kind if kind in KINDS and hasattr(value, "columns") else ""


def names_of(frame: Any) -> list[str]:
    """List the columns of a frame."""
    if kind_of_frame(frame) == "pyarrow":
        return list(frame.column_names)
    return [str(name) for name in frame.columns]


def as_arrow(frame: Any, columns: Sequence[str]) -> pa.Table:
    """Take columns of a frame as Arrow, without its index; they must be there."""
    import pyarrow as pa

    if kind_of_frame(frame) != "pandas":
        taken = frame.select(list(columns))
        return taken.to_arrow() if kind_of_frame(frame) == "polars" else taken
    try:
        return pa.Table.from_pandas(frame[list(columns)], preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise DataError(
            "A column of the frame mixes types.", code="bad_type", hint="Cast it first."
        ) from None
