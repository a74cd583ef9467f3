"""The stage report."""

from __future__ import annotations

import html.parser
import json
import stat
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from microagg_ops.release.faults import shape_faults
from microagg_ops.report.figures import check_figures
from microagg_ops.report.words import as_figure
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.publication import note
from tests import naive
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
    return written(run)


def written(run: Run) -> dict[str, Path]:
    """Write the reports as after a publication; give their files."""
    stage_function("report")(run)
    uris = note(run, "published", "2026-11-18T12:00:00+00:00")
    return {kind: Path(urlsplit(uri).path) for kind, uri in uris.items()}


def test_external_json_follows_its_schema(reports: dict[str, Path]) -> None:
    figures = json.loads(reports["external_json"].read_text())
    assert not list(shape_faults(figures, "external"))
    assert figures["published"] == "2026-11-18T12:00:00+00:00"


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("a >= :start and a < :end", "1 January 2026 to 1 February 2026"),
        ("a < :end", "everything until 1 February 2026"),
        ("a >= :start", "everything from 1 January 2026 on"),
        ("a > 0", "everything, whatever the interval of the run"),
        (None, "everything, whatever the interval of the run"),
    ],
)
def test_the_interval_is_that_of_the_data(full: Run, where: str | None, told: str) -> None:
    interval = (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))
    release = replace(full.release, source=replace(full.release.source, where=where))
    files = written(replace(full, interval=interval, release=release))
    assert told in files["html"].read_text()
    assert not list(shape_faults(json.loads(files["json"].read_text()), "report"))


def test_before_a_publication_there_is_no_external_report(full: Run) -> None:
    uris = stage_function("report")(full)["uris"]
    assert set(uris) == {"html", "json", "manifest"}
    figures = json.loads(Path(urlsplit(uris["json"]).path).read_text())
    assert figures["publication"]["state"] == "pending"
    assert "Not published yet" in Path(urlsplit(uris["html"]).path).read_text()


@pytest.mark.parametrize(
    ("state", "words"),
    [("publishing", "Being published"), ("failed", "Publishing failed"), ("rejected", "Rejected")],
)
def test_what_became_of_the_table_is_told(full: Run, state: str, words: str) -> None:
    written(full)  # an earlier try was published
    uris = note(full, state)
    assert set(uris) == {"html", "json", "manifest"}
    folder = full.report_folder
    assert not list(folder.glob("external.*"))
    assert words in (folder / "report.html").read_text()
    assert json.loads((folder / "manifest.json").read_text())["published"] is None


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
            assert tag not in ("link", "iframe", "img")

    for page in ("html", "external_html"):
        Parser().feed(reports[page].read_text())
        assert "Every check passed" in reports[page].read_text()
        assert "Published on 18 November 2026, 12:00 UTC" in reports[page].read_text()
    assert not [a for a in seen if a[1].startswith("src=")]
    assert [a for a in seen if a[1].startswith("href=")]
    assert not [a for a in seen if a[1].startswith("href=") and not a[1].startswith("href=#")]


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
            "o": ["canary-low"] * 4 + ["canary-high"] * 2,
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
    weight = {"name": "w", "role": "weight", "type": "", "published": False, "missing": 0}
    assert weight in figures["data"]["columns"]
    assert "2 strata with 2 rows were merged" in pages["html"]
    assert "canary" not in pages["html"] + pages["json"]


TABLE = {
    "who": [i // 2 for i in range(40)],
    "age": [20.0 + i for i in range(39)] + [987654.25],
    "size": [150.0 + (7 * i) % 40 for i in range(40)],
    "job": ["canary-baker"] * 39 + ["canary-king"],
    "ill": ["canary-flu", "canary-cold"] * 20,
}


@pytest.fixture
def full(make_run: MakeRun) -> Run:
    """A run with all there is to tell, on a search method."""
    run = make_run(
        TABLE,
        about={"owner": "We", "threats": "secret-threat", "scenarios": ["secret-scenario"]},
        columns={
            "entity": "who",
            "quasi": {
                "age": {"type": "number", "reason": "is seen"},
                "size": {"type": "number"},
                "job": {"type": "nominal"},
            },
            "sensitive": ["ill"],
        },
        aggregate={"k": 3, "method": "best", "seed": 47110815, "budget": "200ms"},
    )
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)
    return run


