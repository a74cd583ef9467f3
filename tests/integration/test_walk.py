"""Rows walk through a release once: what was read, sorted and encoded is not read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from microagg_ops.pipeline import make_run, run_stage
from microagg_ops.release.document import load_release
from microagg_ops.release.model import STAGES
from tests.benchmarks.walk import END, START, apart, counting, together

ROWS, COLUMNS = 600, 4
RAW = "raw table read and verified"


@pytest.mark.parametrize(("way", "raw", "manifests"), [(together, 0, 4), (apart, 2, 24)])
def test_rows_walk_through_once(
    warehouse: Path,
    release_file: Path,
    tmp_path: Path,
    way: Callable[..., None],
    raw: int,
    manifests: int,
) -> None:
    with counting(ROWS) as found:
        way(release_file, {"warehouse": f"duckdb://{warehouse}"}, tmp_path)
    assert found[RAW] == raw
    assert found["rows prepared"] == 1
    # What the source held, what is validated and what is reported.
    assert found["columns encoded"] == 3 * COLUMNS
    assert found["whole tables sorted"] == found["tables digested as CSV"] == 2
    assert 0 < found["manifests read and verified"] <= manifests


def test_only_standardize_and_report_need_raw_rows(
    warehouse: Path, release_file: Path, tmp_path: Path
) -> None:
    raw = tmp_path / "staging" / "extract" / "table.parquet"
    rows = b""
    for stage in STAGES:
        if stage in ("standardize", "report"):
            raw.write_bytes(rows)
        run = make_run(
            load_release(release_file), tmp_path / "staging",
            connections={"warehouse": f"duckdb://{warehouse}"},
            start=START, end=END, reports=tmp_path / "reports", run_id="r",
        )  # fmt: skip
        run_stage(stage, run)
        rows = rows or raw.read_bytes()
        raw.unlink(missing_ok=True)
    with duckdb.connect(str(warehouse)) as con:
        types_of = "select column_name, data_type from duckdb_columns() where schema_name = 'pub'"
        types = dict(con.execute(types_of).fetchall())
        assert con.execute("select count(*) from pub.clinic_patients").fetchone() == (ROWS,)
    assert types["age"] == "SMALLINT"
