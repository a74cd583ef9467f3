"""Columns as codes, and back."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.columns.encoding import decode, inferred_type, published_type, read, refuse_null
from microagg_ops.errors import DataError
from microagg_ops.release.columns import Quasi

NOON = datetime(2026, 3, 1, 12, 0, 0, 250_001)
LEVELS = Quasi("ordinal", order=("none", "some", "much"))


def column(values: list[Any], kind: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


@pytest.mark.parametrize(
    ("how", "values", "kind", "expected"),
    [
        ("number", [1.5, -0.0], pa.float64(), [1.5, 0.0]),
        ("number", [1, 2], pa.int8(), [1.0, 2.0]),
        ("number", [1.0, float("nan"), None], pa.float64(), [1.0, np.nan, np.nan]),
        ("integer", [1, None], pa.uint16(), [1.0, np.nan]),
        ("integer", [1.0, 2.0], pa.float32(), [1.0, 2.0]),
        ("decimal", [Decimal("1.10"), Decimal("-0.07")], pa.decimal128(9, 2), [110.0, -7.0]),
        ("date", [date(1970, 1, 2), date(1969, 12, 31)], pa.date32(), [1.0, -1.0]),
        ("date", [date(1970, 1, 2)], pa.date64(), [1.0]),
        ("timestamp", [datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("us"), [1e6]),
        ("timestamp", [datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("s"), [1.0]),
        ("timestamp", [datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("ns"), [1e6]),
        ("nominal", ["b", "a", None, "b"], pa.string(), [1.0, 0.0, np.nan, 1.0]),
        ("nominal", [30, 7], pa.int32(), [1.0, 0.0]),
        ("boolean", [True, False, None], pa.bool_(), [1.0, 0.0, np.nan]),
        (LEVELS, ["much", "none", None], pa.string(), [2.0, 0.0, np.nan]),
        (Quasi("ordinal", order=(3, 1)), [1, 3], pa.int8(), [1.0, 0.0]),
        (Quasi("ordinal", order=(3, 1)), ["1", "3"], pa.string(), [1.0, 0.0]),
        ("number", [None, None], pa.null(), [np.nan, np.nan]),
        ("nominal", [None], pa.null(), [np.nan]),
    ],
)
def test_read(
    how: str | Quasi, values: list[Any], kind: pa.DataType, expected: list[float]
) -> None:
    how = Quasi(how) if isinstance(how, str) else how
    np.testing.assert_array_equal(read("c", how, column(values, kind)).codes, expected)


@pytest.mark.parametrize(
    ("how", "values", "kind"),
    [
        (Quasi("integer"), [2**63 - 1, -(2**63), None], pa.int64()),
        (Quasi("integer"), [2**64 - 1, 0], pa.uint64()),
        (Quasi("integer"), [7, -128, 127, None], pa.int8()),
        (Quasi("decimal"), [Decimal("1.10"), None, Decimal("-0.07")], pa.decimal128(9, 2)),
        (Quasi("decimal"), [Decimal("89999999999999.99")], pa.decimal128(38, 2)),
        (Quasi("date"), [date(2026, 2, 28), None], pa.date32()),
        (Quasi("timestamp"), [NOON, None], pa.timestamp("us")),
        (Quasi("timestamp"), [NOON.replace(tzinfo=UTC)], pa.timestamp("us", "Europe/Madrid")),
        (Quasi("timestamp"), [NOON], pa.timestamp("ns")),
        (Quasi("timestamp"), [NOON.replace(microsecond=0)], pa.timestamp("s")),
        (Quasi("nominal"), ["b", "a", None], pa.string()),
        (Quasi("nominal"), [None, None], pa.string()),
        (Quasi("nominal"), [30, 7], pa.int32()),
        (Quasi("boolean"), [True, None], pa.bool_()),
        (LEVELS, ["much", None], pa.string()),
    ],
)
def test_what_is_read_can_be_written_back(how: Quasi, values: list[Any], kind: pa.DataType) -> None:
    given = pa.array(values, kind)
    encoded = read("c", how, pa.chunked_array([given]))
    assert decode(encoded, encoded.codes).equals(given)


def test_minus_zero_is_zero() -> None:
    assert not np.signbit(read("c", Quasi("number"), column([-0.0])).codes).any()


@pytest.mark.parametrize(
    ("declared", "values", "code", "text"),
    [
        ("number", ["7", "8"], "bad_type", "declared number, but the source holds text"),
        ("integer", [1.5, 2.0, None], "bad_type", "holds a fraction in 1 of 3 rows"),
        ("date", [1, 2], "bad_type", "declared date, but the source holds int64"),
        ("decimal", [1.5], "bad_type", "declared decimal, but the source holds double"),
        ("nominal", [1.5], "bad_type", "declared nominal, but the source holds double"),
        ("boolean", ["yes"], "bad_type", "declared boolean, but the source holds text"),
        ("number", [1.0, float("inf")], "infinite", "infinite in 1 of 2 rows"),
    ],
)
def test_what_cannot_be_read(declared: str, values: list[Any], code: str, text: str) -> None:
    with pytest.raises(DataError, match=text) as caught:
        read("c", Quasi(declared), column(values))
    assert caught.value.code == code


def test_infinite_moments() -> None:
    for kind in (pa.timestamp("us"), pa.date32()):
        endless = pa.array([2**31 - 1 if kind == pa.date32() else 2**63 - 1]).cast(
            pa.int32() if kind == pa.date32() else pa.int64()
        )
        with pytest.raises(DataError, match="infinite in every row"):
            read("c", Quasi(inferred_type("c", kind)), pa.chunked_array([endless.cast(kind)]))


def test_a_value_outside_the_order_is_counted_and_not_shown() -> None:
    with pytest.raises(DataError, match="not in its order in 1 of 3 rows") as caught:
        read("c", LEVELS, column(["none", "secret", None]))
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="holds text, but the source holds whole numbers"):
        read("c", LEVELS, column([1, 2]))


def test_null_is_refused_and_counted() -> None:
    for values, text in (([1.0, None, float("nan")], "2 of 3 rows"), ([None], "every row")):
        with pytest.raises(DataError, match=f"NULL in {text}") as caught:
            refuse_null(read("c", Quasi("number"), column(values)))
        assert caught.value.code == "null_quasi"


def test_published_types_hold_where_means_fit() -> None:
    assert published_type("integer", pa.int16()) == pa.int16()
    assert published_type("integer", pa.float64()) == pa.int64()
    assert published_type("number", pa.int32()) == pa.float64()
    assert published_type("date", pa.date64()) == pa.date32()
    moment = pa.timestamp("ms", "UTC")
    assert published_type("timestamp", moment) == moment
    assert published_type("decimal", pa.decimal128(7, 3)) == pa.decimal128(7, 3)


@pytest.mark.parametrize(
    ("kind", "declared"),
    [
        (pa.float32(), "number"),
        (pa.int64(), "integer"),
        (pa.decimal128(9, 2), "decimal"),
        (pa.bool_(), "boolean"),
        (pa.date32(), "date"),
        (pa.timestamp("ns", "UTC"), "timestamp"),
        (pa.string(), "nominal"),
    ],
)
def test_types_are_inferred_from_arrow(kind: pa.DataType, declared: str) -> None:
    assert inferred_type("c", kind) == declared


def test_a_type_that_no_quasi_identifier_has() -> None:
    with pytest.raises(DataError, match="'c' is binary"):
        inferred_type("c", pa.binary())
