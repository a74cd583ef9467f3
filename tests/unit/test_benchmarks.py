"""What the benchmarks compute from what they measure."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from microagg_ops.series.history import Rules
from tests.benchmarks.harness import Measured, Panel, best_of, expected, exponent, grow, table_of
from tests.benchmarks.plot import decades, drawn, steps
from tests.benchmarks.series import simulated
from tests.benchmarks.tables import normal, real_shaped

GROWING = [Measured("a < b", n, 2e-6 * n**1.5, 30 - n / 1e4) for n in (1000, 10_000, 100_000)]


def test_growth_is_the_slope_in_logarithms() -> None:
    assert exponent(GROWING) == pytest.approx(1.5)
    assert exponent(GROWING, least_rows=100_000) is None
    assert expected(GROWING, 1_000_000) == pytest.approx(2e-6 * 1e9)
    assert expected([], 10) == 0.0


def test_cases_take_turns_and_long_ones_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.benchmarks.harness.LONG", 0.0)
    turns: list[str] = []
    cases = {name: lambda name=name: turns.append(name) for name in ("a", "b")}
    best_of(cases, 3)
    assert turns == ["a", "b"]
    monkeypatch.undo()
    best_of(cases, 2)
    assert turns == ["a", "b", *"abab"]


def test_who_would_take_too_long_drops_out() -> None:
    def find(X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X), np.int32)

    def table(rows: int) -> np.ndarray:
        return normal(rows, 2)

    assert [m.rows for m in grow({"f": find}, table, [10, 20], limit=60)] == [10, 20]
    assert [m.rows for m in grow({"f": find}, table, [10, 20], limit=1e-12)] == [10]


def test_the_plot_is_xml_and_the_table_has_every_size() -> None:
    panel = Panel("n & k", GROWING)
    ElementTree.fromstring(drawn([panel, panel]))
    assert table_of(panel)[2] == "|  | 1,000 rows | 10,000 rows | 100,000 rows |"


def test_ticks_enclose_the_values() -> None:
    assert decades([0.02, 3]) == pytest.approx([0.01, 0.1, 1, 10])
    assert steps([41.0, 47.5]) == pytest.approx([40, 42, 44, 46, 48])
    assert steps([5.0, 5.0])[0] <= 5 <= steps([5.0, 5.0])[-1]


def test_a_simulated_month_keeps_history_k() -> None:
    found = simulated(Rules(5), 5, 20, 200, recount=True)
    assert min(found.recounts) >= 5
    assert len(found.loss) == len(found.recounts) == 20
    assert found.waits and max(found.waits.values()) <= 8
    assert found.holds


def test_tables_repeat_and_the_real_one_is_shaped() -> None:
    X = real_shaped(2000, 13)
    assert np.array_equal(X, real_shaped(2000, 13))
    assert X.std(axis=0) == pytest.approx(np.ones(13))
    assert len(np.unique(X, axis=0)) < 2000  # equal rows
    assert len(np.unique(X[:, 1])) < 100  # whole numbers
    assert np.abs(X[:, 0]).max() > 8  # a heavy tail
    assert np.abs(np.corrcoef(X[:, 2::3].T) - np.eye(4)).max() > 0.3  # correlated
