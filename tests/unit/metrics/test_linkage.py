"""Record linkage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import partition
from microagg_ops.errors import DataError
from microagg_ops.metrics import distance_linkage, probabilistic_linkage, rank_linkage
from microagg_ops.metrics.linkage import Linkage, coordinates, wilson
from microagg_ops.metrics.loss import centroids
from microagg_ops.metrics.tables import paired
from tests import naive
from tests.unit.metrics.mixed import Mixed, tables


@st.composite
def arrays(draw: st.DrawFn, most: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Rows on a coarse grid, where many are equal and many are equally near."""
    rows, columns = draw(st.integers(1, most)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    grid = draw(st.sampled_from([2, 4, 100]))
    before, after = rng.integers(0, grid, (2, rows, columns)).astype(float)
    kept = rng.random(rows) < draw(st.floats(0, 1))
    after[kept] = before[kept]
    return before, after


def agrees(found: Linkage, ties: list[int]) -> bool:
    """Whether links are those of the ties."""
    return (
        found.rows == found.tried == len(ties)
        and found.certain == ties.count(1)
        and math.isclose(found.expected, sum(1 / t for t in ties if t))
        and found.low == found.high == pytest.approx(found.percent)
    )


@settings(max_examples=200, deadline=None)
@given(arrays())
def test_distances_agree_with_the_slow_version(tables: tuple[np.ndarray, np.ndarray]) -> None:
    before, after = tables
    nominal = [False] * before.shape[1]
    ties = naive.linkage_ties(before.tolist(), after.tolist(), nominal)
    assert agrees(distance_linkage(before, after), ties)


@settings(max_examples=200, deadline=None)
@given(arrays(), st.integers(1, 6), st.randoms(use_true_random=False))
def test_within_strata_links_agree_with_the_slow_version(
    tables: tuple[np.ndarray, np.ndarray], strata: int, random: Any
) -> None:
    before, after = tables
    within = [random.randrange(strata) for _ in before]
    nominal = [False] * before.shape[1]
    ties = naive.linkage_ties(before.tolist(), after.tolist(), nominal, within)
    assert agrees(distance_linkage(before, after, within=np.array(within)), ties)
    # Ranks are those of the table, so of one stratum by itself they would be others.
    ranks = rank_linkage(before, after, within=np.zeros(len(before), np.int64))
    assert ranks == rank_linkage(before, after)
    if strata == 1:
        assert probabilistic_linkage(before, after, within=np.array(within)) == (
            probabilistic_linkage(before, after)
        )


@pytest.mark.parametrize("linkage", [distance_linkage, rank_linkage, probabilistic_linkage])
def test_who_knows_the_strata_links_more(linkage: Any) -> None:
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {"a": rng.normal(size=600).round(1), "g": rng.choice(["x", "y", None], 600)}
    )
    after = table.assign(a=table.a + rng.normal(size=600).round(1))
    known = linkage(table, after, ["a"], within=["g"])
    assert known.percent > linkage(table, after, ["a"]).percent
    # Strata by themselves are searched as the whole would be.
    alone = linkage(table, after, ["a"], within=np.arange(600))
    assert alone.certain == 600
    # Whatever their order, and how they are numbered: equal rows of two strata are linked apart.
    order = rng.permutation(600)
    sample = linkage(table, after, ["a"], within=["g"], sample=200)
    assert sample != known
    assert sample == linkage(table.iloc[order], after.iloc[order], ["a"], within=["g"], sample=200)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("columns", [1, 2, 6])
def test_deeper_trees_agree_with_the_slow_version(k: int, columns: int) -> None:
    before = np.random.default_rng(k).normal(size=(1200, columns)).round(1)
    labels = partition(before, k) if k > 1 else np.arange(1200)
    after = centroids(before, labels)[labels] if k > 1 else before + 0.3 * before[::-1].round()
    distances = np.zeros((1200, 1200))
    for j in range(columns):
        distances += (before[:, [j]] - after[:, j]) ** 2
    own = distances.diagonal()
    ties = np.where(distances.min(axis=1) < own, 0, (distances == own[:, None]).sum(axis=1))
    assert 0 < (ties > 0).sum() < 1200
    assert agrees(distance_linkage(before, after), ties.tolist())


@settings(max_examples=100, deadline=None)
@given(tables(min_size=2), st.randoms(use_true_random=False))
def test_mixed_types_agree_with_the_slow_version(table: Mixed, random: Any) -> None:
    order = [random.randrange(table.rows) for _ in range(table.rows)]
    after = table.shuffled(order)
    ties = naive.linkage_ties(*slow_coordinates(table, after))
    for first, second in zip(table.frames(), after.frames(), strict=True):
        points = coordinates(paired(first, second))
        assert not np.isnan(points.before).any()
        found = naive.linkage_ties(
            points.before.tolist(), points.after.tolist(), points.nominal.tolist()
        )
        assert agrees(distance_linkage(first, second), found)
        assert [t > 0 for t in found] == [t > 0 for t in ties]


