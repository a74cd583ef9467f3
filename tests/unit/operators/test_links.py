"""Where the link of a task leads."""

from __future__ import annotations

from pathlib import Path

import pytest

from microagg_ops.operators import MicroaggPublishOperator
from microagg_ops.operators.links import MicroaggReportLink


@pytest.fixture(autouse=True)
def reports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("AIRFLOW__MICROAGG__REPORTS", str(tmp_path))
    return tmp_path


def link(**uris: str) -> str:
    publish = MicroaggPublishOperator(task_id="t", release="clinic.yaml")
    publish.reports = uris
    return MicroaggReportLink().get_link(publish, ti_key=None)


def test_report_of_the_installation_is_shown_by_airflow(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = reports / "clinic" / "manual__2026_00_00"
    uris = {name: (folder / f"report.{name}").as_uri() for name in ("json", "html")}
    assert link(**uris) == "/microagg/releases/clinic/runs/manual__2026_00_00"
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://example.org/air/")
    assert link(**uris) == "/air/microagg/releases/clinic/runs/manual__2026_00_00"


def test_report_elsewhere_is_linked_as_it_is() -> None:
    assert link(html="https://x.org/r/report.html") == "https://x.org/r/report.html"
    assert link(html="s3://bucket/clinic/run/report.html") == "s3://bucket/clinic/run/report.html"


def test_without_a_page_the_first_file_is_linked(reports: Path) -> None:
    file = (reports / "clinic" / "run" / "report.json").as_uri()
    assert link(json=file) == file


def test_before_the_report_there_is_no_link() -> None:
    assert link() == ""
