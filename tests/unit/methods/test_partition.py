"""The one signature of all methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microagg_ops import partition
from microagg_ops.errors import BudgetError, DataError, ReleaseError
from microagg_ops.methods.partition import renumbered
from microagg_ops.methods.registry import METHODS
from tests import naive


@pytest.mark.parametrize("k", [0, 1, -3, 2.0, "3", None, True, np.float64(3)])
def test_k_must_be_an_integer_of_two_or_more(k: Any) -> None:
    with pytest.raises(ReleaseError, match="'k' parameter"):
        partition(np.zeros((9, 2)), k)


def test_numpy_integers_are_integers() -> None:
    assert (
        partition(np.zeros((9, 2)), np.int16(3)).tolist() == partition(np.zeros((9, 2)), 3).tolist()
    )


def test_fewer_rows_than_k() -> None:
    with pytest.raises(DataError, match="2 rows, fewer than k = 3") as caught:
        partition(np.zeros((2, 2)), 3)
    assert caught.value.code == "too_few"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_must_be_finite(bad: float) -> None:
    X = np.ones((5, 3))
    X[3, 1] = bad
    with pytest.raises(DataError, match="Column 1 holds NaN or an infinite value in 1 rows"):
        partition(X, 2)


def test_one_dimension_is_one_column() -> None:
    assert partition([1.0, 9.0, 1.1, 9.1], 2).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("shape", [(4, 0), (2, 2, 2), ()])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="rows by columns"):
        partition(np.zeros(shape), 2)


def test_unknown_method_names_the_known_ones() -> None:
    with pytest.raises(ReleaseError, match=r"one of .*mdav.* Got 'mdva'"):
        partition(np.zeros((4, 1)), 2, "mdva")


def test_unknown_parameter_of_a_method() -> None:
    with pytest.raises(ReleaseError, match="'mdav' has no parameter 'speed'"):
        partition(np.zeros((4, 1)), 2, speed=3)


def test_the_input_is_not_changed() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    before = X.copy()
    partition(X, 3)
    assert np.array_equal(X, before)


def test_equal_rows_go_to_the_lowest() -> None:
    assert partition(np.zeros((7, 2)), 3).tolist() == [0, 0, 0, 1, 1, 1, 0]


@pytest.mark.parametrize(("rows", "k"), [(5, 5), (6, 3), (9, 5), (10, 5), (11, 4)])
def test_few_rows_for_k(rows: int, k: int) -> None:
    X = np.random.default_rng(rows).normal(size=(rows, 2))
    assert partition(X, k).tolist() == naive.mdav(X, k)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_any_scale(scale: float) -> None:
    X = np.random.default_rng(1).normal(size=(60, 3))
    assert partition(X * scale, 4).tolist() == partition(X, 4).tolist()


def test_many_columns() -> None:
    X = np.random.default_rng(2).normal(size=(60, 200))
    assert partition(X, 4).tolist() == naive.mdav(X, 4)


def test_fortran_order_and_slices() -> None:
    X = np.random.default_rng(3).normal(size=(80, 6))
    expected = partition(np.ascontiguousarray(X[:, ::2]), 4)
    assert np.array_equal(partition(X[:, ::2], 4), expected)
    assert np.array_equal(partition(np.asfortranarray(X[:, ::2]), 4), expected)


def test_a_budget_that_is_too_small_is_an_error() -> None:
    X = np.random.default_rng(4).normal(size=(120_000, 8))
    with pytest.raises(BudgetError, match="budget ran out"):
        partition(X, 3, budget="20ms")


def test_progress_rises_to_one() -> None:
    told: list[float] = []
    partition(np.random.default_rng(5).normal(size=(20_000, 4)), 3, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_methods_load_and_say_what_they_are() -> None:
    for method in METHODS.values():
        assert callable(method.load())
        assert method.about.endswith(".")


def test_renumbered() -> None:
    assert renumbered(np.array([7, 2, 7, 9, 2])).tolist() == [0, 1, 0, 2, 1]
