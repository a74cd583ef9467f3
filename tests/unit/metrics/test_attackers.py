"""Prosecutor, journalist and marketer; and a population that was sampled."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import hyp2f1

from microagg_ops.metrics import attackers, population_risk
from microagg_ops.metrics.attackers import LARGE
from tests import naive
from tests.unit.metrics.mixed import POOLS, Mixed, tables

NAMES = st.lists(st.sampled_from(list(POOLS)), min_size=1, max_size=5, unique=True)


def risk(f: int, p: float) -> float:
    return float(population_risk(np.array([f]), np.array([p]))[0])


@settings(max_examples=80, deadline=None)
@given(
    tables(), NAMES, st.one_of(st.none(), st.sampled_from(list(POOLS))),
    st.one_of(st.none(), st.floats(1, 30), st.integers(0, 2**32 - 1)),
)  # fmt: skip
def test_chances_agree_with_the_slow_version(
    table: Mixed, quasi: list[str], entity: str | None, how: float | int | None
) -> None:
    weights = how
    if isinstance(how, int):
        weights = np.random.default_rng(how).uniform(0.2, 20, table.rows)
    each = None if weights is None else np.broadcast_to(weights, table.rows).tolist()
    who = table.plain(entity) if entity else None
    expected = naive.attackers(table.plain(*quasi), who, each)
    for frame in table.frames():
        found = asdict(attackers(frame, quasi, entity, weights=weights))
        assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 80), st.floats(0.02, 1))
def test_population_risk_is_the_sum_of_the_negative_binomial(f: int, p: float) -> None:
    assert risk(f, p) == pytest.approx(naive.population_risk(f, p), rel=1e-9)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 200), st.floats(1e-9, 1))
def test_population_risk_is_the_integral_at_both_ends_too(f: int, p: float) -> None:
    q = 1 - p
    # t = 1 - exp(-x): the spike where 1 - qt is about p becomes a plain slope.
    found, _ = quad(
        lambda x: p * math.exp(-f * x) / (p + q * math.exp(-x)), 0, math.inf, epsabs=0, limit=500
    )
    assert risk(f, p) == pytest.approx(found, rel=1e-7)


@pytest.mark.parametrize("p", [1e-300, 1e-12, 1e-3, 0.3, 0.4999, 0.5, 0.9, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("f", [1, 2, 3, LARGE - 1, LARGE, 1_000, 10**9])
def test_population_risk_is_exact_everywhere(f: int, p: float) -> None:
    found = risk(f, p)
    assert 0 < found <= 1 / f
    assert found >= p / f  # no class is smaller in the population than what is expected of it
    if p >= 1e-3 and f <= 100:  # beyond, scipy gives NaN
        assert found == pytest.approx(p / f * hyp2f1(1, 1, f + 1, 1 - p), rel=1e-12)


def test_population_risk_of_small_classes_is_that_of_sdcmicro() -> None:
    for p in (0.001, 0.05, 0.3, 0.6):
        q = 1 - p
        assert risk(1, p) == pytest.approx(p / q * math.log(1 / p))
        assert risk(2, p) == pytest.approx(p / q - (p / q) ** 2 * math.log(1 / p))
    # From three on sdcMicro approximates by p / (f - q), which is close.
    for f in (5, 12, 50):
        assert risk(f, 0.05) == pytest.approx(0.05 / (f - 0.95), rel=0.1 / f)


def test_thousands_of_classes_are_estimated_at_once() -> None:
    rng = np.random.default_rng(0)
    f, p = rng.integers(1, 400, 50_000), rng.uniform(1e-6, 1, 50_000)
    found = population_risk(f, p)
    some = rng.integers(0, 50_000, 50)
    assert found[some].tolist() == pytest.approx([risk(f[i], p[i]) for i in some], rel=1e-14)


def test_classes_by_hand() -> None:
    frame = pd.DataFrame({"a": [1] * 4 + [2] * 6, "who": [1, 1, 2, 3, 4, 5, 6, 7, 8, 8]})
    found = attackers(frame, ["a"], "who")
    assert (found.classes, found.entities) == (2, 8)
    assert (found.prosecutor, found.prosecutor_average) == (1 / 3, 2 / 8)
    assert found.journalist == found.prosecutor
    assert found.marketer == found.journalist_average == found.prosecutor_average
    assert attackers(frame.head(0), ["a"]).prosecutor == 0


def test_a_sample_hides_people_in_the_population() -> None:
    frame = pd.DataFrame({"a": np.repeat(np.arange(20), 5)})
    whole, tenth = attackers(frame, ["a"]), attackers(frame, ["a"], weights=10.0)
    assert tenth.prosecutor == whole.prosecutor == 0.2
    assert tenth.journalist < whole.journalist / 5
    assert tenth.marketer < whole.marketer / 5
    # Weights of mean 1 tell nothing of the population, so nothing is hidden.
    light = attackers(frame, ["a"], weights=np.full(100, 0.5))
    assert light.journalist == whole.journalist


def test_a_journalist_takes_the_likelier_way() -> None:
    # A small class drawn thinly beside a large one drawn whole: from the population to the table.
    frame = pd.DataFrame({"a": [1] * 5 + [2] * 100})
    weights = np.where(frame["a"] == 1, 10.0, 1.0)
    found = attackers(frame, ["a"], weights=weights)
    assert found.journalist_average == 2 / 150 > found.marketer


def test_the_function_is_there_whichever_name_is_asked_first() -> None:
    asked = "from microagg_ops import metrics as m; m.population_risk; assert callable(m.attackers)"
    subprocess.run([sys.executable, "-c", asked], check=True)
