"""A person's decision: what is written down, and what publish makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from microagg_ops.cli.main import main
from microagg_ops.errors import DisclosureError, ReleaseError
from microagg_ops.pipeline import make_run, run_release, run_stage
from microagg_ops.release.document import load_release
from microagg_ops.release.model import STAGES
from microagg_ops.stages import Run
from microagg_ops.stages.approve import approve
from tests.airflow_home import duckdb_connection


@pytest.fixture
def asked(release_file: Path, warehouse: Path) -> Path:
    """A release that a person must approve."""
    release_file.write_text(release_file.read_text() + "approve: true\n")
    return release_file


@pytest.fixture
def connections(warehouse: Path) -> dict[str, str]:
    return {"warehouse": duckdb_connection(warehouse)}


@pytest.fixture
def reported(asked: Path, connections: dict[str, str], tmp_path: Path) -> Run:
    """A run that has its report."""
    run = make_run(
        load_release(asked),
        tmp_path / "staging",
        connections=connections,
        reports=tmp_path / "reports",
    )
    for stage in STAGES[:-1]:
        run_stage(stage, run)
    return run


def tables(warehouse: Path) -> list[tuple[str]]:
    with duckdb.connect(str(warehouse), read_only=True) as con:
        return con.sql(
            "select table_name from duckdb_tables() where schema_name = 'pub'"
        ).fetchall()


def test_release_without_a_person_needs_none(release_file: Path) -> None:
    assert load_release(release_file).approve is False


def test_run_without_approval_stops_after_its_report(
    asked: Path, connections: dict[str, str], warehouse: Path, tmp_path: Path
) -> None:
    with pytest.raises(DisclosureError, match="nobody has approved") as caught:
        run_release(asked, connections=connections, reports=tmp_path / "reports")
    assert caught.value.code == "not_approved"
    assert "--approved-by" in caught.value.hint
    assert list((tmp_path / "reports").rglob("report.html"))
    assert not list((tmp_path / "reports").rglob("approval.json"))
    assert tables(warehouse) == []


def test_approval_is_written_beside_the_report(
    asked: Path, connections: dict[str, str], warehouse: Path, tmp_path: Path
) -> None:
    run_release(
        asked, connections=connections, reports=tmp_path / "reports", run_id="r", approved_by="Ada"
    )
    (written,) = (tmp_path / "reports").rglob("approval.json")
    assert (written.parent / "report.html").exists()
    assert written.stat().st_mode & 0o777 == 0o600
    decision = json.loads(written.read_text())
    assert (decision["approved"], decision["by"], decision["run_id"]) == (True, "Ada", "r")
    assert decision["at"].endswith("+00:00")
    assert decision["release_digest"] == load_release(asked).digest
    assert tables(warehouse) == [("clinic_patients",)]


def test_rejected_run_is_not_published(reported: Run, warehouse: Path) -> None:
    approve(reported, "Ada", approved=False)
    with pytest.raises(DisclosureError, match="rejected"):
        run_stage("publish", reported)
    assert tables(warehouse) == []


def test_approval_of_other_bytes_does_not_count(reported: Run, warehouse: Path) -> None:
    approve(reported, "Ada")
    summary, content = reported.staging.summary("aggregate"), reported.staging.get
    names = reported.staging.manifest("aggregate")["files"]
    files = {name: content("aggregate", name) for name in names}
    decision = json.loads(reported.staging.get("approve", "approval.json")) | {"file": "0" * 64}
    reported.staging.put("approve", {"approval.json": json.dumps(decision).encode()}, decision)
    reported.staging.put("aggregate", files, summary)
    with pytest.raises(DisclosureError, match="not the one that was approved"):
        run_stage("publish", reported)
    assert tables(warehouse) == []


def test_nobody_cannot_approve(reported: Run) -> None:
    with pytest.raises(ReleaseError, match="must be named"):
        approve(reported, "  ")


def test_command_line_asks_for_a_name(
    asked: Path, warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["run", str(asked), "--reports", str(tmp_path / "reports")]
    given += ["--connection", f"warehouse=duckdb:///{warehouse}"]
    assert main(given) == 1
    assert "--approved-by NAME" in capsys.readouterr().err
    assert main([*given, "--approved-by", "Ada"]) == 0
    assert tables(warehouse) == [("clinic_patients",)]
