"""The optimal partition of one column against all partitions there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import partition
from microagg_ops.errors import ReleaseError
from microagg_ops.methods.registry import METHODS
from microagg_ops.metrics.loss import centroids, sse
from tests import naive
from tests.property.tables import tables
from tests.unit.methods.test_edges import params_of


@settings(max_examples=150, deadline=None)
@given(tables(columns=1, most_rows=8))
def test_no_partition_loses_less(table: tuple[np.ndarray, int]) -> None:
    X, k = table
    labels = partition(X, k, "optimal")
    assert np.bincount(labels).min() >= k
    least = float(naive.least_sse(X[:, 0].tolist(), k))
    assert sse(X, centroids(X, labels)[labels]) == pytest.approx(least, rel=1e-9, abs=1e-12)


def test_two_clusters_of_an_unsorted_column() -> None:
    assert partition([6.0, 1.0, 5.0, 2.0], 2, "optimal").tolist() == [0, 1, 0, 1]


def test_equal_values_go_by_row() -> None:
    assert partition([1.0] * 4, 2, "optimal").tolist() == [0, 0, 1, 1]


@settings(max_examples=100, deadline=None)
@given(tables(columns=1, most_rows=60), st.sampled_from(sorted(METHODS)))
def test_no_method_is_better(table: tuple[np.ndarray, int], method: str) -> None:
    X, k = table
    found = [partition(X, k, name, **params_of(name)) for name in ("optimal", method)]
    least, other = (sse(X, centroids(X, labels)[labels]) for labels in found)
    assert least <= other * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_values_of_any_size_and_far_from_zero(scale: float) -> None:
    X = np.random.default_rng(1).normal(size=(500, 1))
    expected = partition(X, 4, "optimal").tolist()
    assert partition(X * scale, 4, "optimal").tolist() == expected
    assert partition((X + 1e6) * scale, 4, "optimal").tolist() == expected


@pytest.mark.parametrize("k", [2, 3, 7, 20])
def test_no_runs_of_a_longer_column_lose_less(k: int) -> None:
    values = np.random.default_rng(k).gamma(1, size=150)
    labels = partition(values, k, "optimal")
    lost = sse(values[:, None], centroids(values[:, None], labels)[labels])
    assert lost == pytest.approx(naive.least_sse_of_runs(values.tolist(), k), rel=1e-9)


def test_several_columns_are_refused() -> None:
    with pytest.raises(ReleaseError, match="'optimal' takes one column. Got 2"):
        partition(np.zeros((4, 2)), 2, "optimal")
