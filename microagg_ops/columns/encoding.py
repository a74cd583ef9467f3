"""A quasi-identifier as numbers, and back.

Whatever its type, a column becomes one number a row, its code: the value itself (number, integer),
its number of steps of the type (decimal, date, timestamp), a rank (ordinal) or the number of a
category (nominal, boolean). NULL is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from microagg_ops.errors import DataError
from microagg_ops.release.columns import Quasi

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

LAST_DAY = 2_932_896  # 9999-12-31, in days since 1970
DAY = 86_400_000_000  # microseconds
# What the source may hold for each type, as tests of pyarrow.types.
NUMERIC = ("is_integer", "is_floating", "is_decimal")
TEXT = ("is_string", "is_large_string", "is_string_view")
ACCEPTED = {
    "number": NUMERIC,
    "integer": NUMERIC,
    "decimal": ("is_decimal",),
    "date": ("is_date",),
    "timestamp": ("is_timestamp",),
    "ordinal": (*TEXT, "is_integer"),
    "nominal": (*TEXT, "is_integer", "is_boolean"),
    "boolean": ("is_boolean",),
}
# Types that hold whole steps only, so that a mean must be rounded.
WHOLE = ("integer", "decimal", "date", "timestamp")
INFERRED = {
    "is_floating": "number",
    "is_boolean": "boolean",
    "is_integer": "integer",
    "is_decimal": "decimal",
    "is_date": "date",
    "is_timestamp": "timestamp",
    "is_string": "nominal",
    "is_large_string": "nominal",
    "is_string_view": "nominal",
}


@dataclass(frozen=True)
class Encoded:
    """A quasi-identifier as numbers.

    Parameters
    ----------
    name, how
        The column, and what the release says of it.
    codes
        One number a row; NaN where it is NULL.
    source
        Its Arrow type in the source.
    categories
        Of an ordinal, nominal or boolean column, by code: in their order, or sorted by name.
    """

    name: str
    how: Quasi
    codes: NDArray[np.float64]
    source: pa.DataType
    categories: pa.Array | None = None

    @property
    def unit(self) -> float:
        """The value of one step of a code."""
        return 10.0**-self.source.scale if self.how.type == "decimal" else 1.0

    @property
    def missing(self) -> NDArray[np.bool_]:
        """The rows that are NULL."""
        import numpy as np

        return np.isnan(self.codes)

    def taken(self, rows: NDArray[np.int64]) -> Encoded:
        """Take some rows; a category that none of them has is no category of theirs."""
        import numpy as np

        codes = self.codes[rows]
        flat = self.how.type in ("nominal", "boolean") and self.how.hierarchy is None
        if not flat or self.categories is None:
            return replace(self, codes=codes)
        there = ~np.isnan(codes)
        used, places = np.unique(codes[there].astype(np.int64), return_inverse=True)
        codes[there] = places
        return replace(self, codes=codes, categories=self.categories.take(used))


def inferred_type(name: str, column: pa.DataType) -> str:
    """Return the type of a quasi-identifier that was not declared.

    Categories in an order are ordinal, others nominal, whatever they are called by: a mean of them
    would be none of them.
    """
    import pyarrow.types as t

    if t.is_dictionary(column):
        kind = column.value_type
        if t.is_boolean(kind):
            return "boolean"
        if any(getattr(t, test)(kind) for test in ACCEPTED["ordinal"]):
            return "ordinal" if column.ordered else "nominal"
        column = f"a category of {kind}"
    for test, declared in INFERRED.items():
        if not isinstance(column, str) and getattr(t, test)(column):
            return declared
    raise DataError(
        f"Column {name!r} is {column}, which is no type of a quasi-identifier.",
        code="bad_type",
        hint="Cast the column in a view.",
    )


def published_type(declared: str, source: pa.DataType) -> pa.DataType:
    """Return the Arrow type of a published quasi-identifier: the source's, where means fit."""
    import pyarrow as pa

    if declared == "number":
        return pa.float64()
    if declared == "date":
        return pa.date32()
    if declared == "integer" and not pa.types.is_integer(source):
        return pa.int64()
    return source


def read(
    name: str, how: Quasi, column: pa.ChunkedArray, categories: pa.Array | None = None
) -> Encoded:
    """Turn a quasi-identifier into codes, or say why it cannot be one.

    Parameters
    ----------
    name, how
        The column, and what the release says of it.
    column
        Its cells.
    categories
        Those to number nominal cells by; by default the ones that are there.
    """
    column = _checked(name, how.type, column)
    if how.type in ("ordinal", "nominal", "boolean"):
        if categories is None:
            categories = _ordered(name, how, column) if how.type == "ordinal" else _sorted(column)
            if how.hierarchy is not None:
                categories = _nodes(name, how, column, categories)
        return Encoded(name, how, _numbers(name, column, categories), column.type, categories)
    return Encoded(name, how, _values(name, how.type, column) + 0.0, column.type)  # no -0.0


def refuse_null(encoded: Encoded) -> None:
    """Refuse NULL in a quasi-identifier."""
    leave = "Exclude these rows in source.where, or let nulls be own_class or impute."
    _refuse(encoded.name, encoded.missing, "is NULL", "null_quasi", leave)


