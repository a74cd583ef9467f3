"""What the page reads of runs: all that is there, and nothing that is elsewhere."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from microagg_ops.plugin.runs import Reports
from tests.unit.plugin.reports import PAGE, make_report


@pytest.fixture
def reports(tmp_path: Path) -> Reports:
    return Reports(tmp_path / "reports")


def test_a_run(reports: Reports) -> None:
    make_report(reports.root, "clinic", "run_1")
    (run,), total = reports.runs("clinic", 10)
    assert total == 1
    assert (run.key, run.run_id, run.verdict) == ("run_1", "run_1", "passed")
    assert run.created == datetime(2026, 10, 1, 3, 4, 5, tzinfo=UTC)
    assert run.interval == (datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 10, 2, tzinfo=UTC))
    assert (run.rows, run.k, run.loss, run.linkage) == (50000, 5, 9.876, 1.234)
    assert dict(run.limits) == {"k": 5, "loss": 35.0}
    assert run.files == ("report.html", "report.json")
    assert run.failed == ()


def test_linkage_is_that_of_the_check_where_the_report_measured_none(reports: Reports) -> None:
    check = {"name": "linkage", "claim": "l", "threshold": 5.0, "observed": 2.5, "passed": False}
    make_report(reports.root, "clinic", "r", risk={"k": 5}, checks=[check], verdict="failed")
    (run,), _ = reports.runs("clinic", 10)
    assert (run.linkage, run.failed, run.verdict) == (2.5, ("l",), "failed")


@pytest.mark.parametrize("state", ["published", "awaiting approval", "failed"])
def test_what_became_of_the_table_is_told(reports: Reports, state: str) -> None:
    make_report(reports.root, "clinic", "r", publication={"state": state})
    assert reports.runs("clinic", 10)[0][0].state == state


def test_a_manifest_tells_where_there_is_no_report_for_machines(reports: Reports) -> None:
    folder = make_report(reports.root, "clinic", "r")
    (folder / "report.json").unlink()
    manifest = {
        "run": {"run_id": "by hand", "interval": None},
        "created": "2026-10-09T00:00:00+00:00",
        "verdict": "failed",
        "checks": {"k_anonymous": False, "totals": True},
        "output": {"rows": 7},
        "information_loss": 1.5,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (run,), _ = reports.runs("clinic", 10)
    assert (run.run_id, run.verdict, run.rows, run.loss) == ("by hand", "failed", 7, 1.5)
    assert (run.failed, run.k, run.interval) == (("k_anonymous",), None, None)


def test_newest_runs_first_and_no_more_than_asked_for(reports: Reports) -> None:
    for day in (3, 1, 5, 2, 4):
        make_report(reports.root, "clinic", f"run_{day}", day=day)
    runs, total = reports.runs("clinic", 3)
    assert [run.key for run in runs] == ["run_5", "run_4", "run_3"]
    assert total == 5


BROKEN = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'{"verdict": "splendid"}',
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"verdict": ["passed"]}',
]


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_report_is_unreadable(reports: Reports, content: bytes) -> None:
    make_report(reports.root, "clinic", "good")
    folder = make_report(reports.root, "clinic", "broken", day=2)
    (folder / "report.json").write_bytes(content)
    runs, total = reports.runs("clinic", 10)
    assert total == 2
    assert {run.key: run.verdict for run in runs} == {"broken": "unreadable", "good": "passed"}
    assert {run.files for run in runs} == {("report.html", "report.json")}


ODD: list[dict[str, Any]] = [
    {"identity": None},
    {"identity": {"created": 5, "interval": ["x", "y"], "run_id": 7}},
    {"identity": {"created": "0001-01-01T00:00:00+23:59", "interval": {}}},
    {"risk": [], "utility": 5, "data": "many"},
    {"risk": {"k": True, "after": {"linkability": []}}, "data": {"rows": "12"}},
    {"utility": {"information_loss": 10**400}, "data": {"rows": float("inf")}},
    {"checks": {"a": 1}},
    {"checks": [None, 5, {"passed": False}]},
    {"checks": None},
]


@pytest.mark.parametrize("changes", ODD, ids=range(len(ODD)))
def test_odd_parts_are_left_out(reports: Reports, changes: dict[str, Any]) -> None:
    folder = make_report(reports.root, "clinic", "odd")
    told = folder / "report.json"
    told.write_text(json.dumps(json.loads(told.read_text()) | changes))
    (run,), _ = reports.runs("clinic", 10)
    assert run.verdict == "passed"
    assert run.created is not None
    for value in (run.rows, run.k, run.loss, run.linkage):
        assert value is None or (isinstance(value, int | float) and abs(value) < 1e15)


def test_a_report_that_is_too_large_is_not_read(
    reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("microagg_ops.plugin.runs.LARGEST", 100)
    make_report(reports.root, "clinic", "large")
    (run,), _ = reports.runs("clinic", 10)
    assert run.verdict == "unreadable"


def test_a_report_that_changed_is_read_anew(reports: Reports) -> None:
    folder = make_report(reports.root, "clinic", "r")
    assert reports.runs("clinic", 10)[0][0].verdict == "passed"
    told = folder / "report.json"
    told.write_text(told.read_text().replace('"verdict": "passed"', '"verdict": "failed"'))
    assert reports.runs("clinic", 10)[0][0].verdict == "failed"


def test_nothing_there(reports: Reports) -> None:
    assert reports.releases() == []
    assert reports.runs("clinic", 10) == ([], 0)
    assert reports.file("clinic", "r", "report.html") is None
    reports.root.mkdir()
    (reports.root / "a file").write_text("")
    (reports.root / ".hidden").mkdir()
    (reports.root / "empty" / "run").mkdir(parents=True)
    assert reports.releases() == ["empty"]
    assert reports.runs("empty", 10) == ([], 0)


def test_files(reports: Reports) -> None:
    make_report(reports.root, "ünï cödé", "a run")
    assert reports.releases() == ["ünï cödé"]
    content = reports.file("ünï cödé", "a run", "report.html")
    assert content is not None
    assert b"".join(content) == PAGE.format("a run").encode()
    assert reports.file("ünï cödé", "a run", "manifest.json") is None


OUTSIDE = [
    ("..", "r", "report.html"),
    (".", "clinic", "report.html"),
    ("clinic", "..", "report.html"),
    ("clinic", "r", "../r/report.html"),
    ("clinic", "r", "secret.txt"),
    ("clinic/r", ".", "report.html"),
    ("", "clinic", "report.html"),
    ("linked", "r", "report.html"),
    ("clinic", "linked", "report.html"),
    ("clinic", "by_file", "report.html"),
]


@pytest.mark.parametrize(("release", "run", "name"), OUTSIDE)
def test_nothing_outside_is_given(
    reports: Reports, tmp_path: Path, release: str, run: str, name: str
) -> None:
    folder = make_report(reports.root, "clinic", "r")
    (folder / "secret.txt").write_text("secret")
    outside = make_report(tmp_path / "outside", "clinic", "r")
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "report.html").write_text("secret")
    (reports.root / "linked").symlink_to(outside.parent)
    (reports.root / "clinic" / "linked").symlink_to(outside)
    (reports.root / "clinic" / "by_file").mkdir()
    (reports.root / "clinic" / "by_file" / "report.html").symlink_to(outside / "report.html")
    assert reports.file("clinic", "r", "report.html") is not None
    assert reports.file(release, run, name) is None
    assert reports.releases() == ["clinic"]
    assert [one.key for one in reports.runs("clinic", 10)[0]] == ["r"]


def test_a_folder_of_reports_that_is_itself_a_link(reports: Reports, tmp_path: Path) -> None:
    make_report(tmp_path / "elsewhere", "clinic", "r")
    reports.root.symlink_to(tmp_path / "elsewhere")
    assert reports.releases() == ["clinic"]
    assert reports.runs("clinic", 10)[1] == 1
