"""The stage group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.stages import Run, stage_function
from tests.unit.stages.conftest import MakeRun

ODD = ["a", 'odd "name"', "größe", "select"]


def alike(rows: int = 40) -> pa.Table:
    """Four columns: the first is like the third, the second (of text) like the fourth."""
    rng = np.random.default_rng(5)
    one, other = rng.normal(size=rows), rng.integers(0, 3, rows)
    columns = [one, np.array(["x", "y", "z"])[other], one + 0.1 * rng.normal(size=rows), other]
    return pa.table(dict(zip(ODD, columns, strict=True)))


def sections(**group: Any) -> dict[str, Any]:
    types = ["number", "nominal", "number", "integer"]
    quasi = {name: {"type": kind} for name, kind in zip(ODD, types, strict=True)}
    return {"columns": {"quasi": quasi}, "group": group}


def grouped(run: Run) -> dict[str, Any]:
    stage_function("standardize")(run)
    return stage_function("group")(run)


def test_a_single_group_has_all(make_run: MakeRun) -> None:
    run = make_run(alike(), **sections(method="single"))
    assert grouped(run) == {"method": "single", "groups": [ODD]}
    assert run.document("group", "groups") == [ODD]


def test_fixed_groups_are_those_listed(make_run: MakeRun) -> None:
    listed = [[ODD[3], ODD[0]], [ODD[2], ODD[1]]]
    assert grouped(make_run(alike(), **sections(method="fixed", groups=listed)))["groups"] == listed


@pytest.mark.parametrize(
    ("method", "groups"),
    [("correlated", [[0, 2], [1, 3]]), ("uncorrelated", [[0, 1], [2, 3]])],
)
def test_correlations_make_groups(make_run: MakeRun, method: str, groups: list[list[int]]) -> None:
    found = grouped(make_run(alike(), **sections(method=method, size=2)))["groups"]
    assert found == [[ODD[column] for column in group] for group in groups]


def test_groups_do_not_depend_on_the_order_of_rows(make_run: MakeRun) -> None:
    table = alike()
    turned = table.take(np.arange(table.num_rows)[::-1])
    groups = [
        grouped(make_run(t, **sections(method="correlated", size=2)))["groups"]
        for t in (table, turned)
    ]
    assert groups[0] == groups[1]


@pytest.mark.parametrize("nulls", ["own_class", "impute"])
def test_null_and_one_column_are_no_error(make_run: MakeRun, nulls: str) -> None:
    table = alike()
    cells = [None, *table["a"].to_pylist()[1:]]
    table = table.set_column(0, "a", pa.array(cells))
    run = make_run(table, nulls=nulls, **sections(method="uncorrelated", size=2))
    assert sorted(name for group in grouped(run)["groups"] for name in group) == sorted(ODD)
    one = make_run({"a": [1.0, 2.0]}, group={"method": "correlated", "size": 2})
    assert grouped(one)["groups"] == [["a"]]


QUICK = {"population": 10, "generations": 4}


@pytest.mark.parametrize("method", ["gomm", "dgomm"])
def test_a_search_finds_groups_and_tells_their_score(make_run: MakeRun, method: str) -> None:
    run = make_run(alike(), **sections(method=method, **QUICK), aggregate={"k": 3})
    summary = grouped(run)
    assert sorted(name for group in summary["groups"] for name in group) == sorted(ODD)
    search = summary["search"]
    loss, risk = search["information_loss"], search["interval_disclosure"] + search["linkage"]
    assert search["score"] == pytest.approx((loss + risk / 2) / 2)
    assert (search["rows"], search["generations"] <= 4) == (40, True)
    assert 1 <= search["groupings"] <= 15
    stage_function("aggregate")(run)


def test_a_search_is_the_same_for_any_order_of_rows(make_run: MakeRun) -> None:
    table = alike(60)
    turned = table.take(np.random.default_rng(0).permutation(60))
    how = sections(method="gomm", sample=50, seed=4, **QUICK)
    one, other = (grouped(make_run(t, **how, aggregate={"k": 5})) for t in (table, turned))
    for summary in (one, other):
        del summary["search"]["seconds"]
    assert one == other
    assert one["search"]["rows"] == 50


@pytest.mark.parametrize("nulls", ["own_class", "impute"])
def test_a_search_counts_entities_and_bears_null_strata_and_weights(
    make_run: MakeRun, nulls: str
) -> None:
    table = alike(60)
    cells = [None, None, None, *table["a"].to_pylist()[3:]]
    table = table.set_column(0, "a", pa.array(cells))
    table = table.append_column("who", pa.array(np.arange(60) // 2))
    table = table.append_column("where", pa.array(["n", "s"] * 30))
    table = table.append_column("w", pa.array(np.linspace(1, 2, 60)))
    how = sections(method="dgomm", **QUICK)
    how["columns"] |= {"entity": "who", "weight": "w"}
    run = make_run(table, **how, strata=["where"], nulls=nulls, aggregate={"k": 3})
    assert grouped(run)["search"]["rows"] == 30
    stage_function("aggregate")(run)


def test_a_column_that_is_null_throughout_is_no_error(make_run: MakeRun) -> None:
    table = alike().set_column(0, "a", pa.nulls(40, pa.float64()))
    run = make_run(table, nulls="own_class", **sections(method="gomm", **QUICK))
    assert sorted(name for group in grouped(run)["groups"] for name in group) == sorted(ODD)


def test_the_time_of_a_search_is_bounded(make_run: MakeRun) -> None:
    how = sections(method="gomm", budget="1ms", generations=10_000)
    assert grouped(make_run(alike(), **how))["groups"] == [ODD]
