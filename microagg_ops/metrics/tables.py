"""Tables as measures read them: classes of equal rows, and columns as numbers.

A table is a pandas or polars frame or an Arrow table; its index does not matter. NULL equals
NULL, NaN is NULL and -0.0 is 0.0. Nothing here calls polars: its threads do not outlive a fork,
and Airflow forks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

# Rows in one call of a kernel: a fraction of a second.
ROWS_PER_CALL = 1 << 22


@dataclass(frozen=True, slots=True)
class RowClasses:
    """The class of each row, numbered as they first appear, and the first row of each class."""

    ids: NDArray[np.int32]
    firsts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.firsts)


Columns = Sequence[str] | RowClasses


@dataclass(frozen=True, slots=True)
class Pairs:
    """Columns before and after protection, row by row, as numbers.

    NULL is NaN; a nominal column holds codes, which are equal or not and mean nothing else.
    ``scaled`` says that the columns came from a frame and have units of their own.
    """

    names: tuple[str, ...]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    nominal: NDArray[np.bool_]
    scaled: bool

    def ordered(self) -> Pairs:
        """Return the columns that are not nominal."""
        if not self.nominal.any():
            return self
        keep = ~self.nominal
        names = tuple(n for n, wanted in zip(self.names, keep, strict=True) if wanted)
        return Pairs(
            names, self.before[:, keep], self.after[:, keep], self.nominal[keep], self.scaled
        )


def column_of(frame: Any, name: str) -> pa.ChunkedArray:
    """Take one column of a table as Arrow, without its index and without other columns."""
    import pyarrow as pa

    kind = type(frame).__module__.partition(".")[0]
    if kind not in ("pandas", "polars", "pyarrow"):
        raise DataError(
            f"A table must be a pandas or polars frame or an Arrow table. "
            f"Got {type(frame).__name__} instead.",
            code="bad_type",
        )
    if name not in (frame.column_names if kind == "pyarrow" else frame.columns):
        raise DataError(f"The table has no column {name!r}.", code="no_column")
    if kind == "polars":
        found = frame.get_column(name).to_arrow()
    elif kind == "pyarrow":
        found = frame.column(name)
    else:
        try:
            found = pa.array(frame[name], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError):
            raise DataError(
                f"Column {name!r} mixes types.", code="bad_type", hint="Cast it first."
            ) from None
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def row_classes(frame: Any, names: Columns, within: RowClasses | None = None) -> RowClasses:
    """Find which rows of a table are equal in some columns.

    Parameters
    ----------
    frame
        The table; its index does not matter.
    names
        The columns. Measures take what comes back in place of their quasi-identifiers: so
        several measures share the work of one search.
    within
        Classes that are known already, which the columns split further.
    """
    if isinstance(names, RowClasses):
        return names
    found = within
    for name in names:
        for keys in keys_of(column_of(frame, name)):
            found = refined(found if found is not None else one_class(len(keys)), keys)
    if found is None:
        raise DataError("A class needs one column or more.", code="no_column")
    return found


def one_class(rows: int) -> RowClasses:
    """Put all rows into one class."""
    import numpy as np

    return RowClasses(np.zeros(rows, np.int32), np.zeros(min(rows, 1), np.int32))


def refined(classes: RowClasses, keys: NDArray[np.int64]) -> RowClasses:
    """Split classes by a column of keys."""
    import numpy as np

    from microagg_ops.kernels.measures.equivalence_classes import refine

    rows = len(keys)
    if len(classes) == rows:
        return classes  # every row is alone: no column can split it further
    slots = np.full(1 << max(1, (2 * rows - 1).bit_length()), -1, np.int32)
    firsts, ids = np.empty(rows, np.int32), np.empty(rows, np.int32)
    count = 0
    for start in range(0, rows, ROWS_PER_CALL):
        stop = min(start + ROWS_PER_CALL, rows)
        count = refine(classes.ids, keys, start, stop, slots, firsts, ids, count)
    return RowClasses(ids, firsts[:count].copy())


def keys_of(column: pa.ChunkedArray) -> Iterator[NDArray[np.int64]]:
    """Return whole numbers that are equal where values are; NULLs, if any, first and apart."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)).to_numpy()
    if missing.any() or not len(column) or pa.types.is_null(column.type):
        yield missing.astype(np.int64)
    if pa.types.is_null(column.type):
        return
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64()).to_numpy()
        yield (np.where(missing, 0.0, values) + 0.0).view(np.int64)
    else:
        yield whole_numbers(column)


def whole_numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return integers, moments and booleans as they are, anything else as codes; NULL as zero."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif not pa.types.is_integer(kind):
        column = pa.chunked_array([codes(column).indices])
    values = pc.fill_null(column, 0).to_numpy() if column.null_count else column.to_numpy()
    # A uint64 above the largest int64 wraps, and stays different from all others.
    return np.asarray(values).astype(np.int64, copy=False)


