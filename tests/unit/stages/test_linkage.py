"""One linkage figure: check, report, Airflow page and compare all tell what an attack finds.

The attacker knows the strata of a row. He searches among the published rows of its stratum, or of
the merged ones where it was too small.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.compare import try_method
from microagg_ops.metrics import row_classes
from microagg_ops.metrics.linkage import coordinates
from microagg_ops.plugin.runs import read_run
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.evidence import Evidence
from tests import naive
from tests.unit.stages.conftest import MakeRun

REGIONS = ["north", "south", "east", "west", None, "tiny", "small"]


def table(rows: int = 700) -> pa.Table:
    """Rows of every type in strata of which two are too small, beside one that is NULL."""
    rng = np.random.default_rng(7)
    shares = [0.4, 0.3, 0.15, 0.1, 0.03, 0.01, 0.01]
    region = rng.choice(len(REGIONS), rows, p=shares)
    age = rng.integers(18, 90, rows)
    return pa.table(
        {
            "who": np.arange(rows) // 2,
            "age": age,
            "bmi": pa.array(rng.normal(25, 4, rows), mask=rng.random(rows) < 0.1),
            "seen": pa.array(1_700_000_000_000_000 + age * 9_000_000_000, pa.timestamp("us")),
            "smoker": rng.random(rows) < 0.3,
            "area": [f"a{code}" for code in rng.integers(0, 12, rows)],
            "region": [REGIONS[code] for code in region],
            "s": rng.choice(["x", "y", "z"], rows).tolist(),
        }
    )


def release(**more: Any) -> dict[str, Any]:
    quasi = {
        "age": {"type": "integer"},
        "bmi": {"type": "number"},
        "seen": {"type": "timestamp"},
        "smoker": {"type": "boolean"},
        "area": {"type": "nominal"},
    }
    return {
        "columns": {"entity": "who", "quasi": quasi, "sensitive": ["s"]},
        "strata": ["region"],
        "small_strata": "merge",
        "nulls": "own_class",
        "aggregate": {"k": 4, "seed": 3},
        "validate": {"max_linkage": 1.0},
    } | more


def done(run: Run) -> dict[str, float]:
    """Run the stages; collect what each place tells of linkage, in percent."""
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)
    checks = run.document("validate", "verdict")["checks"]
    uris = stage_function("report")(run)["uris"]
    path = Path(urlsplit(uris["json"]).path)
    figures = json.loads(path.read_text())
    page = read_run(path, 0.0, path.stat().st_size, ())
    compared = try_method(replace(run), run.release.aggregate.method, "10s", lambda share: None)
    return {
        "check": next(c["observed"] for c in checks if c["name"] == "linkage"),
        "report": figures["risk"]["after"]["linkability"]["distance"]["percent"],
        "algorithm": figures["risk"]["after"]["linkability"]["algorithm"],
        "tried": figures["tried"][0]["linkage"],
        "page": page.linkage,
        "compare": compared.linkage,
    }  # fmt: skip


def attacked(run: Run) -> float:
    """Link by hand, every row with every published row of its stratum."""
    evidence = Evidence.of(run)
    points = coordinates(evidence.pairs)
    strata = row_classes(evidence.protected.take(evidence.order), ["region"]).ids
    ties = naive.linkage_ties(
        points.before.tolist(), points.after.tolist(), points.nominal.tolist(), strata.tolist()
    )
    return 100 * sum(1 / found for found in ties if found) / len(ties)


GROUPS = {"method": "fixed", "groups": [["age", "bmi"], ["seen", "smoker", "area"]]}
GROUPED = {"group": GROUPS, "validate": {"guarantee": "per_group", "max_linkage": 1.0}}


@pytest.mark.parametrize("more", [{}, GROUPED])
def test_every_place_tells_what_an_attack_within_strata_finds(
    make_run: MakeRun, more: dict[str, Any]
) -> None:
    run = make_run(table(), **release(**more))
    told = done(run)
    assert len({told[place] for place in told if place != "algorithm"}) == 1, told
    assert told["check"] == pytest.approx(attacked(run), rel=1e-12)
    assert told["check"] > 5
    assert told["check"] <= told["algorithm"]
