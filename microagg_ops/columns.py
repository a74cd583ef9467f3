"""Columns as they are in tables, and as the numbers that distances are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

LAST_DAY = 2_932_896  # 9999-12-31, in days since 1970


def inferred_type(name: str, column: pa.DataType) -> str:
    """Give the type of a quasi-identifier that was not declared."""
    import pyarrow.types as t

    if t.is_floating(column):
        return "number"
    if t.is_integer(column):
        return "integer"
    if t.is_date(column):
        return "date"
    raise DataError(
        f"Column {name!r} is {column}, which is no type of a quasi-identifier.",
        code="bad_type",
        hint="Quasi-identifiers are numbers, integers or dates.",
    )


def encode(name: str, declared: str, column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Turn a quasi-identifier into finite numbers, or say why it cannot be one."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    _check_declared(name, declared, column)
    missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)).to_numpy()
    leave = "Exclude these rows in source.where, or leave the column out."
    _refuse(name, missing, "is NULL", "null_quasi", leave)
    if declared == "date":
        column = column.cast(pa.date32()).cast(pa.int32())
    values = column.cast(pa.float64(), safe=False).to_numpy()
    # Databases keep infinite dates as numbers of days that no calendar has.
    infinite = np.isinf(values) if declared != "date" else abs(values) > LAST_DAY
    _refuse(name, infinite, "is infinite", "infinite", "Exclude these rows in source.where.")
    if declared == "integer":
        broken = values != np.rint(values)
        _refuse(name, broken, "is declared integer but holds a fraction", "bad_type",
                "Declare it number.")  # fmt: skip
    return np.asarray(values + 0.0)  # plus zero: -0.0 and 0.0 are one value


def _refuse(name: str, rows: NDArray[np.bool_], what: str, code: str, hint: str) -> None:
    """Raise if there is any such row; say how many there are."""
    count = int(rows.sum())
    if count:
        where = "every row" if count == len(rows) else f"{count} of {len(rows)} rows"
        raise DataError(f"Quasi-identifier {name!r} {what} in {where}.", code=code, hint=hint)


def decode(declared: str, values: NDArray[np.float64], target: pa.DataType) -> pa.Array:
    """Turn representatives back into a column of the declared type."""
    import numpy as np
    import pyarrow as pa

    if declared == "number":
        return pa.array(values + 0.0, pa.float64())
    whole = np.rint(values).astype(np.int64)
    if declared == "date":
        return pa.array(whole, pa.int64()).cast(pa.int32()).cast(pa.date32()).cast(target)
    return pa.array(whole, pa.int64()).cast(target)


def published_type(declared: str, source: pa.DataType) -> pa.DataType:
    """Give the Arrow type of a published quasi-identifier: the source's, where means fit."""
    import pyarrow as pa

    if declared == "number":
        return pa.float64()
    if declared == "integer":
        return source if pa.types.is_integer(source) else pa.int64()
    return pa.date32()


def _check_declared(name: str, declared: str, column: pa.ChunkedArray) -> None:
    import pyarrow.types as t

    found = column.type
    numeric = t.is_integer(found) or t.is_floating(found) or t.is_decimal(found)
    if declared in ("number", "integer") and numeric:
        return
    if declared == "date" and t.is_date(found):
        return
    if t.is_null(found):
        return  # all NULL; said so by the caller
    shown = "text" if t.is_string(found) or t.is_large_string(found) else str(found)
    raise DataError(
        f"Quasi-identifier {name!r} is declared {declared}, but the source holds {shown}.",
        code="bad_type",
        hint="Correct columns.quasi, or cast the column in a view.",
    )
