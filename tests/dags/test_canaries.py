"""Canaries: a record whose values are nobody else's is looked for in all that a run leaves.

Whatever is written below an Airflow home, logged, announced, sent as lineage, reported or said in
an exception is searched for the values of that record as bytes.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from airflow.sdk.exceptions import AirflowException

from microagg_ops.errors import DisclosureError
from microagg_ops.operators.base import translated
from microagg_ops.pipeline import make_run, run_release, run_stage
from microagg_ops.release.document import load_release
from tests.airflow_home import (
    CANARY,
    AirflowHome,
    Batch,
    duckdb_connection,
    patients_with_canary,
    seed_warehouse,
)
from tests.conftest import RELEASE
from tests.dags.conftest import Examples

# What holds the source or what is published, and what the tests put there themselves.
ALLOWED = {"warehouse.duckdb", "warehouse.duckdb.wal", "dags", "example"}


def canaries_in(content: bytes) -> list[str]:
    """Name the columns of the canary whose values are found."""
    return [name for name, value in CANARY.items() if str(value).encode() in content]


def leaks(folder: Path) -> dict[str, list[str]]:
    """Search every file below a folder, but for what may hold rows."""
    found = {}
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.is_file() and inside.parts[0] not in ALLOWED:
            seen = canaries_in(path.read_bytes())
            if seen:
                found[str(inside)] = seen
    return found


@pytest.fixture(scope="module")
def home(examples: Examples) -> AirflowHome:
    return examples[0]


@pytest.fixture(scope="module")
def batch(examples: Examples) -> Batch:
    return examples[1]


# The scanner itself


@pytest.mark.parametrize("column", sorted(CANARY))
def test_scanner_finds_what_is_planted(tmp_path: Path, column: str) -> None:
    value = CANARY[column]
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    (tmp_path / "logs" / "deep" / "task.log").write_text(f"could not convert '{value}'\n")
    (tmp_path / "lineage.jsonl").write_text(json.dumps({"facets": {"sample": [value]}}))
    with sqlite3.connect(tmp_path / "airflow.db") as con:
        con.execute("create table xcom (value text)")
        con.execute("insert into xcom values (?)", [json.dumps({"rows": [[value]]})])
    assert leaks(tmp_path) == {
        name: [column] for name in ("logs/deep/task.log", "lineage.jsonl", "airflow.db")
    }


def test_canary_is_in_the_source(home: AirflowHome) -> None:
    where = " and ".join(f"{name} = '{value}'" for name, value in CANARY.items())
    assert home.query(f"select count(*) from clinic.patients where {where}") == [(1,)]


# A full run of every example


def test_full_run_leaves_no_cell_value(home: AirflowHome) -> None:
    searched = {path.name for path in home.folder.rglob("*") if path.is_file()}
    assert {"airflow.db", "lineage.jsonl", "runs.jsonl", "report.html", "report.json"} <= searched
    assert "approval.json" in searched
    assert leaks(home.folder) == {}


def test_full_run_logs_no_cell_value(batch: Batch) -> None:
    assert len(batch.log) > 10_000
    assert canaries_in(batch.log.encode()) == []


def test_xcoms_events_and_lineage_hold_no_cell_value(batch: Batch) -> None:
    told: list[Any] = [batch.lineage]
    told += [part for run in batch.runs.values() for part in (run.xcoms, run.events)]
    assert sum(map(len, told)) > 30
    assert canaries_in(json.dumps(told).encode()) == []


# Great Expectations


def test_verdict_of_great_expectations_holds_no_cell_value(tmp_path: Path) -> None:
    """Also where a check fails, and its result would by default quote rows."""
    for name, limit in (("good", 1.0), ("bad", 0.0001)):
        folder = tmp_path / name
        run = failing_run(folder, {"validate": {"max_information_loss": limit}})
        for stage in ("extract", "standardize", "group", "aggregate"):
            run_stage(stage, run)
        try:
            run_stage("validate", run)
        except DisclosureError:
            assert name == "bad"
        verdicts = list((folder / "staging" / "validate").iterdir())
        assert {"verdict.json", "manifest.json"} <= {path.name for path in verdicts}
        for path in verdicts:
            assert canaries_in(path.read_bytes()) == []


# Failures

FAULTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    # What the release says otherwise, and what is done to the warehouse before.
    "too_lossy": ({"validate": {"max_information_loss": 0.0001}}, []),
    "no_column": ({"columns": {"quasi": {"heigth_cm": {"type": "number"}}}}, []),
    "text_as_number": ({"columns": {"quasi": {"diagnosis": {"type": "number"}}}}, []),
    "text_as_date": ({"columns": {"quasi": {"full_name": {"type": "date"}}}}, []),
    "number_as_date": ({"columns": {"quasi": {"height_cm": {"type": "date"}}}}, []),
    "number_as_boolean": ({"columns": {"quasi": {"height_cm": {"type": "boolean"}}}}, []),
    "unknown_category": (
        {"columns": {"quasi": {"diagnosis": {"type": "ordinal", "order": ["none", "some"]}}}},
        [],
    ),
    "value_in_a_condition": ({"where": "cast(ssn as integer) > 0"}, []),
    "value_in_another": ({"where": "cast(full_name as date) < current_date"}, []),
    "no_such_column": ({"where": "heigth_cm > 1"}, []),
    "error_in_sql": ({"where": "error(full_name)", "trusted": ["error"]}, []),
    "k_too_large": ({"aggregate": {"k": 5000}}, []),
    "small_stratum": ({"strata": ["diagnosis"], "columns": {"quasi": {"age": {"type": "integer"}}}}, []),  # noqa: E501
    "null_entity": ({}, ["update clinic.patients set patient_id = null where ssn like '%canary'"]),
    "null_quasi": ({"nulls": "reject"}, ["update clinic.patients set bmi = null where ssn like '%canary'"]),  # noqa: E501
    "infinite": ({}, ["update clinic.patients set bmi = 'inf' where ssn like '%canary'"]),
    "no_rows": ({"where": "age < 0"}, []),
    "no_interval": ({"where": "admitted < :end"}, []),
    "other_target": ({}, ["create table pub.clinic_patients as select full_name from clinic.patients"]),  # noqa: E501
    "target_alters": (
        {},
        [
            "create table pub.clinic_patients (age smallint, height_cm smallint, bmi double, "
            "admitted date, diagnosis varchar)"
        ],
    ),
    "target_refuses": (
        {},
        [
            "create table pub.clinic_patients (age smallint, height_cm double, bmi double, "
            "admitted date, diagnosis varchar check (diagnosis != 'canaryitis'))"
        ],
    ),
    "target_is_source": ({"publish": {"conn_id": "warehouse", "table": "Clinic.Patients"}}, []),
    "no_table": ({"source": {"conn_id": "warehouse", "table": "clinic.nobody"}}, []),
    "not_diverse": (
        {"validate": {"l": {"diagnosis": 50}}, "aggregate": {"k": 3, "aware": False}}, [],
    ),
    "cannot_be_diverse": ({"validate": {"l": {"diagnosis": 50}}}, []),
    "not_approved": ({"approve": True}, []),
}  # fmt: skip


# Sections that are changed in part.
APART = ("columns", "where", "trusted")


def failing_run(folder: Path, changes: dict[str, Any], statements: Iterator[str] = ()) -> Any:
    """Prepare a run of a release with changes, in a warehouse of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    warehouse = folder / "warehouse.duckdb"
    seed_warehouse(warehouse, patients_with_canary(300))
    with duckdb.connect(str(warehouse)) as con:
        for statement in statements:
            con.execute(statement)
    document = yaml.safe_load(RELEASE) | {"strata": [], "nulls": "own_class"}
    document |= {key: value for key, value in changes.items() if key not in APART}
    document["columns"] = document["columns"] | changes.get("columns", {})
    used = {*document["columns"]["quasi"], *document["strata"]}
    for role in ("identifiers", "sensitive"):
        document["columns"][role] = [n for n in document["columns"][role] if n not in used]
    document["source"] |= {key: changes[key] for key in ("where", "trusted") if key in changes}
    (folder / "release.yaml").write_text(yaml.safe_dump(document))
    return make_run(
        load_release(folder / "release.yaml"),
        folder / "staging",
        connections={"warehouse": duckdb_connection(warehouse)},
        reports=folder / "reports",
    )


@pytest.fixture
def provoked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Callable[[str], str]:
    """Let a release fail as it would in a task; give all that was said."""

    def provoke(name: str) -> str:
        changes, statements = FAULTS[name]
        run = failing_run(tmp_path, changes, statements)
        with (
            caplog.at_level(logging.DEBUG),
            pytest.raises(AirflowException) as caught,
            translated(),
        ):
            run_release(
                run.release,
                connections={"warehouse": duckdb_connection(tmp_path / "warehouse.duckdb")},
                reports=tmp_path / "reports",
            )
        return "".join(traceback.format_exception(caught.value)) + caplog.text

    return provoke


def test_there_are_twenty_failures_and_more() -> None:
    assert len(FAULTS) >= 20


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_failure_tells_no_cell_value(
    provoked: Callable[[str], str], tmp_path: Path, name: str
) -> None:
    told = provoked(name)
    assert "AirflowFailException" in told or "AirflowException" in told
    assert canaries_in(told.encode()) == []
    assert leaks(tmp_path) == {}
