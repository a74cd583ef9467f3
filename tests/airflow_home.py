"""A real Airflow on SQLite, with a home and a warehouse of its own.

Airflow reads its settings when it is imported, so DAGs run in another process:
``python -m tests.airflow_home DAG_ID…`` runs them in order and writes one JSON line for each.
``DAG_ID@2026-01-01`` runs a DAG for another date, ``DAG_ID@`` without a logical date. ``DAG_ID!``
clears what failed in its last run, as the button does, and ``DAG_ID!TASK_ID`` a task with all that
is downstream of it; that run then goes on. Whoever waits
for a person is answered: Approve, or what TESTED_ANSWERS says for ``DAG_ID`` or its map index.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pyarrow as pa

from microagg_ops.cli.demo_data import clinic_patients
from microagg_ops.staging.digests import content_digest

REPOSITORY = Path(__file__).parent.parent
# After every admission, and the day that ends there has none.
LOGICAL_DATE = datetime(2031, 1, 1, tzinfo=UTC)
# A patient whose values are nobody else's, so that a search for them finds only a leak.
CANARY: dict[str, Any] = {
    "ssn": "987654321-canary",
    "full_name": "Zebulon Quackenbush",
    "patient_id": 1987654321,
    "height_cm": 171.31337,
    "diagnosis": "canaryitis",
}


@dataclass(frozen=True)
class DagRun:
    """How a DAG run ended, and how things were just after it.

    ``tasks`` is task id (and map index) to state and try number, ``tables`` is table to digest,
    ``events`` is asset to what its event carries, ``queued`` are the DAGs that now wait to run.
    """

    dag_id: str
    state: str
    tasks: dict[str, tuple[str, int]]
    xcoms: dict[str, str]
    events: dict[str, dict[str, Any]]
    queued: list[str]
    staged: list[str]
    tables: dict[str, str]


@dataclass(frozen=True)
class Batch:
    """What one process made of some DAGs: what it parsed, how each ran, all it told."""

    import_errors: dict[str, str]
    dags: dict[str, dict[str, Any]]
    runs: dict[str, DagRun]
    log: str
    lineage: list[dict[str, Any]]


@dataclass(frozen=True)
class AirflowHome:
    """A folder with everything that an Airflow needs, and nothing of another's."""

    folder: Path
    answers: dict[str, str] = field(default_factory=dict)
    database: str = ""

    @classmethod
    def migrated(cls, folder: Path, database: str = "") -> AirflowHome:
        """Make a home with an empty metadata database; SQLite, unless a URL is given."""
        home = cls(folder, database=database)
        home.dags.mkdir(parents=True)
        home.python("-m", "airflow", "db", "migrate")
        return home

    def copy(self, folder: Path, **answers: str) -> AirflowHome:
        """Make a home with a copy of this one's database, which is quicker than to migrate."""
        home = AirflowHome(folder, answers)
        home.dags.mkdir(parents=True)
        (folder / "airflow").mkdir()
        shutil.copy(self.folder / "airflow" / "airflow.db", folder / "airflow" / "airflow.db")
        return home

    @property
    def dags(self) -> Path:
        return self.folder / "dags"

    @property
    def staging(self) -> Path:
        return self.folder / "staging"

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse.duckdb"

    def lineage(self) -> list[dict[str, Any]]:
        """Read the events that OpenLineage sent."""
        path = self.folder / "lineage.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    @cached_property
    def environment(self) -> dict[str, str]:
        """The variables of a process of this Airflow."""
        outside = {k: v for k, v in os.environ.items() if not k.startswith("AIRFLOW")}
        return {
            **outside,
            "AIRFLOW_HOME": str(self.folder / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
                {
                    "type": "file",
                    "log_file_path": str(self.folder / "lineage.jsonl"),
                    "append": True,
                }
            ),
            "AIRFLOW__MICROAGG__STAGING": str(self.staging),
            "AIRFLOW__MICROAGG__REPORTS": str(self.reports),
            "AIRFLOW_CONN_WAREHOUSE": duckdb_connection(self.warehouse),
            "AIRFLOW_CONN_GONE": duckdb_connection(self.folder / "gone.duckdb"),
            "MICROAGG_EXAMPLE_FOLDER": str(self.folder / "example"),
            "TESTED_HOME": str(self.folder),
            "TESTED_ANSWERS": json.dumps(self.answers),
            **({"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self.database} if self.database else {}),
        }

    def python(self, *arguments: str) -> str:
        """Run Python in this Airflow; give all that it printed."""
        done = subprocess.run(
            [sys.executable, *arguments],
            env=self.environment,
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def run(self, *dag_ids: str) -> Batch:
        """Parse the DAGs folder and run DAGs in this order."""
        log = self.python("-m", "tests.airflow_home", *dag_ids)
        parsed, *lines = (self.folder / "runs.jsonl").read_text().splitlines()
        runs = [DagRun(**json.loads(line)) for line in lines]
        by_dag = dict(zip(dag_ids, runs, strict=True))
        return Batch(**json.loads(parsed), runs=by_dag, log=log, lineage=self.lineage())

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Ask the warehouse in plain SQL."""
        with duckdb.connect(str(self.warehouse), read_only=True) as con:
            return con.sql(sql).fetchall()


def duckdb_connection(path: Path) -> str:
    return json.dumps({"conn_type": "duckdb", "host": str(path)})


def patients_with_canary(rows: int) -> pa.Table:
    """Make patients, the first of whom is the canary."""
    table = clinic_patients(rows, seed=3)
    first = table.slice(0, 1).to_pylist()[0] | CANARY
    return pa.concat_tables([pa.Table.from_pylist([first], table.schema), table.slice(1)])


def seed_warehouse(path: Path, patients: pa.Table) -> None:
    """Make a warehouse with clinic.patients and an empty schema pub."""
    with duckdb.connect(str(path)) as con:
        con.register("seed", patients)
        con.execute("create schema clinic")
        con.execute("create schema pub")
        con.execute("create table clinic.patients as from seed")


def main(dag_ids: list[str]) -> None:
    """Run DAGs in this process; a run that fails is an outcome like any other."""
    from airflow.dag_processing.dagbag import DagBag

    home = AirflowHome(Path(os.environ["TESTED_HOME"]))
    bag = DagBag()
    with (home.folder / "runs.jsonl").open("w") as out:
        errors = {Path(name).name: text for name, text in bag.import_errors.items()}
        about = {dag_id: described(dag) for dag_id, dag in bag.dags.items()}
        print(json.dumps({"import_errors": errors, "dags": about}), file=out)
        threading.Thread(target=answer_questions, daemon=True).start()
        for wanted in dag_ids:
            dag_id, cleared, task_id = wanted.partition("!")
            if cleared:
                run = go_on(bag.dags[dag_id], task_id)
                print(json.dumps(outcome_of(run) | left_behind(home)), file=out)
                continue
            dag_id, dated, date = wanted.partition("@")
            logical = datetime.fromisoformat(date).replace(tzinfo=UTC) if date else None
            run = bag.dags[dag_id].test(logical_date=logical if dated else LOGICAL_DATE)
            print(json.dumps(outcome_of(run) | left_behind(home)), file=out)


def go_on(dag: Any, task_id: str) -> Any:
    """Clear tasks of the last run of a DAG, and run them: what is clear is not made anew."""
    from airflow.models import dagrun
    from airflow.serialization.definitions.dag import SerializedDAG
    from airflow.utils.state import DagRunState

    def last_run(*, dag: Any, session: Any, **_: Any) -> Any:
        runs = session.query(dagrun.DagRun).filter_by(dag_id=dag.dag_id)
        run = runs.order_by(dagrun.DagRun.id.desc()).first()
        task = dag.get_task(task_id) if task_id else None
        chosen = [task_id, *task.get_flat_relative_ids(upstream=False)] if task else None
        dag.clear(
            run_id=run.run_id, task_ids=chosen, only_failed=not task_id,
            dag_run_state=DagRunState.RUNNING, session=session,
        )  # fmt: skip
        session.commit()
        run.dag = dag
        return run

    with (
        mock.patch.object(dagrun, "get_or_create_dagrun", last_run),
        mock.patch.object(SerializedDAG, "clear_dags"),
    ):
        return dag.test(logical_date=LOGICAL_DATE)


def answer_questions() -> None:
    """Answer as a person would in the browser: the same two calls as the API's."""
    from airflow.models.hitl import HITLDetail
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.trigger import handle_event_submit
    from airflow.triggers.base import TriggerEvent
    from airflow.utils.session import create_session

    answers = json.loads(os.environ.get("TESTED_ANSWERS", "{}"))
    while True:
        time.sleep(0.5)
        # A database that is locked for a moment, or a run that overwrites the state: try again.
        with suppress(Exception), create_session() as session:
            for ti in session.query(TaskInstance).filter_by(state="awaiting_input"):
                detail = session.get(HITLDetail, ti.id)
                keys = (f"{ti.dag_id}[{ti.map_index}]", ti.dag_id)
                chosen = next((answers[key] for key in keys if key in answers), "Approve")
                detail.chosen_options = [chosen]
                detail.responded_by = {"id": "7", "name": "Ada Approver"}
                detail.responded_at = datetime.now(UTC)
                detail.params_input = {}
                event = TriggerEvent(detail.as_resume_event_payload())
                handle_event_submit(event, task_instance=ti, session=session)


def described(dag: Any) -> dict[str, Any]:
    tasks = dag.topological_sort()
    return {
        "doc_md": dag.doc_md,
        "tags": sorted(dag.tags),
        "tasks": [task.task_id for task in tasks],
        "placed": {task.task_id: [task.pool, task.queue] for task in tasks},
        "teardowns": {
            task.task_id: [up.task_id for up in task.upstream_list if up.is_setup]
            for task in tasks
            if task.is_teardown
        },
    }


def outcome_of(run: Any) -> dict[str, Any]:
    from airflow.models.asset import AssetDagRunQueue, AssetEvent
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    with create_session() as session:
        rows = session.query(XComModel).filter_by(dag_id=run.dag_id, run_id=run.run_id)
        xcoms = {f"{named(row)}.{row.key}": json.dumps(row.value) for row in rows}
        found = session.query(AssetEvent).filter_by(
            source_dag_id=run.dag_id, source_run_id=run.run_id
        )
        events = {event.asset.uri: event.extra for event in found}
        queued = sorted(row.target_dag_id for row in session.query(AssetDagRunQueue))
    tasks = {named(ti): (str(ti.state), ti.try_number) for ti in run.get_task_instances()}
    return {
        "dag_id": run.dag_id,
        "state": str(run.state),
        "tasks": tasks,
        "xcoms": xcoms,
        "events": events,
        "queued": queued,
    }


def named(of_task: Any) -> str:
    mapped = f"[{of_task.map_index}]" if of_task.map_index >= 0 else ""
    return f"{of_task.task_id}{mapped}"


def left_behind(home: AirflowHome) -> dict[str, Any]:
    with duckdb.connect(str(home.warehouse)) as con:
        names = con.sql("select table_name from duckdb_tables() where schema_name = 'pub'")
        tables = {
            name: content_digest(con.sql(f"from pub.{name}").to_arrow_table())
            for (name,) in names.fetchall()
        }
    staged = sorted(str(path.relative_to(home.staging)) for path in home.staging.rglob("*"))
    return {"staged": staged, "tables": tables}


if __name__ == "__main__":
    main(sys.argv[1:])
