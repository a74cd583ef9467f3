"""Every type of pandas, polars and Arrow through microaggregate(): what goes in comes out."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from microagg_ops import microaggregate
from microagg_ops.errors import DataError

CELLS = np.array([61, 7, 33, 90, 12, 58, 60, 8, 34, 88, 13, 57])
TEXT = [f"cell_{v % 3}" for v in CELLS]
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(int(v)) for v in CELLS]
MOMENTS = [datetime.datetime(2020, 1, 1) + datetime.timedelta(0, int(v)) for v in CELLS]
FEES = [Decimal(int(v)).scaleb(-1) for v in CELLS]
ORDER = ["cell_2", "cell_0", "cell_1", "nobody"]
BY_NUMBER = CELLS % 3 * 5
WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
UNITS = ["s", "ms", "us", "ns"]


def series(values: Any, dtype: Any = None) -> pd.Series[Any]:
    return pd.Series(values, dtype=dtype)


def of_arrow(kind: pa.DataType, values: Any) -> pd.Series[Any]:
    return pd.Series(pd.array(list(values), dtype=pd.ArrowDtype(kind)))


def arrow(kind: pa.DataType, values: Any) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return pa.array(values, kind)
    order = pa.array(ORDER, kind.value_type) if kind.ordered else None
    found = pa.array(values, kind.value_type).dictionary_encode()
    if order is not None:
        found = found.cast(kind.value_type)
        indices = pa.compute.index_in(found, order).cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, order, ordered=True)
    return found.cast(kind)


ARROW: list[tuple[pa.DataType, Any]] = [
    *((getattr(pa, name)(), CELLS) for name in WHOLE),
    (pa.float16(), CELLS.astype(np.float16)), (pa.float32(), CELLS), (pa.float64(), CELLS),
    (pa.bool_(), CELLS % 2 == 0), (pa.string(), TEXT), (pa.large_string(), TEXT),
    (pa.string_view(), TEXT), (pa.date32(), DAYS), (pa.date64(), DAYS),
    *((pa.timestamp(unit), MOMENTS) for unit in UNITS),
    *((pa.timestamp(unit, "Europe/Madrid"), MOMENTS) for unit in UNITS),
    (pa.decimal32(6, 1), FEES), (pa.decimal64(12, 2), FEES), (pa.decimal128(20, 1), FEES),
    (pa.decimal256(50, 3), FEES), (pa.dictionary(pa.int8(), pa.string()), TEXT),
    (pa.dictionary(pa.uint16(), pa.large_string(), ordered=True), TEXT),
    (pa.dictionary(pa.int32(), pa.int64()), BY_NUMBER),
]  # fmt: skip

PANDAS: dict[str, pd.Series[Any]] = {
    **{kind: series(CELLS.astype(kind)) for kind in [*WHOLE, "float16", "float32", "float64"]},
    **{kind: series(CELLS, kind) for kind in ["Int8", "Int32", "UInt64", "Float32", "Float64"]},
    "bool": series(CELLS % 2 == 0),
    "boolean": series(CELLS % 2 == 0, "boolean"),
    "str": series(TEXT),
    "text objects": series(TEXT, object),
    "string[python]": series(TEXT, "string[python]"),
    "string[pyarrow]": series(TEXT, "string[pyarrow]"),
    "category": series(TEXT, "category"),
    "ordered category": series(pd.Categorical(TEXT, ORDER, ordered=True)),
    "category of numbers": series(pd.Categorical(BY_NUMBER)),
    "ordered category of numbers": series(pd.Categorical(BY_NUMBER, [10, 0, 5], ordered=True)),
    "category of booleans": series(pd.Categorical(CELLS % 2 == 0)),
    **{f"datetime64[{u}]": series(pd.to_datetime(MOMENTS)).astype(f"M8[{u}]") for u in UNITS},
    "moments of a zone": series(pd.to_datetime(MOMENTS)).dt.tz_localize("Europe/Madrid"),
    "dates": series(DAYS),
    "decimals": series(FEES),
    "whole objects": series(CELLS.tolist(), object),
    "true and false objects": series((CELLS % 2 == 0).tolist(), object),
    **{f"{kind}[pyarrow]": of_arrow(kind, arrow(kind, values).to_pylist())
       for kind, values in ARROW if not pa.types.is_dictionary(kind) or not kind.ordered},
}  # fmt: skip

POLARS: list[pl.Series] = [
    *(pl.Series(CELLS).cast(kind)
      for kind in [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32,
                   pl.UInt64, pl.Float16, pl.Float32, pl.Float64, pl.Decimal(10, 2)]),
    *(pl.Series(MOMENTS).cast(pl.Datetime(unit)) for unit in ("ms", "us", "ns")),
    pl.Series(MOMENTS).dt.replace_time_zone("UTC"), pl.Series(DAYS), pl.Series(CELLS % 2 == 0),
    pl.Series(TEXT), pl.Series(TEXT, dtype=pl.Categorical), pl.Series(TEXT, dtype=pl.Enum(ORDER)),
]  # fmt: skip


def by_class(cells: list[Any]) -> int:
    return min(cells.count(cell) for cell in cells)


@pytest.mark.parametrize("name", PANDAS)
def test_pandas(name: str) -> None:
    frame = pd.DataFrame({"x": PANDAS[name], "n": range(12)})
    frame.index = pd.Index(range(40, 52))
    done = microaggregate(frame, quasi=["x"], k=3).frame
    assert list(done) == ["x"]
    assert done["x"].dtype == frame["x"].dtype
    assert type(done["x"].iloc[0]) is type(frame["x"].iloc[0]) or name == "dates"
    assert done.index.equals(frame.index)
    assert by_class(done["x"].tolist()) >= 3
    assert done["x"].notna().all()


@pytest.mark.parametrize("column", POLARS, ids=lambda s: type(s.dtype).__name__)
@pytest.mark.parametrize("lazy", [False, True])
def test_polars(column: pl.Series, lazy: bool) -> None:
    frame = pl.DataFrame({"x": column, "n": range(12)})
    done = microaggregate(frame.lazy() if lazy else frame, quasi=["x"], k=3).frame
    assert isinstance(done, pl.LazyFrame if lazy else pl.DataFrame)
    done = done.lazy().collect()
    assert done.schema == frame.select("x").schema
    assert by_class(done["x"].to_list()) >= 3
    assert done["x"].null_count() == 0


@pytest.mark.parametrize(("kind", "cells"), ARROW, ids=[str(kind) for kind, _ in ARROW])
@pytest.mark.parametrize("make", [pa.table, pa.record_batch])
def test_arrow(kind: pa.DataType, cells: Any, make: Callable[[Any], Any]) -> None:
    frame = make({"x": arrow(kind, cells), "n": pa.array(range(12))})
    done = microaggregate(frame, quasi=["x"], k=3).frame
    assert type(done) is type(frame)
    assert done.schema == frame.schema.remove(1)
    assert by_class(done["x"].to_pylist()) >= 3
    assert done["x"].null_count == 0


@pytest.mark.parametrize(
    ("name", "how"), [("x", {}), ("x", {"type": "nominal"}), ("y", {}), ("z", {})]
)
def test_types_hold_null(name: str, how: dict[str, Any]) -> None:
    rows = {"x": pd.Categorical([None, *TEXT[1:]] * 2, ORDER, ordered=True),
            "y": pd.array([None, *CELLS[1:]] * 2, "Int16"),
            "z": pd.array([None, *(CELLS[1:] > 50)] * 2, "boolean")}  # fmt: skip
    frame = pd.DataFrame(rows)
    done = microaggregate(frame, quasi={name: how}, k=2, nulls="own_class").frame
    assert done[name].dtype == frame[name].dtype
    assert done[name].isna().sum() == 2
    assert min(done[name].value_counts()) >= 2 or name == "x"  # whose order has what nobody has


def test_an_ordered_category_is_ordinal_and_another_nominal() -> None:
    rows = ["a", "c", "c", "b"]  # the median is b or c, by the order; the mode is c
    ordered = pd.Categorical(rows, ["c", "a", "b"], ordered=True)
    for given, expected in ((ordered, "c"), (pd.Categorical(rows), "c")):
        done = microaggregate(pd.DataFrame({"x": given}), quasi=["x"], k=4).frame
        assert set(done["x"]) == {expected}
    far = pd.Categorical(["a", "a", "z", "z", "z"], ["z", "m", "a"], ordered=True)
    low = microaggregate(pd.DataFrame({"x": far}), quasi=["x"], k=5).frame
    assert set(low["x"]) == {"z"}
    enum = pl.DataFrame({"x": pl.Series(["a", "m", "z"], dtype=pl.Enum(["z", "m", "a"]))})
    assert set(microaggregate(enum, quasi=["x"], k=3).frame["x"]) == {"m"}


def test_a_declared_type_has_its_say() -> None:
    frame = pd.DataFrame({"x": series(CELLS, "Int16"), "y": series(CELLS.astype(float))})
    done = microaggregate(frame, quasi={"x": "number", "y": "integer"}, k=5).frame
    assert done["x"].dtype == float
    assert done["y"].dtype == "int64"


@pytest.mark.parametrize("kind", ["M8[s]", "M8[ns]"])
def test_a_mean_moment_is_near_the_mean(kind: str) -> None:
    frame = pd.DataFrame({"x": series(pd.to_datetime(MOMENTS)).astype(kind)})
    done = microaggregate(frame, quasi=["x"], k=12).frame["x"]
    assert abs(done.iloc[0] - pd.Timestamp(2020, 1, 1) - pd.Timedelta(seconds=CELLS.mean())) < (
        pd.Timedelta(seconds=1)
    )


SECRET = 91.5
REFUSED: dict[str, tuple[Any, str]] = {
    "complex": (series([complex(SECRET)] * 4), "is complex128"),
    "sparse": (series(pd.arrays.SparseArray([SECRET, 0.0, 0.0, 1.0])), "is sparse"),
    "intervals": (series(pd.interval_range(SECRET, periods=4)), "is interval"),
    "cut": (series(pd.cut(series([SECRET, 1, 2, 3]), 2)), "is a category of interval"),
    "periods": (series(pd.period_range("1991-05", periods=4, freq="M")), "is period"),
    "objects": (series([type("Odd", (), {"__repr__": lambda s: str(SECRET)})()] * 4), "objects"),
    "mixed": (series([SECRET, "cell", 1, None]), "mixes types, or holds objects"),
    "arrays of text": (series([np.array([str(SECRET)])] * 4), "is list<item: string>"),
    "arrays of arrays": (series([np.array([[str(SECRET)]])] * 4), "mixes types, or holds objects"),
    "dictionaries": (series([{"a": SECRET}] * 4), "is struct<a: double>"),
    "bytes": (series([str(SECRET).encode()] * 4), "is binary"),
    "times": (series([datetime.time(9, 15)] * 4), "is time64[us]"),
    "spans": (series(pd.to_timedelta([SECRET] * 4, unit="s")), "is duration"),
    "long": (series(np.array([SECRET] * 4, np.longdouble)), "is float128"),
    "category of fractions": (series([SECRET] * 4, "category"), "is a category of double"),
    "nothing": (series([None] * 4), "is null"),
    "polars objects": (pl.Series([object()] * 4, dtype=pl.Object), "holds objects"),
    "polars huge": (pl.Series([91] * 4, dtype=pl.Int128), "is Int128"),
    "polars list": (pl.Series([[SECRET]] * 4), "is large_list<item: double>"),
    "polars struct": (pl.Series([{"a": SECRET}] * 4), "is struct<a: double>"),
    "polars span": (pl.Series([91] * 4, dtype=pl.Duration("ms")), "is duration"),
    "polars bytes": (pl.Series([b"91.5"] * 4), "is large_binary"),
    "uuid": (pa.array([b"91.5" * 4] * 4, pa.uuid()), "is arrow.uuid"),
    "map": (pa.array([[("a", SECRET)]] * 4, pa.map_(pa.string(), pa.float64())), "is map<string"),
    "runs": (pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array([1, 2])),
             "is run_end_encoded"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("role", ["quasi", "strata"])
def test_what_is_refused_is_named_without_its_cells(name: str, role: str) -> None:
    column, told = REFUSED[name]
    make = {pl.Series: pl.DataFrame, pd.Series: pd.DataFrame}.get(type(column), pa.table)
    frame = make({"odd one": column, "y": type(column)([1.0, 2, 3, 4])
                  if not isinstance(column, pa.Array) else pa.array([1.0, 2, 3, 4])})  # fmt: skip
    how = {"quasi": ["odd one"]} if role == "quasi" else {"quasi": ["y"], "strata": ["odd one"]}
    if role == "strata" and name in ("bytes", "times", "spans", "nothing", "category of fractions",
                                     "polars span", "polars bytes"):  # fmt: skip
        assert len(microaggregate(frame, k=2, small_strata="merge", **how).labels) == 4
        return
    with pytest.raises(DataError, match=re.escape(told)) as caught:
        microaggregate(frame, k=2, **how)
    error = caught.value
    assert error.code == "bad_type"
    assert "'odd one'" in error.message
    assert "91" not in re.sub("float128|Int128", "", str(error))
    assert error.__cause__ is None


def test_columns_beside_those_that_are_read_may_be_anything() -> None:
    frame = pd.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "odd": series([1j] * 4), 3: ["a"] * 4})
    assert microaggregate(frame, quasi=["y"], k=2, keep=["odd"]).frame["odd"].dtype == complex
    assert list(microaggregate(frame, quasi=["y"], k=2, keep=True).frame) == ["y", "odd", 3]
