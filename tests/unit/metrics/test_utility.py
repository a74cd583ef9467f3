"""Propensity scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import partition
from microagg_ops.metrics import propensity
from microagg_ops.metrics.loss import centroids
from tests import naive


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([0.0, 0.3, 0.7]))
def test_probabilities_agree_with_the_slow_version(seed: int, width: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    before = rng.normal(size=(60, width))
    after = rng.normal(size=(60, width)) * (1 + shift) + shift
    found = propensity(before, after)
    assert found.pmse == pytest.approx(naive.propensity(before, after), rel=1e-4, abs=1e-7)
    assert found.parameters == 1 + width + width * (width + 1) // 2
    assert found.expected == pytest.approx((found.parameters - 1) / 8 / 120)
    assert found.ratio == pytest.approx(found.pmse / found.expected)


def test_independent_samples_of_one_population_have_a_ratio_around_two() -> None:
    rng = np.random.default_rng(0)
    ratios = [propensity(*rng.normal(size=(2, 300, 2))).ratio for _ in range(60)]
    assert 1.7 < np.mean(ratios) < 2.3


def test_lost_spread_is_seen_by_squares_alone() -> None:
    before = np.random.default_rng(0).normal(size=(400, 3))
    labels = partition(before, 20)
    after = centroids(before, labels)[labels]
    assert propensity(before, after, order=1).pmse == pytest.approx(0, abs=1e-12)
    assert propensity(before, after).ratio > 2


def test_what_can_be_told_apart_is() -> None:
    before = np.random.default_rng(0).normal(size=(100, 2))
    assert propensity(before, before + 100).pmse == pytest.approx(0.25, abs=1e-3)
    assert propensity(before, before).pmse == 0


def test_mixed_columns_and_nulls_of_any_frame() -> None:
    rng = np.random.default_rng(0)
    before = pd.DataFrame(
        {"x": rng.normal(size=300), "t": rng.choice(["a", "b", "c"], 300)}, index=[0] * 300
    )
    after = before.copy()
    after.loc[rng.random(300) < 0.3, "t"] = "a"
    after["x"] = after["x"].mask(rng.random(300) < 0.2)
    found = propensity(before, after)
    # Constant, NULL or not, x, x squared (the square of the former and their product follow), b, c.
    assert found.parameters == 6
    assert found.ratio > 3
    assert propensity(pl.from_pandas(before), pl.from_pandas(after)) == found
    only_text = propensity(before, after, ["t"])
    shares = [(side["t"].value_counts() / 300).sort_index().to_numpy() for side in (before, after)]
    chance = shares[1] / (shares[0] + shares[1])
    expected = ((chance - 0.5) ** 2 * (shares[0] + shares[1])).sum() / 2
    assert only_text.pmse == pytest.approx(expected, rel=1e-6)


def test_no_rows_are_alike() -> None:
    assert propensity(np.empty((0, 1)), np.empty((0, 1))).pmse == 0
