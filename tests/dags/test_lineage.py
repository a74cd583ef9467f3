"""What the example DAGs tell others: assets to schedulers, lineage to catalogues."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest

from microagg_ops.release.model import STAGES
from tests.airflow_home import AirflowHome, Batch
from tests.dags.conftest import Examples
from tests.dags.test_dags import QUASI

ASSET = "microagg://warehouse/pub.clinic_patients"
Event = dict[str, Any]


@pytest.fixture(scope="module")
def home(examples: Examples) -> AirflowHome:
    return examples[0]


@pytest.fixture(scope="module")
def batch(examples: Examples) -> Batch:
    return examples[1]


@pytest.fixture(scope="module")
def completed(batch: Batch) -> dict[str, Event]:
    """Job to the event of its completion."""
    return {e["job"]["name"]: e for e in batch.lineage if e["eventType"] == "COMPLETE"}


@pytest.fixture(scope="module")
def publish(completed: dict[str, Event]) -> Event:
    return completed["clinic_patients.clinic_patients.publish"]


# Assets


def test_event_of_the_published_table_carries_aggregates(batch: Batch, home: AirflowHome) -> None:
    carried = batch.runs["clinic_patients"].events[ASSET]
    rows = home.query("select count(*) from pub.clinic_patients")[0][0]
    assert set(carried) == {"release", "digest", "k", "rows", "loss"}
    assert (carried["release"], carried["k"], carried["rows"]) == ("clinic_patients", 5, rows)
    assert carried["digest"] == batch.runs["clinic_patients"].tables["clinic_patients"]
    assert 0 < carried["loss"] < 100


def test_downstream_dag_is_queued(batch: Batch) -> None:
    assert batch.runs["clinic_patients"].queued == ["diagnosis_counts"]


def test_downstream_dag_counts_what_was_published(home: AirflowHome) -> None:
    counts = pq.read_table(home.folder / "example" / "diagnosis_counts.parquet")
    assert sum(counts["len"].to_pylist()) == 3000


# Lineage


@pytest.mark.parametrize("stage", [*STAGES, "cleanup"])
def test_every_stage_tells_what_it_is_part_of(completed: dict[str, Event], stage: str) -> None:
    event = completed[f"clinic_patients.clinic_patients.{stage}"]
    assert event["inputs"] or event["outputs"]
    assert "dropped" in event["run"]["facets"]["microagg"]["columns"]


def test_stages_are_linked_from_the_source_to_the_target(
    home: AirflowHome, completed: dict[str, Event]
) -> None:
    edges: dict[str, set[str]] = {}
    for stage in STAGES:
        event = completed[f"clinic_patients.clinic_patients.{stage}"]
        for one in event["inputs"]:
            edges.setdefault(one["name"], set()).update(o["name"] for o in event["outputs"])
    assert edges["clinic.patients"] >= {"clinic_patients.extract", "pub.clinic_patients"}
    assert "clinic_patients.standardize" in edges["clinic_patients.extract"]
    assert "clinic_patients.aggregate" in edges["clinic_patients.standardize"]
    assert "pub.clinic_patients" in edges["clinic_patients.aggregate"]


def test_tables_are_named_by_their_database(home: AirflowHome, publish: Event) -> None:
    database = f"duckdb://{home.warehouse.resolve()}"
    assert publish["inputs"][0]["namespace"] == database
    assert [(o["namespace"], o["name"]) for o in publish["outputs"]] == [
        (database, "pub.clinic_patients")
    ]


def test_publish_tells_which_columns_were_dropped_aggregated_and_passed(publish: Event) -> None:
    told = publish["run"]["facets"]["microagg"]
    assert sorted(told["columns"]["dropped"]) == ["full_name", "patient_id", "ssn"]
    assert sorted(told["columns"]["aggregated"]) == sorted(QUASI)
    assert sorted(told["columns"]["passed"]) == ["diagnosis", "region"]
    assert (told["release"], told["k"]) == ("clinic_patients", 5)


def test_each_published_column_leads_back_to_the_source(publish: Event) -> None:
    fields = publish["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert set(fields) == {*QUASI, "diagnosis", "region"}
    for column, lineage in fields.items():
        (origin,) = lineage["inputFields"]
        (done,) = origin["transformations"]
        assert (origin["name"], origin["field"]) == ("clinic.patients", column)
        expected = ("AGGREGATION", True) if column in QUASI else ("IDENTITY", False)
        assert (done["subtype"], done["masking"]) == expected


@pytest.mark.parametrize("stage", ["validate", "report", "publish"])
def test_verdict_becomes_assertions(completed: dict[str, Event], stage: str) -> None:
    event = completed[f"clinic_patients.clinic_patients.{stage}"]
    checked = next(i for i in event["inputs"] if i["name"] == "clinic_patients.aggregate")
    assertions = checked["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {a["assertion"]: a["success"] for a in assertions}["k_anonymous"] is True


def test_operator_that_runs_alone_tells_its_lineage(completed: dict[str, Event]) -> None:
    event = completed["one_operator.protect"]
    assert event["inputs"][0]["name"].endswith("/people.parquet")
    (written,) = event["outputs"]
    assert written["name"].endswith("/people_protected.parquet")
    assert set(written["facets"]["columnLineage"]["fields"]) == {"age", "income", "job"}
    assert written["facets"]["dataQualityAssertions"]["assertions"][0]["success"] is True
    assert "inputFacets" not in event["inputs"][0] or not event["inputs"][0]["inputFacets"]
