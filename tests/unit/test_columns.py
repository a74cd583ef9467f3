"""Columns as numbers, and back."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.columns import decode, encode, inferred_type, published_type
from microagg_ops.errors import DataError


def column(values: list[Any], kind: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


@pytest.mark.parametrize(
    ("declared", "values", "kind", "expected"),
    [
        ("number", [1.5, -0.0], pa.float64(), [1.5, 0.0]),
        ("number", [1, 2], pa.int8(), [1.0, 2.0]),
        ("integer", [1, 2], pa.uint16(), [1.0, 2.0]),
        ("integer", [1.0, 2.0], pa.float32(), [1.0, 2.0]),
        ("date", [date(1970, 1, 2), date(1969, 12, 31)], pa.date32(), [1.0, -1.0]),
        ("date", [date(1970, 1, 2)], pa.date64(), [1.0]),
    ],
)
def test_encode(declared: str, values: list[Any], kind: pa.DataType, expected: list[float]) -> None:
    assert encode("c", declared, column(values, kind)).tolist() == expected


def test_minus_zero_is_zero() -> None:
    assert not np.signbit(encode("c", "number", column([-0.0]))).any()


@pytest.mark.parametrize(
    ("declared", "values", "code", "text"),
    [
        ("number", ["7", "8"], "bad_type", "declared number, but the source holds text"),
        ("integer", [1.5, 2.0], "bad_type", "holds a fraction in 1 of 2 rows"),
        ("date", [1, 2], "bad_type", "declared date, but the source holds int64"),
        ("number", [1.0, None, None], "null_quasi", "NULL in 2 of 3 rows"),
        ("number", [1.0, float("nan")], "null_quasi", "NULL in 1 of 2 rows"),
        ("integer", [1.0, float("nan")], "null_quasi", "NULL in 1 of 2 rows"),
        ("number", [None, None], "null_quasi", "NULL in every row"),
        ("number", [1.0, float("inf")], "infinite", "infinite in 1 of 2 rows"),
    ],
)
def test_what_cannot_be_encoded(declared: str, values: list[Any], code: str, text: str) -> None:
    with pytest.raises(DataError, match=text) as caught:
        encode("c", declared, column(values))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("declared", "values", "kind", "expected"),
    [
        ("number", [1.25], pa.float64(), [1.25]),
        ("integer", [1.4, 2.6, 2.5], pa.int16(), [1, 3, 2]),
        ("date", [0.4, 364.6], pa.date32(), [date(1970, 1, 1), date(1971, 1, 1)]),
    ],
)
def test_decode(declared: str, values: list[float], kind: pa.DataType, expected: list[Any]) -> None:
    found = decode(declared, np.array(values), kind)
    assert found.type == kind
    assert found.to_pylist() == expected


def test_published_types_hold_where_means_fit() -> None:
    assert published_type("integer", pa.int16()) == pa.int16()
    assert published_type("integer", pa.float64()) == pa.int64()
    assert published_type("number", pa.int32()) == pa.float64()
    assert published_type("date", pa.date64()) == pa.date32()


def test_types_are_inferred_from_arrow() -> None:
    assert inferred_type("c", pa.float32()) == "number"
    assert inferred_type("c", pa.int64()) == "integer"
    assert inferred_type("c", pa.date32()) == "date"
    with pytest.raises(DataError, match="'c' is string"):
        inferred_type("c", pa.string())
