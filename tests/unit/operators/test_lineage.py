"""Names of datasets, and what lineage says of columns."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from microagg_ops.operators.lineage import at_uri, facets, fate, of_cleanup
from microagg_ops.release.document import load_release
from microagg_ops.sql import TableName
from microagg_ops.warehouse.duckdb import DuckDBWarehouse
from microagg_ops.warehouse.generic import GenericWarehouse
from microagg_ops.warehouse.postgres import PostgresWarehouse


@pytest.mark.parametrize(
    ("uri", "dataset"),
    [
        ("/data/a b.parquet", ("file", "/data/a b.parquet")),
        ("file:///data/a%20b.parquet", ("file", "/data/a b.parquet")),
        ("s3://aws@bucket/key/x.parquet", ("s3://bucket", "key/x.parquet")),
        ("gs://bucket/x.parquet", ("gs://bucket", "x.parquet")),
    ],
)
def test_file_is_named_as_openlineage_wants_it(uri: str, dataset: tuple[str, str]) -> None:
    assert at_uri(uri) == dataset


def test_table_is_named_without_a_password() -> None:
    postgres = PostgresWarehouse("postgresql://me:hush@db.example:5433/my%20shop")
    assert postgres.dataset(TableName(("pub", "t"))) == (
        "postgres://db.example:5433",
        "my shop.pub.t",
    )
    assert postgres.dataset(TableName(("t",)))[1] == "my shop.public.t"
    generic = GenericWarehouse(
        sa.create_engine("postgresql+psycopg2://me:hush@db.example:5433/shop")
    )
    assert generic.dataset(TableName(("pub", "t"))) == (
        "postgresql://db.example:5433",
        "shop.pub.t",
    )
    assert GenericWarehouse(sa.create_engine("sqlite://")).dataset(TableName(("t",)))[1] == "t"


def test_table_of_duckdb_is_named_by_its_file(tmp_path: Path) -> None:
    namespace, name = DuckDBWarehouse(str(tmp_path / "w.duckdb")).dataset(TableName(("t",)))
    assert (namespace, name) == (f"duckdb://{(tmp_path / 'w.duckdb').resolve()}", "main.t")


def test_entity_goes_no_further_than_aggregate(release_file: Path) -> None:
    release = load_release(release_file)
    assert fate("extract", release)[1] == ["ssn", "full_name"]
    assert fate("aggregate", release)[1] == ["patient_id"]
    assert fate("publish", release)[1] == ["ssn", "full_name", "patient_id"]
    assert "patient_id" not in fate("publish", release)[0]


def test_a_column_can_be_followed_from_stage_to_stage(release_file: Path) -> None:
    release = load_release(release_file)
    extracted, standardized = fate("extract", release)[0], fate("standardize", release)[0]
    assert set(extracted) == set(standardized)
    assert standardized["age"] == "standardized"
    assert standardized["diagnosis"] == "passed"
    assert fate("aggregate", release)[0].keys() <= standardized.keys()


def test_cleanup_says_that_what_was_staged_is_gone() -> None:
    told = facets(of_cleanup("clinic"))
    assert {output.name for output in told.outputs} == {
        f"clinic.{stage}" for stage in ("extract", "standardize", "group", "aggregate")
    }
    for output in told.outputs:
        assert output.facets["lifecycleStateChange"].lifecycleStateChange.value == "DROP"
