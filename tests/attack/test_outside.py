"""An attacker who holds the published table and all that leaves beside it.

Each test is an attack that once worked. The attacker looks for the figures that he needs wherever
a document may have them; what is not there he cannot use.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.errors import MicroaggError
from microagg_ops.operators.assets import CARRIED
from microagg_ops.pipeline import make_run, run_release, run_stage
from microagg_ops.release.document import build, find_faults
from microagg_ops.release.model import STAGES
from microagg_ops.stages.extract import with_entity_ranks
from microagg_ops.staging.digests import content_digest, in_order

RELEASE: dict[str, Any] = {
    "release": "r",
    "source": {"conn_id": "w", "table": "source"},
    "columns": {"quasi": {"a": {"type": "number"}, "b": {"type": "number"}}, "sensitive": ["s"]},
    "aggregate": {"k": 3},
    "publish": {"conn_id": "w", "table": "target"},
}


@dataclass
class Outside:
    """All that leaves: the table, the external report, the manifest, XComs, the event."""

    table: pa.Table
    external: dict[str, Any]
    page: str
    manifest: dict[str, Any]
    xcoms: dict[str, dict[str, Any]]
    event: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps([self.external, self.manifest, self.xcoms, self.event]) + self.page

    def numbers(self) -> Iterator[float]:
        """Every number of every document."""
        yield from numbers([self.external, self.manifest, self.xcoms, self.event])


def numbers(part: Any) -> Iterator[float]:
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from numbers(one)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield float(part)


def publish(folder: Path, table: pa.Table, **sections: Any) -> Outside:
    """Run a release; give what leaves."""
    from microagg_ops.outside import told_outside

    document = RELEASE | sections
    assert not list(find_faults(document))
    path = folder / "w.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as con:
        con.register("seed", table)
        con.execute("create table source as from seed")
    run = make_run(
        build(document, ""),
        folder / "staging",
        connections={"w": f"duckdb:///{path}"},
        reports=str(folder / "reports"),
        run_id="run",
    )
    xcoms = {stage: told_outside(stage, run_stage(stage, run)) for stage in STAGES}
    run.staging.remove()
    reports = folder / "reports" / "r" / "run"
    with duckdb.connect(str(path)) as con:
        published = con.sql("from target").to_arrow_table()
    event = {n: xcoms["publish"][key] for n, key in CARRIED.items() if key in xcoms["publish"]}
    return Outside(
        published,
        json.loads((reports / "external.json").read_text()),
        (reports / "external.html").read_text(),
        json.loads((reports / "manifest.json").read_text()),
        json.loads(json.dumps(xcoms)),
        event,
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_suppressed_cell_is_not_computed_back(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(50, 9, 60).tolist(), rng.normal(size=60).tolist()
    # Two rows are NULL in b: a third must be, and loses its b.
    b[10] = b[20] = None
    out = publish(
        tmp_path,
        pa.table({"a": a, "b": b, "s": ["x", "y"] * 30}),
        nulls="own_class",
    )
    missing = np.flatnonzero([value is None for value in out.table["b"].to_pylist()])
    assert len(missing) == 3
    known = [value for value in out.table["b"].to_pylist() if value is not None]
    # Whatever figure is a mean of b before: 58 cells less 57 published ones are the suppressed one.
    candidates = [58 * figure - sum(known) for figure in out.numbers()]
    raw = [value for value in b if value is not None]
    close = [c for c in candidates if any(abs(c - value) < 1e-6 for value in raw)]
    assert not close


def test_digests_cannot_be_tried_out(tmp_path: Path) -> None:
    source = pa.table(
        {
            "a": [float(i) for i in range(10)],
            "b": [float(i % 4) for i in range(10)],
            "s": ["flu", "cold"] * 5,
        }
    )
    out = publish(tmp_path, source)
    found = set(re.findall(r"\b[0-9a-f]{64}\b", out.text))
    # The attacker knows all but the sensitive values, and tries them.
    for row, guess in itertools.product(range(10), ("flu", "cold", "asthma")):
        values = source["s"].to_pylist()
        values[row] = guess
        tried = source.set_column(2, "s", pa.array(values))
        for table in (tried, in_order(tried), with_entity_ranks(in_order(tried), None)):
            digest = content_digest(table)
            # The published table has the sensitive values too: its own digest tells nothing new.
            assert digest not in found - {content_digest(out.table)}
            assert hashlib.sha256(digest.encode()).hexdigest() not in found


def test_moments_do_not_give_raw_values_of_few_rows(tmp_path: Path) -> None:
    raw = [23, 35, 41, 58, 62, 87]
    out = publish(
        tmp_path,
        pa.table({"a": raw, "s": ["x", "y"] * 3}),
        columns={"quasi": {"a": {"type": "integer"}}, "sensitive": ["s"]},
        aggregate={"k": 5},
    )
    mean, deviation = np.mean(raw), np.std(raw)
    found = list(out.numbers())
    assert not [f for f in found if abs(f - mean) < 1e-6 and f != round(mean)]
    assert not [f for f in found if abs(f - deviation) < 1e-3]
    assert out.external["utility"] is None


def test_counts_below_k_are_not_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = 400
    b: list[float | None] = rng.normal(size=rows).tolist()
    for row in (3, 77, 200, 201, 300):
        b[row] = None
    strata = ["n"] * 190 + ["e"] * 190 + ["tiny"] * 7 + ["small"] * 2 + ["n"] * 11
    out = publish(
        tmp_path,
        pa.table({"a": rng.normal(size=rows), "b": b, "s": ["x", "y"] * 200, "r": strata}),
        nulls="own_class",
        strata=["r"],
        small_strata="merge",
        aggregate={"k": 8},
    )
    assert '"cells"' not in out.text
    assert "9 rows" not in out.page
    assert "2 strata" not in out.page
    treatment = out.external["treatment"]
    assert all(v in (None, 0, "fewer than k") or v >= 8 for v in treatment.values())
    for stage, xcom in out.xcoms.items():
        for name in ("suppressed", "imputed"):
            value = xcom.get(name)
            assert value in (None, 0, "fewer than k") or value >= 8, (stage, name)


def test_what_stays_inside_is_not_outside(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    out = publish(
        tmp_path, pa.table({"a": rng.normal(size=90), "b": rng.normal(size=90), "s": ["x"] * 90})
    )
    text = json.dumps(out.external) + out.page
    for word in ("run_id", "asked for", "target", "seed", "staging"):
        assert word not in text, word


def test_a_run_that_is_not_published_has_no_external_report(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("create table source as select i::double a, (i % 7)::double b, 'x' s "
                    "from range(50) t(i)")  # fmt: skip
    reports = tmp_path / "reports"
    for name, sections in {
        "waits": {"approve": True},
        # The target's column cannot hold what is to be published.
        "fails": {"publish": {"conn_id": "w", "table": "narrow"}},
    }.items():
        with duckdb.connect(str(path)) as con:
            con.execute("create or replace table narrow (a boolean, b double, s varchar)")
        release = build(RELEASE | {"release": name} | sections, "")
        with pytest.raises(MicroaggError):
            run_release(
                release,
                connections={"w": f"duckdb:///{path}"},
                reports=reports,
                run_id="run",
                staging=tmp_path / "staging",
            )
        folder = reports / name / "run"
        assert not list(folder.glob("external.*"))
        page = (folder / "report.html").read_text()
        assert "may be published" not in page
        figures = json.loads((folder / "report.json").read_text())
        state = {"waits": "awaiting approval", "fails": "failed"}[name]
        assert figures["publication"]["state"] == state
        assert json.loads((folder / "manifest.json").read_text())["published"] is None