def test_what_the_table_withholds_is_not_in_the_external_report(full: Run) -> None:
    files = written(full)
    inside, outside = (json.loads(files[kind].read_text()) for kind in ("json", "external_json"))
    for kind in ("html", "json"):
        assert "secret-threat" in files[kind].read_text()
    for kind in ("external_html", "external_json"):
        text = files[kind].read_text()
        assert not [
            word for word in ("secret-", "47110815", "200ms", "0.2 s", "linkage") if word in text
        ]
    assert set(outside["method"]) == {"aggregate", "groups"}
    assert all(set(check) == {"name", "passed"} for check in outside["checks"])
    # Of 20 entities, k = 3, nothing but the verdict and k is told.
    assert (outside["utility"], outside["treatment"], outside["totals_kept"]) == (None, None, None)
    assert outside["output_digest"] == inside["identity"]["output_digest"]
    assert inside["identity"]["input_digest"] not in files["external_json"].read_text()


def test_neither_report_holds_an_extreme_or_a_category(full: Run) -> None:
    for path in written(full).values():
        text = path.read_text()
        assert not [word for word in ("canary", "987654", "987,654") if word in text]


def test_mdav_is_tried_beside_another_method(full: Run) -> None:
    figures = json.loads(written(full)["json"].read_text())
    assert [(one["method"], one["chosen"]) for one in figures["tried"]] == [
        ("best", True), ("mdav", False),
    ]  # fmt: skip
    gain = figures["utility"]["mdav"]["gain"]
    assert gain >= 0
    assert figures["tried"][0]["information_loss"] == figures["utility"]["information_loss"]
    assert figures["search"]["trajectory"]


def test_measures_are_those_of_the_metrics(full: Run) -> None:
    figures = json.loads(written(full)["json"].read_text())
    after = figures["risk"]["after"]
    assert after["singling_out"]["k_joint"] == figures["risk"]["k"] >= 3
    assert after["singling_out"]["k_by_group"] == [figures["risk"]["k"]]
    assert after["linkability"]["distance"]["percent"] <= 100 / 3
    assert [one["name"] for one in after["inference"]["sensitive"]] == ["ill"]
    assert figures["risk"]["before"]["uniques"] == 40 - 0
    assert figures["utility"]["correlations"]["columns"] == ["age", "size"]
    assert [one["outside"] for one in figures["ranges"]] == [0, 0, 0]
    by_column = figures["utility"]["variation_by_column"]
    assert [one["name"] for one in by_column] == ["age", "size"]
    assert sum(one["il1"] for one in by_column) / 2 == pytest.approx(
        figures["utility"]["variation"]["il1"]
    )


def test_earlier_runs_are_compared(full: Run) -> None:
    written(replace(full, run_id="earlier"))
    figures = json.loads(written(full)["json"].read_text())
    (one,) = figures["series"]["earlier"]
    assert (one["run_id"], one["output_changed"], one["input_changed"]) == ("earlier", False, False)
    assert "tells nothing" in figures["series"]["verdict"]
    first = json.loads(written(replace(full, reports=full.reports / "x"))["json"].read_text())
    assert "no earlier table" in first["series"]["verdict"]


def test_columns_without_order_have_no_moments(make_run: MakeRun) -> None:
    run = make_run({"a": ["x", "y"] * 4}, columns={"quasi": {"a": {"type": "nominal"}}})
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)
    figures = json.loads(written(run)["json"].read_text())
    assert figures["utility"]["variation"] is None
    assert figures["utility"]["correlations"] is None


def test_odd_names_are_escaped(make_run: MakeRun) -> None:
    name = "<i>\"ä&'</i> {{ 7 * 7 }}"
    run = make_run({name: [1.0, 2.0, 8.0, 9.0]}, columns={"quasi": {name: {"type": "number"}}})
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)
    page = written(run)["html"].read_text()
    assert "<i>" not in page.replace("<i></i>", "")
    assert "&lt;i&gt;" in page
    assert "49 " not in page


@pytest.mark.parametrize(
    ("sample", "behind"), [({}, 2), ({"fraction": 0.1}, 20), ({"weighted": True}, 30)]
)
def test_attackers_are_told_by_what_part_of_the_population_was_drawn(
    make_run: MakeRun, sample: dict[str, object], behind: int
) -> None:
    run = make_run(
        {"a": [1.0, 2.0, 8.0, 9.0], "w": [10.0, 20.0, 15.0, 15.0]},
        columns={"quasi": {"a": {"type": "number"}}, "weight": "w"},
        sample=sample,
    )
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)
    found = json.loads(written(run)["json"].read_text())["risk"]["attackers"]
    assert (found["prosecutor"], found["prosecutor_average"]) == (0.5, 0.5)
    assert found["journalist"] == pytest.approx(naive.population_risk(2, 2 / behind), rel=1e-9)
