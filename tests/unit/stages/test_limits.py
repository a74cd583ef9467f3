"""What validate demands of sensitive columns, aggregate builds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from microagg_ops import microaggregate
from microagg_ops.errors import DataError, ReleaseError
from microagg_ops.metrics.anonymity import diversity, t_closeness
from microagg_ops.stages import stage_function
from tests import naive_diverse as naive
from tests.unit.stages.conftest import MakeRun

COLUMNS: dict[str, Any] = {
    "quasi": {"a": {"type": "number"}, "b": {"type": "number"}},
    "sensitive": ["ill", "income"],
}


def patients(rows: int, seed: int) -> pd.DataFrame:
    """Make people of whom many are ill in the same way, and near each other."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rows)
    ill = np.where((a > 0) & (rng.random(rows) < 0.8), "x", rng.choice(list("xyz"), rows))
    income = np.round(a + rng.normal(size=rows), 1)
    return pd.DataFrame({"a": a, "b": rng.normal(size=rows), "ill": ill, "income": income})


def test_a_frame_meets_its_limits_by_a_plain_count() -> None:
    frame = patients(240, 1)
    limits: dict[str, Any] = {"l": {"ill": 3}, "t": {"income": 0.3}}
    done = microaggregate(frame, quasi=["a", "b"], k=4, **limits)
    plain = microaggregate(frame, quasi=["a", "b"], k=4)
    people = [{value} for value in frame["income"]]

    def worst(labels: np.ndarray) -> tuple[int, float]:
        rows = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
        return (
            min(frame["ill"].iloc[r].nunique() for r in rows),
            max(naive.earth_mover_of([people[i] for i in r], people) for r in rows),
        )

    assert worst(done.labels)[0] == 3 and worst(done.labels)[1] <= 0.3 + 1e-9
    assert worst(plain.labels)[0] < 3 and worst(plain.labels)[1] > 0.3  # else this shows nothing
    published = done.frame
    assert diversity(published, ["a", "b"], "ill").distinct == 3
    assert t_closeness(published, ["a", "b"], "income") <= 0.3 + 1e-9
    assert published.groupby(["a", "b"]).size().min() >= 4


def test_people_are_counted_and_not_their_rows() -> None:
    rng = np.random.default_rng(2)
    frame = patients(300, 2)
    frame["who"] = rng.integers(0, 180, 300)
    given: dict[str, Any] = {"quasi": ["a", "b"], "k": 3, "entity": "who", "keep": True}
    done = microaggregate(frame, **given, l={"ill": 2})
    assert diversity(done.frame, ["a", "b"], "ill", "who").distinct >= 2
    plain = microaggregate(frame, **given)
    assert diversity(plain.frame, ["a", "b"], "ill", "who").distinct < 2


def test_strata_and_patterns_of_null_meet_the_limits_by_themselves() -> None:
    frame = patients(400, 3)
    frame["region"] = np.where(np.arange(400) % 3 == 0, "north", "south")
    frame.loc[frame.index[:6], "a"] = None
    frame.loc[frame.index[:6], "ill"] = "x"  # a pattern of six people who are ill in one way
    done = microaggregate(
        frame, quasi=["a", "b"], k=3, strata=["region"], nulls="own_class", l={"ill": 2}
    )
    assert diversity(done.frame, ["a", "b", "region"], "ill").distinct >= 2
    suppressed = sum(cell["cells"] for cell in done.treatment["suppressed"])
    assert suppressed > 0


def test_a_stratum_that_cannot_meet_a_limit_is_refused_before_any_search(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table(
        {"a": [1.0, 2.0, 3.0, 4.0], "g": list("ppqq"), "ill": ["canary", "y", "canary", "canary"]}
    )
    columns = {"quasi": {"a": {"type": "number"}}, "sensitive": ["ill"]}
    run = make_run(table, columns=columns, strata=["g"], validate={"l": {"ill": 2}})
    stage_function("standardize")(run)
    stage_function("group")(run)
    monkeypatch.setattr("microagg_ops.stages.aggregate.find_labels", lambda *a, **b: 1 / 0)
    with pytest.raises(DataError, match=r"2 people of one stratum .* 'ill' has 1") as refused:
        stage_function("aggregate")(run)
    assert refused.value.code == "limits_cannot_be_met"
    assert "canary" not in str(refused.value)


def test_it_can_be_turned_off(make_run: MakeRun) -> None:
    table = pa.table(
        {"a": [1.0, 2.0, 8.0, 9.0], "b": [0.0, 0.0, 1.0, 1.0], "ill": list("xxyy"),
         "income": [1, 2, 3, 4]}
    )  # fmt: skip
    found = {}
    for aware in (True, False):
        how = {"k": 2, "aware": aware}
        run = make_run(table, columns=COLUMNS, aggregate=how, validate={"l": {"ill": 2}})
        for stage in ("standardize", "group", "aggregate"):
            stage_function(stage)(run)
        found[aware] = run.staging.summary("aggregate")
    assert found[True]["information_loss"] > found[False]["information_loss"]
    price = found[True]["price"]
    assert found[False]["price"] is None
    assert price["with"] == pytest.approx(found[True]["information_loss"])
    assert price["without"] == pytest.approx(found[False]["information_loss"])
    assert (price["raised_k"], price["entities"], price["tried"]) == (3, 4, 4)
    assert price["raised"] == pytest.approx(100.0)


def test_a_limit_must_name_a_column_that_is_there() -> None:
    with pytest.raises((DataError, ReleaseError), match="nobody"):
        microaggregate(patients(40, 4), quasi=["a", "b"], k=3, l={"nobody": 2})


def test_the_price_of_a_large_table_is_told_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    from microagg_ops.methods import parts
    from microagg_ops.methods.partition import partition
    from microagg_ops.methods.parts import divided
    from microagg_ops.release.document import build
    from microagg_ops.stages import price as module

    frame = patients(900, 5)
    points, found = frame[["a", "b"]].to_numpy(), []
    partition(points, 3, sensitive=frame["ill"], l=2, mended=found)
    release = build(
        {
            "release": "r",
            "source": {"conn_id": "w", "table": "s"},
            "columns": {"quasi": {"a": {"type": "number"}, "b": {"type": "number"}}},
            "aggregate": {"k": 3},
            "publish": {"conn_id": "w", "table": "t"},
        },
        "",
    )
    whole = module.price(found, release)
    assert whole is not None and whole["tried"] == whole["entities"] == 900
    assert max(whole["without"], whole["with"]) < whole["raised"]
    monkeypatch.setattr(module, "TRIED", 300)
    monkeypatch.setattr(parts, "PART", 100)
    (part,) = found
    assert len(divided(part.points, part.before, part.columns)) > 5
    some = module.price(found, release)
    assert some is not None and 200 <= some["tried"] <= 500 and some["entities"] == 900
    assert 3 < some["raised_k"] <= whole["raised_k"]
    assert whole["without"] < some["raised"] < 2 * whole["raised"]
