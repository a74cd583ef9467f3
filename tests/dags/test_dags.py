"""Every example DAG is parsed and run by a real Airflow, and what it published is counted anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from microagg_ops.release.model import STAGES
from tests.airflow_home import CANARY, REPOSITORY, AirflowHome, Batch
from tests.dags.conftest import Examples

DAGS = sorted(path.stem for path in (REPOSITORY / "dags").glob("*.py"))
QUASI = ("age", "height_cm", "bmi", "admitted", "education", "smoker", "area")


@pytest.fixture(scope="module")
def home(examples: Examples) -> AirflowHome:
    return examples[0]


@pytest.fixture(scope="module")
def batch(examples: Examples) -> Batch:
    return examples[1]


def files_below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def test_every_dag_file_is_imported(batch: Batch) -> None:
    assert batch.import_errors == {}
    assert sorted(batch.dags) == DAGS


@pytest.mark.parametrize("dag_id", DAGS)
def test_dag_is_documented(batch: Batch, dag_id: str) -> None:
    assert batch.dags[dag_id]["doc_md"].strip()
    assert batch.dags[dag_id]["tags"] == ["microagg"]


@pytest.mark.parametrize("dag_id", DAGS)
def test_dag_runs_to_success(batch: Batch, dag_id: str) -> None:
    (run,) = (run for run in batch.runs.values() if run.dag_id == dag_id)
    assert run.state == "success"
    assert {state for state, _ in run.tasks.values()} == {"success"}


def test_release_has_one_task_per_stage_in_order(batch: Batch) -> None:
    expected = [f"clinic_patients.{stage}" for stage in STAGES]
    after = {"clinic_patients.cleanup", "clinic_patients.published"}
    assert batch.dags["clinic_patients"]["tasks"][: len(expected)] == expected
    assert set(batch.dags["clinic_patients"]["tasks"][len(expected) :]) == after


def test_cleanup_is_the_teardown_of_extract(batch: Batch) -> None:
    assert batch.dags["clinic_patients"]["teardowns"] == {
        "clinic_patients.cleanup": ["clinic_patients.extract"]
    }


def test_no_published_class_is_smaller_than_k(home: AirflowHome) -> None:
    classes = f"select count(*) n from pub.clinic_patients group by region, {', '.join(QUASI)}"
    smallest, rows = home.query(f"select min(n), sum(n) from ({classes})")[0]
    assert smallest >= 5
    assert rows == 3000


def test_identifiers_and_entity_are_not_published(home: AirflowHome) -> None:
    columns = {name for name, *_ in home.query("describe pub.clinic_patients")}
    assert columns == {*QUASI, "diagnosis", "region"}


def test_sensitive_values_are_published_as_they_are(home: AirflowHome) -> None:
    counts = "select diagnosis, count(*) from {} group by all order by all"
    assert home.query(counts.format("pub.clinic_patients")) == home.query(
        counts.format("clinic.patients")
    )


def test_unique_value_is_not_published(home: AirflowHome) -> None:
    count = f"select count(*) from {{}} where height_cm = {CANARY['height_cm']}"
    assert home.query(count.format("clinic.patients")) == [(1,)]
    assert home.query(count.format("pub.clinic_patients")) == [(0,)]


def test_nothing_is_left_in_staging(batch: Batch) -> None:
    assert batch.runs["clinic_patients"].staged == []


def test_xcoms_are_small_json(batch: Batch) -> None:
    run = batch.runs["clinic_patients"]
    values = {key: text for key, text in run.xcoms.items() if key.endswith(".return_value")}
    assert len(values) == len(run.tasks) - 1  # published does nothing
    for value in values.values():
        assert isinstance(json.loads(value), dict)
        assert len(value) < 2000


def test_log_tells_the_story_of_a_run_in_ten_lines(batch: Batch) -> None:
    told = [line for line in batch.log.splitlines() if "[microagg_ops]" in line]
    told = [line for line in told if " clinic_patients" in line]
    assert len(told) <= 10
    assert "from clinic.patients to pub.clinic_patients" in told[0]
    for stage, line in zip((*STAGES, "cleanup"), told[1:], strict=True):
        assert f" clinic_patients {stage}: " in line


def test_report_validate_and_publish_link_to_the_report(batch: Batch) -> None:
    xcoms = batch.runs["clinic_patients"].xcoms
    file = json.loads(xcoms["clinic_patients.report.return_value"])["uris"]["html"]
    page = f"/microagg/releases/clinic_patients/runs/{file.split('/')[-2]}"
    linked = {key.split(".")[1]: json.loads(value) for key, value in xcoms.items() if "link" in key}
    assert linked == {"validate": "", "report": page, "publish": page}


@pytest.mark.parametrize("column", sorted(CANARY))
def test_no_cell_value_is_in_a_log_or_an_xcom(batch: Batch, column: str) -> None:
    assert "clinic_patients aggregate: " in batch.log, "the log of the tasks was captured"
    assert str(CANARY[column]) not in batch.log
    assert str(CANARY[column]) not in " ".join(batch.runs["clinic_patients"].xcoms.values())


@pytest.mark.parametrize("column", sorted(CANARY))
def test_no_cell_value_is_in_the_airflow_home_or_a_report(home: AirflowHome, column: str) -> None:
    value = str(CANARY[column]).encode()
    searched = [*files_below(home.folder / "airflow"), *files_below(home.reports)]
    assert {"airflow.db", "report.html", "report.json"} <= {path.name for path in searched}
    assert [path.name for path in searched if value in path.read_bytes()] == []


def test_one_operator_writes_a_k_anonymous_file(home: AirflowHome) -> None:
    file = home.folder / "example" / "people_protected.parquet"
    classes = f"select count(*) n from '{file}' group by age, income"
    assert home.query(f"select min(n) >= 5, sum(n) from ({classes})") == [(True, 1000)]


def test_one_operator_drops_the_column_that_is_not_named(home: AirflowHome) -> None:
    file = home.folder / "example" / "people_protected.parquet"
    assert pq.read_schema(file).names == ["age", "income", "job"]


def test_frames_reach_the_warehouse_without_a_path_named_twice(
    home: AirflowHome, batch: Batch
) -> None:
    (run,) = (run for run in batch.runs.values() if run.dag_id == "many_tables")
    assert len(run.tasks) == 20
    with duckdb.connect(str(home.warehouse)) as con:
        for i in range(10):
            classes = f"select count(*) as many from pub.town_{i} group by age, income"
            found = con.execute(f"select min(many), sum(many) from ({classes})").fetchone()
            assert found is not None
            assert found[0] >= 5
            assert found[1] == 500
    # Rows were in memory alone: no XCom has one, and what was written is protected.
    assert "person" not in "".join(run.xcoms.values())
    for path in (home.folder / "example").glob("town_*.parquet"):
        assert pq.read_table(path).column_names == ["age", "income", "job"]
