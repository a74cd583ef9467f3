"""The stage validate, and the gate that publish is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from microagg_ops.errors import DisclosureError, StagingError
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.publish import passed_table
from microagg_ops.staging.digests import to_parquet
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
    checks = {"k_anonymous": True, "schema": True}
    assert summary == {"passed": True, "k": 2, "checks": checks, "warnings": []}
    assert passed_table(run)["a"].to_pylist() == [1.5, 1.5, 8.5, 8.5]


def test_a_class_below_k_fails_and_the_verdict_is_kept(make_run: MakeRun) -> None:
    run = until(make_run({"a": [1.0, 2.0, 8.0, 9.0]}))
    put_protected(run, pa.table({"a": [1.5, 1.5, 8.5, 777.25]}))
    with pytest.raises(DisclosureError, match="1 of 2 checks failed") as caught:
        stage_function("validate")(run)
    assert not caught.value.retryable
    assert "777.25" not in str(caught.value)
    assert "777.25" not in json.dumps(run.document("validate", "verdict"))
    with pytest.raises(DisclosureError):
        passed_table(run)


def test_a_check_that_is_asked_for_and_says_nothing_has_failed(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    from microagg_ops.checks.schema import Schema

    run = until(make_run({"a": [1.0, 2.0, 8.0, 9.0]}))
    monkeypatch.setattr(Schema, "claims", lambda self, evidence: iter(()))
    with pytest.raises(DisclosureError, match="1 of 2 checks failed: FAILED schema.*was not made"):
        stage_function("validate")(run)


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
    assert summary["checks"] == {"k_anonymous": True, "schema": True}
    assert (summary["k"], summary["k_joint"], summary["k_by_group"]) == (2, 2, [2, 2])


def test_another_check_that_fails_says_nothing_of_groups(make_run: MakeRun) -> None:
    limit = {"guarantee": "per_group", "max_information_loss": 0.0001}
    with pytest.raises(DisclosureError) as caught:
        stage_function("validate")(until(make_run(CROSSED, **GROUPS, validate=limit)))
    assert caught.value.hint == "Nothing was published."


def test_per_group_must_be_asked_for(make_run: MakeRun) -> None:
    run = until(make_run(CROSSED, **GROUPS, validate={"guarantee": "per_group"}))
    summary = stage_function("validate")(run)
    assert summary["checks"] == {"k_anonymous_1": True, "k_anonymous_2": True, "schema": True}
    assert (summary["k_joint"], summary["k_by_group"]) == (1, [2, 2])


PAIRS = {"guarantee": "per_group", "k_of": [["b"], ["a", "b"]]}


def test_chosen_columns_have_k_by_themselves(make_run: MakeRun) -> None:
    run = until(make_run(CROSSED, **GROUPS, validate=PAIRS))
    with pytest.raises(DisclosureError, match="1 of 5 checks failed: FAILED k_of_2: .* of a, b"):
        stage_function("validate")(run)
    checks = {c["name"]: c for c in run.document("validate", "verdict")["checks"]}
    assert (checks["k_of_1"]["observed"], checks["k_of_2"]["observed"]) == (2, 1)
    assert run.staging.summary("validate")["k"] == 2  # what the release is said to have: per group
    run = until(make_run(CROSSED, **GROUPS, validate=PAIRS | {"k_of": [["b"], ["a"]]}))
    assert stage_function("validate")(run)["checks"]["k_of_2"]


def test_chosen_columns_are_counted_by_entities_and_within_strata(make_run: MakeRun) -> None:
    columns = {"entity": "who", "quasi": {"a": {"type": "number"}, "b": {"type": "number"}}}
    table = {"who": [1, 2, 3, 4], "a": [1.0, 1.0, 1.0, 1.0], "b": [1.0, 1.0, 2.0, 2.0],
             "r": list("xxyy")}  # fmt: skip
    how = {"columns": columns, "strata": ["r"], "validate": {"k_of": [["a"]]}}
    run = until(make_run(table, **how))
    assert stage_function("validate")(run)["checks"]["k_of_1"]
    (check,) = (c for c in run.document("validate", "verdict")["checks"] if c["name"] == "k_of_1")
    assert check["observed"] == 2  # four in the table, two in each stratum
    assert check["claim"] == "every class of a within r has 2 entities or more"


@pytest.mark.parametrize(("limit", "passes"), [(0.5, True), (0.0001, False)])
def test_information_loss_is_a_check(make_run: MakeRun, limit: float, passes: bool) -> None:
    run = until(make_run({"a": [1.0, 2.0, 8.0, 9.0]}, validate={"max_information_loss": limit}))
    if passes:
        assert stage_function("validate")(run)["checks"]["information_loss"]
    else:
        with pytest.raises(DisclosureError, match=r"at most 0.01 % \(observed"):
            stage_function("validate")(run)


def test_an_error_inside_the_expectation_is_a_failure_of_its_own_kind(make_run: MakeRun) -> None:
    run = until(make_run({"a": [1.0, 2.0, 8.0, 9.0]}))
    put_protected(run, pa.table({"b": [1.5, 1.5, 8.5, 8.5]}))
    with pytest.raises(DisclosureError, match="the check itself failed"):
        stage_function("validate")(run)
    check = run.document("validate", "verdict")["checks"][0]
    assert (check["name"], check["passed"], check["observed"]) == ("k_anonymous", False, None)
    assert check["error"] == "the check itself failed"


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
    assert (
        run.staging.summary("validate")["checks"] == {"k_anonymous": True, "schema": True} | checks
    )


SENSITIVE: dict[str, Any] = {"quasi": {"a": {"type": "number"}}, "sensitive": ["s"]}
ILL = {"a": [1.0, 2.0, 3.0, 8.0, 9.0, 10.0], "s": ["x", "x", "y", "x", "y", "z"]}


@pytest.mark.parametrize(
    ("limits", "name", "observed", "passes"),
    [
        ({"l": {"s": 2}}, "l_diverse_s", 2, True),
        ({"l": {"s": 3}}, "l_diverse_s", 2, False),
        # Shares 2/3 and 1/3: the exponential of their entropy is 3 / 2^(2/3).
        ({"l": {"s": {"kind": "entropy", "l": 1.8}}}, "l_diverse_s", 3 / 2 ** (2 / 3), True),
        ({"l": {"s": {"kind": "entropy", "l": 1.9}}}, "l_diverse_s", 3 / 2 ** (2 / 3), False),
        ({"l": {"s": {"kind": "recursive", "l": 2, "c": 2.1}}}, "l_diverse_s", 2, True),
        ({"l": {"s": {"kind": "recursive", "l": 2, "c": 2}}}, "l_diverse_s", 2, False),
        ({"l": {"s": {"kind": "recursive", "l": 3, "c": 9}}}, "l_diverse_s", None, False),
        # The table has x, y, z in shares 3/6, 2/6, 1/6; a class has 2/3, 1/3, 0 or 1/3 each.
        ({"t": {"s": 0.17}}, "t_close_s", 1 / 6, True),
        ({"t": {"s": 0.16}}, "t_close_s", 1 / 6, False),
        ({"t": {"s": {"t": 0.17, "ordered": True}}}, "t_close_s", 1 / 6, True),
        # Each row is one of three that are equal, and nearest to its own.
        ({"max_linkage": 0.34}, "linkage", 100 / 3, True),
        ({"max_linkage": 0.33}, "linkage", 100 / 3, False),
        ({"totals": 1e-9}, "totals_a", 0, True),
        # Two classes of three rows.
        ({"max_risk": 0.34}, "max_risk", 100 / 3, True),
        ({"max_risk": 0.33}, "max_risk", 100 / 3, False),
        ({"average_risk": 0.34}, "average_risk", 100 / 3, True),
        ({"average_risk": 0.33}, "average_risk", 100 / 3, False),
        ({"max_information_loss": 0.06}, "information_loss", 100 * 4 / 77.5, True),
        ({"max_information_loss": 0.05}, "information_loss", 100 * 4 / 77.5, False),
    ],
)
def test_each_limit_is_a_check(
    make_run: MakeRun, limits: dict[str, Any], name: str, observed: float | None, passes: bool
) -> None:
    how = {"k": 3, "aware": False}
    run = until(make_run(ILL, columns=SENSITIVE, aggregate=how, validate=limits))
    if passes:
        stage_function("validate")(run)
    else:
        with pytest.raises(DisclosureError, match=f"1 of 3 checks failed: FAILED {name}"):
            stage_function("validate")(run)
    (check,) = (c for c in run.document("validate", "verdict")["checks"] if c["name"] == name)
    assert check["passed"] is passes
    assert check["observed"] == (None if observed is None else pytest.approx(observed))


def test_loss_linkage_and_totals_are_those_of_the_bytes(make_run: MakeRun) -> None:
    limits = {"max_linkage": 0.5, "max_information_loss": 0.3, "totals": 1e-9}
    run = until(make_run(ILL, columns=SENSITIVE, aggregate={"k": 3}, validate=limits))
    stage_function("validate")(run)
    before = run.document("validate", "verdict")["checks"]
    put_protected(run, pa.table({"a": [1.0, 2.0, 3.0, 9.0, 9.0, 9.0], "s": list("xxyxyz")}))
    with pytest.raises(DisclosureError, match="FAILED k_anonymous.*FAILED linkage"):
        stage_function("validate")(run)
    after = run.document("validate", "verdict")["checks"]
    by_name = {c["name"]: c["observed"] for c in after}
    assert by_name["linkage"] == pytest.approx(100 * 4 / 6)
    assert by_name["information_loss"] == pytest.approx(100 * 2 / 77.5)
    assert {c["name"]: c["observed"] for c in before}["information_loss"] > 5
    put_protected(run, pa.table({"a": [2.0, 2.0, 2.0, 9.5, 9.5, 9.5], "s": list("xxyxyz")}))
    with pytest.raises(DisclosureError, match="FAILED totals_a: .* at most 1e-09 of itself"):
        stage_function("validate")(run)


@pytest.mark.parametrize("nulls", ["own_class", "impute"])
def test_totals_are_those_of_the_cells_that_are_left(make_run: MakeRun, nulls: str) -> None:
    table = {
        "a": [1.0, 2.0, 3.0, 8.0, 9.5, None], "b": [5, 4, None, None, 3, 1],
        "d": pa.array([10, 20, 30, 40, 50, 61], pa.date32()), "w": [1.0, 2.0, 1.5, 1.0, 1.0, 1.0],
    }  # fmt: skip
    quasi = {"a": {"type": "number"}, "b": {"type": "integer"}, "d": {"type": "date"}}
    run = until(
        make_run(
            table,
            columns={"quasi": quasi, "weight": "w"},
            nulls=nulls,
            validate={"totals": 0.2},
        )
    )
    summary = stage_function("validate")(run)
    assert [name for name in summary["checks"] if name.startswith("totals")] == [
        "totals_a", "totals_b", "totals_d",
    ]  # fmt: skip
    found = {c["name"]: c["observed"] for c in run.document("validate", "verdict")["checks"]}
    told = run.document("aggregate", "treatment")["totals"]
    for name, relative in told.items():
        assert found[f"totals_{name}"] == pytest.approx(abs(relative), abs=1e-15)


@pytest.mark.parametrize(
    ("protected", "what"),
    [
        (pa.table({"s": ["x", "x"], "a": [1.5, 1.5]}), "out of order"),
        (pa.table({"a": [1.5, 1.5]}), "missing"),
        (pa.table({"a": [1.5, 1.5], "s": ["x", "x"], "name": ["n", "n"]}), "undeclared"),
        (pa.table({"a": [1, 1], "s": ["x", "x"]}), "of another type"),
        (pa.table({"a": [1.5, 1.5], "s": [1, 1]}), "of another type"),
    ],
)
def test_other_columns_than_declared_fail(
    make_run: MakeRun, protected: pa.Table, what: str
) -> None:
    run = until(make_run({"a": [1.0, 2.0], "s": ["x", "x"]}, columns=SENSITIVE))
    stage_function("validate")(run)
    put_protected(run, protected)
    with pytest.raises(DisclosureError, match=rf"FAILED schema: .* \({what}: \w+"):
        stage_function("validate")(run)
    verdict = run.document("validate", "verdict")
    (check,) = (c for c in verdict["checks"] if c["name"] == "schema")
    assert list(check["details"]) == [what]


def test_data_docs_show_the_claims_and_no_value(make_run: MakeRun, tmp_path: Path) -> None:
    ill = {"a": [1.0, 2.0, 8.0, 9.0], "s": ["secret-1", "secret-2", "secret-1", "secret-1"]}
    limits = {"l": {"s": 2}, "totals": 1e-9}
    docs = str(tmp_path / "docs")
    how = {"k": 2, "aware": False}
    told = {"data_docs": docs}
    run = until(make_run(ill, columns=SENSITIVE, aggregate=how, validate=limits, report=told))
    for _ in range(2):  # the second time replaces the first
        with pytest.raises(DisclosureError, match="FAILED l_diverse_s"):
            stage_function("validate")(run)
    site = tmp_path / "docs" / "r" / "run"
    assert run.staging.summary("validate")["data_docs"] == (site / "index.html").as_uri()
    pages = sorted(site.rglob("*.html"))
    assert [page.parent.name for page in pages].count("expectations") == 2
    text = "".join(page.read_text() for page in pages)
    for check in run.document("validate", "verdict")["checks"]:
        assert check["claim"] in text
    assert "secret" not in text
    modes = {path.stat().st_mode & 0o777 for path in site.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert list((tmp_path / "docs" / "r").iterdir()) == [site]


def test_data_docs_that_cannot_be_written_are_said(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "docs").write_text("a file")
    run = until(make_run({"a": [1.0, 2.0]}, report={"data_docs": str(tmp_path / "docs")}))
    with pytest.raises(StagingError, match="Data Docs .* cannot be written"):
        stage_function("validate")(run)


def test_classes_in_which_all_have_one_value_are_warned_of(make_run: MakeRun) -> None:
    near = [1.0, 1.1, 5.0, 5.1, 9.0, 9.1, 13.0, 13.1]
    rows = {"a": near, "s": ["secret-x"] * 2 + ["secret-x", "secret-y"] * 3}
    summary = stage_function("validate")(until(make_run(rows, columns=SENSITIVE)))
    (warning,) = summary["warnings"]
    assert "In 25 % of the classes, all have the same 's'" in warning
    assert "secret-" not in warning


@pytest.mark.parametrize("values", [["x", "y"] * 4, ["x"] * 8])
def test_classes_of_several_values_and_a_constant_are_not(
    make_run: MakeRun, values: list[str]
) -> None:
    near = [1.0, 1.1, 5.0, 5.1, 9.0, 9.1, 13.0, 13.1]
    run = until(make_run({"a": near, "s": values}, columns=SENSITIVE))
    assert stage_function("validate")(run)["warnings"] == []


def test_risk_is_that_of_entities_in_the_bytes(make_run: MakeRun) -> None:
    columns = {"entity": "who", "quasi": {"a": {"type": "number"}}}
    table = {"who": [1, 1, 2, 3, 4], "a": [1.0, 1.0, 2.0, 8.0, 9.0]}
    run = until(make_run(table, columns=columns, validate={"max_risk": 0.5, "average_risk": 0.5}))
    stage_function("validate")(run)
    # Three rows are alike, and two of them are of one entity.
    put_protected(run, pa.table({"a": [1.0, 1.0, 8.0, 8.0, 8.0]}))
    with pytest.raises(DisclosureError, match="FAILED max_risk: an entity .*observed 100"):
        stage_function("validate")(run)


def test_risk_is_joint_whatever_the_guarantee(make_run: MakeRun) -> None:
    limits = {"guarantee": "per_group", "max_risk": 0.5}
    with pytest.raises(DisclosureError, match="1 of 4 checks failed: FAILED max_risk"):
        stage_function("validate")(until(make_run(CROSSED, **GROUPS, validate=limits)))
