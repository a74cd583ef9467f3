"""The stage validate, and the gate that publish is."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from microagg_ops.artifact import to_parquet
from microagg_ops.errors import DisclosureError
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.publish import passed_table
from microagg_ops.stages.validate import k_anonymous
from tests.unit.stages.conftest import MakeRun


def until(run: Run, *stages: str) -> Run:
    for stage in stages or ("standardize", "group", "aggregate"):
        stage_function(stage)(run)
    return run


def put_protected(run: Run, protected: pa.Table) -> None:
    """Swap the protected table behind the aggregator's back."""
    rows = run.staging.get("aggregate", "rows.parquet")
    files = {"protected.parquet": to_parquet(protected), "rows.parquet": rows}
    run.staging.put("aggregate", files, run.staging.summary("aggregate"))


def test_a_good_table_passes_and_counts_only_are_told(make_run: MakeRun) -> None:
    run = until(make_run({"a": [1.0, 2.0, 8.0, 9.0]}))
    summary = stage_function("validate")(run)
    assert summary == {"passed": True, "k": 2, "checks": {"k_anonymous": True}}
    assert passed_table(run)["a"].to_pylist() == [1.5, 1.5, 8.5, 8.5]


def test_a_class_below_k_fails_and_the_verdict_is_kept(make_run: MakeRun) -> None:
    run = until(make_run({"a": [1.0, 2.0, 8.0, 9.0]}))
    put_protected(run, pa.table({"a": [1.5, 1.5, 8.5, 777.25]}))
    with pytest.raises(DisclosureError, match="1 of 1 checks failed") as caught:
        stage_function("validate")(run)
    assert not caught.value.retryable
    assert "777.25" not in str(caught.value)
    assert "777.25" not in json.dumps(run.document("validate", "verdict"))
    with pytest.raises(DisclosureError):
        passed_table(run)


def test_publish_refuses_other_bytes_than_those_validated(make_run: MakeRun) -> None:
    run = until(make_run({"a": [1.0, 2.0, 8.0, 9.0]}))
    stage_function("validate")(run)
    put_protected(run, pa.table({"a": [1.5, 1.5, 8.5, 9.5]}))
    with pytest.raises(DisclosureError, match="not the one that was validated"):
        passed_table(run)


def test_rows_of_one_entity_count_once(make_run: MakeRun) -> None:
    columns = {"entity": "who", "quasi": {"a": {"type": "number"}}}
    run = until(make_run({"who": [1, 1, 2, 3], "a": [1.0, 1.0, 2.0, 2.0]}, columns=columns))
    put_protected(run, pa.table({"a": [1.0, 1.0, 2.0, 2.0]}))  # two rows, but one entity
    with pytest.raises(DisclosureError, match="observed 1"):
        stage_function("validate")(run)


GROUPS: dict[str, Any] = {
    "columns": {"quasi": {"a": {"type": "number"}, "b": {"type": "number"}}},
    "group": {"method": "fixed", "groups": [["a"], ["b"]]},
}
CROSSED = {"a": [1.0, 2.0, 8.0, 9.0], "b": [1.0, 8.0, 2.0, 9.0]}


def test_groups_that_do_not_hold_jointly_fail_by_default(make_run: MakeRun) -> None:
    run = until(make_run(CROSSED, **GROUPS))
    with pytest.raises(DisclosureError, match="all quasi-identifiers"):
        stage_function("validate")(run)


def test_the_joint_k_is_counted_beside_that_of_each_group(make_run: MakeRun) -> None:
    run = until(make_run(CROSSED, **GROUPS))
    with pytest.raises(DisclosureError) as caught:
        stage_function("validate")(run)
    assert "k is 2, 2, but over all of them jointly it is 1" in caught.value.hint
    assert "group.method: single" in caught.value.hint
    assert "validate.guarantee: per_group" in caught.value.hint
    for found in (run.staging.summary("validate"), run.document("validate", "verdict")):
        assert (found["k_joint"], found["k_by_group"]) == (1, [2, 2])


