"""The stage report."""

from __future__ import annotations

import html.parser
import json
import stat
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from microagg_ops.schema_faults import shape_faults
from microagg_ops.stages import stage_function
from microagg_ops.stages.report import as_figure, check_figures
from tests.unit.stages.conftest import MakeRun


@pytest.fixture
def reports(make_run: MakeRun) -> dict[str, Path]:
    run = make_run(
        pa.table(
            {
                "who": [11, 12, 13, 14],
                "a": [1.0, 2.0, 8.0, 9.0],
                "d": [date(2026, 1, 1), date(2026, 1, 3), date(2026, 5, 1), date(2026, 5, 3)],
                "s": ["<b>canary</b>", "x", "y", "z"],
            }
        ),
        columns={
            "entity": "who",
            "quasi": {"a": {"type": "number"}, "d": {"type": "date"}},
            "sensitive": ["s"],
        },
    )
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)
    uris = stage_function("report")(run)["uris"]
    return {kind: Path(urlsplit(uri).path) for kind, uri in uris.items()}


def test_json_follows_its_schema(reports: dict[str, Path]) -> None:
    figures = json.loads(reports["json"].read_text())
    assert not list(shape_faults(figures, "report"))
    assert figures["verdict"] == "passed"
    assert figures["risk"]["k"] == 2
    assert figures["risk"]["class_sizes"] == [{"size": 2, "classes": 2}]
    assert figures["utility"]["by_column"][1]["mean_before"] == "2026-03-03"


def test_files_are_private(reports: dict[str, Path]) -> None:
    for path in reports.values():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_no_cell_value_is_in_it(reports: dict[str, Path]) -> None:
    for path in reports.values():
        assert "canary" not in path.read_text()


def test_the_page_stands_alone(reports: dict[str, Path]) -> None:
    seen: list[tuple[str, str]] = []

    class Parser(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.extend((tag, f"{key}={value}") for key, value in attrs)
            assert tag not in ("script", "link", "iframe", "img")

    Parser().feed(reports["html"].read_text())
    assert not [a for a in seen if a[1].startswith(("src=", "href="))]
    assert "Every check passed" in reports["html"].read_text()


def test_a_report_that_breaks_its_schema_is_not_written() -> None:
    with pytest.raises(Exception, match="does not follow its schema"):
        check_figures({"verdict": "maybe"})


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1,234,567"), (0.123456, "0.1235"), (None, "–"), (12345.67, "12,345.7"), (5.0, "5")],
)
def test_figures_are_for_people(value: float | None, text: str) -> None:
    assert as_figure(value) == text


def test_what_was_suppressed_imputed_and_merged_is_counted(make_run: MakeRun) -> None:
    run = make_run(
        {
            "a": [1.0, 2.0, 8.0, 9.0, None, 4.0],
            "t": [datetime(2026, 1, 1, 12, tzinfo=UTC)] * 6,
            "o": ["canary-low"] * 3 + ["canary-high"] * 3,
            "w": [1.0, 2.0, 1.0, 9.0, 1.0, 1.0],
            "r": ["canary-north"] * 4 + ["canary-south", "canary-west"],
        },
        columns={
            "quasi": {
                "a": {"type": "number"},
                "t": {"type": "timestamp"},
                "o": {"type": "ordinal", "order": ["canary-low", "canary-high"]},
            },
            "weight": "w",
        },
        strata=["r"],
        small_strata="merge",
        nulls="own_class",
    )
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)
    uris = stage_function("report")(run)["uris"]
    pages = {kind: Path(urlsplit(uri).path).read_text() for kind, uri in uris.items()}
    figures = json.loads(pages["json"])
    assert figures["treatment"] == {
        "suppressed": [{"name": "a", "stratum": 2, "cells": 1}],
        "imputed": [],
        "small_strata": "merge",
        "merged": {"strata": 2, "rows": 2},
        "dropped": {"strata": 0, "rows": 0},
    }
    (number, moment, ordinal) = figures["utility"]["by_column"]
    assert number["mean_before"] == pytest.approx((1 + 4 + 8 + 81 + 4) / 14)
    assert moment["mean_before"] == "2026-01-01T12:00:00Z"
    assert ordinal["mean_before"] is None
    assert [entry["name"] for entry in figures["consistency"]] == ["a", "t"]
    assert any("of the weight" in warning for warning in figures["warnings"])
    assert {"name": "w", "role": "weight", "type": "", "published": False} in figures["data"][
        "columns"
    ]
    assert "2 strata with 2 rows were merged" in pages["html"]
    assert "canary" not in pages["html"] + pages["json"]
