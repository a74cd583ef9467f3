"""The gate that every outside figure goes through."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg_ops.outside import FEWER, MINIMUM, TOLD, Gate, nice, told_outside
from microagg_ops.release.model import STAGES


def test_a_small_table_tells_nothing() -> None:
    small, large = Gate(5, 5 * MINIMUM - 1), Gate(5, 5 * MINIMUM)
    assert small.figure(3.14, 100.0) is None and small.count(20, 20) is None
    assert large.figure(3.14, 100.0) is not None and large.count(20, 20) == 20


@given(
    st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 20), st.integers(10, 10_000)
)  # fmt: skip
def test_a_figure_is_rounded_to_what_k_entities_allow(
    value: float, scale: float, k: int, times: int
) -> None:
    gate = Gate(k, k * times)
    found = gate.figure(value, scale)
    assert found is not None
    step = nice(scale / times)
    # Off by half a step at most, and a whole number of steps.
    assert abs(found - value) <= step / 2 * (1 + 1e-6) + 1e-9 * abs(value)
    assert found / step == pytest.approx(round(found / step), abs=1e-4, rel=1e-12)


def test_what_one_entity_makes_up_is_withheld() -> None:
    gate, parts = Gate(5, 100), np.ones(100)
    assert gate.figure(3.0, 100.0, parts) == 5.0
    parts[7] = 30.0  # more than a fifth of all
    assert gate.figure(3.0, 100.0, parts) is None
    assert gate.figure(3.0, 100.0, np.zeros(100)) == 5.0


@pytest.mark.parametrize(
    ("many", "entities", "parts", "told"),
    [
        (0, 0, None, 0),
        (4, 4, None, FEWER),
        (5, 5, None, 5),
        (40, 1, None, FEWER),  # forty cells of one person
        (9, 9, [(9, 1)], None),  # of ten NULLs that are seen, one was there before
        (9, 9, [(9, 0)], 9),
        (9, 9, [(9, 5)], 9),
        (9, 9, [(9, 0), (0, 1)], None),  # where the other column was NULL, it shows
        (9, 9, [(2, 30), (7, 30)], None),  # the total less the columns that are known to have 7
        (2, 2, [(2, 30), (0, 0)], FEWER),
        (2, 2, [(2, 5)], None),  # 7 NULLs: were 2 below k, and 6 withheld, that would tell of 6
    ],
)
def test_counts_below_k_are_not_told(
    many: int, entities: int, parts: list[tuple[int, int | None]] | None, told: int | str | None
) -> None:
    assert Gate(5, 1000).count(many, entities, parts) == told


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_no_word_stands_for_one_count_alone(k: int) -> None:
    # Who sees that a column has a number of NULLs knows which of them each word could stand for.
    for total in range(2 if k == 2 else k, 4 * k):
        behind: dict[int | str | None, list[int]] = {}
        for many in range(total + 1):
            told = Gate(k, 1000).count(many, many, [(many, total - many)])
            behind.setdefault(told, []).append(many)
        for told, counts in behind.items():
            below = [n for n in counts if 0 < n < k or 0 < total - n < k]
            assert not below or len(counts) > 1, (k, total, told, counts)


def test_a_column_without_spread_has_no_scale() -> None:
    assert Gate(5, 100).figure(7.0, 0.0) is None
    assert Gate(5, 100).figure(0.0, 0.0) == 0.0
    assert Gate(5, 100).figure(float("nan"), 1.0) is None


def test_every_stage_says_what_it_may_tell() -> None:
    assert set(STAGES) < set(TOLD)


def test_what_is_not_named_stays() -> None:
    summary = {"rows": 7, "k": 3, "secret": 1, "outside": {"information_loss": 2.5}}
    found = told_outside("aggregate", summary)
    assert found == {"rows": 7, "k": 3, "information_loss": 2.5}
    assert json.loads(json.dumps(found)) == found
