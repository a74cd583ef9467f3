"""Least common ancestors and medoids, against slow and obvious versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.columns.encoding import Encoded, decode, read
from microagg_ops.columns.representatives import medoids, representatives
from microagg_ops.columns.space import losses, points, squared
from microagg_ops.columns.trees import paths_of, tree_of
from microagg_ops.release.columns import Quasi
from tests import naive

HOW = Quasi("nominal", hierarchy={"prefix": [3, 2]}, weight=2.0)
CODES = st.sampled_from(["28013", "28014", "28101", "08001", "08002", "41001"])


def encoded(values: list[Any], how: Quasi = HOW) -> Encoded:
    return read("c", how, pa.chunked_array([pa.array(values, pa.string())]))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), CODES), min_size=1, max_size=20))
def test_a_cluster_is_represented_by_what_is_above_all(rows: list[tuple[int, str]]) -> None:
    labels = np.unique([label for label, _ in rows], return_inverse=True)[1].astype(np.int32)
    column = encoded([cell for _, cell in rows])
    found = decode(column, representatives(column, labels)).to_pylist()
    for i in range(labels.max() + 1):
        own = [rows[j][1] for j in np.flatnonzero(labels == i)]
        assert found[i] == naive.common_ancestor([[*path, "*"] for path in paths_of(HOW, own)])


def test_distances_are_by_how_many_levels_differ() -> None:
    cells = ["28013", "28013", "28014", "28101", "08001"]
    places = points(encoded(cells))
    apart = np.square(places - places[0]).sum(axis=1)
    assert apart == pytest.approx([0, 0, 4 / 3, 8 / 3, 4])


def test_what_is_more_general_lies_in_the_middle() -> None:
    column = encoded(["28013", "28014", "28101", "08001"])
    every = read("c", HOW, pa.chunked_array([["280**", "28***", "*"]]), column.categories)
    places, wider = points(column), points(every)
    for place, many in zip(wider, (2, 3, 4), strict=True):
        assert place == pytest.approx(places[:many].mean(axis=0))


def test_what_is_lost_is_the_share_of_others_it_may_be() -> None:
    column = encoded(["28013", "28014", "28101", "08001"])
    width = dict(zip(column.categories.to_pylist(), tree_of(HOW, column.categories).width,
                     strict=True))  # fmt: skip
    assert width == {"28013": 0, "28014": 0, "28101": 0, "08001": 0, "*": 1.0, "280**": 1 / 3,
                     "281**": 0, "080**": 0, "28***": 2 / 3, "08***": 0}  # fmt: skip
    after = read("c", HOW, pa.chunked_array([["280**", "28014", "*", "08001"]]), column.categories)
    lost = squared(column, column.codes, after.codes, (0.0, 1.0))
    assert lost == pytest.approx([4 / 3, 0, 4, 0])
    loss, _ = losses([column], [after.codes], {"c": (0.0, 1.0)}, np.ones(4))
    assert loss == pytest.approx(100 * (4 / 3 + 4) / 16)


def test_null_stays_null() -> None:
    column = encoded(["28013", None, "28014", None])
    assert np.isnan(points(column)[1]).all()
    found = representatives(column, np.array([0, 0, 0, 1], np.int32))
    assert decode(column, found).to_pylist() == ["280**", None]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(-3, 3), st.integers(-3, 3),
                  st.sampled_from([1.0, 2.0])),
        min_size=1, max_size=20,
    )
)  # fmt: skip
def test_a_medoid_is_the_row_nearest_to_the_middle(
    rows: list[tuple[int, int, int, float]],
) -> None:
    labels = np.unique([row[0] for row in rows], return_inverse=True)[1].astype(np.int32)
    places = np.array([row[1:3] for row in rows], float)
    weights = np.array([row[3] for row in rows])
    found = medoids(places, labels, weights)
    for i in range(labels.max() + 1):
        own = np.flatnonzero(labels == i)
        near = naive.medoid(places[own].tolist(), weights[own].tolist())
        assert found[i] in own[near]
