"""The stage aggregate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.errors import DataError
from microagg_ops.stages import Run, stage_function
from tests import naive
from tests.unit.stages.conftest import MakeRun


def aggregated(run: Run) -> pa.Table:
    for stage in ("standardize", "group", "aggregate"):
        stage_function(stage)(run)
    return run.table("aggregate", "protected")


def test_published_rows_are_sorted_by_what_is_published(make_run: MakeRun) -> None:
    rng = np.random.default_rng(0)
    run = make_run({"a": rng.normal(size=40)})
    values = aggregated(run)["a"].to_pylist()
    assert values == sorted(values)


def test_rows_tell_where_each_published_row_came_from(make_run: MakeRun) -> None:
    rng = np.random.default_rng(1)
    run = make_run({"a": rng.normal(size=40)}, aggregate={"k": 3})
    protected = aggregated(run)["a"].to_numpy()
    rows = run.table("aggregate", "rows")
    source = run.table("extract", "table")["a"].to_numpy()[rows["row"].to_numpy()]
    labels = rows["label_0"].to_numpy()
    for label in np.unique(labels):
        assert protected[labels == label] == pytest.approx(source[labels == label].mean())


def test_only_declared_columns_leave(make_run: MakeRun) -> None:
    table = {"who": [1, 2, 3, 4], "a": [1.0, 2.0, 3.0, 4.0], "s": ["w", "x", "y", "z"]}
    columns = {"entity": "who", "quasi": {"a": {"type": "number"}}, "sensitive": ["s"]}
    assert aggregated(make_run(table, columns=columns)).column_names == ["a", "s"]


def test_k_counts_entities_within_strata(make_run: MakeRun) -> None:
    rng = np.random.default_rng(2)
    table = {
        "who": rng.integers(0, 60, 300),
        "a": np.round(rng.normal(size=300), 1),
        "r": rng.choice(["n", "s"], 300),
    }
    columns = {"entity": "who", "quasi": {"a": {"type": "number"}}}
    run = make_run(table, columns=columns, strata=["r"], aggregate={"k": 4})
    protected, rows = aggregated(run), run.table("aggregate", "rows")
    classes = zip(protected["a"].to_pylist(), protected["r"].to_pylist(), strict=True)
    assert naive.class_sizes(list(classes), rows["entity"].to_pylist())[0] >= 4


def test_a_small_stratum_is_named_by_its_size_alone(make_run: MakeRun) -> None:
    run = make_run({"a": [1.0, 2.0, 3.0], "r": ["n", "n", "secret"]}, strata=["r"])
    with pytest.raises(DataError, match="A stratum of r has 1 rows, fewer than k = 2") as caught:
        aggregated(run)
    assert caught.value.code == "small_stratum"
    assert "secret" not in str(caught.value)


def test_null_is_a_stratum_of_its_own(make_run: MakeRun) -> None:
    table = {"a": [1.0, 2.0, 3.0, 4.0], "r": ["n", "n", None, None]}
    protected = aggregated(make_run(table, strata=["r"]))
    assert sorted(protected["a"].to_pylist()) == [1.5, 1.5, 3.5, 3.5]


def test_loss_agrees_with_the_slow_version(make_run: MakeRun) -> None:
    rng = np.random.default_rng(3)
    run = make_run(
        {"a": rng.gamma(2, 50, 80), "b": rng.integers(0, 9, 80)},
        columns={"quasi": {"a": {"type": "number"}, "b": {"type": "integer"}}},
        aggregate={"k": 5},
    )
    protected, rows = aggregated(run), run.table("aggregate", "rows")["row"].to_numpy()
    source = run.table("extract", "table").take(rows)
    scale = [source[name].to_numpy().astype(float).std() for name in ("a", "b")]
    before, after = (
        np.column_stack([t[n].to_numpy() for n in ("a", "b")]) / scale for t in (source, protected)
    )
    told = run.staging.summary("aggregate")["information_loss"]
    assert told == pytest.approx(naive.information_loss(before, after))


def test_source_order_changes_nothing(make_run: MakeRun) -> None:
    rng = np.random.default_rng(4)
    table = pa.table({"a": rng.integers(0, 12, 90).astype(float), "s": rng.integers(0, 5, 90)})
    columns = {"quasi": {"a": {"type": "number"}}, "sensitive": ["s"]}
    shuffled = table.take(rng.permutation(90))
    first, second = (aggregated(make_run(t, columns=columns)) for t in (table, shuffled))
    assert first.equals(second)


def test_totals_hold(make_run: MakeRun) -> None:
    values = np.random.default_rng(5).gamma(2, 1e6, 1000)
    protected = aggregated(make_run({"a": values}, aggregate={"k": 7}))
    assert protected["a"].to_numpy().sum() == pytest.approx(values.sum(), rel=1e-12)


TWO_GROUPS = {
    "columns": {"quasi": {name: {"type": "number"} for name in "abc"}},
    "group": {"method": "fixed", "groups": [["b"], ["a", "c"]]},
    "validate": {"guarantee": "per_group"},
}


def test_one_column_is_given_its_optimal_partition(make_run: MakeRun) -> None:
    values = np.random.default_rng(6).gamma(1, size=60)
    run = make_run({"a": values}, aggregate={"k": 5})
    lost = ((np.sort(values) - aggregated(run)["a"].to_numpy()) ** 2).sum()
    assert lost == pytest.approx(naive.least_sse_of_runs(values.tolist(), 5))
    assert run.staging.summary("aggregate")["method"] == "optimal"


def test_each_group_has_its_method_and_the_summary_names_them(make_run: MakeRun) -> None:
    rng = np.random.default_rng(7)
    table = {name: rng.normal(size=50) for name in "abc"}
    gain = {"k": 4, "method": "vmdav", "params": {"gain": 1.1}}
    run = make_run(table, **TWO_GROUPS, aggregate=gain)
    aggregated(run)
    rows = run.table("aggregate", "rows").sort_by("row")
    X = run.table("standardize", "matrix")
    points = np.column_stack([X["a"].to_numpy(), X["c"].to_numpy()])
    assert rows["label_1"].to_pylist() == naive.vmdav(points, 4, 1.1)
    assert run.staging.summary("aggregate")["method"] == "optimal and vmdav"
