"""``microagg report`` after a run: in a few lines, and as PDF by a browser where there is one."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

from tests.browser import find_browser
from tests.unit.cli.test_files import PEOPLE
from tests.unit.cli.test_main import Microagg, microagg

__all__ = ["microagg"]


@pytest.fixture
def people(tmp_path: Path, patients: object) -> Path:
    pa_csv.write_csv(patients, tmp_path / "people.csv")
    path = tmp_path / "people.yaml"
    path.write_text(PEOPLE.replace("FILE", "out.csv"))
    return path


def test_the_report_of_the_last_run(microagg: Microagg, people: Path, tmp_path: Path) -> None:
    missing = microagg("report", people)
    assert missing.code == 2 and "no report" in missing.err
    assert microagg("run", people, "--run-id", "first").code == 0
    shown = microagg("report", people)
    assert "people, version 1: published" in shown.out
    assert "passed  k_anonymous" in shown.out
    assert "Report: reports/people/first/report.html" in shown.out.replace(f"{tmp_path}/", "")
    people.write_text(people.read_text() + "validate: {max_information_loss: 0.0001}\n")
    assert microagg("run", people, "--run-id", "second").code == 1
    # Two reports of one second are told apart by their names.
    report = tmp_path / "reports" / "people" / "second" / "report.json"
    figures = json.loads(report.read_text())
    figures["identity"]["created"] = "9" + figures["identity"]["created"][1:]
    report.write_text(json.dumps(figures))
    refused = microagg("report", people)
    assert "refused" in refused.out and "FAILED  information_loss" in refused.out
    assert "Advice: validate.max_information_loss" in refused.out
    assert "published" in microagg("report", people, "--run-id", "first").out
    assert microagg("report", people, "--json").result["run"] == "second"


def test_no_browser_is_said_before_anything_is_published(
    microagg: Microagg, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr("microagg_ops.report.pdf.shutil.which", lambda name: None)
    done = microagg("run", people, "--pdf", "--json")
    assert (done.code, done.error["error"]) == (3, "no_browser")
    assert not (tmp_path / "out.csv").exists()


def test_a_browser_that_fails_changes_nothing_about_the_table(
    microagg: Microagg, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHROMIUM", "/bin/false")
    done = microagg("run", people, "--pdf")
    assert done.code == 0
    assert "published, but The browser did not print report.html" in done.err
    assert (tmp_path / "out.csv").exists()


def test_reports_are_printed_for_their_owner_alone(
    microagg: Microagg, people: Path, tmp_path: Path
) -> None:
    find_browser()
    done = microagg("run", people, "--pdf", "--run-id", "r")
    assert done.code == 0, done.err
    for name in ("report.pdf", "external.pdf"):
        pdf = tmp_path / "reports" / "people" / "r" / name
        assert pdf.read_bytes().startswith(b"%PDF-")
        assert stat.S_IMODE(os.stat(pdf).st_mode) == 0o600
        assert pdf.as_uri() in done.out
