"""The score of a grouping, against the slow and obvious one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import partition
from microagg_ops.columns.encoding import Encoded, read
from microagg_ops.columns.space import NO_SCALE
from microagg_ops.grouping import fitness as module
from microagg_ops.grouping.chromosome import drawn
from microagg_ops.grouping.fitness import Fitness
from microagg_ops.metrics import distance_linkage
from microagg_ops.release.columns import Quasi
from tests import naive
from tests.property.tables import tables


def fitness_of(X: np.ndarray, k: int) -> Fitness:
    """The fitness of columns of numbers, standardized."""
    columns = [
        Encoded(str(j), Quasi("number"), column, pa.float64()) for j, column in enumerate(X.T)
    ]
    scales = [(float(column.mean()), float(column.std()) or 1.0) for column in X.T]
    return Fitness(columns, scales, k, np.ones(len(X)))


@settings(max_examples=60, deadline=None)
@given(tables(most_rows=24), st.integers(0, 1000))
def test_the_score_is_that_of_the_definition(table: tuple[np.ndarray, int], seed: int) -> None:
    X, k = table
    found = fitness_of(X, k)
    key = drawn(X.shape[1], np.random.default_rng(seed)).key
    groups = [module.columns_of(group) for group in key]
    labels = []
    for group in groups:
        Z = np.hstack([found.points[column] for column in group])
        few = len(X) < 2 * k
        one = len(group) == 1
        labels.append(
            [0] * len(X) if few else list(partition(Z, k, "optimal")) if one else naive.mdav(Z, k)
        )
    measured = found.measure(key)
    loss, interval, _, _ = naive.grouping_score(X, groups, labels)
    assert measured.information_loss == pytest.approx(loss, abs=1e-6)
    # A value on the edge of the interval may fall on either side by rounding.
    assert measured.interval_disclosure == pytest.approx(interval, abs=200 / X.size)
    after = np.empty((len(X), X.shape[1]))
    for group, bits in zip(groups, key, strict=True):
        part = found.part(bits)
        after[:, group] = part.centres[part.labels]
    linked = naive.certain_links(found.together, after)
    assert measured.linkage == pytest.approx(100 * linked / len(X))
    parts = measured.information_loss, measured.interval_disclosure, measured.linkage
    assert measured.score == pytest.approx((parts[0] + (parts[1] + parts[2]) / 2) / 2)


@pytest.mark.parametrize("limit", [1, 10**6])
def test_links_are_those_of_the_measure(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(module, "WORK_PER_CALL", limit)
    rng = np.random.default_rng(3)
    X = np.round(rng.gamma(1.0, 2.0, (300, 5)), 1)  # with ties
    found = fitness_of(X, 3)
    for _ in range(10):
        key = drawn(5, rng).key
        parts = [found.part(group) for group in key]
        after = np.empty_like(X)
        for group, part in zip(key, parts, strict=True):
            after[:, found.coordinates_of(group)] = part.centres[part.labels]
        expected = distance_linkage(found.together, after).certain
        assert found.links(key, parts) == expected
    assert expected > 0


def test_one_group_links_nobody_for_certain() -> None:
    found = fitness_of(np.random.default_rng(0).normal(size=(40, 3)), 2).measure((0b111,))
    assert found.linkage == 0.0


def test_columns_of_any_type_are_measured() -> None:
    rows = 30
    rng = np.random.default_rng(2)
    cells: dict[str, tuple[Any, Quasi]] = {
        "fee": (rng.normal(size=rows), Quasi("number")),
        "town": (rng.choice(["a", "b", "c"], rows), Quasi("nominal")),
        "yes": (rng.random(rows) < 0.5, Quasi("boolean")),
        "grade": (rng.choice(["low", "high"], rows), Quasi("ordinal", ("low", "high"))),
        "born": (np.datetime64("2001-01-01") + rng.integers(0, 99, rows), Quasi("date")),
    }
    columns = [read(n, how, pa.chunked_array([pa.array(v)])) for n, (v, how) in cells.items()]
    found = Fitness(columns, [NO_SCALE] * 5, 3, np.ones(rows))
    for key in [(0b11111,), (0b00011, 0b11100), (1, 2, 4, 8, 16)]:
        measured = found.measure(key)
        assert 0 <= measured.information_loss <= 100
        assert 0 <= measured.interval_disclosure <= 100
    kept = found.part(0b00010)  # alone, towns of one cluster are one town wherever that is possible
    published = kept.centres[kept.labels]
    assert (published == found.points[1]).all(axis=1).sum() == kept.disclosed


def test_parts_are_forgotten_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 1)
    found = fitness_of(np.random.default_rng(0).normal(size=(40, 3)), 2)
    for group in range(1, 8):
        found.keep(group, found.aggregate(group))
    assert len(found.parts) == 3
    fresh = fitness_of(np.random.default_rng(0).normal(size=(40, 3)), 2)
    assert found.measure((1, 6)) == fresh.measure((1, 6))
