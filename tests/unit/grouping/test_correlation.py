"""Groups of columns by their correlations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg_ops.grouping.correlation import correlated, correlations, uncorrelated
from tests import naive

# Columns 0 and 3 are alike, 1 and 2 are alike, 4 is like none.
STRENGTHS = np.array(
    [
        [1.0, 0.1, 0.1, 0.9, 0.2],
        [0.1, 1.0, 0.8, 0.1, 0.1],
        [0.1, 0.8, 1.0, 0.1, 0.1],
        [0.9, 0.1, 0.1, 1.0, 0.1],
        [0.2, 0.1, 0.1, 0.1, 1.0],
    ]
)


def test_the_strength_of_numbers_is_the_size_of_their_correlation() -> None:
    X = np.random.default_rng(1).normal(size=(50, 3)) @ np.array([[1, 0, 0], [2, 1, 0], [0, -3, 1]])
    found = correlations([column[:, None] for column in X.T])
    for i in range(3):
        for j in range(3):
            expected = abs(naive.correlation(X[:, i].tolist(), X[:, j].tolist()))
            assert found[i, j] == pytest.approx(expected, abs=1e-8)


def test_categories_are_correlated_with_what_they_tell() -> None:
    codes = np.array([0, 0, 1, 1, 2, 2])
    corners, other = np.eye(3)[codes], np.array([[1.0], [2.0]] * 3)
    found = correlations([corners, codes[:, None] * 1.0, other])
    assert found[0, 0] == 1
    assert found[0, 1] > 0.8
    assert found[0, 2] == found[1, 2] == 0


def test_a_column_that_does_not_vary_and_null_are_no_error() -> None:
    columns = [np.ones((4, 1)), np.array([[1.0], [np.nan], [3.0], [2.0]]), np.full((4, 1), np.nan)]
    found = correlations(columns)
    assert found.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert correlated(found, 2) == [[0, 1], [2]]


def test_alike_columns_are_together_or_apart() -> None:
    assert correlated(STRENGTHS, 2) == [[0, 3], [1, 2], [4]]
    assert correlated(STRENGTHS, 3) == [[0, 3, 4], [1, 2]]
    assert uncorrelated(STRENGTHS, 3) == [[0, 1], [2, 3, 4]]
    assert correlated(STRENGTHS, 1) == uncorrelated(STRENGTHS, 1) == [[0], [1], [2], [3], [4]]
    assert correlated(STRENGTHS, 9) == uncorrelated(STRENGTHS, 9) == [[0, 1, 2, 3, 4]]


@given(st.integers(1, 9), st.integers(1, 10), st.integers(0, 9))
def test_each_column_is_in_one_group_of_the_size(columns: int, size: int, seed: int) -> None:
    X = np.random.default_rng(seed).integers(0, 3, (12, columns)).astype(float)
    strengths = correlations([column[:, None] for column in X.T])
    for found in (correlated(strengths, size), uncorrelated(strengths, size)):
        assert naive.is_grouping(found, columns)
        sizes = sorted(map(len, found), reverse=True)
        assert max(sizes) <= size
        assert len(found) == -(-columns // size)
    whole = correlated(strengths, size)
    assert sorted(map(len, whole))[1:] == [size] * (len(whole) - 1)