def test_groups_that_do_hold_jointly_pass(make_run: MakeRun) -> None:
    run = until(make_run({"a": [1.0, 2.0, 8.0, 9.0], "b": [1.0, 2.0, 8.0, 9.0]}, **GROUPS))
    summary = stage_function("validate")(run)
    assert summary["checks"] == {"k_anonymous": True}
    assert (summary["k"], summary["k_joint"], summary["k_by_group"]) == (2, 2, [2, 2])


def test_another_check_that_fails_says_nothing_of_groups(make_run: MakeRun) -> None:
    limit = {"guarantee": "per_group", "max_information_loss": 0.0001}
    with pytest.raises(DisclosureError) as caught:
        stage_function("validate")(until(make_run(CROSSED, **GROUPS, validate=limit)))
    assert caught.value.hint == "Nothing was published."


def test_per_group_must_be_asked_for(make_run: MakeRun) -> None:
    run = until(make_run(CROSSED, **GROUPS, validate={"guarantee": "per_group"}))
    summary = stage_function("validate")(run)
    assert summary["checks"] == {"k_anonymous_1": True, "k_anonymous_2": True}
    assert (summary["k_joint"], summary["k_by_group"]) == (1, [2, 2])


@pytest.mark.parametrize(("limit", "passes"), [(0.5, True), (0.0001, False)])
def test_information_loss_is_a_check(make_run: MakeRun, limit: float, passes: bool) -> None:
    run = until(make_run({"a": [1.0, 2.0, 8.0, 9.0]}, validate={"max_information_loss": limit}))
    if passes:
        assert stage_function("validate")(run)["checks"]["information_loss"]
    else:
        with pytest.raises(DisclosureError, match=r"at most 0.01 % \(observed"):
            stage_function("validate")(run)


def test_an_error_inside_the_expectation_is_a_failure_of_its_own_kind() -> None:
    frame = pd.DataFrame({"a": [1, 1]})
    check = k_anonymous("k", "claim", frame, quasi=["no such column"], k=2, entity=None)
    assert not check.passed
    assert check.observed is None
    assert check.error == "the check itself failed"


def test_null_where_the_release_rejects_it_is_a_failure(make_run: MakeRun) -> None:
    run = until(make_run({"a": [1.0, 2.0, 8.0, 9.0]}))
    put_protected(run, pa.table({"a": pa.array([1.5, 1.5, None, None])}))
    with pytest.raises(DisclosureError, match="NULL in 2 rows, but nulls is reject"):
        stage_function("validate")(run)


def test_null_of_its_own_class_equals_null(make_run: MakeRun) -> None:
    run = until(make_run({"a": [1.0, 2.0, None, None]}, nulls="own_class"))
    assert stage_function("validate")(run)["k"] == 2
    put_protected(run, pa.table({"a": pa.array([1.5, 1.5, 2.0, None])}))
    with pytest.raises(DisclosureError, match="observed 1"):
        stage_function("validate")(run)


@pytest.mark.parametrize(
    ("limits", "checks"),
    [
        ({}, {}),
        ({"share": 0.9}, {"dominance": True}),
        ({"share": 0.6}, {"dominance": False}),
        ({"share": 0.6, "n": 2}, {"dominance": False}),
        ({"p": 1}, {"p_percent": True}),
        ({"p": 30}, {"p_percent": False}),
        ({"p": 30, "share": 0.9}, {"p_percent": False, "dominance": True}),
    ],
)
def test_dominance_fails_where_a_limit_is_set(
    make_run: MakeRun, limits: dict[str, Any], checks: dict[str, bool]
) -> None:
    # Of 110 the largest has 80, the two largest 105: what is left is 6.25 % of the largest.
    values = {"a": [80.0, 25.0, 5.0]}
    run = until(make_run(values, aggregate={"k": 3}, validate={"dominance": limits}))
    if all(checks.values()):
        stage_function("validate")(run)
    else:
        with pytest.raises(DisclosureError, match="of a published mean|from a published mean"):
            stage_function("validate")(run)
    assert run.staging.summary("validate")["checks"] == {"k_anonymous": True} | checks
