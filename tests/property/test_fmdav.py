"""F-MDAV against MDAV's definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import partition
from microagg_ops.errors import ReleaseError
from microagg_ops.methods.fmdav import IMPROVEMENTS
from tests import naive
from tests.property.tables import tables

EXACT = {"algebraic_distance": False, "single_precision": False}


@settings(max_examples=300, deadline=None)
@given(tables(), st.booleans(), st.booleans())
def test_what_does_not_round_gives_the_partition_of_the_definition(
    table: tuple[np.ndarray, int], reuse: bool, partial: bool
) -> None:
    X, k = table
    switches = {"distance_reuse": reuse, "partial_selection": partial}
    assert partition(X, k, "fmdav", **EXACT, **switches).tolist() == naive.mdav(X, k)


def test_without_near_ties_every_combination_gives_that_partition() -> None:
    X = np.random.default_rng(1).normal(size=(1500, 3))
    expected = naive.mdav(X, 7)
    for on in itertools.product([False, True], repeat=5):
        params = dict(zip(IMPROVEMENTS, on, strict=True))
        assert partition(X, 7, "fmdav", **params).tolist() == expected, params


@settings(max_examples=200, deadline=None)
@given(tables())
def test_with_ties_every_cluster_still_has_k_rows(table: tuple[np.ndarray, int]) -> None:
    X, k = table
    sizes = np.bincount(partition(X, k, "fmdav"))
    assert sizes.min() >= k
    assert len(sizes) == len(X) // k


@pytest.mark.parametrize("shift", [0.0, 1e9])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12, 1e30])
def test_single_precision_at_any_scale_and_far_from_zero(scale: float, shift: float) -> None:
    X = np.random.default_rng(2).normal(size=(400, 3))
    assert partition((X + shift) * scale, 5, "fmdav").tolist() == partition(X, 5).tolist()


@pytest.mark.parametrize("value", [1, "yes", None])
def test_a_switch_is_true_or_false(value: object) -> None:
    with pytest.raises(ReleaseError, match="'distance_reuse' parameter must be true or false"):
        partition(np.zeros((4, 1)), 2, "fmdav", distance_reuse=value)
