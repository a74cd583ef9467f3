"""Cuts divide rows as they say, and sums are exact however rows are spread."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.engines.cuts import Cuts, cut, joined, numbers
from microagg_ops.engines.exact import added, parts_of, total


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 16])
def test_parts_are_of_about_the_same_size(parts: int) -> None:
    rows = np.random.default_rng(parts).normal(size=(8000, 3)) * [1, 4, 9]
    found = numbers(rows, cut(rows, parts))
    sizes = np.bincount(found)
    assert len(sizes) == parts
    assert sizes.max() < 2.2 * 8000 / parts
    assert sizes.min() > 0.4 * 8000 / parts


def test_a_cut_goes_through_a_gap() -> None:
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(0, 1, 450), rng.normal(20, 1, 550)])[:, None]
    found = numbers(rows, cut(rows, 2))
    assert found.tolist() == [0] * 450 + [1] * 550


def test_numbers_depend_on_the_row_alone() -> None:
    rng = np.random.default_rng(1)
    sample, rows = rng.normal(size=(500, 4)), rng.normal(size=(3000, 4))
    tree, order = cut(sample, 9), rng.permutation(3000)
    whole = numbers(rows, tree)
    assert np.array_equal(numbers(rows[order], tree), whole[order])
    assert np.array_equal([numbers(rows[i : i + 1], tree)[0] for i in range(300)], whole[:300])


def test_heavy_tails_are_a_part_of_their_own() -> None:
    rng = np.random.default_rng(2)
    rows = rng.standard_t(2, (8000, 4))
    found = numbers(rows, cut(rows, 8))
    assert np.bincount(found).max() < 2.2 * 1000
    far = np.argsort((rows**2).sum(axis=1))[-500:]
    assert len(set(found[far])) == 1
    light = rng.normal(size=(8000, 4))
    far = np.argsort((light**2).sum(axis=1))[-500:]
    assert len(set(numbers(light, cut(light, 8))[far])) == 8


def test_equal_rows_are_not_divided() -> None:
    tree = cut(np.ones((100, 2)), 4)
    assert tree == Cuts((), ("",), (0,))
    assert not numbers(np.ones((5, 2)), tree).any()


def test_blocks_that_are_too_small_are_joined_to_their_neighbours() -> None:
    rows = np.arange(800.0)[:, None]
    tree = cut(rows, 8)
    assert joined(tree, [100] * 8, 100) == tree
    few = joined(tree, [100, 100, 3, 100, 100, 100, 100, 2], 50)
    assert few.blocks == (0, 1, 2, 2, 3, 4, 5, 5)
    assert few.many == 6
    assert joined(tree, [1] * 8, 50).many == 1
    sizes = np.bincount(numbers(rows, few))
    assert len(sizes) == 6


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(-1e300, 1e300, allow_nan=False), max_size=40),
    st.lists(st.integers(0, 3), min_size=40, max_size=40),
)
def test_sums_are_exact_however_rows_are_spread(values: list[float], places: list[int]) -> None:
    found = np.array(values)
    spread = np.array(places[: len(values)], int)
    parts = [parts_of(found[spread == place]) for place in range(4)]
    assert total(added(parts)) == sum(map(Fraction, values), Fraction(0))
    assert float(total(added(parts))) == math.fsum(values)
