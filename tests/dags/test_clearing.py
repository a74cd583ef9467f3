"""Runs that fail, are cleared, or cut after the commit: they end green, or say what to clear."""

from __future__ import annotations

import json

import pytest

from tests.airflow_home import AirflowHome, Batch, patients_with_canary, seed_warehouse
from tests.dags.test_fail_closed import INTERVAL, release

# A task fails as often as the file that is called after its DAG and stage says.
DAGS = """
import json
import os
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable

from microagg_ops.errors import WarehouseError
from microagg_ops.notifications import MicroaggNotifier
from microagg_ops.operators import base, publish
from microagg_ops.staging import store
from microagg_ops.task_groups import build_release


def tell(told):
    with Path(os.environ["TESTED_HOME"], "told.jsonl").open("a") as file:
        print(json.dumps(asdict(told)), file=file)


def failing(stage, whole):
    def attempt(self, *args):
        left = Path(os.environ["TESTED_HOME"], f"{self.dag_id}.{stage or self.stage}")
        if left.exists() and int(left.read_text()):
            left.write_text(str(int(left.read_text()) - 1))
            raise WarehouseError("The worker is gone.")
        return whole(self, *args)

    attempt.wrapped = whole
    return attempt


def unwrapped(function):
    return getattr(function, "wrapped", function)


base.MicroaggOperator.perform = failing("", unwrapped(base.MicroaggOperator.perform))
store.Staging.dag_id = property(lambda self: self.root.name.partition(".")[0])
store.Staging.remove = failing("remove", unwrapped(store.Staging.remove))
# After the commit, and before Airflow hears of it.
publish.MicroaggPublishOperator.asset = failing(
    "commit", unwrapped(publish.MicroaggPublishOperator.asset)
)
for path in sorted(Path(__file__).parent.glob("*.yaml")):
    daily = CronDataIntervalTimetable("@daily", timezone="UTC")
    with DAG(path.stem, schedule=daily, start_date=datetime(2026, 1, 1), catchup=False):
        build_release(
            path, group_id="release", retries=1, retry_delay=timedelta(0),
            notify=MicroaggNotifier(tell),
        )
"""
FAILS = {"healing.aggregate": 2, "unclean.remove": 2, "cut.commit": 1, "shaken.group": 1}
STEPS = (
    "shaken", "cut", "healing", "healing!", "healing!release.extract", "unclean", "unclean!",
    "none",
)  # fmt: skip


@pytest.fixture(scope="module")
def home(airflow_home: AirflowHome, tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    return airflow_home.copy(tmp_path_factory.mktemp("clearing") / "home")


@pytest.fixture(scope="module")
def batch(home: AirflowHome) -> Batch:
    for name in ("shaken", "cut", "healing", "unclean", "none"):
        where = INTERVAL if name == "none" else "admitted < :end"
        (home.dags / f"{name}.yaml").write_text(release(name, where=where))
    for name, times in FAILS.items():
        (home.folder / name).write_text(str(times))
    (home.dags / "releases.py").write_text(DAGS)
    seed_warehouse(home.warehouse, patients_with_canary(600))
    return home.run(*STEPS)


def test_reports_tell_which_run_they_are_of(batch: Batch, home: AirflowHome) -> None:
    (told,) = (home.reports / "shaken").rglob("airflow.json")
    assert json.loads(told.read_text())["dag_id"] == "shaken"


def test_a_task_that_is_killed_once_is_retried(batch: Batch) -> None:
    run = batch.runs["shaken"]
    assert (run.state, run.tasks["release.group"], run.staged) == ("success", ["success", 2], [])


def test_a_run_that_is_killed_after_the_commit_is_green_when_it_is_retried(batch: Batch) -> None:
    run = batch.runs["cut"]
    assert (run.state, run.tasks["release.publish"]) == ("success", ["success", 2])
    assert run.tables == batch.runs["shaken"].tables
    assert list(run.events) == ["microagg://warehouse/pub.patients"]
    assert run.staged == []


def test_a_failed_run_leaves_nothing_in_staging(batch: Batch) -> None:
    run = batch.runs["healing"]
    assert (run.state, run.tasks["release.aggregate"]) == ("failed", ["failed", 2])
    assert run.tasks["release.cleanup"][0] == "success"
    assert run.staged == []


def test_clearing_what_failed_says_what_to_clear_and_is_not_retried(batch: Batch) -> None:
    run = batch.runs["healing!"]
    assert run.state == "failed"
    state, tries = run.tasks["release.aggregate"]
    assert (state, tries) == ("failed", batch.runs["healing"].tasks["release.aggregate"][1] + 1)
    assert "The staging of this run is gone" in batch.log
    assert "Clear the task 'release.extract' with all that is downstream of it." in batch.log
    assert run.staged == []


def test_clearing_extract_heals_the_run(batch: Batch) -> None:
    run = batch.runs["healing!release.extract"]
    assert run.state == "success"
    assert {state for state, _ in run.tasks.values()} == {"success"}
    assert run.tables == batch.runs["shaken"].tables
    assert run.staged == []


def test_a_clean_up_that_fails_makes_the_run_red(batch: Batch) -> None:
    run = batch.runs["unclean"]
    assert run.state == "failed"
    assert run.tasks["release.publish"][0] == "success"
    assert run.tasks["release.cleanup"] == ["failed", 2]
    assert run.staged


def test_clearing_it_removes_what_was_left(batch: Batch) -> None:
    run = batch.runs["unclean!"]
    assert (run.state, run.staged) == ("success", [])


def test_what_became_of_each_run_is_told(batch: Batch, home: AirflowHome) -> None:
    told = [json.loads(line) for line in (home.folder / "told.jsonl").read_text().splitlines()]
    published = "published 600 rows to pub.patients"
    assert [(one["state"], one["subject"]) for one in told] == [
        ("published", f"shaken: {published}"),
        ("published", f"cut: {published}"),
        ("failed", "healing: aggregate failed, and nothing was published"),
        ("failed", "healing: aggregate failed, and nothing was published"),
        ("published", f"healing: {published}"),
        ("published", f"unclean: {published}"),
        ("failed", "unclean: clean-up failed, and raw rows may be left in staging"),
        ("held back", "none: held back, and the target is as it was"),
    ]
    assert "k = 7, information loss " in told[0]["text"]
    assert "/microagg/releases/shaken/runs/manual" in told[0]["link"]
    assert told[0]["link"] in told[0]["text"] and told[0]["link"] in told[0]["html"]
    assert "Clear the task 'release.extract'" in told[3]["text"]
