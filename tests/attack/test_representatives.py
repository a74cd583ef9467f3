"""Medoids and ancestors: what a reader of the table could learn of one person by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.errors import DisclosureError
from microagg_ops.stages import Run, stage_function
from tests.unit.stages.conftest import MakeRun, make_run
from tests.unit.stages.test_validate import put_protected

__all__ = ["make_run"]

STAGES = ("standardize", "group", "aggregate", "validate")
PREFIX = {"type": "nominal", "hierarchy": {"prefix": [3, 2]}}


def rows(n: int = 120, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "a": np.round(rng.gamma(2, 50, n), 2),
        "b": rng.integers(0, 1000, n),
        "c": rng.choice(["28013", "28014", "28101", "08001", "08002"], n),
    }


def done(run: Run) -> pa.Table:
    for stage in STAGES:
        stage_function(stage)(run)
    return run.table("aggregate", "protected")


def medoid(*names: str) -> dict[str, Any]:
    kinds = {"a": "number", "b": "integer", "c": "nominal"}
    return {"quasi": {n: {"type": kinds[n], "representative": "medoid"} for n in names}}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 3, 6])
def test_a_medoid_is_somebody_but_nobody_at_an_end_of_the_class(
    make_run: MakeRun, k: int, seed: int
) -> None:
    given = rows(seed=seed)
    run = make_run(given, columns=medoid("a", "b", "c"), aggregate={"k": k})
    table = done(run).to_pandas()
    real = set(zip(*(list(given[n]) for n in "abc"), strict=True))
    assert {tuple(row) for row in table[["a", "b", "c"]].to_numpy()} <= real
    assert table.groupby(["a", "b", "c"]).size().min() >= k
    origin = run.table("aggregate", "rows").to_pandas()
    before = run.table("extract", "table").to_pandas().iloc[origin["row"]].reset_index(drop=True)
    for _, mine in before.groupby(origin["label_0"]):
        for name in "ab":
            cells, shown = sorted(mine[name]), table.loc[mine.index[0], name]
            # Whoever has the least or the largest value alone would be seen to be this person.
            assert not (shown == cells[0] < cells[1]) or len(set(cells)) == 1
            assert not (shown == cells[-1] > cells[-2]) or len(set(cells)) == 1


def test_a_medoid_that_is_an_extreme_does_not_pass(make_run: MakeRun) -> None:
    run = make_run({"a": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]}, columns=medoid("a"), aggregate={"k": 3})
    done(run)
    put_protected(run, pa.table({"a": [2.0, 2.0, 2.0, 9.0, 9.0, 9.0]}))
    with pytest.raises(DisclosureError, match="FAILED dominance: .*medoid is one entity's alone"):
        stage_function("validate")(run)


def test_where_no_cluster_can_hide_its_medoid_nothing_leaves(make_run: MakeRun) -> None:
    """Of two people the medoid is an end of the class, whoever it is."""
    run = make_run({"a": [1.0, 5.0]}, columns=medoid("a"), aggregate={"k": 2})
    with pytest.raises(DisclosureError, match="dominance"):
        done(run)


def test_an_ancestor_is_true_of_everybody_in_the_class(make_run: MakeRun) -> None:
    quasi = {"b": {"type": "integer"}, "c": PREFIX}
    run = make_run(rows(), columns={"quasi": quasi}, aggregate={"k": 5})
    table = done(run).to_pandas()
    origin = run.table("aggregate", "rows")["row"].to_numpy()
    before = run.table("extract", "table").to_pandas()["c"].to_numpy()[origin]
    for cell, shown in zip(before, table["c"], strict=True):
        assert shown == "*" or cell.startswith(shown.rstrip("*"))
    # A category itself is published only where all of the class have it.
    for shown, mine in table.assign(own=before).groupby(["b", "c"])["own"]:
        assert shown[1] not in set(before) or set(mine) == {shown[1]}


def test_an_imputed_cell_adds_nothing_to_an_ancestor(make_run: MakeRun) -> None:
    given = rows(60)
    given["c"] = [None if i % 3 else c for i, c in enumerate(given["c"])]
    quasi = {"b": {"type": "integer"}, "c": PREFIX}
    run = make_run(given, columns={"quasi": quasi}, aggregate={"k": 4}, nulls="impute")
    table = done(run)
    checks = {c["name"]: c for c in run.document("validate", "verdict")["checks"]}
    assert checks["contributors"]["passed"] and checks["contributors"]["observed"] >= 4
    assert table["c"].null_count == 0


@pytest.mark.parametrize("level", [None, 1])
def test_linkage_knows_what_a_category_is_one_of(make_run: MakeRun, level: int | None) -> None:
    """An attacker who holds the postcodes looks for the regions that they are in."""
    n = 80
    codes = [f"{10 + i // 4:02d}{i % 4}00" for i in range(n)]
    quasi = {"c": PREFIX | ({"level": level} if level else {})}
    run = make_run({"c": codes}, columns={"quasi": quasi}, aggregate={"k": 4},
                   validate={"max_linkage": 1.0})  # fmt: skip
    table = done(run)
    assert set(table["c"].to_pylist()) == {f"{10 + i:02d}***" for i in range(20)}
    checks = {c["name"]: c for c in run.document("validate", "verdict")["checks"]}
    assert checks["linkage"]["observed"] == pytest.approx(25.0)  # one of four, and not of eighty
