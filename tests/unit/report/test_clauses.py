"""The map from clauses to figures: what answers what, of a real run with a regulator's profile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from microagg_ops import run_release
from microagg_ops.errors import ReleaseError
from microagg_ops.release.faults import shape_faults
from microagg_ops.release.profiles import PROFILES
from microagg_ops.report.clauses import answered, look_up
from microagg_ops.report.regulations import DOCUMENTS, Answer
from microagg_ops.report.words import as_unit


def run(path: Path, warehouse: Path) -> None:
    run_release(
        path,
        connections={"warehouse": f"duckdb:///{warehouse}"},
        reports=path.parent / "reports",
        run_id="r",
    )


def with_profile(path: Path, k: int, more: str = "") -> Path:
    text = path.read_text().replace("k: 3", f"k: {k}")
    path.write_text(f"profile: ema0070\n{text}{more}")
    return path


@pytest.fixture
def figures(release_file: Path, warehouse: Path) -> dict[str, Any]:
    """The internal report of a release with the profile of EMA at k = 12, which is published."""
    run(with_profile(release_file, 12, "sample: {fraction: 0.05}\n"), warehouse)
    folder = release_file.parent / "reports" / "clinic_patients" / "r"
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    found["page"] = (folder / "report.html").read_text()
    found["external"] = (folder / "external.json").read_text()
    return found


def test_a_run_with_a_profile_is_published_and_mapped(
    figures: dict[str, Any], warehouse: Path
) -> None:
    page, external = figures.pop("page"), figures.pop("external")
    with duckdb.connect(str(warehouse)) as con:
        assert con.execute("select count(*) from pub.clinic_patients").fetchone() == (600,)
    assert not list(shape_faults(figures, "report"))
    (check,) = (c for c in figures["checks"] if c["name"] == "max_risk")
    assert (check["passed"], check["threshold"]) == (True, 9.0)
    assert check["observed"] == pytest.approx(100 * figures["risk"]["attackers"]["prosecutor"])

    clauses, chance = figures["clauses"], figures["risk"]["attackers"]
    assert (clauses["profile"]["name"], clauses["profile"]["k"]) == ("ema0070", 12)
    # Of a sample of a twentieth the population hides people, from those who know no better.
    assert chance["sample"] == {"fraction": 0.05, "weighted": False}
    assert chance["prosecutor"] <= 1 / 12
    assert chance["journalist"] < chance["prosecutor"] / 10
    # Every figure is there: a path that no longer leads anywhere would read "not measured".
    for document in clauses["documents"]:
        for clause in document["clauses"]:
            for answer in clause["answers"]:
                if answer["label"] != "kind of release":  # which this release does not say
                    assert answer["value"] is not None, answer
    by_label = {a["label"]: a for d in clauses["documents"] for c in d["clauses"]
                for a in c["answers"]}  # fmt: skip
    assert by_label["prosecutor, highest"]["value"] == chance["prosecutor"]
    assert by_label["smallest class, k"]["value"] == figures["risk"]["k"]

    for document in DOCUMENTS:
        assert document.edition in page
    assert as_unit(chance["prosecutor"], "share") in page
    for word in ("clauses", "attackers", "prosecutor", "ema0070"):
        assert word not in external


def test_a_map_tells_what_became_of_the_table(figures: dict[str, Any]) -> None:
    assert figures["publication"]["state"] == "published"
    states = {
        answer["value"]
        for document in figures["clauses"]["documents"]
        for clause in document["clauses"]
        for answer in clause["answers"]
        if answer["figure"] == "publication.state"
    }
    assert states == {"published"}


def test_one_in_eleven_is_above_the_risk_of_ema(release_file: Path, warehouse: Path) -> None:
    with pytest.raises(ReleaseError, match="12 or more: profile ema0070"):
        run(with_profile(release_file, 11), warehouse)
    with duckdb.connect(str(warehouse)) as con:
        assert con.execute(
            "select count(*) from duckdb_tables() where schema_name = 'pub'"
        ).fetchone() == (0,)
    assert not (release_file.parent / "reports").exists()


def test_every_document_has_a_profile_and_every_clause_says_what_it_leaves() -> None:
    assert {document.profile for document in DOCUMENTS} == set(PROFILES)
    for document in DOCUMENTS:
        assert len({one.clause for one in document.clauses}) == len(document.clauses)
        for one in document.clauses:
            assert one.answers
            for words in (one.asks, one.left):
                assert words.endswith(".")
                assert len(words) < 100


@pytest.mark.parametrize(
    ("answer", "value", "unit"),
    [
        (Answer("x", "a.b", "share"), 0.5, "share"),
        (Answer("x", "a.none", "share"), None, "share"),
        (Answer("x", "a.b.c", "share"), None, "share"),
        (Answer("x", "l.*.v", "count", "min"), 1, "count"),
        (Answer("x", "l.*.v", "count", "max"), 3, "count"),
        (Answer("x", "no.*.v", "count", "max"), None, "count"),
        (Answer("x", "l", "listed"), 2, "count"),
        (Answer("x", "nothing", "listed"), None, "count"),
        (Answer("x", "said", "stated"), "stated", "words"),
        (Answer("x", "unsaid", "stated"), "not stated", "words"),
    ],
)
def test_figures_are_looked_up(answer: Answer, value: object, unit: str) -> None:
    figures = {"a": {"b": 0.5}, "l": [{"v": 3}, {"v": 1}], "no": [], "said": "canary", "unsaid": ""}
    found = answered(answer, figures)
    assert (found["value"], found["unit"]) == (value, unit)
    assert look_up(figures, []) is figures


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(1 / 12, "share", "8.33 %"), (9.5, "percent", "9.50 %"), (12, "count", "12"),
     (None, "share", "not measured"), ("stated", "words", "stated"), (0.25, "number", "0.25")],
)  # fmt: skip
def test_shares_have_a_percent_sign(value: float | str | None, unit: str, text: str) -> None:
    assert as_unit(value, unit) == text
