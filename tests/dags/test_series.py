"""Several releases at once, intervals in any order, runs without a date, and people who decide."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.airflow_home import AirflowHome, Batch, patients_with_canary, seed_warehouse

DAGS = """
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable

from microagg_ops.task_groups import build_release, build_releases

HERE = Path(__file__).parent
yearly = CronDataIntervalTimetable("0 0 1 1 *", timezone="UTC")

for name, schedule in (
    ("approved", None), ("rejected", None), ("undated", None), ("series", yearly),
    ("again", yearly),
):
    with DAG(name, schedule=schedule, start_date=datetime(2024, 1, 1), catchup=False):
        build_release(HERE / f"{name}.yaml", group_id="release")
with DAG("mapped", schedule=None, start_date=datetime(2024, 1, 1)):
    build_releases(
        [HERE / f"{name}.yaml" for name in ("one", "two", "three", "lossy")],
        pool="warehouse",
        queue="secure",
        retries=3,
        retry_delay=timedelta(0),
    )
"""
INTERVAL = "admitted >= :start and admitted < :end"


def release(name: str, where: str | None = None, **sections: Any) -> str:
    document = {
        "release": name,
        "source": {"conn_id": "warehouse", "table": "clinic.patients", "where": where},
        "columns": {
            "entity": "patient_id",
            "quasi": {"age": {"type": "integer"}, "height_cm": {"type": "number"}},
            "sensitive": ["diagnosis"],
        },
        "aggregate": {"k": 5},
        "publish": {"conn_id": "warehouse", "table": f"pub.{name}"},
    }
    return yaml.safe_dump(document | sections)


def appended(name: str) -> dict[str, str]:
    return {"conn_id": "warehouse", "table": f"pub.{name}", "mode": "append_interval"}


RELEASES = {
    "approved": release("approved", approve=True),
    "rejected": release("rejected", approve=True),
    "undated": release("undated", "admitted < :end"),
    "series": release("series", INTERVAL, publish=appended("series")),
    "again": release("again", INTERVAL, publish=appended("again")),
    "one": release("one"),
    "two": release("two", approve=True),
    "three": release("three", approve=True),
    "lossy": release("lossy", validate={"max_information_loss": 0.0001}),
}
RUNS = (
    "approved",
    "rejected",
    "undated@",
    "mapped",
    # The years in order, and in no order with one of them twice; 2031 has no admission.
    *("series@2025-01-01", "series@2026-01-01", "series@2027-01-01"),
    *("again@2027-01-01", "again@2025-01-01", "again@2031-01-01", "again@2026-01-01"),
    "again@2025-01-02",
)


@pytest.fixture(scope="module")
def home(airflow_home: AirflowHome, tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    answers = {"rejected": "Reject", "mapped[2]": "Reject"}
    home = airflow_home.copy(tmp_path_factory.mktemp("series") / "home", **answers)
    for name, text in RELEASES.items():
        (home.dags / f"{name}.yaml").write_text(text)
    (home.dags / "releases.py").write_text(DAGS)
    seed_warehouse(home.warehouse, patients_with_canary(600))
    return home


@pytest.fixture(scope="module")
def batch(home: AirflowHome) -> Batch:
    return home.run(*RUNS)


def states(batch: Batch, wanted: str, index: int = -1) -> dict[str, str]:
    """Task to state; of one map index."""
    mapped = f"[{index}]" if index >= 0 else ""
    tasks = batch.runs[wanted].tasks
    found = {name: state for name, (state, _) in tasks.items() if name.endswith(mapped)}
    return {name.removesuffix(mapped).split(".")[1]: state for name, state in found.items()}


# Approval


def test_dag_files_are_imported(batch: Batch) -> None:
    assert batch.import_errors == {}


def test_approval_stands_between_report_and_publish(batch: Batch) -> None:
    tasks = [name.split(".")[1] for name in batch.dags["approved"]["tasks"]]
    assert tasks[-5:] == ["report", "approve", "publish", "cleanup", "published"]
    assert "release.approve" not in batch.dags["undated"]["tasks"]


def test_approved_release_is_published(batch: Batch, home: AirflowHome) -> None:
    assert set(states(batch, "approved").values()) == {"success"}
    assert home.query("select count(*) from pub.approved") == [(600,)]


@pytest.mark.parametrize(("name", "approved"), [("approved", True), ("rejected", False)])
def test_decision_is_written_beside_the_report(
    batch: Batch, home: AirflowHome, name: str, approved: bool
) -> None:
    (written,) = (home.reports / name).rglob("approval.json")
    decision = json.loads(written.read_text())
    assert (decision["approved"], decision["by"]) == (approved, "Ada Approver")
    assert (written.parent / "report.html").exists()


def test_rejection_leaves_the_target_untouched(batch: Batch) -> None:
    found = states(batch, "rejected")
    assert (found["approve"], found["publish"]) == ("success", "skipped")
    assert "rejected" not in batch.runs["rejected"].tables
    assert batch.runs["rejected"].events == {}


def test_rejected_run_is_cleaned_up(batch: Batch) -> None:
    assert states(batch, "rejected")["cleanup"] == "success"
    assert batch.runs["rejected"].staged == []


# Mapping


@pytest.mark.parametrize(("index", "name"), [(0, "one"), (1, "two")])
def test_mapped_release_is_published(
    batch: Batch, home: AirflowHome, index: int, name: str
) -> None:
    assert set(states(batch, "mapped", index).values()) == {"success"}
    assert home.query(f"select count(*) from pub.{name}") == [(600,)]


def test_mapped_release_is_rejected_alone(batch: Batch) -> None:
    found = states(batch, "mapped", 2)
    assert (found["approve"], found["publish"], found["cleanup"]) == (
        "success",
        "skipped",
        "success",
    )
    assert "three" not in batch.runs["mapped"].tables


def test_disclosure_failure_is_never_retried(batch: Batch) -> None:
    assert batch.runs["mapped"].tasks["releases.validate[3]"] == ["failed", 1]
    assert states(batch, "mapped", 3)["publish"] == "upstream_failed"
    assert "lossy" not in batch.runs["mapped"].tables


def test_mapped_releases_announce_their_own_tables(batch: Batch) -> None:
    events = batch.runs["mapped"].events
    assert {uri: extra["release"] for uri, extra in events.items()} == {
        f"microagg://warehouse/pub.{name}": name for name in ("one", "two")
    }


def test_nothing_of_mapped_releases_is_left_in_staging(batch: Batch) -> None:
    assert batch.runs["mapped"].staged == []


def test_pool_and_queue_pass_through(batch: Batch) -> None:
    placed = batch.dags["mapped"]["placed"]
    # The empty task at the end is run by no worker.
    del placed["releases.published"]
    assert len(placed) == 9
    assert {tuple(place) for place in placed.values()} == {("warehouse", "secure")}


# Intervals


def test_run_without_a_logical_date_publishes(batch: Batch, home: AirflowHome) -> None:
    assert set(states(batch, "undated@").values()) == {"success"}
    assert home.query("select count(*) from pub.undated") == [(600,)]


def test_intervals_in_any_order_end_in_the_same_table(batch: Batch, home: AirflowHome) -> None:
    last = batch.runs["again@2025-01-02"].tables
    assert last["again"] == last["series"]
    years = "select year(interval_start) y, count(*) from pub.again group by all order by all"
    assert home.query(years) == home.query(
        "select year(admitted) y, count(*) from clinic.patients group by all order by all"
    )


def test_empty_interval_is_skipped(batch: Batch) -> None:
    assert set(states(batch, "again@2031-01-01").values()) == {"skipped"}
    before, after = (batch.runs[f"again@{day}"].tables for day in ("2025-01-01", "2031-01-01"))
    assert before == after
