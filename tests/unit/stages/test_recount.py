"""Publish counts again what it writes, whatever the verdict beside it says."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.errors import DisclosureError
from microagg_ops.release.document import build
from microagg_ops.release.model import Release
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.publish import passed_table
from microagg_ops.stages.recount import shortfalls
from microagg_ops.staging.digests import to_parquet
from tests import naive
from tests.unit.stages.conftest import MakeRun

ENTITY = {"entity": "who", "quasi": {"a": {"type": "number"}}, "sensitive": ["s"]}
FOUR = {"who": [1, 2, 3, 4], "a": [1.0, 2.0, 8.0, 9.0], "s": ["x", "y", "x", "y"]}


def believed(run: Run, protected: pa.Table, **others: bytes) -> Run:
    """Stage a table in place of the protected one, with a verdict that passes it."""
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)
    names = ("rows.parquet", "treatment.json")
    files = {name: run.staging.get("aggregate", name) for name in names}
    files |= {"protected.parquet": to_parquet(protected)}
    files |= {name.replace("_", "."): content for name, content in others.items()}
    run.staging.put("aggregate", files, run.staging.summary("aggregate"))
    verdict = run.document("validate", "verdict")
    verdict["file"] = run.staging.digest("aggregate", "protected.parquet")
    content = json.dumps(verdict).encode()
    run.staging.put("validate", {"verdict.json": content}, run.staging.summary("validate"))
    return run


def refused(run: Run) -> str:
    with pytest.raises(DisclosureError, match="Counted again on the bytes") as caught:
        passed_table(run)
    assert not caught.value.retryable
    assert "777.25" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("protected", "told"),
    [
        ({"a": [1.5, 1.5, 8.5, 777.25], "s": list("xyxy")}, "k is 1, and 2 was asked for"),
        ({"a": [1.5, 1.5, None, None], "s": list("xyxy")}, "a is NULL in 2 rows, but nulls is rej"),
        ({"a": [1.5, 1.5, math.nan, math.nan], "s": list("xyxy")}, "a is NULL in 2 rows"),
        ({"a": [1.5] * 4}, "columns are not those"),
        ({"a": [1.5] * 4, "s": list("xyxy"), "ssn": list("wxyz")}, "columns are not those"),
        ({"a": [1.5] * 5, "s": list("xyxyx")}, "rows are not those whose entities"),
        ({"a": pa.array([], pa.float64()), "s": pa.array([], pa.string())}, "there are no rows"),
    ],
)
def test_a_table_that_was_never_validated_is_refused(
    make_run: MakeRun, protected: dict[str, Any], told: str
) -> None:
    run = believed(make_run(FOUR, columns=ENTITY), pa.table(protected))
    assert told in refused(run)


def test_rows_of_one_entity_count_once(make_run: MakeRun) -> None:
    run = make_run(FOUR, columns=ENTITY)
    protected = pa.table({"a": [1.5, 1.5, 8.5, 8.5], "s": list("xyxy")})
    rows = pa.table({"row": range(4), "entity": pa.array([0, 0, 1, 2], pa.int32())})
    assert "k is 1" in refused(believed(run, protected, rows_parquet=to_parquet(rows)))


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"l": {"s": 2}}, "too few values of s"),
        ({"l": {"s": {"kind": "entropy", "l": 2}}}, "too few values of s"),
        ({"l": {"s": {"kind": "recursive", "l": 2, "c": 2}}}, "too few values of s"),
        ({"t": {"s": 0.2}}, "0.5 from the table in s, and 0.2 was allowed"),
    ],
)
def test_what_is_demanded_of_sensitive_columns_is_counted_too(
    make_run: MakeRun, limits: dict[str, Any], told: str
) -> None:
    run = make_run(FOUR, columns=ENTITY, validate=limits)
    forged = pa.table({"a": [1.5, 1.5, 8.5, 8.5], "s": list("xxyy")})
    assert told in refused(believed(run, forged))


TWO: dict[str, Any] = {
    "columns": {"quasi": {"a": {"type": "number"}, "b": {"type": "number"}}},
    "group": {"method": "fixed", "groups": [["a"], ["b"]]},
    "validate": {"guarantee": "per_group"},
}
CROSSED = {"a": [1.0, 2.0, 8.0, 9.0], "b": [1.0, 8.0, 2.0, 9.0]}


def test_groups_are_counted_one_by_one_where_that_is_the_guarantee(make_run: MakeRun) -> None:
    crossed = {"a": [1.5, 1.5, 8.5, 8.5], "b": [1.5, 8.5, 1.5, 8.5]}
    assert passed_table(believed(make_run(CROSSED, **TWO), pa.table(crossed))).num_rows == 4
    alone = pa.table(crossed | {"b": [1.5, 8.5, 1.5, 777.25]})
    assert "over group 2 k is 1" in refused(believed(make_run(CROSSED, **TWO), alone))


def test_chosen_columns_are_counted_again(make_run: MakeRun) -> None:
    alike = {"a": [1.0, 2.0, 8.0, 9.0], "b": [1.0, 2.0, 8.0, 9.0]}
    how = TWO | {"validate": {"guarantee": "per_group", "k_of": [["b", "a"]]}}
    forged = pa.table({"a": [1.5, 1.5, 8.5, 8.5], "b": [1.5, 8.5, 1.5, 8.5]})
    told = refused(believed(make_run(alike, **how), forged))
    assert "over b, a k is 1, and 2 was asked for" in told


@pytest.mark.parametrize("key", ["max_risk", "average_risk"])
def test_risk_is_counted_again_over_all_columns(make_run: MakeRun, key: str) -> None:
    how = TWO | {"validate": {"guarantee": "per_group", key: 0.5}}
    alike = {"a": [1.0, 2.0, 8.0, 9.0], "b": [1.0, 2.0, 8.0, 9.0]}
    forged = pa.table({"a": [1.5, 1.5, 8.5, 8.5], "b": [1.5, 8.5, 1.5, 8.5]})
    run = believed(make_run(alike, **how), forged)
    assert f"{key} is 1, and 0.5 was allowed" in refused(run)


@pytest.mark.parametrize("groups", [[], [["a"]], [["a"], ["a", "b"]], [["a"], ["c"]]])
def test_groups_that_leave_a_column_out_are_refused(
    make_run: MakeRun, groups: list[list[str]]
) -> None:
    crossed = pa.table({"a": [1.5, 1.5, 8.5, 8.5], "b": [1.5, 8.5, 1.5, 777.25]})
    run = believed(make_run(CROSSED, **TWO), crossed)
    run.staging.put("group", {"groups.json": json.dumps(groups).encode()}, {})
    assert "do not hold each quasi-identifier once" in refused(run)


def naive_holds(
    release: Release, rows: list[dict[str, Any]], entities: Sequence[int] | None
) -> bool:
    """Say whether k, l and t hold, the slow and obvious way."""
    classes = [tuple(row[name] for name in (*release.quasi, *release.strata)) for row in rows]
    if release.nulls != "own_class" and any(row[n] is None for row in rows for n in release.quasi):
        return False
    if naive.class_sizes(classes, entities)[0] < release.k:
        return False
    values = [row["s"] for row in rows]
    if naive.distinct_l(classes, values, entities) < release.validate.l["s"].l:
        return False
    counts = naive.value_counts(classes, values, entities)
    (overall,) = naive.value_counts([()] * len(rows), values, entities)
    return naive.closeness(counts, overall, None) <= release.validate.t["s"].t + 1e-9


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 30),
    keyed=st.booleans(),
    null_rule=st.sampled_from(["reject", "impute", "own_class"]),
    k=st.integers(2, 4),
    least=st.integers(1, 3),
    t=st.sampled_from([0.2, 0.5, 1.0]),
)
def test_the_count_is_that_of_the_definition(
    seed: int, rows: int, keyed: bool, null_rule: str, k: int, least: int, t: float
) -> None:
    rng = np.random.default_rng(seed)
    kinds = int(rng.integers(1, 4))
    values = [None, 1.0, 2.0] if rng.random() < 0.4 else [0.0, 1.0, 2.0]
    table = {
        "a": [values[i] for i in rng.integers(0, kinds, rows)],
        "g": [["x", "y"][i] for i in rng.integers(0, min(kinds, 2), rows)],
        "s": [["p", "q", None][i] for i in rng.integers(0, 3, rows)],
    }
    release = build(
        {
            "release": "r",
            "source": {"conn_id": "w", "table": "source"},
            "columns": {"quasi": {"a": {"type": "number"}}, "sensitive": ["s"]}
            | ({"entity": "who"} if keyed else {}),
            "strata": ["g"],
            "nulls": null_rule,
            "aggregate": {"k": k},
            "validate": {"l": {"s": least}, "t": {"s": t}},
            "publish": {"conn_id": "w", "table": "target"},
        },
        "",
    )
    entities = rng.integers(0, rows, rows) if keyed else None
    arrow = pa.table(
        {
            "a": pa.array(table["a"], pa.float64()),
            "g": table["g"],
            "s": pa.array(table["s"], pa.string()),
        }
    )
    key = None if entities is None else pa.chunked_array([pa.array(entities)])
    expected = naive_holds(
        release, arrow.to_pylist(), None if entities is None else entities.tolist()
    )
    assert (not list(shortfalls(release, arrow, key, []))) is expected
