"""Small charts: what they say in words, and where their points stand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from microagg_ops.plugin.charts import BOTTOM, LEFT, RIGHT, TOP, charts_of, short
from microagg_ops.plugin.runs import Run


def run(day: int, loss: float | None, verdict: str = "passed") -> Run:
    created = datetime(2026, 10, day, tzinfo=UTC)
    return Run(f"r{day}", f"r{day}", verdict, created, loss=loss, limits=(("loss", 35.0),))


def test_a_series() -> None:
    # Newest first, as a list shows them; the chart goes from left to right.
    chart = charts_of([run(3, 8.0), run(2, 12.5, "failed"), run(1, 10.0)])[0]
    assert (chart.title, chart.latest, chart.limit) == (
        "Information loss",
        "8.00 %",
        "limit 35.0 %",
    )
    assert chart.summary == (
        "Information loss of 3 runs, 1 Oct 2026 to 3 Oct 2026: "
        "latest 8.00 %, lowest 8.00 %, highest 12.5 %."
    )
    assert [point.x for point in chart.points] == [LEFT, (LEFT + RIGHT) / 2, RIGHT]
    assert [point.y for point in chart.points][1:] == [TOP, BOTTOM]
    assert [point.passed for point in chart.points] == [True, False, True]
    assert chart.points[1].about == "2 Oct 2026: 12.5 %, failed"
    assert chart.ticks == ((BOTTOM, "8"), (TOP, "12.5"))
    assert chart.ends == ("1 Oct 2026", "3 Oct 2026")


def test_one_run() -> None:
    chart = charts_of([run(1, 8.0)])[0]
    assert [(point.x, point.y) for point in chart.points] == [
        ((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2)
    ]
    assert chart.summary == "Information loss: 8.00 % in one run, 1 Oct 2026."
    assert (len(chart.ticks), chart.ends) == (1, ("1 Oct 2026",))


def test_a_figure_that_never_changes_stands_in_the_middle() -> None:
    chart = charts_of([run(2, 8.0), run(1, 8.0)])[0]
    assert {point.y for point in chart.points} == {(TOP + BOTTOM) / 2}


def test_runs_without_the_figure_are_left_out() -> None:
    chart = charts_of([run(3, 8.0), run(2, None), run(1, 10.0)])[0]
    assert len(chart.points) == 2
    loss, k, rows, linkage = charts_of([run(1, None)])
    for empty in (loss, k, rows, linkage):
        assert (empty.points, empty.latest) == ((), "–")
        assert empty.summary == f"{empty.title}: not measured yet."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (0.0123, "0.0123"),
        (9999, "9,999"),
        (50_000, "50k"),
        (1_234_567, "1.235M"),
        (0, "0"),
    ],
)
def test_numbers_on_an_axis_are_short(value: float, text: str) -> None:
    assert short(value) == text


def test_a_series_that_is_protected_shows_who_waits() -> None:
    created = datetime(2026, 10, 1, tzinfo=UTC)
    told = Run("r", "r", "passed", created, waiting=7, wait=3, held=12, anew=2.5)
    shown = {chart.title: chart.latest for chart in charts_of([told])[4:]}
    assert shown == {
        "Loss if formed anew": "2.50 %",
        "Newcomers who wait": "7",
        "Longest wait, in runs": "3",
        "Leavers who are held": "12",
    }
    # Fewer than k are words, and not drawn.
    hidden = Run("r", "r", "passed", created, wait=3)
    assert [chart.title for chart in charts_of([hidden])[4:]] == ["Longest wait, in runs"]
