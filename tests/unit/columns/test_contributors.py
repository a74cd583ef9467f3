"""Whose cells a value comes from, where NULLs were imputed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.columns.contributors import Backed, backed
from microagg_ops.columns.dominance import Rule
from microagg_ops.columns.encoding import Encoded, read
from microagg_ops.errors import DataError
from microagg_ops.release.columns import Quasi
from tests import naive

CELL = st.one_of(st.none(), st.integers(-9, 9).map(float))
ROWS = st.lists(st.tuples(CELL, st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=25)
ANY = {"n": 1, "share": 1.0, "p": 0.0}


def column(values: list[float | None], kind: str = "number", **how: str) -> Encoded:
    return read("c", Quasi(kind, **how), pa.chunked_array([pa.array(values, pa.float64())]))


def found(
    values: list[float | None], labels: list[int], strata: list[int], who: list[int], k: int
) -> Backed:
    """What clusters publish, whatever the weights."""
    return backed(
        column(values), np.array(labels, np.int32), np.array(strata), np.array(who),
        weights=np.ones(len(values)), rule=Rule(k, **ANY),
    )  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(ROWS, st.integers(1, 4))
def test_values_agree_with_the_slow_version(
    rows: list[tuple[float | None, int, int]], k: int
) -> None:
    values, clusters, who = (list(column) for column in zip(*rows, strict=True))
    labels = np.unique(clusters, return_inverse=True)[1].tolist()
    strata = np.unique([c // 2 for c in clusters], return_inverse=True)[1].tolist()
    if all(value is None for value in values):
        return
    expected = naive.backed_means(values, labels, strata, who, k)
    if expected is None:
        with pytest.raises(DataError, match="cannot be imputed"):
            found(values, labels, strata, who, k)
        return
    made = found(values, labels, strata, who, k)
    assert made.codes.tolist() == pytest.approx([expected[c] for c in range(len(made.codes))])
    assert made.entities.min() >= k


def test_the_few_are_not_what_is_left_of_the_stratum() -> None:
    # Five are known in the first cluster and one in the second. Were the sixth in the mean of the
    # stratum, 6 times that without 5 times the first would be its value.
    values = [1.0, 2.0, 3.0, 4.0, 5.0, None, None, None, None, 123457.0]
    made = found(values, [0] * 5 + [1] * 5, [0] * 10, list(range(10)), 5)
    assert made.codes.tolist() == [3.0, 3.0]
    assert made.own.missing.tolist() == [False] * 5 + [True] * 5


def test_a_stratum_without_enough_takes_the_table_without_its_few() -> None:
    values = [None] * 4 + [123457.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    labels = [0] * 5 + [1] * 5
    assert found(values, labels, labels, list(range(10)), 5).codes.tolist() == [3.0, 3.0]


def test_one_who_outweighs_the_others_is_no_source() -> None:
    weights = np.array([90.0, 1, 1, 1, 1, 1, 1, 1])
    made = backed(
        column([9.0, 1, None, 1, 2, 4, 3, 3]), np.array([0] * 4 + [1] * 4, np.int32),
        np.zeros(8, np.int64), np.arange(8), weights=weights, rule=Rule(3, 1, 0.5, 10.0),
    )  # fmt: skip
    assert made.codes.tolist() == [3.0, 3.0]
