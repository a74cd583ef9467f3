"""Interval disclosure, disclosure risk and score."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.errors import DataError
from microagg_ops.metrics import disclosure_risk, interval_disclosure, score
from tests.unit.metrics.mixed import Mixed, tables
from tests.unit.metrics.test_linkage import slow_number

OF = st.sampled_from(["value", "deviation", "rank"])


@settings(max_examples=100, deadline=None)
@given(tables(), OF, st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.randoms(use_true_random=False))
def test_intervals_agree_with_the_slow_version(
    table: Mixed, of: str, width: float, random: Any
) -> None:
    after = table.shuffled([random.randrange(table.rows) for _ in range(table.rows)])
    expected = {name: slow_share(name, table, after, of, width) for name in table.columns}
    for first, second in zip(table.frames(), after.frames(), strict=True):
        found = interval_disclosure(first, second, width=width, of=of)
        assert found.columns == pytest.approx(expected)
        assert found.overall == pytest.approx(statistics.fmean(expected.values()))


def slow_share(name: str, before: Mixed, after: Mixed, of: str, width: float) -> float:
    """Percentage of the cells of one column that are in the interval."""
    old, new = ([row[0] for row in side.plain(name)] for side in (before, after))
    known = sorted(slow_number(v) for v in old if v is not None and name != "text")
    inside = 0
    for a, b in zip(old, new, strict=True):
        if a is None or b is None or name == "text":
            inside += a == b
            continue
        x, y = slow_number(a), slow_number(b)
        if of == "value":
            inside += abs(x - y) <= width * abs(x)
        elif of == "deviation":
            inside += abs(x - y) <= width * statistics.pstdev(known)
        else:
            inside += abs(place(x, known) - place(y, known)) <= width
    return 100 * inside / len(old)


def place(value: float, known: list[float]) -> float:
    """The place of a value among sorted ones, from 0 to 1."""
    lower, equal = sum(v < value for v in known), sum(v == value for v in known)
    return (lower + (lower + equal)) / (2.0 * len(known))


def test_ten_percent_by_hand() -> None:
    before = np.array([[100.0, 0.0], [-10.0, 5.0]])
    after = np.array([[110.0, 0.1], [-11.5, 5.0]])
    found = interval_disclosure(before, after)
    assert found.columns == {"0": 50.0, "1": 50.0}
    assert found.overall == 50.0


def test_risk_and_score_of_the_paper() -> None:
    # Table 5.2, Census, k = 25: IL 13.67, ID 22.12, DLD 2.87 make the score 13.08.
    assert disclosure_risk(22.12, 2.87) == pytest.approx(12.495)
    assert score(13.67, disclosure_risk(22.12, 2.87)) == pytest.approx(13.08, abs=0.005)
    assert disclosure_risk(40, 20, 8) == pytest.approx(20 + 5 + 2)


def test_no_rows_disclose_nothing() -> None:
    assert interval_disclosure(np.empty((0, 2)), np.empty((0, 2))).overall == 0


def test_unknown_interval_is_said() -> None:
    with pytest.raises(DataError, match="value, deviation, rank. Got 'mean'"):
        interval_disclosure(np.ones((1, 1)), np.ones((1, 1)), of="mean")
