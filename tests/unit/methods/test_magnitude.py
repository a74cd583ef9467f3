"""Every method bears every magnitude that a double has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microagg_ops import microaggregate, partition
from microagg_ops.errors import DataError
from microagg_ops.methods.magnitude import LARGEST, LEAST, within_range
from microagg_ops.methods.registry import METHODS
from tests.unit.methods.test_edges import columns_for, found, params_of

BASE = np.random.default_rng(1).normal(size=(40, 3))
HUGE = 1.797e308
TABLES = {
    "1e308": BASE / np.abs(BASE).max() * HUGE,
    "both ends": np.where(BASE < 0, -HUGE, HUGE),
    "1e160": BASE * 1e160,
    "1e154": BASE * 1e154,
    "far away": BASE + 1e300,
    "1e-170": BASE * 1e-170,
    "subnormal": np.round(BASE * 100) * 5e-324,
    "mixed": BASE * np.array([HUGE / 4, 1, 1e-300]),
    "a huge constant": np.column_stack([np.full(40, 1e300), BASE[:, :2]]),
    "300 constants": np.full((40, 300), HUGE),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_bears_every_magnitude(method: str, name: str) -> None:
    found(method, TABLES[name], 5)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("power", [-1000, -600, 600, 1000])
def test_a_power_of_two_moves_no_row(method: str, power: int) -> None:
    X = columns_for(method, np.ldexp(np.round(BASE * 2**20), -20))
    ordinary = partition(_as_scaled(X), 4, method, **params_of(method))
    assert np.array_equal(partition(X * 2.0**power, 4, method, **params_of(method)), ordinary)


def _as_scaled(X: np.ndarray) -> np.ndarray:
    moved = X - X.min(axis=0)
    return np.ldexp(moved, -int(np.frexp(moved.max())[1]))


def test_an_ordinary_table_is_taken_bit_for_bit() -> None:
    for scale in (1.0, LARGEST / 8, LEAST * 1e6):
        X = BASE * scale
        assert within_range(X) is X
    zeros = np.zeros((5, 2))
    assert within_range(zeros) is zeros


def test_a_constant_does_not_hide_what_varies() -> None:
    X = within_range(TABLES["a huge constant"])
    assert np.ptp(X[:, 0]) == 0
    assert np.ptp(X[:, 1:], axis=0).min() > 0.1


# In a release


@pytest.mark.parametrize("standardize", ["zscore", "minmax", "robust", "none"])
@pytest.mark.parametrize(
    ("scale", "word"), [(1e150, "large"), (1e306, "large"), (1e-150, "close"), (5e-324, "close")]
)
def test_what_cannot_be_measured_is_refused(standardize: str, scale: float, word: str) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": np.round(BASE[:, 0] * 8) * scale, "b": BASE[:, 1]})
    with pytest.raises(DataError, match=f"'a' has values too {word}") as caught:
        microaggregate(frame, quasi=["a", "b"], k=3, standardize=standardize)
    assert caught.value.code == f"too_{word}"


@pytest.mark.parametrize("value", [1 / 3, -7.7e20])
def test_constant_columns_lose_nothing(value: float) -> None:
    import pandas as pd

    constants: dict[str, Any] = {f"c{i}": np.full(40, value) for i in range(60)}
    frame = pd.DataFrame(constants)
    assert microaggregate(frame, quasi=list(frame), k=3).information_loss == 0.0
    with_one = frame.assign(x=BASE[:, 0])
    alone = microaggregate(with_one, quasi=["x"], k=3).information_loss
    beside = microaggregate(with_one, quasi=list(with_one), k=3)
    assert 0 < beside.information_loss < 100
    assert beside.information_loss < 3 * alone + 1
