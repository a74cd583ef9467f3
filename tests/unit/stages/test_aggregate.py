"""The stage aggregate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.errors import DataError
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.artefacts import Prepared, Protected
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


def test_compiling_is_no_part_of_its_time(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([10.0, 12.5])  # of a clock that stands still while kernels are compiled
    monkeypatch.setattr("microagg_ops.stages.aggregate.working_time", lambda: next(moments))
    run = make_run({"a": [1.0, 2.0, 3.0, 4.0]})
    aggregated(run)
    assert Protected.of(run).summary["seconds"] == 2.5


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


# NULLs

MIXED = {"quasi": {"a": {"type": "number"}, "b": {"type": "nominal"}}, "sensitive": ["s"]}


def test_nulls_of_their_own_class_stay_null_and_cluster_among_themselves(make_run: MakeRun) -> None:
    table = {
        "a": [1.0, 2.0, 8.0, 9.0, None, None],
        "b": ["x", "x", "y", "y", "z", "z"],
        "s": list(range(6)),
    }
    run = make_run(table, columns=MIXED, nulls="own_class")
    rows = {r["s"]: (r["a"], r["b"]) for r in aggregated(run).to_pylist()}
    assert rows[4] == rows[5] == (None, "z")
    assert (rows[0], rows[2]) == ((1.5, "x"), (8.5, "y"))
    assert run.staging.summary("aggregate")["suppressed"] == 0


def test_what_is_suppressed_is_counted_by_column_and_stratum(make_run: MakeRun) -> None:
    table = {
        "r": ["n"] * 4 + ["s"] * 4,
        "a": [1.0, 2.0, 3.0, 4.0, None, 6.0, 7.0, 8.0],
        "b": ["x"] * 8,
        "s": list(range(8)),
    }
    run = make_run(table, columns=MIXED, nulls="own_class", strata=["r"])
    protected = aggregated(run)
    told = run.document("aggregate", "treatment")
    # The one NULL of the south needs another beside it: the row that has the least to lose.
    assert told["suppressed"] == [{"name": "a", "stratum": 2, "cells": 1}]
    assert {r["s"] for r in protected.to_pylist() if r["a"] is None} == {4, 5}
    assert told["imputed"] == {}


def test_nulls_are_imputed_within_their_stratum_and_counted(make_run: MakeRun) -> None:
    table = {
        "r": ["n", "n", "n", "s", "s", "s"],
        "a": [1.0, 3.0, None, 10.0, 20.0, float("nan")],
        "b": ["x", "x", None, "y", "y", "y"],
        "s": list(range(6)),
    }
    run = make_run(table, columns=MIXED, nulls="impute", strata=["r"], aggregate={"k": 2})
    rows = {r["s"]: (r["a"], r["b"]) for r in aggregated(run).to_pylist()}
    assert rows == dict.fromkeys(range(3), (2.0, "x")) | dict.fromkeys(range(3, 6), (15.0, "y"))
    assert run.document("aggregate", "treatment")["imputed"] == {"a": 2, "b": 1}
    assert run.staging.summary("aggregate")["imputed"] == 3


def test_a_column_that_is_null_everywhere_can_be_of_its_own_class(make_run: MakeRun) -> None:
    table = pa.table({"a": pa.nulls(4), "b": ["x", "x", "y", "y"], "s": list(range(4))})
    run = make_run(table, columns=MIXED, nulls="own_class")
    protected = aggregated(run)
    assert protected["a"].null_count == 4
    assert protected.schema.field("a").type == pa.float64()
    with pytest.raises(DataError, match="NULL in every row"):
        aggregated(make_run(table, columns=MIXED, nulls="impute"))


def test_rows_of_one_entity_with_other_nulls_count_in_each_class(make_run: MakeRun) -> None:
    table = {
        "who": [1, 1, 2, 3, 4, 4, 5, 6],
        "a": [1.0, None, 2.0, 3.0, 4.0, None, 6.0, None],
    }
    columns = {"entity": "who", "quasi": {"a": {"type": "number"}}}
    run = make_run(table, columns=columns, nulls="own_class", aggregate={"k": 3})
    values = aggregated(run)["a"].to_pylist()
    entities = run.table("aggregate", "rows")["entity"].to_pylist()
    assert naive.class_sizes([(v,) for v in values], entities) == [3, 5]


# Strata


def test_small_strata_are_merged_under_null(make_run: MakeRun) -> None:
    table = {"a": [1.0, 2.0, 3.0, 4.0], "r": ["n", "n", "secret", "other"]}
    run = make_run(table, strata=["r"], small_strata="merge")
    assert sorted(map(str, aggregated(run)["r"].to_pylist())) == ["None", "None", "n", "n"]
    assert run.document("aggregate", "treatment")["strata"]["merged"] == [2, 2]


def test_small_strata_are_dropped(make_run: MakeRun) -> None:
    table = {"a": [1.0, 2.0, 3.0], "r": ["n", "n", "secret"]}
    run = make_run(table, strata=["r"], small_strata="drop")
    assert aggregated(run)["a"].to_pylist() == [1.5, 1.5]
    assert run.staging.summary("aggregate")["rows"] == 2
    assert run.document("aggregate", "treatment")["strata"]["dropped"] == [1, 1]


# Weights

WEIGHTED = {"quasi": {"a": {"type": "number"}}, "weight": "w"}


def test_means_are_weighted_and_the_weight_stays(make_run: MakeRun) -> None:
    run = make_run({"a": [1.0, 5.0, 11.0, 12.0], "w": [1, 3, 1, 1]}, columns=WEIGHTED)
    protected = aggregated(run)
    assert protected.column_names == ["a"]
    assert protected["a"].to_pylist() == [4.0, 4.0, 11.5, 11.5]
    told = run.staging.summary("aggregate")
    assert told["warnings"] == ["In 1 of 2 clusters one entity has more than 50% of the weight."]
    # By hand: the error is 1 * 9 + 3 * 1 + 2 * 0.25, the mean of all (1 + 15 + 23) / 6.
    spread = sum(w * (x - 6.5) ** 2 for w, x in ((1, 1), (3, 5), (1, 11), (1, 12)))
    assert told["information_loss"] == pytest.approx(100 * 12.5 / spread)


def test_a_weight_is_published_where_it_is_sensitive_too(make_run: MakeRun) -> None:
    run = make_run({"a": [1.0, 2.0], "w": [1, 3]}, columns=WEIGHTED | {"sensitive": ["w"]})
    assert aggregated(run).column_names == ["a", "w"]


@pytest.mark.parametrize("bad", [0.0, -1.0, None, float("inf"), float("nan")])
def test_a_weight_is_positive(make_run: MakeRun, bad: float | None) -> None:
    run = make_run({"a": [1.0, 2.0, 3.0], "w": [1.0, bad, 2.0]}, columns=WEIGHTED)
    with pytest.raises(DataError, match="not above 0 in 1 of 3 rows") as caught:
        aggregated(run)
    assert caught.value.code == "bad_weight"


# Dominance


def test_dominated_means_are_counted(make_run: MakeRun) -> None:
    table = {"a": [1.0, 99.0, 150.0, 151.0], "b": [-1.0, 1.0, 2.0, 2.0]}
    columns = {"quasi": {"a": {"type": "number"}, "b": {"type": "number"}}}
    run = make_run(table, columns=columns, validate={"dominance": {"p": 0, "share": 0.8}})
    aggregated(run)
    told = run.staging.summary("aggregate")
    (found,) = run.document("aggregate", "treatment")["dominance"]
    assert (found["name"], found["dominated"], found["estimable"]) == ("a", 1, 0)
    assert told["warnings"] == [
        "Dominance was not looked for in 'b': it has negative values.",
    ]


def test_dominance_of_a_column_with_negative_values_cannot_be_asked_for(make_run: MakeRun) -> None:
    how = {"dominance": {"share": 0.8, "columns": ["a"]}}
    with pytest.raises(DataError, match="it has negative values"):
        aggregated(make_run({"a": [-1.0, 2.0, 3.0]}, validate=how))


# Totals


def test_totals_of_whole_numbers_hold_but_for_half_a_cluster(make_run: MakeRun) -> None:
    values = np.random.default_rng(6).poisson(3, 2000)
    columns = {"quasi": {"a": {"type": "integer"}}}
    protected = aggregated(make_run({"a": values}, columns=columns, aggregate={"k": 7}))
    sizes = np.unique(protected["a"].to_numpy(), return_counts=True)[1]
    assert abs(protected["a"].to_numpy().sum() - values.sum()) <= sizes.max() / 2


# Methods

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
    X = Prepared.rows(run).points
    points = np.hstack([X["a"], X["c"]])
    assert rows["label_1"].to_pylist() == naive.vmdav(points, 4, 1.1)
    assert run.staging.summary("aggregate")["method"] == "optimal and vmdav"
