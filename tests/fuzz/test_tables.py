"""Arrays and frames of any type and magnitude, through every method and measure."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from microagg_ops import lower_bound, metrics, microaggregate, partition
from microagg_ops.methods.registry import METHODS
from tests.fuzz.guard import CANARY, Guard, tries

Draw = np.random.Generator
MAGNITUDES = (
    0.0, 1.0, 1e-320, 1e-308, 1e-160, 1e-20, 1e20, 1e154, 1e160, 1e300, 1.7e308, float(2**53),
)  # fmt: skip
NUMBERS = (
    "f8", "f8", "f8", "f4", "f2", ">f8", "longdouble", "i1", "i8", "u8", ">i4", "?", "O",
)  # fmt: skip
ODD_ARRAYS: tuple[Any, ...] = (
    [], [[]], 7, None, CANARY, [CANARY] * 9, [[1.0], [1.0, 2.0], [3.0]], np.zeros((9, 0)),
    np.zeros((0, 3)), np.zeros((4, 2, 2)), np.full((9, 2), np.nan), np.full((9, 2), np.inf),
    np.zeros((9, 2), complex), np.array([[CANARY, 1.0]] * 9, object),
    np.zeros(9, "M8[D]"), np.zeros(9, "m8[s]"), np.zeros(9, [("a", "f8")]), np.zeros(9, "S4"),
    np.ma.masked_array(np.ones((9, 2)), mask=np.eye(9, 2, dtype=bool)),
    [[decimal.Decimal("1.5")], [Fraction(1, 3)]] * 5, [[10**400]] * 9, [[None]] * 9, {1: 2}, {1, 2},
)  # fmt: skip


def values(draw: Draw, rows: int) -> np.ndarray:
    """Draw a column of numbers: of one magnitude or many, of few values or many."""
    scale = draw.choice(MAGNITUDES)
    if draw.random() < 0.3:
        scale = draw.choice(MAGNITUDES, rows)
    with np.errstate(over="ignore"):
        kinds: tuple[Callable[[], np.ndarray], ...] = (
            lambda: draw.standard_normal(rows) * scale,
            lambda: draw.integers(-2, 3, rows) * scale,
            lambda: np.full(rows, draw.standard_normal()) * scale,
            lambda: np.where(draw.random(rows) < 0.1, scale, 1.0),
        )
        return np.asarray(kinds[draw.integers(len(kinds))](), np.float64)


def array(draw: Draw) -> Any:
    """Draw rows by columns, of a type and a layout that are not always those of the kernels."""
    if draw.random() < 0.1:
        return ODD_ARRAYS[draw.integers(len(ODD_ARRAYS))]
    rows, columns = int(draw.choice([1, 2, 3, 7, 20, 60])), int(draw.choice([1, 1, 2, 3, 5, 40]))
    with np.errstate(all="ignore"):
        X: Any = np.column_stack([values(draw, rows) for _ in range(columns)])
        X = X.astype(str(draw.choice(NUMBERS)))
    if draw.random() < 0.05 and X.dtype.kind == "f":
        X[draw.integers(rows), draw.integers(columns)] = draw.choice([np.nan, np.inf, -np.inf])
    layout = draw.integers(5)
    if layout == 1:
        X = np.asfortranarray(X)
    if layout == 2:
        X = np.repeat(X, 2, axis=0)[::2]
    if layout == 3:
        X.flags.writeable = False
    return X.tolist() if layout == 4 else X


def settings(draw: Draw, name: str) -> dict[str, Any]:
    """Draw the settings of a method: mostly what it allows."""
    how = METHODS[name].briefly(int(draw.choice([1, 20])))
    if draw.random() < 0.1:
        how |= {"budget": draw.choice([0.001, 0.01])}
    return how | {"seed": int(draw.integers(3))}


@pytest.mark.filterwarnings("ignore")
def test_arrays() -> None:
    guard, names = Guard(), sorted(METHODS)
    for name in names:
        # Compiling is no part of a try.
        partition(np.random.default_rng(0).random((60, 1 if METHODS[name].one_column else 3)), 3,
                  name, **METHODS[name].briefly(2))  # fmt: skip
    for seed in range(tries(150, 10_000)):
        draw = np.random.default_rng(seed)
        X, name = array(draw), names[draw.integers(len(names))]
        k: Any = draw.choice(np.array([2, 2, 3, 5, 20, 0, 1.5, None], object))
        how = settings(draw, name)
        labels = guard.run(f"{name} {seed}", partition, X, k, name, **how)
        if labels is not None and (wrong := unlike_a_partition(labels, X, k)):
            guard.broken.append(f"{name} {seed}: {wrong}")
        if labels is not None:
            guard.run(f"measures {seed}", measured, X, labels)
            bound = guard.run(f"bound {seed}", lower_bound, X, k, budget=0.05)
            if bound is not None and not 0 <= bound <= 100:
                guard.broken.append(f"{seed}: a bound of {bound}")
    guard.settle()
    assert guard.ended["done"] > 100


def unlike_a_partition(labels: np.ndarray, X: Any, k: int) -> str:
    """Say why labels are no partition of the rows into clusters of k or more."""
    sizes = np.bincount(labels)
    if labels.dtype != np.int32 or labels.shape != (len(X),):
        return f"labels are {labels.dtype}{labels.shape}"
    return "" if sizes.min() >= k else f"clusters of {sizes.min()} rows for k = {k}"


def measured(X: Any, labels: np.ndarray) -> None:
    """Measure the loss of a partition; no measure may leave its range."""
    before = np.asarray(X, np.float64).reshape(len(labels), -1)
    with np.errstate(all="ignore"):
        centres = np.array([before[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
        loss = metrics.information_loss(before, centres[labels])
    # Means of the largest numbers overflow here, though not in the package.
    assert not loss < 0, loss


OBJECTS: tuple[Any, ...] = (
    CANARY, b"bytes", 7, 1.5, None, float("nan"), decimal.Decimal("1.50"),
    datetime.date(2024, 1, 2),
    datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC), datetime.time(1), datetime.timedelta(1),
    [1], {"a": 1}, (1,), 1 + 2j, pd.NA, pd.NaT, pd.Period("2024-01", "M"), 10**30,
)  # fmt: skip
PANDAS = (
    "float64", "Float64", "float32", "Int8", "int64", "UInt64", "boolean", "bool", "string", "str",
    "category", "datetime64[s]", "datetime64[ns, UTC]", "timedelta64[us]", "complex128", "object",
    "Sparse[float64]", "period[D]", "double[pyarrow]", "string[pyarrow]", "date32[pyarrow]",
    "decimal128(9, 2)[pyarrow]",
)  # fmt: skip


def column(draw: Draw, rows: int) -> pd.Series:
    """Draw a column of a frame; of several kinds of objects, now and then."""
    if draw.random() < 0.2:
        return pd.Series([OBJECTS[i] for i in draw.integers(len(OBJECTS), size=rows)], dtype=object)
    if draw.random() < 0.2:
        return pd.Series([OBJECTS[draw.integers(len(OBJECTS))]] * rows, dtype=object)
    made = pd.Series(draw.integers(0, 90, rows))
    kind = str(draw.choice(PANDAS))
    try:
        return made.astype(kind)
    except (TypeError, ValueError, NotImplementedError):
        return pd.Series(values(draw, rows))


def frame(draw: Draw) -> Any:
    rows = int(draw.choice([0, 1, 3, 12, 30]))
    names = ["a", "b c", 'q"', "ä"][: draw.integers(1, 5)]
    made = pd.DataFrame({name: column(draw, rows) for name in names})
    if draw.random() < 0.1:
        made.index = pd.Index([0] * rows)
    kind = draw.integers(4)
    try:
        if kind == 1:
            return pl.from_pandas(made)
        if kind == 2:
            return pa.Table.from_pandas(made, preserve_index=False)
    except Exception:
        return made
    return made


@pytest.mark.filterwarnings("ignore")
def test_frames() -> None:
    guard = Guard()
    for seed in range(tries(150, 10_000)):
        draw = np.random.default_rng(seed)
        given = frame(draw)
        names = list(map(str, given.columns if isinstance(given, pd.DataFrame | pl.DataFrame)
                         else given.column_names))  # fmt: skip
        quasi: Any = [str(name) for name in draw.permutation(names)[: draw.integers(1, 4)]]
        if draw.random() < 0.3:
            kinds = ["number", "integer", "date", "nominal", "ordinal", "boolean", "decimal"]
            quasi = {name: str(draw.choice(kinds)) for name in quasi}
        nulls = str(draw.choice(["reject", "own_class", "impute"]))
        guard.run(f"{seed}", microaggregate, given, quasi=quasi, k=3, nulls=nulls)
    guard.settle()
    assert guard.ended["done"] > 10