def slow_coordinates(before: Mixed, after: Mixed) -> tuple[Any, Any, list[bool]]:
    """Both tables as rows of numbers, by the words of the documentation."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    nominal = []
    for name in before.columns:
        columns = [[row[0] for row in side.plain(name)] for side in (before, after)]
        if name == "text":
            nominal.append(True)
            for side, column in zip(sides, columns, strict=True):
                side.append(["NULL" if v is None else "=" + v for v in column])
            continue
        numbers = [[slow_number(v) for v in column] for column in columns]
        known = [v for v in numbers[0] if v is not None]
        mean = math.fsum(known) / max(len(known), 1)
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in known) / max(len(known), 1))
        if any(v is None for column in numbers for v in column):
            nominal.append(False)
            for side, column in zip(sides, numbers, strict=True):
                side.append([float(v is None) for v in column])
        nominal.append(False)
        for side, column in zip(sides, numbers, strict=True):
            side.append([0.0 if v is None else (v - mean) / (deviation or 1.0) for v in column])
    first, second = (list(zip(*side, strict=True)) for side in sides)
    return first, second, nominal


def slow_number(value: Any) -> float | None:
    """A value as a number: days since 1970, the place of a grade."""
    if value is None:
        return None
    if isinstance(value, str):
        return float(["low", "high"].index(value))
    if hasattr(value, "timestamp"):
        return float(value.timestamp() / 86_400)
    return float(value.toordinal() - 719_163) if hasattr(value, "toordinal") else float(value)


@settings(max_examples=100, deadline=None)
@given(arrays(most=15))
def test_weights_agree_with_the_slow_version(tables: tuple[np.ndarray, np.ndarray]) -> None:
    before, after = tables
    ties = naive.fellegi_sunter_ties(before.tolist(), after.tolist(), 1.0)
    assert agrees(probabilistic_linkage(before, after, tolerance=1.0), ties)


def test_ranks_are_blind_to_scale() -> None:
    before = np.random.default_rng(0).normal(size=(200, 3))
    after = before + np.random.default_rng(1).normal(size=(200, 3)) * 0.2
    found = rank_linkage(before, after)
    assert found == rank_linkage(np.exp(before), np.exp(after))
    assert 0 < found.certain < 200


@settings(max_examples=50, deadline=None)
@given(arrays())
def test_ranks_agree_with_the_slow_version(tables: tuple[np.ndarray, np.ndarray]) -> None:
    before, after = tables

    def place(value: float, column: list[float]) -> float:
        lower, equal = sum(v < value for v in column), sum(v == value for v in column)
        return (lower + lower + equal) / (2.0 * len(column))

    columns = before.T.tolist()
    first, second = (
        [[place(v, c) for v, c in zip(row, columns, strict=True)] for row in side.tolist()]
        for side in (before, after)
    )
    ties = naive.linkage_ties(first, second, [False] * before.shape[1])
    assert agrees(rank_linkage(before, after), ties)


def test_what_is_published_as_it_is_links() -> None:
    before = np.random.default_rng(0).normal(size=(500, 4))
    for linkage in (distance_linkage, rank_linkage, probabilistic_linkage):
        found = linkage(before, before)
        assert found.certain_percent > 99
        assert found.percent >= found.certain_percent


def test_k_anonymity_bounds_links() -> None:
    before = np.random.default_rng(0).normal(size=(600, 4))
    labels = partition(before, 5)
    after = centroids(before, labels)[labels]
    for linkage in (distance_linkage, rank_linkage, probabilistic_linkage):
        found = linkage(before, after)
        assert found.certain == 0
        assert 0 < found.percent <= 20


@pytest.mark.parametrize("linkage", [distance_linkage, rank_linkage, probabilistic_linkage])
def test_a_sample_says_how_sure_it_is_and_does_not_depend_on_order(linkage: Any) -> None:
    rng = np.random.default_rng(3)
    before = pd.DataFrame({"a": rng.normal(size=2000).round(2), "t": rng.choice(["x", "y"], 2000)})
    after = before.assign(a=(before["a"] + rng.normal(size=2000) * 0.001).round(4))
    whole = linkage(before, after)
    found = linkage(before, after, sample=500, seed=1)
    assert (found.rows, found.tried) == (2000, 500)
    assert found.low < whole.percent < found.high
    assert found.low < found.percent < found.high
    order = rng.permutation(2000)
    assert linkage(before.iloc[order], after.iloc[order], sample=500, seed=1) == found
    assert linkage(pl.from_pandas(before), pl.from_pandas(after), sample=500, seed=1) == found
    assert linkage(before, after, sample=500, seed=2) != found


def test_wilson_by_hand() -> None:
    # Half of 4, z = 2: (0.5 + 4/8) / 2 ± 2 sqrt((0.25 + 4/16) / 4) / 2.
    low, high = wilson(0.5, 4, z=2.0)
    assert (low, high) == pytest.approx((0.5 - math.sqrt(0.125), 0.5 + math.sqrt(0.125)))
    assert wilson(0.0, 10)[0] == 0
    assert wilson(1.0, 10)[1] == pytest.approx(1)


def test_nothing_to_link() -> None:
    empty = np.empty((0, 2))
    for linkage in (distance_linkage, rank_linkage, probabilistic_linkage):
        found = linkage(empty, empty)
        assert (found.rows, found.percent, found.certain_percent) == (0, 0, 0)


def test_what_cannot_be_linked_is_said() -> None:
    with pytest.raises(DataError, match="different numbers"):
        distance_linkage(np.ones((2, 1)), np.ones((3, 1)))
    with pytest.raises(DataError, match="infinite"):
        distance_linkage(np.full((2, 1), np.inf), np.ones((2, 1)))
    with pytest.raises(DataError, match="20 columns at most"):
        probabilistic_linkage(np.ones((2, 21)), np.ones((2, 21)))
    with pytest.raises(DataError, match="one column or more"):
        distance_linkage(pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), [])
    with pytest.raises(DataError, match="'a' is not of one kind"):
        distance_linkage(pd.DataFrame({"a": [1]}), pd.DataFrame({"a": ["1"]}))
