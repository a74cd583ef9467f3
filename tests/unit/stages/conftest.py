"""Runs that live in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from microagg_ops.release.document import build, find_faults
from microagg_ops.stages import Run
from microagg_ops.stages.extract import keep
from microagg_ops.staging.store import MemoryStaging

MakeRun = Callable[..., Run]


@pytest.fixture
def make_run(tmp_path: Any) -> MakeRun:
    """Make a run of a table, with the sections of its release as keywords."""

    def make(table: dict[str, Any] | pa.Table, **sections: Any) -> Run:
        table = table if isinstance(table, pa.Table) else pa.table(table)
        document = {
            "release": "r",
            "source": {"conn_id": "w", "table": "source"},
            "columns": {"quasi": {"a": {"type": "number"}}},
            "aggregate": {"k": 2},
            "publish": {"conn_id": "w", "table": "target"},
        } | sections
        assert not list(find_faults(document))
        run = Run(
            release=build(document, ""),
            staging=MemoryStaging(),
            warehouse=lambda conn_id: pytest.fail("no warehouse here"),
            reports=tmp_path / "reports",
            run_id="run",
        )
        keep(run, table, {}, "")
        return run

    return make
