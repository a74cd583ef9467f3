"""Every example DAG once more, with PostgreSQL as the database of Airflow itself."""

from __future__ import annotations

import shutil

import pytest

from tests.airflow_home import REPOSITORY, AirflowHome, Batch, patients_with_canary, seed_warehouse
from tests.dags.conftest import EXAMPLES
from tests.postgres import Postgres


@pytest.fixture(scope="module")
def batch(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    with postgres.database("airflow") as url:
        driven = url.replace("postgresql://", "postgresql+psycopg2://")
        home = AirflowHome.migrated(tmp_path_factory.mktemp("in_postgres") / "home", driven)
        shutil.copytree(REPOSITORY / "dags", home.dags, dirs_exist_ok=True)
        seed_warehouse(home.warehouse, patients_with_canary(3000))
        batch = home.run(*EXAMPLES)
        (runs,) = postgres.fetch("select count(*) from dag_run", database="airflow")[0]
        assert runs == len(EXAMPLES), "the runs are in PostgreSQL"
        return batch


@pytest.mark.parametrize("wanted", EXAMPLES)
def test_dag_runs_to_success(batch: Batch, wanted: str) -> None:
    run = batch.runs[wanted]
    assert run.state == "success"
    assert {state for state, _ in run.tasks.values()} == {"success"}
    assert run.staged == []


def test_tables_are_published_and_announced(batch: Batch) -> None:
    towns = {f"town_{i}" for i in range(10)}
    assert set(batch.runs["diagnosis_counts"].tables) - towns == {
        "clinic_patients",
        "clinic_bodies",
        "clinic_habits",
    }
    assert list(batch.runs["clinic_patients"].events) == [
        "microagg://warehouse/pub.clinic_patients"
    ]
