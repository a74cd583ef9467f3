"""Attacks on a release: what limits demand, what the report tells, what does not change them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.checks.attacks import worst
from microagg_ops.errors import DisclosureError
from microagg_ops.release.document import find_faults
from microagg_ops.release.faults import shape_faults
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.attack_simulation import find_attacks, find_ground, stratum_of
from microagg_ops.stages.evidence import Evidence
from tests.unit.stages.conftest import MakeRun
from tests.unit.stages.test_linkage import release, table

NAMES = ("linkage", "singling_out", "linkability", "inference", "homogeneity")


def until(run: Run, last: str = "aggregate") -> Run:
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)
        if stage == last:
            break
    return run


def attacked(run: Run) -> dict[str, Any]:
    return find_attacks(Evidence.of(until(run)))


def test_attacks_do_not_depend_on_the_order_of_the_source(make_run: MakeRun) -> None:
    rows = table()
    found = attacked(make_run(rows, **release()))
    order = np.random.default_rng(1).permutation(rows.num_rows)
    assert attacked(make_run(rows.take(order), **release())) == found
    other = attacked(make_run(rows, **release(aggregate={"k": 4, "seed": 4})))
    assert other["singling_out"] != found["singling_out"]
    assert found["held_out"] == 175
    assert found["linkage"]["risk"] <= found["linkage"]["algorithm"]


def test_nobody_is_on_both_sides(make_run: MakeRun) -> None:
    rows = table()
    run = until(make_run(rows, **release()))
    ground = find_ground(run)
    assert len(ground.members) + len(ground.others) == rows.num_rows
    # Ages and days of the source are all there once, with either side.
    both = np.concatenate([ground.members.values["bmi"], ground.others.values["bmi"]])
    source = run.table("extract", "table")["bmi"].to_numpy()
    assert np.array_equal(np.sort(both), np.sort(source), equal_nan=True)
    assert set(ground.published.values) == {"age", "bmi", "seen", "smoker", "area", "region", "s"}


def test_a_stratum_that_is_not_published_is_searched_where_it_was_merged() -> None:
    protected = pa.table({"g": ["a", "b", None]})
    others = pa.table({"g": ["b", "small", None, "a"]})
    there, would = stratum_of(("g",), protected, others)
    assert [there.tolist().index(code) for code in would] == [1, 2, 2, 0]
    _, nowhere = stratum_of(("g",), protected.slice(0, 2), others)
    assert (nowhere == -1).tolist() == [False, True, True, False]


def test_a_leak_that_the_published_rows_have_is_found(make_run: MakeRun) -> None:
    # Who is in the release can be told by the sensitive column, which is unique.
    rng = np.random.default_rng(1)
    rows = pa.table({"a": rng.normal(size=600), "b": rng.normal(size=600), "s": np.arange(600) + 1})
    columns = {"quasi": {"a": {"type": "number"}, "b": {"type": "number"}}, "sensitive": ["s"]}
    found = attacked(make_run(rows, columns=columns, aggregate={"k": 3}))
    assert found["singling_out"]["low"] > 0.5
    # Classes of one value: their members have it.
    same = rows.set_column(2, "s", pa.array(np.where(rows["a"].to_numpy() > 0, "x", "y")))
    found = attacked(make_run(same, columns=columns, aggregate={"k": 3}))
    assert found["homogeneity"][0]["share"] > 0.8
    assert found["inference"][0]["attack"] > 0.9
    # So would be anybody's: most of it is true of people at large, not of those in the release.
    assert found["inference"][0]["control"] > 0.85


@pytest.mark.parametrize("name", NAMES)
def test_each_limit_is_a_check(make_run: MakeRun, name: str) -> None:
    run = make_run(table(), **release(validate={"attacks": {name: 1.0}}))
    until(run, "validate")
    verdict = run.document("validate", "verdict")
    (check,) = (one for one in verdict["checks"] if one["name"].startswith("attack_"))
    high = worst(verdict["attacks"])[name]
    assert (check["name"], check["observed"]) == (f"attack_{name}", 100 * high)
    assert verdict["attacks"] == find_attacks(Evidence.of(run))
    limit = max(high - 1e-6, 0.0)
    if high > 0:
        run = make_run(table(), **release(validate={"attacks": {name: limit}}))
        with pytest.raises(DisclosureError, match=f"FAILED attack_{name}: an attack by"):
            until(run, "validate")


def test_an_attack_that_cannot_be_tried_has_not_been_resisted(make_run: MakeRun) -> None:
    few = {"a": [1.0, 2.0, 8.0], "b": [1.0, 2.0, 3.0], "s": ["secret-1", "x", "y"]}
    columns = {"quasi": {"a": {"type": "number"}, "b": {"type": "number"}}, "sensitive": ["s"]}
    limits = {"attacks": {"singling_out": 1.0}}
    run = make_run(few, columns=columns, aggregate={"k": 3}, validate=limits)
    with pytest.raises(DisclosureError, match=r"attack_singling_out: .*Half of the entities") as no:
        until(run, "validate")
    assert "secret-1" not in str(no.value)


def test_the_report_tells_of_the_attacks(make_run: MakeRun) -> None:
    for limits in ({}, {"attacks": {"inference": 1.0}}):
        run = make_run(table(), **release(validate=limits))
        until(run, "validate")
        uris = stage_function("report")(run)["uris"]
        figures = json.loads(Path(urlsplit(uris["json"]).path).read_text())
        assert not list(shape_faults(figures, "report"))
        page = Path(urlsplit(uris["html"]).path).read_text()
        assert ("Attacks that were tried" in page) is bool(limits)
        assert ("inference of s" in page) is bool(limits)
        assert (figures["attacks"] is not None) is bool(limits)


@pytest.mark.parametrize(
    ("columns", "limits", "pointer"),
    [
        ({}, {"inference": 0.1}, "/validate/attacks/inference"),
        ({}, {"homogeneity": 0.1}, "/validate/attacks/homogeneity"),
        ({}, {"linkability": 0.1}, "/validate/attacks/linkability"),
        ({"sensitive": ["s"]}, {"inference": 2}, "/validate/attacks/inference"),
        ({"sensitive": ["s"]}, {"guessing": 0.2}, "/validate/attacks"),
    ],
)
def test_limits_that_cannot_be_are_refused(
    columns: dict[str, Any], limits: dict[str, float], pointer: str
) -> None:
    document = {
        "release": "r",
        "source": {"conn_id": "w", "table": "source"},
        "columns": {"quasi": {"a": {"type": "number"}}, **columns},
        "aggregate": {"k": 2},
        "validate": {"attacks": limits},
        "publish": {"conn_id": "w", "table": "target"},
    }
    assert next(fault.pointer for fault in find_faults(document)).startswith(pointer)
