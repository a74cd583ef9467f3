"""The asset of a published table."""

from __future__ import annotations

from pathlib import Path

import pytest

from microagg_ops.operators import MicroaggPublishOperator
from microagg_ops.operators.assets import published_asset, table_asset
from microagg_ops.release.document import load_release
from microagg_ops.sql import TableName


def test_asset_of_a_release_names_its_connection_and_table(release_file: Path) -> None:
    uri = "microagg://warehouse/pub.clinic_patients"
    assert published_asset(release_file).uri == uri
    assert published_asset(load_release(release_file)).uri == uri
    assert published_asset(release_file).name == uri
    assert MicroaggPublishOperator(task_id="t", release=release_file).asset().uri == uri


def test_asset_of_an_operator_alone() -> None:
    publish = MicroaggPublishOperator(task_id="t", target="pub.t", target_conn_id="other")
    assert publish.asset().uri == "microagg://other/pub.t"


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (("t",), "t"),
        (("Pub", "T"), "Pub.T"),
        (("a b", "c/d"), "a%20b.c%2Fd"),
        (("a.b", "c"), "a%2Eb.c"),
        (('q"', "ж"), "q%22.%D0%B6"),
        (("p?x=1", "t#y"), "p%3Fx%3D1.t%23y"),
        (("select", "t/"), "select.t%2F"),
    ],
)
def test_odd_names_make_a_uri_that_airflow_keeps(parts: tuple[str, ...], path: str) -> None:
    assert table_asset("warehouse", TableName(parts)).uri == f"microagg://warehouse/{path}"


def test_asset_of_a_file_is_its_uri(release_file: Path) -> None:
    table = "{conn_id: warehouse, table: pub.clinic_patients}"
    text = release_file.read_text()
    for file, uri in (
        ("out put.csv", (release_file.parent / "out put.csv").resolve().as_uri()),
        ("s3://bucket/out.parquet", "s3://bucket/out.parquet"),
    ):
        release_file.write_text(text.replace(table, f"{{file: '{file}'}}"))
        assert published_asset(release_file).uri == uri
        written = MicroaggPublishOperator(task_id="t", release=release_file).written()
        assert written["conn_id"] is None
        assert Path(written["target"]).name == Path(file).name
