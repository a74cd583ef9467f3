"""Information loss, and what becomes of moments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from microagg_ops.metrics import (
    eigenvalue_loss,
    il1s,
    information_loss,
    mean_variation,
    moments,
    standardized_loss,
)
from tests import naive
from tests.unit.metrics.mixed import Mixed, tables
from tests.unit.metrics.test_linkage import slow_number

Column = list[float | None]


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[Column], list[Column]]:
    """Columns of small numbers and NULLs, before and after."""
    rows, width = draw(st.integers(2, 12)), draw(st.integers(1, 3))
    value = st.one_of(st.none(), st.integers(-3, 3).map(lambda v: v / 2))
    made: Any = st.lists(value, min_size=rows, max_size=rows)
    before, after = (draw(st.lists(made, min_size=width, max_size=width)) for _ in range(2))
    kept = draw(st.booleans())
    return before, [list(b) for b in before] if kept else after


def frame(made: list[Column]) -> pd.DataFrame:
    """Columns as a frame with duplicate labels."""
    index = pd.Index([0] * len(made[0]))
    return pd.DataFrame({str(j): np.array(c, float) for j, c in enumerate(made)}, index=index)


def mean(values: Column) -> float:
    """Mean of what is known."""
    known = [v for v in values if v is not None]
    return math.fsum(known) / len(known) if known else 0.0


def at_mean(values: Column, centre: float) -> list[float]:
    """A column whose NULLs stand at a mean."""
    return [centre if v is None else v for v in values]


@settings(max_examples=200, deadline=None)
@given(columns())
@example(([[None] * 3, [None] * 3], [[1.5, 0.0, None], [0.0, 0.0, 0.5]]))
def test_five_losses_agree_with_the_slow_version(made: tuple[list[Column], list[Column]]) -> None:
    before, after = made
    width = len(before)
    found = mean_variation(frame(before), frame(after))
    il1 = [
        sum(naive.variation(v, w) for v, w in zip(b, a, strict=True)) / len(b)
        for b, a in zip(before, after, strict=True)
    ]
    il2 = [relative(mean(b), mean(a)) for b, a in zip(before, after, strict=True)]
    il3 = [
        relative(
            float(naive.covariance(before[i], before[j])),
            float(naive.covariance(after[i], after[j])),
        )
        for i in range(width)
        for j in range(i, width)
    ]
    il4 = [
        relative(float(naive.covariance(b, b)), float(naive.covariance(a, a)))
        for b, a in zip(before, after, strict=True)
    ]
    il5 = [
        relative(naive.correlation(before[i], before[j]), naive.correlation(after[i], after[j]))
        for i in range(width)
        for j in range(i + 1, width)
    ]
    expected = [sum(part) / len(part) if part else 0.0 for part in (il1, il2, il3, il4, il5)]
    got = [part.overall for part in (found.il1, found.il2, found.il3, found.il4, found.il5)]
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert found.percent == pytest.approx(20 * sum(expected), rel=1e-9, abs=1e-9)
    assert list(found.il1.columns.values()) == pytest.approx(il1)
    assert list(found.il4.columns.values()) == pytest.approx(il4, rel=1e-9)


def relative(old: float, new: float) -> float:
    """Variation of figures that carry rounding."""
    clean = [0.0 if abs(v) < 1e-12 else v for v in (old, new)]
    return 0.0 if abs(clean[1] - clean[0]) < 1e-12 else naive.variation(*clean)


@settings(max_examples=100, deadline=None)
@given(columns())
@example(([[*[0.1] * 5, 3.3], [0.0, 1.0, 2.0, 3.0, 4.0, None]], [[0.0] * 6, [0.0] * 6]))
def test_moments_agree_with_the_slow_version(made: tuple[list[Column], list[Column]]) -> None:
    for side, given_side in zip(moments(frame(made[0]), frame(made[1])), made, strict=True):
        width = len(given_side)
        assert side.means.tolist() == pytest.approx([mean(c) for c in given_side])
        for i in range(width):
            for j in range(width):
                slow = naive.covariance(given_side[i], given_side[j])
                assert side.covariances[i, j] == pytest.approx(float(slow), abs=1e-12)
                if i != j:
                    slow_r = naive.correlation(given_side[i], given_side[j])
                    assert side.correlations[i, j] == pytest.approx(slow_r, abs=1e-9)
        assert side.variances.tolist() == side.covariances.diagonal().tolist()


@settings(max_examples=100, deadline=None)
@given(columns())
def test_losses_by_column_agree_with_the_slow_version(
    made: tuple[list[Column], list[Column]],
) -> None:
    before, after = made
    lost, gaps = [], []
    for b, a in zip(before, after, strict=True):
        old, new = at_mean(b, mean(b)), at_mean(a, mean(b))
        spread = sum((v - mean(b)) ** 2 for v in old)
        flat = len({v for v in b if v is not None}) < 2
        square = sum((v - w) ** 2 for v, w in zip(old, new, strict=True))
        lost.append(None if flat else 100 * square / spread)
        unit = math.sqrt(2 * spread / (len(b) - 1))
        gap = sum(abs(v - w) for v, w in zip(old, new, strict=True)) / len(b)
        gaps.append(0.0 if flat else gap / unit)
    found, scaled = (
        standardized_loss(frame(before), frame(after)),
        il1s(frame(before), frame(after)),
    )
    known = [v for v in lost if v is not None]
    assert found.overall == pytest.approx(sum(known) / len(known) if known else 0.0)
    assert list(found.columns.values()) == pytest.approx([v or 0.0 for v in lost])
    assert list(scaled.columns.values()) == pytest.approx(gaps)
    assert scaled.overall == pytest.approx(sum(gaps) / len(gaps))


@settings(max_examples=50, deadline=None)
@given(tables(min_size=3), st.randoms(use_true_random=False))
def test_all_kinds_of_frames_give_one_result(table: Mixed, random: Any) -> None:
    # Of a column of nothing but NULLs a pandas frame does not say what it is.
    assume(all(any(v is not None for v in values) for values in table.columns.values()))
    after = table.shuffled([random.randrange(table.rows) for _ in range(table.rows)])
    ordered = [name for name in table.columns if name != "text"]
    sides = [
        [[None if v is None else slow_number(v) for (v,) in t.plain(n)] for n in ordered]
        for t in (table, after)
    ]
    expected = mean_variation(frame(sides[0]), frame(sides[1])).percent
    for first, second in zip(table.frames(), after.frames(), strict=True):
        found = mean_variation(first, second)
        assert list(found.il1.columns) == ordered
        assert found.percent == pytest.approx(expected)


def test_standardized_loss_is_the_loss_of_standardized_columns() -> None:
    rng = np.random.default_rng(0)
    before = rng.normal(size=(50, 3)) * [1, 100, 0.01]
    after = before + rng.normal(size=(50, 3)) * [0.1, 5, 0.002]
    unit = before.std(axis=0)
    expected = information_loss(before / unit, after / unit)
    assert standardized_loss(before, after).overall == pytest.approx(expected)


def test_eigenvalues_by_hand() -> None:
    # Correlations 1 and 0: eigenvalues 2, 0 and 1, 1; from 2 to 1 is 1/2, from 0 counts 1.
    before = np.array([[-1.0, -1], [1, 1], [-1, -1], [1, 1]])
    after = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    assert eigenvalue_loss(before, after) == pytest.approx(1.5)
    # Correlations 0 and 1: eigenvalues 1, 1 and 2, 0.
    assert eigenvalue_loss(after, before) == pytest.approx(2.0)
    assert eigenvalue_loss(before, before) == 0


def test_nothing_lost_is_zero_whatever_the_rounding() -> None:
    before = np.random.default_rng(0).normal([0, 1e6, 0, 0], size=(1000, 4))
    before -= before.mean(axis=0) * [1, 0, 1, 1]
    order = np.random.default_rng(1).permutation(1000)
    # The same values in another order: moments differ by rounding alone, from means of about 0.
    found = mean_variation(before, before[order])
    assert (found.il2.overall, found.il3.overall, found.il4.overall) == (0, 0, 0)
    assert mean_variation(before, before).percent == 0