def decode(encoded: Encoded, codes: NDArray[np.float64]) -> pa.Array:
    """Turn codes, of clusters or of rows, back into a column of the published type."""
    import numpy as np
    import pyarrow as pa

    missing = np.isnan(codes)
    target = published_type(encoded.how.type, encoded.source)
    if encoded.how.type == "number":
        return pa.array(codes + 0.0, target, mask=missing)
    whole = np.rint(np.where(missing, 0.0, codes))
    if encoded.categories is not None:
        return encoded.categories.take(pa.array(whole.astype(np.int64), mask=missing))
    steps = [None if none else int(code) for none, code in zip(missing, whole, strict=True)]
    return _steps(encoded, steps, target)


def _steps(encoded: Encoded, steps: list[int | None], target: pa.DataType) -> pa.Array:
    import decimal

    import numpy as np
    import pyarrow as pa

    if encoded.how.type == "decimal":
        with decimal.localcontext(prec=80):
            scale = -encoded.source.scale
            return pa.array(
                [s if s is None else decimal.Decimal(s).scaleb(scale) for s in steps], target
            )
    if encoded.how.type == "date":
        return pa.array(steps, pa.int32()).cast(target)
    if encoded.how.type == "timestamp":
        finer = 1000 if encoded.source.unit == "ns" else 1
        return pa.array([s if s is None else s * finer for s in steps], pa.int64()).cast(target)
    # A double near the end of a type can be rounded beyond it.
    ends = np.iinfo(target.to_pandas_dtype())
    return pa.array(
        [s if s is None else min(max(s, int(ends.min)), int(ends.max)) for s in steps], target
    )


def _checked(name: str, declared: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Refuse a column of another type than was declared."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_null(column.type):  # no cell has a value, so any type will do
        plain = {
            "number": pa.float64(), "integer": pa.int64(), "decimal": pa.decimal128(38, 0),
            "date": pa.date32(), "timestamp": pa.timestamp("us"), "boolean": pa.bool_(),
        }  # fmt: skip
        return column.cast(plain.get(declared, pa.string()))
    if any(getattr(t, test)(column.type) for test in ACCEPTED[declared]):
        return column
    text = any(getattr(t, test)(column.type) for test in TEXT)
    raise DataError(
        f"Quasi-identifier {name!r} is declared {declared}, but the source holds "
        f"{'text' if text else column.type}.",
        code="bad_type",
        hint="Correct columns.quasi, or cast the column in a view.",
    )


def _values(name: str, declared: str, column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return the codes of a column of numbers, days or moments."""
    import numpy as np
    import pyarrow as pa

    # Databases keep infinite dates as numbers that no calendar has.
    largest = float(np.finfo(np.float64).max)
    if declared == "date":
        column, largest = column.cast(pa.date32()).cast(pa.int32()), LAST_DAY
    if declared == "timestamp":
        unit = column.type.unit
        column = column.cast(pa.int64())
        largest = LAST_DAY * DAY / {"s": 10**6, "ms": 10**3, "us": 1, "ns": 1}[unit]
    if declared == "decimal":
        kind = getattr(pa, f"decimal{column.type.bit_width}")
        column = column.combine_chunks().view(kind(column.type.precision, 0))
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if declared == "timestamp" and unit == "ns":
        values = values / 1000
    infinite = np.abs(values) > largest
    _refuse(name, infinite, "is infinite", "infinite", "Exclude these rows in source.where.")
    if declared == "integer":
        broken = ~np.isnan(values) & (values != np.rint(values))
        _refuse(name, broken, "is declared integer but holds a fraction", "bad_type",
                "Declare it number.")  # fmt: skip
    return np.asarray(values)


def _ordered(name: str, how: Quasi, column: pa.ChunkedArray) -> pa.Array:
    """Return the declared categories in the type of the source."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        try:
            return pa.array([int(category) for category in how.order]).cast(column.type)
        except (ValueError, pa.ArrowInvalid):
            raise DataError(
                f"The order of {name!r} holds text, but the source holds whole numbers.",
                code="bad_type",
                hint="Correct columns.quasi.",
            ) from None
    return pa.array([str(category) for category in how.order], column.type)


def _sorted(column: pa.ChunkedArray) -> pa.Array:
    """Return the categories that are there, sorted by name."""
    import pyarrow.compute as pc

    there = pc.drop_null(pc.unique(column))
    return there.take(pc.array_sort_indices(there))


def _nodes(name: str, how: Quasi, column: pa.ChunkedArray, categories: pa.Array) -> pa.Array:
    """Return all nodes of the hierarchy; what is read must have been recoded before."""
    import pyarrow as pa

    from microagg_ops.columns.trees import nodes_of

    if not any(getattr(pa.types, test)(column.type) for test in TEXT):
        raise DataError(f"The hierarchy of {name!r} is one of texts.", code="bad_type")
    return pa.array(nodes_of(how, categories.to_pylist()), column.type)


def _numbers(name: str, column: pa.ChunkedArray, categories: pa.Array) -> NDArray[np.float64]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column, value_set=categories)
    unknown = pc.and_(pc.is_null(found), pc.is_valid(column)).to_numpy()
    _refuse(name, unknown, "holds a value that is not in its order", "not_in_order",
            "Complete the order in columns.quasi.")  # fmt: skip
    return np.asarray(found.cast(pa.float64()).to_numpy(), np.float64)


def _refuse(name: str, rows: NDArray[np.bool_], what: str, code: str, hint: str) -> None:
    """Raise if there is any such row; say how many there are."""
    count = int(rows.sum())
    if count:
        where = "every row" if count == len(rows) else f"{count} of {len(rows)} rows"
        raise DataError(f"Quasi-identifier {name!r} {what} in {where}.", code=code, hint=hint)
