"""A release on a schedule, run stage by stage on tables of people."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from microagg_ops.errors import DataError
from microagg_ops.pipeline import make_run
from microagg_ops.release.document import build, find_faults
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.series_verdict import hold_back

QUASI = ("age", "income", "bmi")
STAGES = ("extract", "standardize", "group", "aggregate", "validate", "publish")
People = dict[str, Any]


def people(rows: int, seed: int) -> People:
    """The people of the differencing attack, where they are; others like them elsewhere."""
    folder = os.environ.get("MICROAGG_DATA")
    path = Path(folder or "", "cases", "tables.py")
    if folder and path.exists():
        spec = importlib.util.spec_from_file_location("tables", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return dict(module.people(rows, seed))
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(18, 90, rows),
        "income": np.round(rng.lognormal(10, 0.5, rows), 2),
        "bmi": np.round(rng.normal(26, 4, rows), 1),
        "region": rng.choice([f"R{i}" for i in range(10)], rows),
        "diagnosis": rng.choice([f"d{i:03}" for i in range(20)], rows),
        "person": np.arange(rows),
    }


class Schedule:
    """A release that is run again and again, without its report.

    Parameters
    ----------
    folder
        Where its warehouse, its ledger and its staging are.
    series
        What the release says of its series, but for the ledger.
    strata, aggregate, more
        What else it says.
    checked
        Whether Great Expectations judges each table; publish recounts what matters in any case.
    """

    def __init__(
        self,
        folder: Path,
        series: Mapping[str, Any] | None = None,
        *,
        strata: tuple[str, ...] = (),
        aggregate: Mapping[str, Any] | None = None,
        checked: bool = False,
        **more: Any,
    ) -> None:
        self.folder, self.database = folder, folder / "warehouse.duckdb"
        self.ledger = folder / "private" / "ledger.parquet"
        self.runs, self.checked = 0, checked
        self.document: dict[str, Any] = {
            "release": "patients",
            "source": {"conn_id": "w", "table": "people"},
            "columns": {
                "entity": "person",
                "quasi": {name: {"type": "number"} for name in QUASI},
                "sensitive": ["diagnosis"],
            },
            "strata": list(strata),
            "aggregate": {"k": 5, **(aggregate or {})},
            "publish": {"conn_id": "w", "table": "patients"},
        } | more
        if series is not None:
            ledger = {"ledger": {"file": str(self.ledger)}}
            self.document["series"] = ledger | dict(series)
        assert list(find_faults(self.document)) == []

    def put(self, rows: People) -> None:
        """Replace the source."""
        frame = pd.DataFrame(rows)
        frame["region"] = frame["region"].astype(object)
        with duckdb.connect(str(self.database)) as con:
            con.register("frame", frame)
            con.execute("create or replace table people as select * from frame")

    def run(
        self, rows: People | None = None, interval: tuple[datetime, datetime] | None = None
    ) -> str:
        """Run the release; say what became of it: published, or the code of the refusal."""
        if rows is not None:
            self.put(rows)
        self.runs += 1
        run = make_run(
            build(self.document, ""),
            self.folder / "staging",
            connections={"w": f"duckdb:///{self.database}"},
            reports=str(self.folder / "reports"),
            run_id=f"run_{self.runs}",
            start=interval[0] if interval else None,
            end=interval[1] if interval else None,
        )
        try:
            for stage in STAGES:
                if stage == "validate" and not self.checked:
                    pass_unseen(run)
                else:
                    stage_function(stage)(run)
        except DataError as error:
            return error.code
        finally:
            run.staging.remove()
        return "published"

    def published(self) -> pa.Table:
        """Read the target."""
        with duckdb.connect(str(self.database)) as con:
            return con.sql("select * from patients").to_arrow_table()


def pass_unseen(run: Run) -> None:
    """Let a table pass without its checks but that of a series."""
    hold_back(run)
    file = run.staging.digest("aggregate", "protected.parquet")
    verdict = {"passed": True, "checks": [], "file": file, "release": run.release.digest}
    run.staging.put("validate", {"verdict.json": json.dumps(verdict).encode()}, {"k": 5})


@pytest.fixture
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the installation's key."""
    monkeypatch.setenv("MICROAGG_KEY", "the key of the tests of series")
