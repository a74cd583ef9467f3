"""Strata with fewer than k entities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.columns.strata import settled
from microagg_ops.errors import DataError
from tests import naive


def settle(values: list[Any], k: int, rule: str, entities: list[int] | None = None) -> Any:
    table = pa.table({"r": pa.array(values, pa.string()), "row": range(len(values))})
    who = np.arange(len(values)) if entities is None else np.array(entities)
    return settled(table, ["r"], who, k, rule=rule)


def test_small_ones_are_merged_under_null() -> None:
    found = settle(["a", "a", "a", "b", "c", "c"], 3, "merge")
    assert found.table["r"].to_pylist() == ["a", "a", "a", None, None, None]
    assert (found.merged, found.codes.tolist()) == ((2, 3), [0, 0, 0, 1, 1, 1])


def test_one_that_is_left_takes_the_smallest_of_the_others() -> None:
    found = settle(["a"] * 4 + ["b"] * 3 + ["c"], 3, "merge")
    assert found.table["r"].to_pylist() == ["a"] * 4 + [None] * 4
    assert found.merged == (2, 4)


def test_small_ones_join_those_that_are_null_already() -> None:
    found = settle(["a"] * 3 + ["b"] + [None] * 3, 3, "merge")
    assert found.table["r"].to_pylist() == ["a"] * 3 + [None] * 4
    assert found.codes.max() == 1


def test_small_ones_are_dropped() -> None:
    found = settle(["a", "b", "a", "c", "c"], 2, "drop")
    assert found.rows.tolist() == [0, 2, 3, 4]
    assert found.table["row"].to_pylist() == [0, 2, 3, 4]
    assert (found.dropped, found.codes.tolist()) == ((1, 1), [0, 0, 1, 1])


@pytest.mark.parametrize(("values", "rule"), [(["a", "a", "b"], "error"), (["a", "b"], "drop")])
def test_the_error_names_the_size_alone(values: list[str], rule: str) -> None:
    with pytest.raises(DataError, match="has 1 entities, fewer than k = 2") as caught:
        settle(values, 2, rule)
    assert caught.value.code == "small_stratum"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.integers(0, 6)),
        min_size=5,
        max_size=30,
    ),
    st.integers(2, 4),
)
def test_after_merging_every_stratum_has_k_entities(
    rows: list[tuple[str | None, int]], k: int
) -> None:
    values, entities = [row[0] for row in rows], [row[1] for row in rows]
    if len(set(entities)) < k:
        return
    found = settle(values, k, "merge", entities)
    after = found.table["r"].to_pylist()
    assert naive.class_sizes([(value,) for value in after], entities)[0] >= k
    assert all(new in (old, None) for old, new in zip(values, after, strict=True))
