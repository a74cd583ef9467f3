"""One release on two databases: the same clusters, the same table."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.pipeline import make_run, run_stage
from microagg_ops.release.document import load_release
from microagg_ops.release.model import STAGES
from microagg_ops.sql import TableName
from microagg_ops.staging.digests import content_digest, from_parquet
from microagg_ops.verify import verify
from tests.integration.test_warehouses import Store, open_store

PUBLISHED = TableName.parse("published")
RELEASE = {
    "release": "clinic",
    "source": {"conn_id": "house", "table": "patients", "where": "admitted >= :start"},
    "columns": {
        "identifiers": ["ssn", "full_name"],
        "entity": "patient_id",
        "quasi": {
            "bmi": {"type": "number"},
            "age": {"type": "integer"},
            "admitted": {"type": "date"},
            "height_cm": {"type": "number", "representative": "median"},
            "education": {"type": "ordinal", "order": ["none", "primary", "secondary", "tertiary"]},
            "smoker": {"type": "boolean", "weight": 0.5},
            "area": {"type": "nominal"},
            "seen": {"type": "timestamp"},
            "fee": {"type": "decimal"},
        },
        "sensitive": ["diagnosis", "checked", "dose", "cost"],
        "may_leave": dict.fromkeys(["checked", "dose", "cost"], "drawn at random"),
        "weight": "w",
    },
    "strata": ["region"],
    "nulls": "own_class",
    "aggregate": {"k": 4},
    # Among the few rows with the same NULLs one weight may outweigh the others.
    "validate": {"dominance": {"share": 1, "p": 0}},
    "publish": {"conn_id": "house", "table": "published"},
}
ORDER = [
    "age", "height_cm", "bmi", "admitted", "education", "smoker", "area", "diagnosis", "region",
    "checked", "dose", "cost", "seen", "fee",
]  # fmt: skip


@pytest.fixture(scope="module")
def given(patients: pa.Table) -> pa.Table:
    """Patients, with moments, a single-precision number, decimals and a weight besides."""
    rng = np.random.default_rng(11)
    moments = pa.array(rng.integers(0, 2**50, len(patients)), pa.timestamp("us"))
    doses = pa.array(rng.random(len(patients)), pa.float32(), mask=rng.random(len(patients)) < 0.1)
    cents = rng.integers(0, 10**17, len(patients))
    costs = pa.array([Decimal(int(c)).scaleb(-2) for c in cents], pa.decimal128(38, 2))
    seen = rng.integers(1_700 * 10**12, 1_800 * 10**12, len(patients))
    fees = pa.array([Decimal(int(c)).scaleb(-2) for c in cents // 10**12], pa.decimal128(9, 2))
    extra = {
        "checked": moments,
        "dose": doses,
        "cost": costs,
        "seen": pa.array(seen, pa.timestamp("us", "UTC"), mask=rng.random(len(patients)) < 0.02),
        "fee": fees,
        "w": rng.integers(1, 9, len(patients)).astype(float),
    }
    return pa.table({**dict(zip(patients.column_names, patients, strict=True)), **extra})


@pytest.fixture(scope="module")
def outcomes(
    given: pa.Table, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Outcome]:
    """Run the release on each database, with the rows as they are and shuffled."""
    order = np.random.default_rng(2).permutation(len(given))
    found = {}
    for kind in ("duckdb", "postgres"):
        for how, rows in (("as_given", given), ("shuffled", given.take(order))):
            folder = tmp_path_factory.mktemp(f"{kind}_{how}")
            with open_store(kind, folder, request) as store:
                store.load("patients", rows)
                store.execute("alter table patients alter column cost type numeric(38, 2)")
                store.execute("alter table patients alter column fee type numeric(9, 2)")
                found[f"{kind}_{how}"] = Outcome(store, folder)
    return found


class Outcome:
    """What a run left in the warehouse and in staging."""

    def __init__(self, store: Store, folder: Path) -> None:
        file = folder / "clinic.yaml"
        file.write_text(json.dumps(RELEASE))
        run = make_run(
            load_release(file),
            folder / "staging",
            connections={"house": store.url},
            start=datetime(2024, 3, 1, tzinfo=UTC),
            end=datetime(2024, 4, 1, tzinfo=UTC),
            reports=folder / "reports",
        )
        self.summaries: dict[str, dict[str, Any]] = {s: run_stage(s, run) for s in STAGES}
        self.extracted = from_parquet(run.staging.get("extract", "table.parquet"))
        self.rows = from_parquet(run.staging.get("aggregate", "rows.parquet"))
        self.types = store.warehouse.require(PUBLISHED)
        self.published = store.warehouse.read(PUBLISHED, self.types)
        manifest = urlsplit(self.summaries["report"]["uris"]["manifest"]).path
        self.verified = verify(manifest, release=file, connections={"house": store.url})


OTHERS = ("duckdb_shuffled", "postgres_as_given", "postgres_shuffled")


@pytest.mark.parametrize("other", OTHERS)
def test_input_is_the_same(outcomes: dict[str, Outcome], other: str) -> None:
    assert outcomes[other].extracted.equals(outcomes["duckdb_as_given"].extracted)


@pytest.mark.parametrize("other", OTHERS)
def test_labels_are_the_same(outcomes: dict[str, Outcome], other: str) -> None:
    first = outcomes["duckdb_as_given"].rows
    assert first.num_rows > 400
    assert outcomes[other].rows.equals(first)


@pytest.mark.parametrize("other", OTHERS)
def test_published_tables_are_the_same(outcomes: dict[str, Outcome], other: str) -> None:
    first = outcomes["duckdb_as_given"].published
    assert content_digest(outcomes[other].published) == content_digest(first)


@pytest.mark.parametrize("stage", ["aggregate", "publish"])
def test_digests_of_a_stage_are_the_same(outcomes: dict[str, Outcome], stage: str) -> None:
    assert len({outcome.summaries[stage]["digest"] for outcome in outcomes.values()}) == 1


@pytest.mark.parametrize("which", ["duckdb_as_given", *OTHERS])
def test_published_digest_is_that_of_the_table(outcomes: dict[str, Outcome], which: str) -> None:
    outcome = outcomes[which]
    assert outcome.summaries["publish"]["digest"] == content_digest(outcome.published)


@pytest.mark.parametrize("which", ["duckdb_as_given", *OTHERS])
def test_columns_are_in_the_order_of_the_source(outcomes: dict[str, Outcome], which: str) -> None:
    assert outcomes[which].published.column_names == ORDER


TYPES = {
    "duckdb_as_given": ["SMALLINT", "DOUBLE", "DOUBLE", "DATE", "VARCHAR", "BOOLEAN", "VARCHAR",
                        "VARCHAR", "VARCHAR", "TIMESTAMP", "FLOAT", "DECIMAL(38,2)",
                        "TIMESTAMP WITH TIME ZONE", "DECIMAL(9,2)"],
    "postgres_as_given": ["smallint", "double precision", "double precision", "date", "text",
                          "boolean", "text", "text", "text", "timestamp without time zone", "real",
                          "numeric(38,2)", "timestamp with time zone", "numeric(9,2)"],
}  # fmt: skip


@pytest.mark.parametrize("which", TYPES)
def test_types_are_those_declared(outcomes: dict[str, Outcome], which: str) -> None:
    assert list(outcomes[which].types.values()) == TYPES[which]


@pytest.mark.parametrize("column", ["dose", "diagnosis", "checked", "cost"])
@pytest.mark.parametrize("which", ["duckdb_as_given", "postgres_shuffled"])
def test_sensitive_values_and_their_nulls_survive(
    outcomes: dict[str, Outcome], given: pa.Table, which: str, column: str
) -> None:
    kept = given.filter(pa.compute.field("admitted") >= datetime(2024, 3, 1).date())
    expected = sorted(map(repr, kept[column].to_pylist()))
    assert sorted(map(repr, outcomes[which].published[column].to_pylist())) == expected
    assert ("None" in expected) == (column == "dose")


@pytest.mark.parametrize("which", ["duckdb_as_given", "postgres_shuffled"])
def test_classes_have_k_patients(outcomes: dict[str, Outcome], which: str) -> None:
    outcome = outcomes[which]
    assert outcome.summaries["validate"]["k"] >= 4
    sizes = outcome.published.group_by([*RELEASE["columns"]["quasi"], "region"])
    assert min(sizes.aggregate([([], "count_all")])["count_all"].to_pylist()) >= 4
    assert outcome.published["smoker"].null_count > 0
    assert outcome.summaries["aggregate"]["suppressed"]


@pytest.mark.parametrize("one", ["duckdb_as_given", *OTHERS])
def test_evidence_is_verified_on_each(outcomes: dict[str, Outcome], one: str) -> None:
    unsure = [finding for finding in outcomes[one].verified if not finding.holds]
    assert [finding.told for finding in unsure] == ["the manifest is not signed"]
