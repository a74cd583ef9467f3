"""Operators outside a DAG run: what they are given, what they write, what they raise."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from microagg_ops import operators
from microagg_ops.errors import (
    BudgetError,
    DataError,
    DisclosureError,
    MicroaggError,
    ReleaseError,
    StagingError,
    WarehouseError,
)
from microagg_ops.operators import (
    MicroaggAggregateOperator,
    MicroaggCleanupOperator,
    MicroaggExtractOperator,
    MicroaggGroupOperator,
    MicroaggPublishOperator,
    MicroaggReportOperator,
    MicroaggStandardizeOperator,
    MicroaggValidateOperator,
)
from microagg_ops.operators.base import MicroaggOperator, translated
from microagg_ops.staging.store import Staging
from microagg_ops.task_groups.release import OPERATORS
from tests.airflow_home import duckdb_connection

QUASI = ["age", "height_cm"]
EVERY = [getattr(operators, name) for name in operators.__all__]
NONSENSE = {
    "release": object(),
    "staging": "s3://nowhere/at/all",
    "source": object(),
    "conn_id": "nobody",
    "target": 7,
}
Place = dict[str, Any]


def run(operator: type[MicroaggOperator], **arguments: Any) -> Any:
    """Run an operator as a task named t; what it gives must fit into an XCom."""
    outcome = operator(task_id="t", **arguments).execute({})
    json.dumps(outcome, allow_nan=False)
    return outcome


@pytest.fixture(autouse=True)
def connection(monkeypatch: pytest.MonkeyPatch, warehouse: Path) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", duckdb_connection(warehouse))
    monkeypatch.setenv("AIRFLOW__MICROAGG__REPORTS", str(warehouse.parent / "reports"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "out"
    path.mkdir()
    return path


@pytest.fixture
def patients_file(tmp_path: Path, patients: pa.Table) -> Path:
    pq.write_table(patients, tmp_path / "patients.parquet")
    return tmp_path / "patients.parquet"


@pytest.fixture(params=["table", "path", "uri"])
def source(request: pytest.FixtureRequest, patients_file: Path) -> Place:
    """Patients: a table of a connection, or a file by its path or URI."""
    return {
        "table": {"source": "clinic.patients", "conn_id": "warehouse"},
        "path": {"source": str(patients_file)},
        "uri": {"source": patients_file.as_uri()},
    }[request.param]


@pytest.fixture
def protected_file(folder: Path, patients_file: Path) -> Path:
    target = folder / "protected.parquet"
    run(MicroaggAggregateOperator, source=patients_file, target=target, quasi=QUASI, k=3)
    return target


def smallest_class(table: pa.Table, columns: list[str]) -> int:
    classes = table.group_by(columns).aggregate([([], "count_all")])
    return int(min(classes["count_all"].to_pylist()))


def ask(warehouse: Path, sql: str) -> pa.Table:
    with duckdb.connect(str(warehouse)) as con:
        return con.sql(sql).to_arrow_table()


# Making an operator


opened: list[str] = []
listening = False


def listen(event: str, arguments: tuple[Any, ...]) -> None:
    if listening and event == "open":
        opened.append(str(arguments[0]))


@pytest.mark.parametrize("operator", EVERY)
def test_making_an_operator_looks_at_nothing(operator: type[MicroaggOperator]) -> None:
    options = {name: object() for name in operator.option_names}
    global listening  # noqa: PLW0603 - an audit hook cannot be removed, only told not to listen
    sys.addaudithook(listen)
    opened.clear()
    listening = True
    made = operator(task_id="t", **NONSENSE, **options)
    listening = False
    assert opened == []
    given = {**NONSENSE, **options}
    assert {name: getattr(made, name) for name in given} == given


@pytest.mark.parametrize("operator", EVERY)
def test_templates_are_rendered(operator: type[MicroaggOperator]) -> None:
    fields = {name: f"{name}_{{{{ ds_nodash }}}}" for name in operator.template_fields}
    made = operator(task_id="t", **fields)
    made.render_template_fields({"ds_nodash": "20260101"})
    rendered = {name: getattr(made, name) for name in fields}
    assert rendered == {name: f"{name}_20260101" for name in fields}


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda op: pickle.loads(pickle.dumps(op))])
@pytest.mark.parametrize("operator", EVERY)
def test_operators_can_be_copied(
    operator: type[MicroaggOperator], twin: Callable[[MicroaggOperator], MicroaggOperator]
) -> None:
    copied = twin(operator(task_id="t", source="clinic.patients", conn_id="warehouse"))
    assert type(copied) is operator
    assert (copied.task_id, copied.source, copied.conn_id) == ("t", "clinic.patients", "warehouse")


def test_stages_have_the_names_of_their_operators() -> None:
    for operator in EVERY:
        assert operator.__name__ == f"Microagg{operator.stage.capitalize()}Operator"


def test_there_is_no_other_operator() -> None:
    with pytest.raises(AttributeError, match="MicroaggMagicOperator"):
        _ = operators.MicroaggMagicOperator


# Each stage alone


def test_extract_writes_only_the_named_columns(source: Place, folder: Path) -> None:
    target = folder / "out.parquet"
    done = run(MicroaggExtractOperator, **source, columns=["age", "bmi"], target=target)
    assert pq.read_schema(target).names == ["age", "bmi"]
    assert done["rows"] == 600


def test_extract_of_a_table_takes_a_condition(folder: Path, warehouse: Path) -> None:
    done = run(
        MicroaggExtractOperator,
        source="clinic.patients",
        conn_id="warehouse",
        columns=["age"],
        where="age >= 65",
        target=folder / "old.parquet",
    )
    old = ask(warehouse, "select count(*) n from clinic.patients where age >= 65")
    assert 0 < done["rows"] == old["n"][0].as_py()


def test_standardize_writes_comparable_columns(source: Place, folder: Path) -> None:
    target = folder / "matrix.parquet"
    run(MicroaggStandardizeOperator, **source, quasi=QUASI, target=target)
    matrix = pq.read_table(target).to_pandas()
    assert list(matrix) == QUASI
    assert matrix.mean().abs().max() < 1e-9
    assert (matrix.std(ddof=0) - 1).abs().max() < 1e-9


def test_group_gives_the_groups(source: Place) -> None:
    done = run(MicroaggGroupOperator, **source, quasi=[*QUASI, "bmi"], groups=[QUASI, ["bmi"]])
    assert done["groups"] == [QUASI, ["bmi"]]


def test_group_finds_groups_as_a_release_file_would(source: Place) -> None:
    given = {**source, "quasi": [*QUASI, "bmi"]}
    done = run(MicroaggGroupOperator, **given, groups={"method": "correlated", "size": 2})
    assert sorted(map(len, done["groups"])) == [1, 2]
    search = {"method": "dgomm", "population": 4, "generations": 2}
    done = run(MicroaggGroupOperator, **given, groups=search, k=3)
    # How the groups scored was measured on raw rows, and stays inside.
    assert set(done) == {"groups", "method"}
    with pytest.raises(AirflowException, match="'k' parameter is missing"):
        run(MicroaggGroupOperator, **given, groups=search)


def test_aggregate_writes_a_k_anonymous_file(source: Place, folder: Path) -> None:
    target = folder / "out.parquet"
    done = run(MicroaggAggregateOperator, **source, quasi=QUASI, k=4, target=target)
    assert smallest_class(pq.read_table(target), QUASI) == done["k"] >= 4


def test_aggregate_takes_all_that_a_release_says_of_columns(source: Place, folder: Path) -> None:
    target = folder / "out.parquet"
    order = ["none", "primary", "secondary", "tertiary"]
    quasi = {
        "age": {"representative": "median"},
        "bmi": "number",
        "education": {"type": "ordinal", "order": order},
        "smoker": "boolean",
        "area": {"weight": 0.5},
    }
    done = run(
        MicroaggAggregateOperator,
        **source,
        quasi=quasi,
        entity="patient_id",
        strata=["region"],
        small_strata="merge",
        nulls="own_class",
        weight="height_cm",
        dominance={"share": 0.9},
        k=4,
        target=target,
    )
    written = pq.read_table(target)
    assert written.column_names == [*quasi, "region"]
    assert smallest_class(written, [*quasi, "region"]) >= done["k"] >= 4
    names = ("k_anonymous", "schema", "dominance", "p_percent")
    assert done["checks"] == dict.fromkeys(names, True)
    columns = {"quasi": list(quasi), "strata": ["region"], "k": 4}
    assert run(MicroaggValidateOperator, source=target, **columns, nulls="own_class")["k"] >= 4
    with pytest.raises(AirflowFailException, match="but nulls is reject"):
        run(MicroaggValidateOperator, source=target, **columns)


def test_aggregate_alone_follows_a_profile(source: Place, folder: Path) -> None:
    how = {**source, "quasi": QUASI, "profile": "ema0070", "sample": {"fraction": 0.1}}
    done = run(MicroaggAggregateOperator, **how, k=12, target=folder / "out.parquet")
    assert done["checks"] == {"k_anonymous": True, "schema": True, "max_risk": True}
    with pytest.raises(AirflowFailException, match="12 or more: profile ema0070"):
        run(MicroaggAggregateOperator, **how, k=11, target=folder / "no.parquet")
    assert not (folder / "no.parquet").exists()


def test_aggregate_writes_to_a_uri(source: Place, folder: Path) -> None:
    target = folder / "out.parquet"
    run(MicroaggAggregateOperator, **source, quasi=QUASI, k=4, target=target.as_uri())
    assert smallest_class(pq.read_table(target), QUASI) >= 4


def test_aggregate_writes_a_table(source: Place, warehouse: Path) -> None:
    run(
        MicroaggAggregateOperator,
        **source,
        quasi=QUASI,
        k=4,
        target="pub.protected",
        target_conn_id="warehouse",
    )
    assert smallest_class(ask(warehouse, "from pub.protected"), QUASI) >= 4


def test_aggregate_drops_columns_that_are_not_named(source: Place, folder: Path) -> None:
    target = folder / "out.parquet"
    run(
        MicroaggAggregateOperator,
        **source,
        quasi=QUASI,
        sensitive=["diagnosis"],
        entity="patient_id",
        strata=["region"],
        k=3,
        target=target,
    )
    assert pq.read_schema(target).names == [*QUASI, "diagnosis", "region"]


def test_aggregate_refuses_columns_that_could_name_people(source: Place, folder: Path) -> None:
    target = folder / "out.parquet"
    asked = {**source, "quasi": QUASI, "sensitive": ["ssn"], "k": 3, "target": target}
    with pytest.raises(AirflowFailException, match="may_leave: {ssn:"):
        run(MicroaggAggregateOperator, **asked)
    assert not target.exists()
    run(MicroaggAggregateOperator, **asked, may_leave={"ssn": "made up for a test"})
    assert "ssn" in pq.read_schema(target).names


def test_aggregate_counts_entities(patients_file: Path, folder: Path) -> None:
    done = run(
        MicroaggAggregateOperator,
        source=patients_file,
        quasi=QUASI,
        entity="patient_id",
        k=3,
        target=folder / "out.parquet",
    )
    assert done["k"] >= 3
    assert sum(done["clusters"]) <= 516 // 3


def test_aggregate_that_loses_too_much_writes_nothing(source: Place, folder: Path) -> None:
    target = folder / "out.parquet"
    with pytest.raises(AirflowFailException, match="information_loss"):
        run(
            MicroaggAggregateOperator,
            **source,
            quasi=QUASI,
            k=50,
            max_information_loss=0.0001,
            target=target,
        )
    assert not target.exists()


def test_validate_passes_a_protected_file(protected_file: Path) -> None:
    done = run(MicroaggValidateOperator, source=protected_file, quasi=QUASI, k=3)
    assert done["passed"] is True
    assert done["k"] >= 3


def test_validate_fails_a_raw_table(source: Place) -> None:
    with pytest.raises(AirflowFailException, match="FAILED k_anonymous"):
        run(MicroaggValidateOperator, **source, quasi=QUASI, k=3)


def test_limits_are_checked_alone(source: Place, folder: Path) -> None:
    target = folder / "out.parquet"
    columns: dict[str, Any] = {"quasi": QUASI, "sensitive": ["diagnosis"], "k": 20}
    limits: dict[str, Any] = {"l": {"diagnosis": 2}, "t": {"diagnosis": 0.9}}
    done = run(
        MicroaggAggregateOperator,
        **source, **columns, **limits, max_linkage=0.2, totals=0.01, target=target,
    )  # fmt: skip
    sensitive = {"l_diverse_diagnosis", "t_close_diagnosis"}
    assert {"k_anonymous", "linkage", "totals_age", "schema"} | sensitive <= set(done["checks"])
    done = run(MicroaggValidateOperator, source=target, **columns, **limits)
    assert set(done["checks"]) == {"k_anonymous", "schema"} | sensitive
    entropy = {"diagnosis": {"kind": "entropy", "l": 7}}
    with pytest.raises(
        AirflowFailException, match="FAILED l_diverse_diagnosis: .* entropy of log 7"
    ):
        run(MicroaggValidateOperator, source=target, **columns, l=entropy)
    with pytest.raises(AirflowFailException, match="  l/age"):
        run(MicroaggValidateOperator, source=target, **columns, l={"age": 2})
    done = run(MicroaggValidateOperator, source=target, **columns, k_of=[QUASI, ("age",)])
    assert done["checks"]["k_of_2"]
    with pytest.raises(AirflowFailException, match="  k_of/0: found 'diagnosis'"):
        run(MicroaggValidateOperator, source=target, **columns, k_of=[["diagnosis"]])


def test_report_writes_its_files(source: Place, folder: Path) -> None:
    done = run(MicroaggReportOperator, **source, quasi=QUASI, k=3, target=folder)
    written = {path.name: path.as_uri() for path in folder.rglob("report.*")}
    assert sorted(written) == ["report.html", "report.json"]
    assert {kind: done["uris"][kind] for kind in ("html", "json")} == {
        "html": written["report.html"], "json": written["report.json"],
    }  # fmt: skip


def test_report_goes_to_the_configured_folder(source: Place, warehouse: Path) -> None:
    run(MicroaggReportOperator, **source, quasi=QUASI, k=3, formats=["json"])
    assert [p.name for p in (warehouse.parent / "reports").rglob("report.*")] == ["report.json"]


def test_publish_writes_a_protected_table(protected_file: Path, warehouse: Path) -> None:
    done = run(
        MicroaggPublishOperator,
        source=protected_file,
        quasi=QUASI,
        k=3,
        target="pub.protected",
        target_conn_id="warehouse",
    )
    assert done["rows"] == ask(warehouse, "from pub.protected").num_rows == 600


def test_publish_adds_an_interval_once(protected_file: Path, warehouse: Path) -> None:
    publish = MicroaggPublishOperator(
        task_id="t",
        source=protected_file,
        quasi=QUASI,
        k=3,
        target="pub.protected",
        target_conn_id="warehouse",
        mode="append_interval",
    )
    for day in (1, 2, 2):
        start, end = (datetime(2026, 1, d, tzinfo=UTC) for d in (day, day + 1))
        publish.execute({"data_interval_start": start, "data_interval_end": end})
    counts = "select day(interval_start) d, count(*) n from pub.protected group by all order by all"
    assert ask(warehouse, counts).to_pylist() == [{"d": 1, "n": 600}, {"d": 2, "n": 600}]


def test_publish_refuses_a_raw_table(source: Place, warehouse: Path) -> None:
    with duckdb.connect(str(warehouse)) as con:
        con.execute("create table pub.protected as select 1::smallint age, 2.5::double height_cm")
    before = ask(warehouse, "from pub.protected")
    with pytest.raises(AirflowFailException, match="FAILED k_anonymous"):
        run(
            MicroaggPublishOperator,
            **source,
            quasi=QUASI,
            k=3,
            target="pub.protected",
            target_conn_id="warehouse",
        )
    assert ask(warehouse, "from pub.protected").equals(before)


def test_publish_wants_a_table(protected_file: Path, folder: Path) -> None:
    target = folder / "x.parquet"
    with pytest.raises(AirflowFailException, match="must be a table"):
        run(MicroaggPublishOperator, source=protected_file, quasi=QUASI, k=3, target=target)


@pytest.mark.parametrize("write", [str, Path.as_uri])
def test_cleanup_removes_a_file(folder: Path, write: Callable[[Path], str]) -> None:
    raw = folder / "raw.parquet"
    raw.touch()
    assert run(MicroaggCleanupOperator, source=write(raw)) == {"removed": True}
    assert not raw.exists()
    assert run(MicroaggCleanupOperator, source=write(raw)) == {"removed": False}


def test_cleanup_removes_a_staged_folder_and_no_other(folder: Path) -> None:
    Staging(folder / "staged").put("extract", {"table.parquet": b""}, {})
    assert run(MicroaggCleanupOperator, source=str(folder / "staged")) == {"removed": True}
    (folder / "thesis.txt").touch()
    with pytest.raises(AirflowFailException, match="holds other things"):
        run(MicroaggCleanupOperator, source=str(folder))
    assert (folder / "thesis.txt").exists()


# What is missing or wrong


@pytest.mark.parametrize(
    ("operator", "arguments", "told"),
    [
        (MicroaggAggregateOperator, {"k": None}, "'k' parameter is missing"),
        (MicroaggReportOperator, {"k": None}, "'k' parameter is missing"),
        (MicroaggValidateOperator, {"k": None}, "'k' parameter is missing"),
        (MicroaggPublishOperator, {"k": None}, "'k' parameter is missing"),
        (MicroaggAggregateOperator, {"source": None}, "neither a 'release' nor a 'source'"),
        (MicroaggAggregateOperator, {"target": None}, "neither a 'release' nor a 'target'"),
        (MicroaggAggregateOperator, {"conn_id": None}, "Give conn_id"),
        (MicroaggAggregateOperator, {"conn_id": "other"}, "no Airflow connection 'other'"),
        (MicroaggAggregateOperator, {"source": "clinic.nobody"}, "no table 'clinic.nobody'"),
        (MicroaggAggregateOperator, {"source": "no.parquet"}, "cannot be read as Parquet"),
        (MicroaggAggregateOperator, {"method": "magic"}, "'magic'; allowed: .*mdav"),
        (MicroaggAggregateOperator, {"quasi": ["agee"]}, "Did you mean 'age'"),
        (MicroaggAggregateOperator, {"quasi": {"region": "date"}}, "declared date, but the source"),
        (MicroaggAggregateOperator, {"quasi": []}, "Give 'quasi'"),
        (MicroaggAggregateOperator, {"quasi": [], "sensitive": ["age"]}, "  quasi: found"),
        (MicroaggExtractOperator, {"columns": [], "target": "x.parquet"}, "No column is named"),
        (MicroaggAggregateOperator, {"k": 1}, "  k: found"),
        (MicroaggAggregateOperator, {"k": 601}, "fewer than k = 601"),
        (MicroaggAggregateOperator, {"standardize": "magic"}, "  standardize: found"),
        (MicroaggAggregateOperator, {"budget": "soon"}, "  budget: found"),
        (MicroaggPublishOperator, {"mode": "append"}, "one of replace, append_interval"),
    ],
)
def test_wrong_argument_fails_with_help(
    operator: type[MicroaggOperator], arguments: dict[str, Any], told: str
) -> None:
    right = {"source": "clinic.patients", "conn_id": "warehouse", "target": "pub.protected"}
    right |= {"quasi": QUASI, "k": 3} if "columns" not in arguments else {}
    with pytest.raises(AirflowFailException, match=told):
        run(operator, **right | arguments)


SAME_TABLE = {"source": "clinic.patients", "conn_id": "warehouse", "target": "CLINIC.patients"}


@pytest.mark.parametrize("operator", [MicroaggAggregateOperator, MicroaggPublishOperator])
def test_source_is_never_overwritten(operator: type[MicroaggOperator], warehouse: Path) -> None:
    with duckdb.connect(str(warehouse)) as con:
        con.execute("create or replace table clinic.patients as select age from clinic.patients")
        before = con.execute("from clinic.patients order by all").fetchall()
    with pytest.raises(AirflowFailException, match="is the source itself"):
        run(operator, **SAME_TABLE, quasi=["age"], k=2)
    with duckdb.connect(str(warehouse)) as con:
        assert con.execute("from clinic.patients order by all").fetchall() == before


def test_source_file_is_never_overwritten(patients_file: Path) -> None:
    before = patients_file.read_bytes()
    with pytest.raises(AirflowFailException, match="is the source itself"):
        run(
            MicroaggAggregateOperator,
            source=patients_file,
            target=patients_file.as_uri(),
            quasi=QUASI,
            k=3,
        )
    assert patients_file.read_bytes() == before


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [
        (MicroaggExtractOperator, {"columns": QUASI}),
        (MicroaggStandardizeOperator, {"quasi": QUASI}),
    ],
)
def test_unprotected_rows_do_not_go_into_a_warehouse(
    operator: type[MicroaggOperator], arguments: dict[str, Any]
) -> None:
    with pytest.raises(AirflowFailException, match="not protected yet"):
        run(operator, source="clinic.patients", conn_id="warehouse", target="pub.raw", **arguments)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("admitted < :end", "names :end, but this run binds nothing"),
        ("admitted < :later", "names :later"),
        ("1 = 1; drop table clinic.patients", "holds a semicolon"),
    ],
)
def test_condition_that_cannot_be_bound(folder: Path, where: str, told: str) -> None:
    with pytest.raises(AirflowFailException, match=told):
        run(
            MicroaggExtractOperator,
            source="clinic.patients",
            conn_id="warehouse",
            columns=QUASI,
            where=where,
            target=folder / "raw.parquet",
        )


def test_cleanup_wants_to_know_what() -> None:
    with pytest.raises(AirflowFailException, match="neither a 'release' nor a 'source'"):
        run(MicroaggCleanupOperator)


def test_unreachable_warehouse_may_be_retried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_GONE", duckdb_connection(tmp_path / "gone.duckdb"))
    with pytest.raises(AirflowException) as caught:
        run(MicroaggValidateOperator, source="clinic.patients", conn_id="gone", quasi=QUASI, k=3)
    assert not isinstance(caught.value, AirflowFailException)


# How errors become Airflow's


@pytest.mark.parametrize(
    ("error", "translation"),
    [
        (ReleaseError("bad"), AirflowFailException),
        (DataError("bad"), AirflowFailException),
        (DataError("none", code="empty_interval"), AirflowSkipException),
        (DisclosureError("bad"), AirflowFailException),
        (DisclosureError("no", code="rejected"), AirflowSkipException),
        (BudgetError("bad"), AirflowFailException),
        (StagingError("bad"), AirflowException),
        (StagingError("bad", retryable=False), AirflowFailException),
        (WarehouseError("bad"), AirflowException),
        (WarehouseError("bad", retryable=False), AirflowFailException),
        (MicroaggError("bad"), AirflowFailException),
        (ValueError("bad"), AirflowException),
        (MemoryError("bad"), AirflowException),
        (AirflowSkipException("bad"), AirflowSkipException),
    ],
)
def test_error_is_translated(error: Exception, translation: type[Exception]) -> None:
    with pytest.raises(AirflowException) as caught, translated():
        raise error
    assert type(caught.value) is translation


@pytest.mark.parametrize("kind", [ValueError, AirflowException])
def test_text_of_a_foreign_error_is_withheld(kind: type[Exception]) -> None:
    with pytest.raises(AirflowException) as caught, translated():
        raise kind("could not convert 'canaryitis'")
    assert "canaryitis" not in str(caught.value)
    assert kind.__name__ in str(caught.value)


def test_cause_of_an_error_is_withheld() -> None:
    with pytest.raises(AirflowException) as caught, translated():
        raise DataError("bad") from ValueError("canaryitis")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


# The run that a task is part of


def staged(
    *, dag_id: str = "d", task_id: str = "t", run_id: str = "r", map_index: int = -1
) -> Path:
    operator = MicroaggExtractOperator(
        task_id=task_id, release="clinic.yaml", staging="staging", dag=DAG(dag_id, schedule=None)
    )
    ti = SimpleNamespace(map_index=map_index)
    return Path(operator.staged({"run_id": run_id, "ti": ti}))


def test_tasks_of_a_run_share_a_folder() -> None:
    assert staged(task_id="extract") == staged(task_id="publish")


@pytest.mark.parametrize("other", [{"run_id": "r2"}, {"dag_id": "d2"}, {"map_index": 0}])
def test_other_runs_have_other_folders(other: dict[str, Any]) -> None:
    assert staged(**other) != staged()


def test_names_that_look_alike_on_a_disk_have_other_folders() -> None:
    assert staged(run_id="a/b") != staged(run_id="a:b")


@pytest.mark.parametrize("run_id", ["../../up", "a/b", "manual__2026-01-01T00:00:00+00:00", "\0"])
def test_folder_of_an_odd_run_is_an_ordinary_one(run_id: str) -> None:
    folder = staged(run_id=run_id)
    assert folder.parent == Path("staging")
    assert set(folder.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")


def test_folder_of_long_ids_fits_a_file_system(tmp_path: Path) -> None:
    name = staged(dag_id="d" * 250, run_id="r" * 250).name
    (tmp_path / name).mkdir()
    assert name != staged(dag_id="d" * 250, run_id="q" * 250).name


# A release, operator by operator


@pytest.fixture
def of_release(release_file: Path, folder: Path) -> dict[str, Any]:
    return {"release": release_file, "staging": str(folder)}


def test_operators_run_a_release_one_after_the_other(
    of_release: dict[str, Any], folder: Path, warehouse: Path
) -> None:
    for operator in OPERATORS:
        run(operator, **of_release)
    assert ask(warehouse, "from pub.clinic_patients").num_rows == 600
    assert run(MicroaggCleanupOperator, **of_release) == {"removed": True}
    assert list(folder.iterdir()) == []


def test_staged_files_are_for_the_owner_alone(of_release: dict[str, Any], folder: Path) -> None:
    run(MicroaggExtractOperator, **of_release)
    modes = {path.is_dir(): path.stat().st_mode & 0o777 for path in folder.rglob("*")}
    assert modes == {True: 0o700, False: 0o600}


def test_stage_whose_staging_is_gone_names_the_task_to_clear(of_release: dict[str, Any]) -> None:
    with pytest.raises(AirflowFailException, match="Clear the task 'extract'"):
        run(MicroaggAggregateOperator, **of_release)


def test_extract_that_fails_removes_what_an_earlier_try_staged(
    of_release: dict[str, Any], folder: Path, warehouse: Path
) -> None:
    run(MicroaggExtractOperator, **of_release)
    assert list(folder.iterdir()) != []
    warehouse.unlink()
    with pytest.raises(AirflowException, match="does not exist"):
        run(MicroaggExtractOperator, **of_release)
    assert list(folder.iterdir()) == []


def test_release_file_that_changes_during_a_run_stops_it(
    of_release: dict[str, Any], release_file: Path
) -> None:
    run(MicroaggExtractOperator, **of_release)
    release_file.write_text(release_file.read_text().replace("k: 3", "k: 2"))
    with pytest.raises(AirflowFailException, match="release file changed"):
        run(MicroaggStandardizeOperator, **of_release)


# What help() and an editor show


@pytest.mark.parametrize("name", operators.__all__)
def test_every_argument_is_in_the_signature_typed_documented_and_templated(name: str) -> None:
    operator = getattr(operators, name)
    taken = inspect.signature(operator).parameters
    ours = {n: p for n, p in taken.items() if p.kind is p.KEYWORD_ONLY and n != "task_id"}
    assert {"release", "source", "conn_id", "target", "staging", *operator.option_names} <= set(
        ours
    )
    docs = " ".join(inspect.getdoc(base) or "" for base in operator.__mro__)
    for parameter, about in ours.items():
        assert about.annotation is not about.empty, parameter
        assert re.search(rf"\b{parameter}\b", docs), parameter
    assert set(operator.option_names) <= set(operator.template_fields)


def test_k_quasi_and_budget_are_in_the_signature() -> None:
    taken = inspect.signature(MicroaggAggregateOperator).parameters
    assert [taken[name].annotation for name in ("k", "quasi", "budget")] == [
        "int | None", "Sequence[str] | Mapping[str, Any]", "str | None",
    ]  # fmt: skip
