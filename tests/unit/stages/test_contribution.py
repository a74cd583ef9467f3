"""Attacks on values that seem to be shared by k, but are one person's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.errors import DataError, DisclosureError
from microagg_ops.options import Options, Place
from microagg_ops.single_stage import Alone
from microagg_ops.stages import Run, stage_function
from microagg_ops.staging.digests import to_parquet
from tests import naive
from tests.unit.stages.conftest import MakeRun
from tests.unit.stages.test_validate import put_protected, until

SECRET = 123_457.0
NUMBER = {"type": "number"}
MEDIAN = {"type": "number", "representative": "median"}


def checks(run: Run) -> dict[str, Any]:
    return {c["name"]: c for c in run.document("validate", "verdict")["checks"]}


def validated(run: Run) -> list[dict[str, Any]]:
    until(run)
    stage_function("validate")(run)
    rows: list[dict[str, Any]] = run.table("aggregate", "protected").to_pylist()
    return rows


# Imputed cells


def test_one_known_value_is_not_imputed_into_nine(make_run: MakeRun) -> None:
    table = {
        "r": ["n"] * 10 + ["s"] * 10,
        "a": [None] * 9 + [SECRET] + [float(i) for i in range(10)],
    }
    run = make_run(table, nulls="impute", strata=["r"], aggregate={"k": 5})
    # The north says what the south gives, which is published there; its one value is in nothing.
    assert {r["a"] for r in validated(run) if r["r"] == "n"} == {4.5}
    assert checks(run)["contributors"]["observed"] == 5
    assert run.document("aggregate", "treatment")["imputed"] == {"a": 10}


def test_what_too_few_have_is_not_imputed_at_all(make_run: MakeRun) -> None:
    table = {"a": [None] * 9 + [SECRET]}
    with pytest.raises(DataError, match="1 entities .* fewer than k = 5") as caught:
        until(make_run(table, nulls="impute", aggregate={"k": 5}))
    assert caught.value.code == "few_known"
    assert "123" not in str(caught.value)
    rows = {"who": [1] * 9 + [2, 3], "a": [SECRET] * 9 + [None, 1.0]}
    columns = {"entity": "who", "quasi": {"a": NUMBER}}
    with pytest.raises(DataError, match="2 entities .* fewer than k = 3"):
        until(make_run(rows, columns=columns, nulls="impute", aggregate={"k": 3}))


def test_imputed_cells_do_not_hide_one_of_a_cluster(make_run: MakeRun) -> None:
    # Both columns are known of many, but the second of one only among those far off in the first.
    rng = np.random.default_rng(1)
    table = {
        "a": [*rng.normal(0, 1, 20), *rng.normal(100, 1, 5)],
        "b": [*rng.normal(0, 1, 20), SECRET, None, None, None, None],
    }
    columns = {"quasi": {"a": NUMBER, "b": NUMBER}}
    run = make_run(table, columns=columns, nulls="impute", aggregate={"k": 5})
    rows = validated(run)
    assert all(abs(r["b"]) <= SECRET / 5 for r in rows)
    assert checks(run)["contributors"]["observed"] >= 5


def test_a_cluster_that_knows_too_little_shares_with_the_nearest(make_run: MakeRun) -> None:
    # Three clusters by the first column; of the second the middle one knows two, near the third.
    table = {
        "a": [0.0, 0.0, 0.0, 50.0, 50.0, 50.0, 60.0, 60.0, 60.0],
        "b": [1.0, 2.0, 3.0, 8.0, 9.0, None, 10.0, 11.0, 12.0],
    }
    columns = {"quasi": {"a": NUMBER, "b": NUMBER}}
    run = make_run(table, columns=columns, nulls="impute", aggregate={"k": 3})
    rows = sorted({(r["a"], r["b"]) for r in validated(run)})
    assert rows == [(0.0, 2.0), (50.0, 10.0), (60.0, 10.0)]
    assert checks(run)["contributors"]["observed"] == 3
    assert run.document("aggregate", "treatment")["imputed"] == {"b": 1}
    assert run.document("aggregate", "treatment")["totals"]["b"] == pytest.approx(0)


def test_other_bytes_than_contributors_give_fail(make_run: MakeRun) -> None:
    table = {"a": [1.0, 2.0, 3.0, None, None, None]}
    run = until(make_run(table, nulls="impute", aggregate={"k": 3}))
    stage_function("validate")(run)
    put_protected(run, pa.table({"a": [2.5] * 6}))
    with pytest.raises(DisclosureError, match="FAILED contributors: .*observed 0"):
        stage_function("validate")(run)


# Rows and weights


HEAVY = {
    "rows": {"who": [0] * 1000 + [1, 2, 3, 4], "a": [777.0] * 1000 + [1.0, 2.0, 3.0, 4.0]},
    "weight": {"w": [1000.0, 1, 1, 1, 1], "a": [777.0, 1.0, 2.0, 3.0, 4.0]},
}


@pytest.mark.parametrize(
    ("what", "role"), [("rows", {"entity": "who"}), ("weight", {"weight": "w"})]
)
@pytest.mark.parametrize("how", [NUMBER, MEDIAN])
def test_who_outweighs_a_class_is_not_published(
    make_run: MakeRun, what: str, role: dict[str, str], how: dict[str, str]
) -> None:
    columns = {**role, "quasi": {"a": how}}
    run = until(make_run(HEAVY[what], columns=columns, aggregate={"k": 5}))
    with pytest.raises(DisclosureError, match="FAILED dominance: no entity has more than 50 %"):
        stage_function("validate")(run)
    assert not checks(run)["p_percent"]["passed"]
    # Where the release says so expressly, it may leave.
    loose = {"dominance": {"share": 1, "p": 0}}
    run = until(make_run(HEAVY[what], columns=columns, aggregate={"k": 5}, validate=loose))
    assert stage_function("validate")(run)["checks"]["dominance"]


def test_clusters_grow_until_nobody_outweighs_them(make_run: MakeRun) -> None:
    rng = np.random.default_rng(2)
    who = [0] * 40 + list(range(1, 200))
    table = {"who": who, "a": rng.normal(size=len(who)), "b": rng.normal(size=len(who))}
    columns = {"entity": "who", "quasi": {"a": NUMBER, "b": NUMBER}}
    run = make_run(table, columns=columns, aggregate={"k": 5})
    rows = validated(run)
    assert checks(run)["dominance"]["observed"] == checks(run)["p_percent"]["observed"] == 0
    entities = run.table("aggregate", "rows")["entity"].to_pylist()
    classes = [(r["a"], r["b"]) for r in rows]
    for found in naive.contributions([1.0] * len(rows), classes, entities).values():
        assert found[0] <= sum(found) / 2
    assert len(set(classes)) > 20  # only those nearest to the heavy one were joined


def test_rows_count_within_strata(make_run: MakeRun) -> None:
    table = {
        "r": ["n"] * 13 + ["s"] * 50,
        "who": [0] * 10 + list(range(1, 54)),
        "a": np.arange(63.0),
    }
    columns = {"entity": "who", "quasi": {"a": NUMBER}}
    run = until(make_run(table, columns=columns, strata=["r"], aggregate={"k": 4}))
    with pytest.raises(DisclosureError, match="FAILED dominance"):
        stage_function("validate")(run)


# Medians and modes


def test_the_median_of_two_is_not_the_lower_of_them(make_run: MakeRun) -> None:
    order = ["low", "middle", "high", "top"]
    columns = {"quasi": {"a": {"type": "ordinal", "order": order}}}
    run = make_run({"a": ["low", "middle", "high", "top"]}, columns=columns)
    assert {r["a"] for r in validated(run)} == {"middle"}
    assert checks(run)["dominance"]["passed"]
    with pytest.raises(DisclosureError, match="no median or mode is one entity's alone"):
        stage_function("validate")(until(make_run({"a": ["low", "top"]}, columns=columns)))


def test_a_median_by_weight_is_not_one_persons(make_run: MakeRun) -> None:
    columns = {"weight": "w", "quasi": {"a": MEDIAN}}
    with pytest.raises(DisclosureError, match="FAILED dominance"):
        stage_function("validate")(
            until(make_run({"a": [777.0, 1], "w": [2.0, 1]}, columns=columns))
        )


def test_a_mode_by_weight_is_not_one_persons(make_run: MakeRun) -> None:
    columns = {"weight": "w", "quasi": {"a": {"type": "nominal"}}}
    table = {"a": ["secret", "y", "y", "z", "z"], "w": [3.0, 1, 1, 1, 1]}
    run = make_run(table, columns=columns, aggregate={"k": 5})
    assert {r["a"] for r in validated(run)} == {"y"}
    put_protected_with_treatment(run, pa.table({"a": ["secret"] * 5}))
    with pytest.raises(DisclosureError, match="FAILED dominance"):
        stage_function("validate")(run)


def put_protected_with_treatment(run: Run, protected: pa.Table) -> None:
    treatment = run.staging.get("aggregate", "treatment.json")
    put_protected(run, protected)
    files = {n: run.staging.get("aggregate", n) for n in ("protected.parquet", "rows.parquet")}
    summary = run.staging.summary("aggregate")
    run.staging.put("aggregate", files | {"treatment.json": treatment}, summary)


# Tables that are said to be protected


@pytest.mark.parametrize(
    ("heavy", "share", "holds"), [(4, None, True), (9, None, False), (9, 1, True)]
)
def test_a_table_said_to_be_protected_is_weighed_too(
    tmp_path: Any, heavy: int, share: float | None, holds: bool
) -> None:
    path = tmp_path / "t.parquet"
    table = {"who": [0] * heavy + [1, 2, 3, 4], "a": [1.5] * (heavy + 4)}
    path.write_bytes(to_parquet(pa.table(table)))
    loose = {} if share is None else {"share": share, "p": 0}
    options = Options(quasi=["a"], entity="who", k=5, dominance=loose)
    alone = Alone(lambda conn_id: pytest.fail("no warehouse here"))
    if holds:
        assert alone.validate(Place(str(path)), options)["checks"]["dominance"]
    else:
        with pytest.raises(DisclosureError, match="FAILED dominance"):
            alone.validate(Place(str(path)), options)
