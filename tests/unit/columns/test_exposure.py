"""Clusters that one entity outweighs, or is shown by, and how they are joined."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.columns.dominance import Rule, parts
from microagg_ops.columns.encoding import read
from microagg_ops.columns.merging import merged_clusters
from microagg_ops.columns.representatives import representable
from microagg_ops.release.columns import Quasi
from tests import naive

RULE = Rule(3, 1, 0.5, 10.0)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 2), st.integers(0, 4), st.sampled_from([0.5, 1.0, 4.0])
    ),
    min_size=1,
    max_size=20,
)
WORDS = ("a", "b", "c", "d")


def as_lists(rows: list[tuple[int, int, int, float]]) -> list[list[int]]:
    values, labels, who, weights = (list(column) for column in zip(*rows, strict=True))
    return [values, np.unique(labels, return_inverse=True)[1].tolist(), who, weights]


@settings(max_examples=200, deadline=None)
@given(ROWS)
def test_exposure_agrees_with_the_slow_version(rows: list[tuple[int, int, int, float]]) -> None:
    values, labels, who, weights = as_lists(rows)
    words = pa.chunked_array([[WORDS[v] for v in values]])
    clusters = range(max(labels) + 1)
    for how in (Quasi("ordinal", WORDS), Quasi("nominal")):
        encoded = read("c", how, words, pa.array(WORDS))
        shown = representable(encoded, np.array(labels, np.int32), np.array(weights))
        found = RULE.exposes(encoded, shown, np.array(labels, np.int32), np.array(who))
        for cluster in clusters:
            mine = [i for i, label in enumerate(labels) if label == cluster]
            expected = naive.exposes(
                [values[i] for i in mine], [who[i] for i in mine], shown[cluster], how.statistic
            )
            assert found[cluster] == expected


@settings(max_examples=200, deadline=None)
@given(ROWS)
def test_no_mode_is_one_entitys_by_its_weight(rows: list[tuple[int, int, int, float]]) -> None:
    values, labels, who, weights = as_lists(rows)
    encoded = read("c", Quasi("nominal"), pa.chunked_array([[WORDS[v] for v in values]]))
    codes, clusters = encoded.codes.astype(int).tolist(), np.array(labels, np.int32)
    shown = representable(encoded, clusters, np.array(weights), np.array(who))
    overall = np.bincount(codes, weights)
    order = sorted(range(len(overall)), key=lambda v: (-overall[v], v))
    for cluster in range(len(shown)):
        mine = [i for i, label in enumerate(labels) if label == cluster]
        assert shown[cluster] == naive.shared_mode(
            *([column[i] for i in mine] for column in (codes, weights, who)), order
        )
    assert not RULE.exposes(encoded, shown, clusters, np.array(who)).any()


def test_a_share_of_one_loosens_medians_and_modes_too() -> None:
    encoded = read("c", Quasi("ordinal", WORDS), pa.chunked_array([["a", "b"]]))
    two, shown = np.zeros(2, np.int32), np.zeros(1)
    assert Rule(2, 1, 0.8, 0.0).exposes(encoded, shown, two, np.arange(2)).all()
    assert not Rule(2, 1, 1.0, 0.0).exposes(encoded, shown, two, np.arange(2)).any()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=3, max_size=30), st.integers(1, 4))
def test_clusters_are_joined_until_the_rule_holds(weights: list[int], size: int) -> None:
    many = len(weights)
    points = np.random.default_rng(0).normal(size=(many, 2))
    labels = (np.arange(many) // size).astype(np.int32)
    heavy = np.array(weights, float)

    def breaks(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return ~RULE.holds(parts(heavy[rows], labels, rows))

    found = merged_clusters(points, labels, breaks)
    assert found.max() == 0 or RULE.holds(parts(heavy, found, np.arange(many))).all()
    assert sorted(set(found.tolist())) == list(range(found.max() + 1))
    # Whoever was together still is.
    assert all(len(set(found[labels == cluster])) == 1 for cluster in set(labels.tolist()))


def test_the_nearest_is_joined_and_of_two_the_first() -> None:
    points = np.array([[0.0], [0.0], [1.0], [1.0], [-1.0], [-1.0], [9.0], [9.0]])
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3], np.int32)
    weights = np.array([3.0, 1, 1, 1, 1, 1, 1, 1])

    def breaks(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return parts(weights[rows], labels, rows).share(1) > 0.5

    assert merged_clusters(points, labels, breaks).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
