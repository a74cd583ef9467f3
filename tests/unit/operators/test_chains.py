"""Operators that take what an operator before them returned, and options that are templates."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowFailException

from microagg_ops.columns.frames import kind_of_frame
from microagg_ops.decorators import MicroaggDecoratedOperator
from microagg_ops.operators import (
    MicroaggAggregateOperator,
    MicroaggExtractOperator,
    MicroaggPublishOperator,
    MicroaggValidateOperator,
)
from tests.airflow_home import duckdb_connection

HOW: dict[str, Any] = {"quasi": ["age", "height_cm"], "k": 3}


@pytest.fixture(autouse=True)
def connection(monkeypatch: pytest.MonkeyPatch, warehouse: Path) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", duckdb_connection(warehouse))
    monkeypatch.setenv("AIRFLOW__MICROAGG__REPORTS", str(warehouse.parent / "reports"))


def run(operator: type, **arguments: Any) -> dict[str, Any]:
    outcome: dict[str, Any] = operator(task_id="t", **arguments).execute({})
    # As Airflow keeps it.
    return dict(json.loads(json.dumps(outcome)))


def test_from_table_to_table_by_what_each_returned(tmp_path: Path, warehouse: Path) -> None:
    extracted = run(
        MicroaggExtractOperator, source="clinic.patients", conn_id="warehouse",
        columns=["age", "height_cm"], target=str(tmp_path / "raw.parquet"),
    )  # fmt: skip
    target = str(tmp_path / "protected.parquet")
    protected = run(MicroaggAggregateOperator, source=extracted, target=target, **HOW)
    assert (protected["target"], protected["conn_id"], protected["k"]) == (target, None, 3)
    checked = run(MicroaggValidateOperator, source=protected, **HOW)
    assert checked["target"] == target
    published = run(
        MicroaggPublishOperator, source=checked, target="pub.people", conn_id="warehouse", **HOW
    )
    assert (published["target"], published["conn_id"]) == ("pub.people", "warehouse")
    # A table that was written can be read on by its connection too.
    again = run(MicroaggValidateOperator, source=published, **HOW)
    assert (again["target"], again["conn_id"]) == ("pub.people", "warehouse")
    with duckdb.connect(str(warehouse)) as con:
        assert con.sql("from pub.people").shape == (600, 2)


def test_what_names_no_target_is_no_source() -> None:
    with pytest.raises(AirflowFailException, match="an XCom that names no target"):
        run(MicroaggValidateOperator, source={"rows": 3}, **HOW)


def as_frame(kind: str, table: pa.Table) -> Any:
    return {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table)}.get(
        kind, lambda: table
    )()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_function_that_returns_a_frame(tmp_path: Path, patients: pa.Table, kind: str) -> None:
    def people(part: int, ds: str | None = None) -> Any:
        assert ds == "2026-01-01"
        return as_frame(kind, patients.slice(0, part))

    target = tmp_path / "protected.parquet"
    made = MicroaggDecoratedOperator(
        task_id="t", python_callable=people, op_args=[60], target=str(target), **HOW
    )
    outcome = made.execute({"ds": "2026-01-01"})
    assert (outcome["rows"], outcome["target"]) == (60, str(target))
    found = pq.read_table(target)
    assert found.column_names == ["age", "height_cm"]
    assert min(pd.Series(list(zip(*found.to_pydict().values(), strict=True))).value_counts()) >= 3
    # Nothing of the frame stays with the task.
    assert made.source is None
    assert not [one for one in vars(made).values() if kind_of_frame(one)]


def test_a_function_that_returns_something_else(tmp_path: Path) -> None:
    made = MicroaggDecoratedOperator(
        task_id="t", python_callable=lambda: [("canary", 1)], target=str(tmp_path / "x"), **HOW
    )
    with pytest.raises(AirflowFailException, match="must return a pandas, polars or Arrow") as told:
        made.execute({})
    assert "canary" not in str(told.value)
    assert not (tmp_path / "x").exists()


def test_numbers_may_be_templates(tmp_path: Path, patients: pa.Table) -> None:
    pq.write_table(patients, tmp_path / "patients.parquet")
    made = MicroaggAggregateOperator(
        task_id="t", source=str(tmp_path / "patients.parquet"), quasi=["age", "height_cm"],
        target=str(tmp_path / "out.parquet"), k="{{ params.k }}", seed="{{ params.k }}",
        max_linkage="{{ params.most }}",
    )  # fmt: skip
    made.render_template_fields({"params": {"k": 4, "most": 0.9}})
    assert made.execute({})["k"] >= 4
    made.k = "four"
    with pytest.raises(AirflowFailException, match="  k: found 'four'"):
        made.execute({})


def test_a_decorated_operator_can_be_copied(tmp_path: Path) -> None:
    made = MicroaggDecoratedOperator(
        task_id="t", python_callable=as_frame, op_args=["arrow", None], target=str(tmp_path), **HOW
    )
    assert pickle.loads(pickle.dumps(made)).k == 3


def test_lineage_of_a_function_names_no_cell(
    tmp_path: Path, patients: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("microagg_ops.operators.base.wanted", lambda: True)
    few = patients.slice(0, 12)
    secret = few["full_name"][0].as_py()
    for kind in ("pandas", "polars", "arrow"):
        made = MicroaggDecoratedOperator(
            task_id="t", python_callable=as_frame, op_args=[kind, few],
            target=str(tmp_path / "protected.parquet"), **HOW,
        )  # fmt: skip
        made.execute({})
        assert made.lineage is not None
        assert not made.lineage.inputs
        assert secret not in repr(made.lineage)
        assert secret not in repr(vars(made).get("source"))


def test_a_frame_is_no_source_of_other_operators(patients: pa.Table) -> None:
    frame = patients.slice(0, 12).to_pandas()
    with pytest.raises(AirflowFailException, match="a frame") as told:
        run(MicroaggValidateOperator, source=frame, **HOW)
    assert frame["full_name"][0] not in str(told.value)
