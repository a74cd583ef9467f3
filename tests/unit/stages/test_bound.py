"""The bound of a release is at most its loss, whatever is aggregated, and stays inside."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from microagg_ops.outside import told_outside
from microagg_ops.stages.aggregate import aggregate
from microagg_ops.stages.group import group
from microagg_ops.stages.standardize import standardize
from tests.unit.stages.conftest import MakeRun

NUMBERS = {"a": {"type": "number"}, "b": {"type": "number"}}


def summary(run: Any) -> dict[str, Any]:
    """Run the stages up to aggregate."""
    for stage in (standardize, group, aggregate):
        stage(run)
    return dict(run.staging.summary("aggregate"))


def table(seed: int, rows: int = 90) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    a = rng.gamma(2, 50, rows)
    return {
        "a": a,
        "b": a / 9 + rng.normal(size=rows),
        "c": rng.choice(["x", "y", "z"], rows),
        "w": rng.uniform(1, 2, rows),
        "s": rng.choice(["n", "m"], rows),
        "who": rng.integers(0, rows // 2, rows),
    }


CASES: dict[str, dict[str, Any]] = {
    "plain": {"columns": {"quasi": NUMBERS}},
    "nominal": {"columns": {"quasi": NUMBERS | {"c": {"type": "nominal"}}}},
    "whole numbers": {"columns": {"quasi": {"a": {"type": "integer"}, "b": {"type": "number"}}}},
    "median": {
        "columns": {
            "quasi": {"a": {"type": "number", "representative": "median"}, "b": NUMBERS["b"]}
        }
    },
    "weights": {"columns": {"quasi": NUMBERS, "weight": "w"}},
    "strata": {"columns": {"quasi": NUMBERS}, "strata": ["s"]},
    "entities": {"columns": {"quasi": NUMBERS, "entity": "who"}},
    "entities with weights": {"columns": {"quasi": NUMBERS, "entity": "who", "weight": "w"}},
    "groups": {
        "columns": {"quasi": NUMBERS},
        "group": {"method": "fixed", "groups": [["a"], ["b"]]},
        "validate": {"guarantee": "per_group"},
    },
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("k", [3, 5])
def test_bound_is_above_nothing_and_at_most_the_loss(make_run: MakeRun, case: str, k: int) -> None:
    values = table(k)
    if case == "whole numbers":
        values["a"] = np.round(values["a"]).astype(int)
    told = summary(make_run(values, **CASES[case], aggregate={"k": k}))
    assert 0 < told["least_loss"] <= told["information_loss"]


def test_a_budget_raises_the_bound_and_the_second_run_has_the_same(make_run: MakeRun) -> None:
    columns = {"quasi": NUMBERS}
    plain, longer, again = (
        summary(make_run(table(1), columns=columns, aggregate={"k": 3, "method": "best"} | more))
        for more in ({"params": {"iterations": 1}}, *[{"budget": "1s"}] * 2)
    )
    assert plain["least_loss"] < longer["least_loss"] == again["least_loss"]
    assert longer["least_loss"] <= longer["information_loss"]


def test_nulls_of_their_own_class_are_bounded_and_imputed_ones_are_not(make_run: MakeRun) -> None:
    values = table(2)
    values["a"] = [None if i % 6 == 0 else v for i, v in enumerate(values["a"])]
    for nulls, bounded in (("own_class", True), ("impute", False)):
        told = summary(make_run(values, columns={"quasi": NUMBERS}, nulls=nulls))
        if bounded:
            assert 0 < told["least_loss"] <= told["information_loss"]
        else:
            assert told["least_loss"] is None


def test_bound_does_not_leave(make_run: MakeRun) -> None:
    told = summary(make_run(table(3), columns={"quasi": NUMBERS}))
    assert told["least_loss"] > 0
    assert "least" not in json.dumps(told_outside("aggregate", told))
