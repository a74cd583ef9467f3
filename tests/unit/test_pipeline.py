"""A release from end to end: what is left of a run whose checks failed."""

from __future__ import annotations

import json
import logging
import stat
from pathlib import Path

import duckdb
import pytest

from microagg_ops import run_release
from microagg_ops.errors import DisclosureError
from microagg_ops.stages import report as report_stage


@pytest.fixture
def failing(release_file: Path) -> Path:
    text = release_file.read_text()
    release_file.write_text(f"{text}validate: {{max_information_loss: 0.0001}}\n")
    return release_file


def run(path: Path, warehouse: Path) -> None:
    run_release(
        path,
        connections={"warehouse": f"duckdb:///{warehouse}"},
        reports=path.parent / "reports",
        run_id="r",
    )


def test_a_failed_run_has_a_report_that_says_what_to_change(failing: Path, warehouse: Path) -> None:
    with pytest.raises(DisclosureError, match="information_loss") as caught:
        run(failing, warehouse)
    folder = failing.parent / "reports" / "clinic_patients" / "r"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["manifest.json", "report.html", "report.json"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert (folder / "report.html").as_uri() in str(caught.value)
    assert not caught.value.retryable
    figures = json.loads((folder / "report.json").read_text())
    assert figures["verdict"] == "failed"
    (advice,) = figures["advice"]
    assert advice["key"] == "validate.max_information_loss"
    assert "information loss is at most 0.01 %" in advice["why"].lower()
    assert "Nothing was published" in (folder / "report.html").read_text()
    assert json.loads((folder / "manifest.json").read_text())["verdict"] == "failed"
    with duckdb.connect(str(warehouse)) as con:
        assert con.execute(
            "select count(*) from duckdb_tables() where schema_name = 'pub'"
        ).fetchone() == (0,)


def test_a_failure_takes_the_external_report_of_an_earlier_try_away(
    failing: Path, warehouse: Path
) -> None:
    text = failing.read_text()
    failing.write_text(text.replace("0.0001", "0.9"))
    run(failing, warehouse)
    folder = failing.parent / "reports" / "clinic_patients" / "r"
    assert (folder / "external.html").exists()
    failing.write_text(text)
    with pytest.raises(DisclosureError):
        run(failing, warehouse)
    assert not list(folder.glob("external.*"))


def test_a_report_that_cannot_be_written_does_not_hide_the_failure(
    failing: Path,
    warehouse: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(run: object) -> None:
        raise ValueError("canary")

    monkeypatch.setattr(report_stage, "gather", broken)
    with caplog.at_level(logging.WARNING, "microagg_ops"), pytest.raises(DisclosureError):
        run(failing, warehouse)
    assert "no report of the failure" in caplog.text
    assert "canary" not in caplog.text


@pytest.mark.parametrize(
    ("limits", "check"),
    [
        ("l: {diagnosis: 7}", "l_diverse_diagnosis"),
        ("l: {diagnosis: {kind: recursive, l: 7, c: 2}}", "l_diverse_diagnosis"),
        ("t: {diagnosis: 0.01}", "t_close_diagnosis"),
        ("max_linkage: 0.0001", "linkage"),
        ("totals: 0", "totals_age"),
    ],
)
def test_nothing_is_published_unless_every_check_passes(
    release_file: Path, warehouse: Path, limits: str, check: str
) -> None:
    text = release_file.read_text()
    run(release_file, warehouse)
    count = "select count(*), sum(age) from pub.clinic_patients"
    with duckdb.connect(str(warehouse)) as con:
        before = con.execute(count).fetchone()
        con.execute("delete from clinic.patients where age > 60")
    text = text.replace("aggregate: {", "aggregate: {aware: false, ")
    release_file.write_text(f"{text}validate: {{{limits}}}\n")
    with pytest.raises(DisclosureError, match=f"FAILED {check}"):
        run(release_file, warehouse)
    with duckdb.connect(str(warehouse)) as con:
        assert con.execute(count).fetchone() == before
    report = release_file.parent / "reports" / "clinic_patients" / "r" / "report.json"
    checks = {c["name"]: c["passed"] for c in json.loads(report.read_text())["checks"]}
    assert checks[check] is False