def codes(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Enumerate the different values of a column of text, decimals or the like."""
    import pyarrow as pa

    if column.type in (pa.string_view(), pa.string()):
        column = column.cast(pa.large_string())
    try:
        encoded = column.dictionary_encode()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise DataError(
            f"A column is {column.type}, whose values cannot be compared.", code="bad_type"
        ) from None
    # Chunks share one dictionary.
    return encoded.combine_chunks() if encoded.num_chunks != 1 else encoded.chunk(0)


def paired(before: Any, after: Any, columns: Sequence[str] | None = None) -> Pairs:
    """Read the same columns of two tables, or two arrays of rows by columns."""
    import numpy as np

    if isinstance(before, Pairs):
        return before
    if isinstance(before, np.ndarray):
        old, new = np.asarray(before, float), np.asarray(after, float)
        if old.ndim == 1:
            old, new = old[:, None], new[:, None]
        names = tuple(map(str, range(old.shape[1])))
        nominal, scaled = np.zeros(old.shape[1], bool), False
    else:
        names = tuple(columns if columns is not None else map(str, column_names(before)))
        if not names:
            raise DataError("A comparison needs one column or more.", code="no_column")
        sides = [numbers(name, column_of(before, name), column_of(after, name)) for name in names]
        old, new = (np.column_stack([side[i] for side in sides]) for i in (0, 1))
        nominal, scaled = np.array([side[2] for side in sides], bool), True
    if old.shape != new.shape:
        raise DataError("The tables before and after have different numbers of rows or columns.")
    if np.isinf(old).any() or np.isinf(new).any():
        raise DataError("A column holds infinite values.", code="infinite")
    return Pairs(names, old, new, nominal, scaled)


def column_names(frame: Any) -> list[str]:
    """List the columns of a table."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def is_ordered(column: pa.DataType) -> bool:
    """Say whether values have an order of their own, as text has not."""
    import pyarrow.types as t

    if t.is_dictionary(column):
        return bool(column.ordered)
    return bool(
        t.is_boolean(column) or t.is_integer(column) or t.is_floating(column)
        or t.is_decimal(column) or t.is_temporal(column)
    )  # fmt: skip


def numbers(
    name: str, before: pa.ChunkedArray, after: pa.ChunkedArray
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Turn both sides of a column into numbers on one scale; say whether it is nominal."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nulls = [pa.types.is_null(side.type) for side in (before, after)]
    if any(nulls):
        known = after if nulls[0] else before
        before, after = (
            side.cast(known.type) if null else side
            for side, null in zip((before, after), nulls, strict=True)
        )
    if is_ordered(before.type) != is_ordered(after.type):
        raise DataError(f"Column {name!r} is not of one kind before and after.", code="bad_type")
    if not is_ordered(before.type):
        return (*category_codes(before, after), True)
    if pa.types.is_dictionary(before.type):
        order = before.unify_dictionaries().chunk(0).dictionary
        text = [side.cast(side.type.value_type).cast(order.type) for side in (before, after)]
        old, new = (pc.index_in(side, order) for side in text)
        return measured(old), measured(new), False
    return measured(before), measured(after), False


def measured(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return numbers as they are, and dates and moments in days; NULL is NaN."""
    import numpy as np
    import pyarrow as pa

    kind, unit = column.type, 1.0
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
        unit = 86_400.0 * per_second[getattr(kind, "unit", "ms")]
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    values = column.cast(pa.float64(), safe=False).to_numpy()
    return np.asarray(values, float) / unit + 0.0


def sorted_codes(frame: Any, names: Sequence[str]) -> NDArray[np.int64]:
    """Enumerate combinations of cells 0, 1, … in the order of their text, NULL first."""
    import numpy as np

    found = None
    for name in names:
        column = column_of(frame, name)
        ranks = category_codes(column, column)[0].astype(np.int64) + 1
        pairs = ranks if found is None else found * (int(ranks.max(initial=0)) + 1) + ranks
        found = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    if found is None:
        raise DataError("A stratum needs one column or more.", code="no_column")
    return found


def category_codes(
    before: pa.ChunkedArray, after: pa.ChunkedArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Map categories to their place in sorted order, the same on both sides; NULL is the first."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    text = [pc.cast(side, pa.large_string()) for side in (before, after)]
    both = codes(pa.chunked_array([c for side in text for c in side.chunks], pa.large_string()))
    rank = np.empty(len(both.dictionary) + 1)
    rank[pc.sort_indices(both.dictionary).to_numpy()] = np.arange(len(both.dictionary))
    rank[-1] = -1.0
    found = rank[pc.fill_null(both.indices, len(both.dictionary)).to_numpy()]
    return found[: len(before)], found[len(before) :]
