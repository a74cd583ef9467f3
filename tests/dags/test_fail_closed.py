"""Whatever goes wrong, the target is as it was, nothing raw is left, and no cell value is told."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import yaml

from microagg_ops.errors import StagingError
from microagg_ops.pipeline import make_run, run_stage
from microagg_ops.release.document import load_release
from microagg_ops.release.model import STAGES
from microagg_ops.staging.store import Staging
from tests.airflow_home import (
    CANARY,
    AirflowHome,
    Batch,
    duckdb_connection,
    patients_with_canary,
    seed_warehouse,
)

# One DAG for each release file beside it; every task may be retried three times, at once.
DAGS = """
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable

from microagg_ops.task_groups import build_release

for path in sorted(Path(__file__).parent.glob("*.yaml")):
    daily = CronDataIntervalTimetable("@daily", timezone="UTC")
    schedule = "@daily" if path.stem == "no_length" else daily
    with DAG(path.stem, schedule=schedule, start_date=datetime(2026, 1, 1), catchup=False):
        build_release(path, group_id="release", retries=3, retry_delay=timedelta(0))
"""
BROKEN_DAG = """
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from microagg_ops.task_groups import build_release

with DAG("broken", schedule=None, start_date=datetime(2026, 1, 1)):
    build_release(Path(__file__).with_name("broken") / "broken.yaml")
"""
INTERVAL = "admitted >= :start and admitted < :end"


def release(name: str, k: int = 7, where: str = "admitted < :end", **sections: Any) -> str:
    """Write a release to pub.patients; with another k than the good one, it would change it."""
    document = {
        "release": name,
        "source": {"conn_id": "warehouse", "table": "clinic.patients", "where": where},
        "columns": {
            "identifiers": ["ssn", "full_name"],
            "entity": "patient_id",
            "quasi": {"age": {"type": "integer"}, "height_cm": {"type": "number"}},
            "sensitive": ["diagnosis"],
        },
        "aggregate": {"k": k},
        "publish": {"conn_id": "warehouse", "table": "pub.patients"},
    }
    return yaml.safe_dump(document | sections)


RELEASES = {
    "good": release("good", k=5),
    "too_lossy": release("too_lossy", validate={"max_information_loss": 0.0001}),
    "empty": release("empty", where=INTERVAL),
    "no_length": release("no_length", where=INTERVAL),
    "unreachable": release("unreachable", source={"conn_id": "gone", "table": "clinic.patients"}),
    # DuckDB quotes the cell that it cannot convert: of all numbers only the canary is no integer.
    "quoted": release("quoted", where="cast(ssn as integer) > 0"),
}
FAILING = sorted(set(RELEASES) - {"good"})


@pytest.fixture(scope="module")
def batch(airflow_home: AirflowHome, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """A good run, then each of the others."""
    home = airflow_home.copy(tmp_path_factory.mktemp("failing") / "home")
    for name, text in RELEASES.items():
        (home.dags / f"{name}.yaml").write_text(text)
    (home.dags / "releases.py").write_text(DAGS)
    (home.dags / "broken").mkdir()
    (home.dags / "broken" / "broken.yaml").write_text(
        release("broken", aggregate={"k": 1, "metod": "mdav"})
    )
    (home.dags / "broken.py").write_text(BROKEN_DAG)
    seed_warehouse(home.warehouse, patients_with_canary(600))
    return home.run("good", *FAILING)


@pytest.fixture(scope="module")
def lineage(batch: Batch) -> dict[str, Any]:
    """Job to the last event that OpenLineage sent of it."""
    return {event["job"]["name"]: event for event in batch.lineage}


def test_good_run_publishes(batch: Batch) -> None:
    assert batch.runs["good"].state == "success"
    assert list(batch.runs["good"].tables) == ["patients"]


@pytest.mark.parametrize("dag_id", FAILING)
def test_target_is_as_it_was(batch: Batch, dag_id: str) -> None:
    assert batch.runs[dag_id].tables == batch.runs["good"].tables


@pytest.mark.parametrize("dag_id", FAILING)
def test_nothing_is_left_in_staging(batch: Batch, dag_id: str) -> None:
    assert batch.runs[dag_id].staged == []


@pytest.mark.parametrize("column", sorted(CANARY))
def test_log_tells_no_cell_value(batch: Batch, column: str) -> None:
    assert "ConversionException" in batch.log, "the refusal that quotes a cell was logged"
    assert str(CANARY[column]) not in batch.log


def test_failed_validation_fails_the_run(batch: Batch) -> None:
    assert batch.runs["too_lossy"].state == "failed"


def test_failed_validation_is_never_retried(batch: Batch) -> None:
    assert batch.runs["too_lossy"].tasks["release.validate"] == ["failed", 1]


def test_failed_validation_is_told_to_openlineage(lineage: dict[str, Any]) -> None:
    event = lineage["too_lossy.release.validate"]
    assert event["eventType"] == "FAIL"
    (checked,) = event["inputs"]
    assertions = checked["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {a["assertion"]: a["success"] for a in assertions} == {
        "k_anonymous": True,
        "information_loss": False,
        "schema": True,
        "dominance": True,
        "p_percent": True,
    }


def test_source_that_cannot_be_read_is_told_to_openlineage(lineage: dict[str, Any]) -> None:
    event = lineage["unreachable.release.extract"]
    assert event["eventType"] == "FAIL"
    assert event["inputs"][0]["name"] == "clinic.patients"


def test_failed_run_has_no_asset_event(batch: Batch) -> None:
    assert list(batch.runs["good"].events) == ["microagg://warehouse/pub.patients"]
    assert [batch.runs[dag_id].events for dag_id in FAILING] == [{}] * len(FAILING)


def test_failed_validation_stops_publish(batch: Batch) -> None:
    assert batch.runs["too_lossy"].tasks["release.publish"] == ["upstream_failed", 0]


def test_failed_validation_is_cleaned_up(batch: Batch) -> None:
    assert batch.runs["too_lossy"].tasks["release.cleanup"] == ["success", 1]


def test_failed_validation_says_which_check_failed(batch: Batch) -> None:
    assert "FAILED information_loss: information loss is at most 0.01 %" in batch.log


def test_empty_interval_is_skipped(batch: Batch) -> None:
    states = {state for state, _ in batch.runs["empty"].tasks.values()}
    assert states == {"skipped"}


def test_interval_without_length_fails(batch: Batch) -> None:
    # Airflow 3 gives "@daily" no data interval: to skip would be to skip every night.
    assert batch.runs["no_length"].tasks["release.extract"] == ["failed", 1]
    assert "CronDataIntervalTimetable" in batch.log


def test_unreachable_warehouse_is_retried(batch: Batch) -> None:
    assert batch.runs["unreachable"].tasks["release.extract"] == ["failed", 4]


def test_refused_query_is_not_retried(batch: Batch) -> None:
    assert batch.runs["quoted"].tasks["release.extract"] == ["failed", 1]


def test_broken_release_is_an_import_error_with_its_faults(batch: Batch) -> None:
    assert list(batch.import_errors) == ["broken.py"]
    assert "broken.yaml has 2 faults" in batch.import_errors["broken.py"]
    assert "/aggregate/k" in batch.import_errors["broken.py"]
    assert "Did you mean 'method'?" in batch.import_errors["broken.py"]


# Runs the stages of a release up to aggregate, and dies there by a signal that nobody can catch.
KILLED = """
import os, signal, sys

