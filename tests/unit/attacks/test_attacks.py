"""Attacks: they find planted leaks, and agree with slow versions of themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.attacks.ground import Ground, Side
from microagg_ops.attacks.inference import guess, inference
from microagg_ops.attacks.linkability import linkability
from microagg_ops.attacks.rates import Rate, Risk
from microagg_ops.attacks.reconstruction import reconstruct
from microagg_ops.attacks.singling_out import isolates, matching, predicates, singling_out
from tests import naive


def side(points: np.ndarray, strata: np.ndarray, secret: np.ndarray) -> Side:
    values = {f"q{j}": np.ascontiguousarray(column) for j, column in enumerate(points.T)}
    return Side(points, strata, np.arange(len(points)), values | {"s": secret})


def ground(rows: int, width: int, grid: int, seed: int, strata: int = 3) -> Ground:
    """Published rows on a coarse grid, with people in them and people who are not."""
    rng = np.random.default_rng(seed)
    sides = [
        side(
            rng.integers(0, grid, (rows, width)).astype(float),
            rng.integers(0, strata, rows),
            rng.integers(0, 3, rows).astype(float),
        )
        for _ in range(3)
    ]
    sides[2] = replace(sides[2], strata=rng.integers(-1, strata + 1, rows))
    nominal = rng.random(width) < 0.3
    names = tuple(f"q{j}" for j in range(width))
    unordered = {name for name, no in zip(names, nominal, strict=True) if no} | {"s"}
    return Ground(names, nominal, *sides, frozenset(unordered), seed)


grounds = st.builds(
    ground, st.integers(1, 40), st.integers(1, 4), st.sampled_from([2, 5, 50]), st.integers(0, 999)
)


@settings(max_examples=100, deadline=None)
@given(grounds)
def test_nearest_rows_agree_with_the_slow_version(found: Ground) -> None:
    published, columns = found.published, found.quasi[:2]
    places = found.places(columns).tolist()
    chosen = np.arange(len(found.others))[::-1]
    nearest = found.nearest(found.others, chosen, columns)
    rows = published.points[:, places].tolist()
    for row, at in zip(chosen, nearest, strict=True):
        among = np.flatnonzero(published.strata == found.others.strata[row]).tolist()
        point = found.others.points[row, places].tolist()
        assert at == naive.nearest_row(point, rows, found.nominal[places].tolist(), among)


@settings(max_examples=100, deadline=None)
@given(grounds, st.booleans())
def test_guesses_agree_with_the_slow_version(found: Ground, ordered: bool) -> None:
    if ordered:
        found = replace(found, unordered=found.unordered - {"s"})
    classes = found.alike(found.quasi)
    guesses = guess(found, "s", classes)
    for first in np.unique(classes):
        rows = np.flatnonzero(classes == first)
        assert first == rows[0]
        assert (found.published.points[rows] == found.published.points[first]).all()
        values = found.published.values["s"][rows].tolist()
        middle = sorted(values)[(len(values) - 1) // 2]
        assert guesses[first] == (middle if ordered else naive.most_frequent(values))


@settings(max_examples=50, deadline=None)
@given(grounds)
def test_predicates_agree_with_the_slow_version(found: Ground) -> None:
    compare = {"=": lambda a, b: a == b, ">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b}
    for predicate in list(predicates(found, 1, min(3, len(found.quasi))))[:20]:
        people = found.members
        true = [
            row
            for row in range(len(people))
            if all(compare[how](people.values[name][row], v) for name, how, v in predicate)
        ]
        assert matching(people, predicate).tolist() == true
        assert isolates(people, predicate) is (len(true) == 1)
        # What is drawn is true of a published row.
        assert len(matching(found.published, predicate)) > 0


def test_null_is_a_value_to_single_out_by() -> None:
    people = side(np.array([[1.0], [np.nan], [3.0]]), np.zeros(3, np.int64), np.zeros(3))
    assert matching(people, (("q0", "null", 0.0),)).tolist() == [1]
    assert isolates(people, (("q0", "null", 0.0),))
    # Two rows of one person are one person.
    twice = replace(people, entities=np.array([5, 5, 6]))
    assert isolates(twice, (("q0", "<=", 1.0),))
    both = side(np.array([[1.0], [1.0], [3.0]]), np.zeros(3, np.int64), np.zeros(3))
    assert isolates(replace(both, entities=np.array([5, 5, 6])), (("q0", "<=", 1.0),))
    assert not isolates(both, (("q0", "<=", 1.0),))
    assert not isolates(people, (("q0", ">=", 1.0),))
    assert not isolates(people, (("q0", ">=", 9.0),))


def people_at_large(rows: int, seed: int, width: int = 4) -> Side:
    rng = np.random.default_rng(seed)
    strata = np.zeros(rows, np.int64)
    return side(rng.normal(size=(rows, width)), strata, rng.integers(0, 10, rows).astype(float))


def test_what_is_published_as_it_was_is_found_out() -> None:
    members, others = people_at_large(2000, 1), people_at_large(2000, 2)
    names = tuple(f"q{j}" for j in range(4))
    leak = Ground(names, np.zeros(4, bool), members, members, others, frozenset({"s"}), 3)
    linked = linkability(leak)
    assert linked is not None and linked.successes == 2000 and linked.low > 0.95
    guessed = inference(leak, ["s"])["s"]
    assert guessed.successes == 2000 and guessed.low > 0.95
    assert guessed.control.middle == pytest.approx(0.1, abs=0.03)
    assert singling_out(leak).low > 0.8
    # Whatever the order of the rows and however often it is asked.
    assert (singling_out(leak), linkability(leak)) == (singling_out(leak), linked)


def test_a_table_that_tells_of_nobody_has_no_risk() -> None:
    members, others, made_up = (people_at_large(2000, seed) for seed in (1, 2, 3))
    names = tuple(f"q{j}" for j in range(4))
    synthetic = Ground(names, np.zeros(4, bool), made_up, members, others, frozenset({"s"}), 3)
    linked = linkability(synthetic)
    assert linked is not None
    for risk in (linked, inference(synthetic, ["s"])["s"], singling_out(synthetic)):
        assert risk.low == 0.0
        assert risk.high < 0.2
    one = replace(synthetic, names=("q0",) * 4)
    assert linkability(one) is None
    assert inference(synthetic, []) == {}


def test_risk_is_what_the_attack_gains_on_those_in_the_release() -> None:
    risk = Risk(1000, 400, 1000, 100)
    assert risk.risk == pytest.approx((0.4 - 0.1) / 0.9, abs=0.002)
    assert risk.low < risk.risk < risk.high
    assert Risk(1000, 100, 1000, 400).risk == 0.0
    assert Risk(0, 0, 0, 0).high == 1.0  # nothing is known
    # Wilson's interval of 4 of 10, as textbooks print it.
    rate = Rate.of(4, 10)
    assert rate.middle - rate.half == pytest.approx(0.1682, abs=1e-4)
    assert rate.middle + rate.half == pytest.approx(0.6873, abs=1e-4)


@pytest.mark.parametrize(
    ("counts", "risk", "low", "high"),
    [
        ((500, 40, 500, 10), 0.060985435673670915, 0.03359833527169126, 0.08837253607565057),
        ((2000, 1900, 2000, 150), 0.94496485308915, 0.9345745764780078, 0.9553551297002922),
        ((100, 100, 100, 0), 0.9811546736227335, 0.9623060011183167, 1.0),
        ((20000, 5700, 18000, 3100), 0.13621850910061825, 0.1267182935343659, 0.1457187246668706),
    ],
)
def test_risks_are_those_of_anonymeter(
    counts: tuple[int, int, int, int], risk: float, low: float, high: float
) -> None:
    """Figures of anonymeter 1.1.0, which cannot be installed beside the numpy that we need."""
    found = Risk(*counts)
    assert (found.risk, found.low, found.high) == pytest.approx((risk, low, high), rel=1e-12)


def test_a_suppressed_cell_follows_from_a_mean_of_all_cells() -> None:
    table = pa.table({"a": [2.0, 2.0, 2.0, None], "b": [1, 1, 5, 5]})
    safe = {"columns": [{"name": "a", "mean_before": 2.0, "mean_after": 2.0}], "rows": 4}
    assert reconstruct(table, safe, 3) == {"totals": [], "counts": []}
    leak = {"columns": [{"name": "a", "mean_before": 2.5}], "suppressed": {"cells": 1}}
    assert reconstruct(table, leak, 3) == {"totals": ["a"], "counts": ["suppressed.cells"]}
    assert reconstruct(table, {"data": {"rows": 40, "published_rows": 38}}, 3)["counts"] == []
    told = {"data": {"rows": 40, "entities": 38}}
    assert reconstruct(table, told, 3)["counts"] == ["data.rows - data.entities"]
