"""A task that fails a check leaves a report that says what to change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowFailException

from microagg_ops.operators import (
    MicroaggAggregateOperator,
    MicroaggExtractOperator,
    MicroaggGroupOperator,
    MicroaggReportOperator,
    MicroaggStandardizeOperator,
    MicroaggValidateOperator,
)

STAGES = {
    "extract": MicroaggExtractOperator,
    "standardize": MicroaggStandardizeOperator,
    "group": MicroaggGroupOperator,
    "aggregate": MicroaggAggregateOperator,
}


@pytest.fixture(autouse=True)
def connection(monkeypatch: pytest.MonkeyPatch, warehouse: Path, tmp_path: Path) -> None:
    found = json.dumps({"conn_type": "duckdb", "host": str(warehouse)})
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", found)
    monkeypatch.setenv("AIRFLOW_CONN_SIGNER", "generic://user:the-key@host")
    monkeypatch.setenv("AIRFLOW__MICROAGG__REPORTS", str(tmp_path / "reports"))
    monkeypatch.setenv("AIRFLOW__MICROAGG__STAGING", str(tmp_path / "staging"))


def test_the_task_validate_writes_it_and_is_not_retried(release_file: Path) -> None:
    sections = "validate: {max_information_loss: 0.0001}\nreport: {sign_conn_id: signer}\n"
    release_file.write_text(release_file.read_text() + sections)
    for stage, operator in STAGES.items():
        operator(task_id=stage, release=release_file).execute({"run_id": "once"})
    task = MicroaggValidateOperator(task_id="validate", release=release_file)
    with pytest.raises(AirflowFailException, match="What to change is said in") as caught:
        task.execute({"run_id": "once"})
    folder = release_file.parent / "reports" / "clinic_patients" / "once"
    assert (folder / "report.html").as_uri() in str(caught.value)
    assert task.reports["html"] == (folder / "report.html").as_uri()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["verdict"], manifest["signature"]["conn_id"]) == ("failed", "signer")
    assert manifest["run"]["run_id"] == "once"


def test_a_key_that_is_not_there_fails_the_run_before_anything_is_read(release_file: Path) -> None:
    release_file.write_text(f"{release_file.read_text()}report: {{sign_conn_id: nobody}}\n")
    with pytest.raises(AirflowFailException, match="'nobody' with a password"):
        STAGES["extract"](task_id="extract", release=release_file).execute({"run_id": "once"})
    assert not list((release_file.parent / "staging").rglob("*"))


def test_the_operator_alone_writes_it_too(tmp_path: Path) -> None:
    with pytest.raises(AirflowFailException, match="What to change is said in"):
        MicroaggReportOperator(
            task_id="alone",
            source="clinic.patients",
            conn_id="warehouse",
            quasi=["age", "bmi"],
            k=5,
            max_information_loss=0.0001,
            target=str(tmp_path / "audit"),
        ).execute({})
    assert [path.name for path in sorted((tmp_path / "audit").rglob("report.*"))] == [
        "report.html", "report.json",
    ]  # fmt: skip