from microagg_ops.pipeline import make_run, run_stage
from microagg_ops.release.document import load_release

def die(stage, share):
    if stage == "aggregate" and share > 0:
        os.kill(os.getpid(), signal.SIGKILL)

file, staging, connection = sys.argv[1:]
run = make_run(load_release(file), staging, connections={"warehouse": connection})
for stage in ("extract", "standardize", "group", "aggregate"):
    run_stage(stage, run, die)
"""


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A folder with a warehouse, and with the staging of a run that was killed in aggregate."""
    seed_warehouse(tmp_path / "warehouse.duckdb", patients_with_canary(600))
    (tmp_path / "release.yaml").write_text(release("killed", where="age >= 0"))
    connection = duckdb_connection(tmp_path / "warehouse.duckdb")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, "release.yaml", "staging", connection],
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    return tmp_path


def run_again(folder: Path, *stages: str) -> None:
    run = make_run(
        load_release(folder / "release.yaml"),
        folder / "staging",
        connections={"warehouse": duckdb_connection(folder / "warehouse.duckdb")},
        reports=folder / "reports",
    )
    for stage in stages:
        run_stage(stage, run)


def published(folder: Path) -> pa.Table:
    with duckdb.connect(str(folder / "warehouse.duckdb")) as con:
        return con.sql("from pub.patients").to_arrow_table()


def test_killed_stage_has_not_finished(killed: Path) -> None:
    with pytest.raises(StagingError, match="'aggregate' has not finished"):
        Staging(killed / "staging").summary("aggregate")


def test_killed_run_cannot_be_published(killed: Path) -> None:
    with pytest.raises(StagingError):
        run_again(killed, "publish")


@pytest.mark.parametrize("first", ["extract", "aggregate"])
def test_killed_run_publishes_when_it_runs_again(killed: Path, first: str) -> None:
    run_again(killed, *STAGES[STAGES.index(first) :])
    classes = published(killed).group_by(["age", "height_cm"]).aggregate([([], "count_all")])
    assert min(classes["count_all"].to_pylist()) >= 7
