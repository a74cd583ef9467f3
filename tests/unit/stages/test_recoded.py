"""Hierarchies and medoids with everything else that a release may ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.stages import Run, stage_function
from tests.unit.stages.conftest import MakeRun

PREFIX = {"type": "nominal", "hierarchy": {"prefix": [3, 2]}}
TREE = {"a": {"type": "number"}, "b": {"type": "integer", "round": 5}, "c": PREFIX}
KINDS = {"a": "number", "b": "integer", "c": "nominal"}
MEDOID = {n: {"type": kind, "representative": "medoid"} for n, kind in KINDS.items()}
ATTACKS = {"linkage": 1, "singling_out": 1, "linkability": 1, "inference": 1, "homogeneity": 1}
PER_GROUP = {"guarantee": "per_group"}
PEOPLE = {"entity": "who", "weight": "w"}

CASES: dict[str, dict[str, Any]] = {
    "ancestors attacked": {
        "columns": {"quasi": TREE, "sensitive": ["s"]}, "validate": {"attacks": ATTACKS},
    },
    "medoids attacked": {
        "columns": {"quasi": MEDOID, "sensitive": ["s"]}, "validate": {"attacks": ATTACKS},
    },
    "ancestors, groups searched for": {
        "columns": {"quasi": TREE}, "validate": PER_GROUP,
        "group": {"method": "gomm", "population": 4, "generations": 2},
    },
    "ancestors, groups by correlation": {
        "columns": {"quasi": TREE}, "validate": PER_GROUP,
        "group": {"method": "correlated", "size": 2},
    },
    "medoids of groups": {
        "columns": {"quasi": MEDOID}, "validate": PER_GROUP,
        "group": {"method": "fixed", "groups": [["a", "c"], ["b"]]},
    },
    "medoids of people in strata": {
        "columns": {"quasi": MEDOID} | PEOPLE, "strata": ["r"], "small_strata": "merge",
    },
    "ancestors of people in strata": {
        "columns": {"quasi": TREE, "sensitive": ["s"]} | PEOPLE, "strata": ["r"],
        "validate": {"l": {"s": 2}},
    },
    "ancestors by a search": {
        "columns": {"quasi": TREE},
        "aggregate": {"k": 4, "method": "ilsmc", "params": {"iterations": 20}},
    },
}  # fmt: skip


def source(how: dict[str, Any], order: Any = None) -> pa.Table:
    rng, n = np.random.default_rng(0), 160
    table = pa.table(
        {
            "a": np.round(rng.gamma(2, 50, n), 2),
            "b": rng.integers(0, 1000, n),
            "c": rng.choice(["28013", "28014", "28101", "08001", "08002"], n),
            "s": rng.choice(["x", "y", "z"], n),
            "r": rng.choice(["p", "q"], n),
            "w": rng.integers(1, 4, n).astype(float),
            "who": np.arange(n) // 2,
        }
    )
    columns = how["columns"]
    others = (columns.get("entity"), columns.get("weight"), *how.get("strata", ()))
    wanted = {*columns["quasi"], *columns.get("sensitive", ()), *others}
    table = table.select([name for name in table.column_names if name in wanted])
    return table if order is None else table.take(order)


def done(run: Run) -> pa.Table:
    for stage in ("standardize", "group", "aggregate", "validate", "report"):
        stage_function(stage)(run)
    return run.table("aggregate", "protected")


@pytest.mark.parametrize("name", CASES)
def test_it_passes_and_does_not_depend_on_the_order_of_rows(make_run: MakeRun, name: str) -> None:
    how = {"aggregate": {"k": 4}} | CASES[name]
    run = make_run(source(how), **how)
    found = done(run)
    assert run.staging.summary("validate")["k"] >= 4
    shuffled = np.random.default_rng(1).permutation(160)
    other = make_run(source(how, shuffled), **how)
    for stage in ("standardize", "group", "aggregate"):
        stage_function(stage)(other)
    assert other.table("aggregate", "protected").equals(found)
