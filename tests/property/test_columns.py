"""Whatever the columns are and the release says, k holds in what is published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.columns.encoding import published_type
from microagg_ops.errors import DataError
from microagg_ops.metrics.anonymity import classes
from microagg_ops.release.document import build, find_faults
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.checks import find_checks
from microagg_ops.stages.evidence import Evidence
from microagg_ops.stages.extract import keep
from microagg_ops.staging.digests import to_parquet
from microagg_ops.staging.store import MemoryStaging

LEVELS = ["none", "some", "much"]
BIG = 2**60
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "number": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, 2.25, 1e6, math.nan])),
    "integer": (pa.int64(), st.sampled_from([0, 1, 2, 7, 40])),
    "decimal": (pa.decimal128(12, 2), st.integers(0, 999).map(lambda c: Decimal(c).scaleb(-2))),
    "date": (pa.date32(), st.integers(0, 900).map(lambda d: date(2024, 1, 1) + timedelta(d))),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        st.integers(0, 10**9).map(lambda s: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(0, 0, s)),
    ),
    "ordinal": (pa.string(), st.sampled_from(LEVELS)),
    "nominal": (pa.string(), st.sampled_from(["x", "y", "z", "w"])),
    "boolean": (pa.bool_(), st.booleans()),
}
MEDIANS = ("number", "integer", "decimal", "date", "timestamp", "ordinal")
# What may be wrong with such data; anything else is a fault of ours.
EXPECTED = {"too_few", "small_stratum", "null_quasi", "few_known"}


@dataclass(frozen=True)
class Case:
    """A table and what its release says of it."""

    table: pa.Table
    sections: dict[str, Any]

    def run(self, order: list[int] | None = None) -> Run:
        document = {
            "release": "r",
            "source": {"conn_id": "w", "table": "source"},
            "publish": {"conn_id": "w", "table": "target"},
        } | self.sections
        assert not list(find_faults(document))
        run = Run(build(document, ""), MemoryStaging(), lambda conn_id: None, None, "run")  # type: ignore[arg-type, return-value]
        keep(run, self.table if order is None else self.table.take(order), {}, "")
        for stage in ("standardize", "group", "aggregate"):
            stage_function(stage)(run)
        return run


@st.composite
def cases(draw: st.DrawFn) -> Case:
    k = draw(st.integers(2, 4))
    n = draw(st.integers(k, 40))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    nulls = draw(st.sampled_from(["own_class", "own_class", "impute", "reject"]))
    often = draw(st.sampled_from([0, 0, 1, 3]))  # in ten
    columns: dict[str, pa.Array] = {}
    quasi: dict[str, dict[str, Any]] = {}
    for i, kind in enumerate(kinds):
        arrow, values = KINDS[kind]
        cell = st.integers(0, 9).flatmap(lambda p, v=values: st.none() if p < often else v)
        cells = draw(st.lists(cell, min_size=n, max_size=n))
        columns[f"q{i}"] = pa.array(cells, arrow)
        quasi[f"q{i}"] = how = {"type": kind}
        if kind == "ordinal":
            how["order"] = LEVELS
        if kind in MEDIANS and draw(st.booleans()):
            how["representative"] = "median"
        if draw(st.booleans()):
            how["weight"] = 2.5
    roles: dict[str, Any] = {"quasi": quasi, "sensitive": ["s"]}
    columns["s"] = pa.array(range(n))
    whole = st.lists(st.integers(0, 30), min_size=n, max_size=n)
    if draw(st.booleans()):
        columns["who"], roles["entity"] = pa.array(draw(whole)), "who"
    if draw(st.booleans()):
        weights = np.array(draw(whole)) % 5 + 0.5
        columns["w"], roles["weight"] = pa.array(weights), "w"
    sections: dict[str, Any] = {"columns": roles, "nulls": nulls, "aggregate": {"k": k}}
    if draw(st.booleans()):
        regions = st.sampled_from(["a", "a", "b", "c", None])
        columns["r"] = pa.array(draw(st.lists(regions, min_size=n, max_size=n)), pa.string())
        sections["strata"] = ["r"]
        sections["small_strata"] = draw(st.sampled_from(["error", "merge", "drop"]))
    method = draw(st.sampled_from(["zscore", "minmax", "robust", "none"]))
    if len(quasi) > 1 and draw(st.integers(0, 3)) == 0:
        sections["group"] = {"method": "fixed", "groups": [["q0"], list(quasi)[1:]]}
        sections["validate"] = {"guarantee": "per_group"}
    return Case(pa.table(columns), sections | {"standardize": {"method": method}})


@settings(max_examples=200, deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_k_types_names_and_totals_hold(case: Case, random: Any) -> None:
    try:
        run = case.run()
    except DataError as error:
        assert error.code in EXPECTED  # noqa: PT017
        return
    check_classes(run)
    check_shape(run, case.table)
    check_totals(run)
    order = list(range(case.table.num_rows))
    random.shuffle(order)
    assert (
        case.run(order).table("aggregate", "protected").equals(run.table("aggregate", "protected"))
    )


def check_classes(run: Run) -> None:
    """Recount by SQL, and compare with how the validator counts."""
    release, rows = run.release, run.table("aggregate", "rows")
    protected = run.table("aggregate", "protected")
    who = rows["entity" if release.columns.entity else "row"]
    published = protected.append_column("who", who)
    groups = run.document("group", "groups")
    for names in groups:
        listed = ", ".join([*names, *release.strata])
        with duckdb.connect() as con:
            con.register("published", published)
            ((smallest,),) = con.execute(
                "select min(n) from (select count(distinct who) n from published "
                f"group by {listed})"
            ).fetchall()
            ((empty,),) = con.execute(
                f"select count(*) from published where not ({' is not null and '.join(names)} "
                "is not null)"
            ).fetchall()
        assert smallest >= release.k
        assert release.nulls == "own_class" or empty == 0
        frame = published.to_pandas(integer_object_nulls=True)
        assert classes(frame, [*names, *release.strata], 2, "who").smallest == smallest


def check_shape(run: Run, given: pa.Table) -> None:
    """Names, order, types, and nothing that was not there."""
    release, protected = run.release, run.table("aggregate", "protected")
    assert protected.column_names == [
        n for n in given.column_names if n in release.published_columns
    ]
    for name, how in release.columns.quasi.items():
        assert protected.schema.field(name).type == published_type(how.type, given[name].type)
        if how.type in ("ordinal", "nominal", "boolean"):
            there = set(given[name].to_pylist()) | {None}
            assert set(protected[name].to_pylist()) <= there
    source = run.table("extract", "table").take(run.table("aggregate", "rows")["row"])
    assert protected["s"].equals(source["s"])
    if release.small_strata != "drop":
        assert sorted(protected["s"].to_pylist()) == list(range(given.num_rows))


def check_totals(run: Run) -> None:
    """Weighted totals before and after, over the cells that were not suppressed."""
    release, told = run.release, run.document("aggregate", "treatment")["totals"]
    rows = run.table("aggregate", "rows")
    before = run.table("extract", "table").take(rows["row"]).to_pandas()
    after = run.table("aggregate", "protected").to_pandas()
    weights = before["w"] if release.columns.weight else pd.Series(np.ones(len(before)))
    largest = rows["label_0"].to_pandas().groupby(rows["label_0"].to_pandas()).size().max()
    for name, how in release.columns.quasi.items():
        if how.statistic != "mean":
            assert name not in told
            continue
        if how.type == "number":
            assert abs(told[name]) < 1e-9
        if release.nulls == "impute" or how.type not in ("number", "integer"):
            continue
        old, new = before[name].where(after[name].notna()), after[name]
        apart = abs((weights * new).sum() - (weights * old).sum())
        if how.type == "number":
            assert apart <= 1e-9 * (weights * old.abs()).sum()
        elif release.group.method == "single":
            assert apart <= largest * weights.max() / 2 + 1e-6


@settings(max_examples=15, deadline=None)
@given(cases())
def test_the_validator_passes_what_the_aggregator_made(case: Case) -> None:
    limits = {
        "max_linkage": 1,
        "totals": 1e9,
        "l": {"s": {"kind": "entropy", "l": 1}},
        # Among two rows with the same NULLs, nobody can keep one weight from outweighing the other.
        "dominance": {"share": 1, "p": 0},
    }
    validate = {**case.sections.get("validate", {}), **limits}
    try:
        run = Case(case.table, {**case.sections, "validate": validate}).run()
    except DataError:
        return
    evidence = Evidence.of(run)
    found = {}
    for check in find_checks(evidence):
        assert check.passed, check
        found[check.name] = check.observed
    for name, relative in run.document("aggregate", "treatment")["totals"].items():
        assert found[f"totals_{name}"] == pytest.approx(abs(relative), abs=1e-12)
    loss = run.staging.summary("aggregate")["information_loss"]
    assert evidence.information_loss == loss  # bit for bit: the rows are summed in one order


def test_neighbouring_whole_numbers_beside_null_are_not_one() -> None:
    values = [BIG, BIG, BIG + 1, None, None]
    frame = pa.table({"a": pa.array(values, pa.int64())}).to_pandas(integer_object_nulls=True)
    assert classes(frame, ["a"], 2).smallest == 1


@pytest.mark.parametrize("rule", ["reject", "impute"])
def test_the_validator_refuses_null_where_the_rule_does(rule: str) -> None:
    table = pa.table({"q0": [1.0, 1.0, 2.0, 2.0], "s": [0, 1, 2, 3]})
    columns = {"quasi": {"q0": {"type": "number"}}, "sensitive": ["s"]}
    run = Case(table, {"columns": columns, "nulls": rule, "aggregate": {"k": 2}}).run()
    swapped = to_parquet(pa.table({"q0": [1.0, 1.0, None, None], "s": [0, 1, 2, 3]}))
    files = {
        "protected.parquet": swapped,
        "rows.parquet": run.staging.get("aggregate", "rows.parquet"),
    }
    run.staging.put("aggregate", files, run.staging.summary("aggregate"))
    check = find_checks(Evidence.of(run))[0]
    assert not check.passed
    assert check.error == f"a quasi-identifier is NULL in 2 rows, but nulls is {rule}"
