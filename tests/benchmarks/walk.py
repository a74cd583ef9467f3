"""How often a release walks through its rows: reads, hashes, encodings, sorts of each stage.

Functions are counted where they are called, so the figures are those of the code as it runs, and
not of what it means to do.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microagg_ops.cli.demo import ROWS, seed_warehouse
from microagg_ops.pipeline import make_run, run_release, run_stage
from microagg_ops.release.document import load_release
from microagg_ops.release.model import STAGES
from microagg_ops.stages import stage_function
from microagg_ops.staging.store import Staging
from tests.benchmarks.harness import Section, markdown
from tests.benchmarks.tables import normal

START, END = datetime(2020, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
RELEASE = Path(__file__).parents[2] / "dags" / "clinic_patients.yaml"
LARGE = """
release: large
source: {{conn_id: warehouse, table: clinic.large}}
columns:
  quasi: {{{quasi}}}
  sensitive: [s]
aggregate: {{method: mdav, k: 5}}
publish: {{conn_id: warehouse, table: pub.large, mode: replace}}
"""
COLUMNS = 4
LARGE_ROWS, QUICK = 1_000_000, 10_000
Words = dict[str, int]
# What a call counts as, given the rows of the source and its arguments.
COUNTED: dict[str, Callable[[int, Any], Words]] = {
    "staging.digests:from_parquet": lambda rows, given: {"files parsed": 1},
    "staging.digests:to_parquet": lambda rows, given: {"tables written": 1},
    "staging.digests:ordered_digest": lambda rows, given: {"tables digested as CSV": 1},
    "staging.digests:sha256": lambda rows, given: {"megabytes hashed": len(given[0])},
    "columns.encoding:read": lambda rows, given: (
        {"columns encoded": 1} if 2 * len(given[2]) > rows else {"columns of clusters encoded": 1}
    ),
    "stages.microdata:prepare": lambda rows, given: {"rows prepared": 1},
}
METHODS: list[tuple[Any, str, Callable[[int, Any], Words]]] = [
    (Staging, "manifest", lambda rows, given: {"manifests read and verified": 1}),
    (
        Staging, "get", lambda rows, given: {
            "files read and verified": 1,
            "raw table read and verified": given[1:3] == ("extract", "table.parquet"),
        },
    ),
    (
        pc, "sort_indices", lambda rows, given: {
            "whole tables sorted": isinstance(given[0], pa.Table) and 2 * given[0].num_rows > rows
        },
    ),
]  # fmt: skip


# What 0.2.0 did.
WAYS = ("one process", "stages apart")
BEFORE: dict[str, Words] = {
    f"{case}, {way}": {
        "raw table read and verified": raw, "files read and verified": files,
        "files parsed": parsed, "tables written": 4, "manifests read and verified": manifests,
        "megabytes hashed": megabytes, "rows prepared": prepared, "columns encoded": encoded,
        "tables digested as CSV": 2, "whole tables sorted": 4,
    }
    for case, raw, files, parsed, megabytes, prepared, encoded, each in [
        ("the demo", 8, 34, 18, 7, 3, 56, (61, 53)),
        (f"{LARGE_ROWS:,} rows", 7, 27, 14, 402, 2, 24, (54, 46)),
    ]
    for way, manifests in zip(WAYS, each, strict=True)
}  # fmt: skip


@contextmanager
def counting(rows: int) -> Iterator[Counter[str]]:
    """Count what is called meanwhile."""
    found: Counter[str] = Counter()
    for stage in STAGES:  # what is imported later would keep what is put in here
        stage_function(stage)
    with ExitStack() as undo:
        for where, word in COUNTED.items():
            module, name = where.split(":")
            function = getattr(import_module(f"microagg_ops.{module}"), name, None)
            if function is not None:  # the code before has fewer
                replaced(function, counted(function, found, partial(word, rows)), undo)
        for owner, name, word in METHODS:
            function = getattr(owner, name)
            undo.callback(setattr, owner, name, function)
            setattr(owner, name, counted(function, found, partial(word, rows)))
        yield found
    found["megabytes hashed"] = round(found["megabytes hashed"] / 1e6)


def replaced(function: Callable[..., Any], other: Callable[..., Any], undo: ExitStack) -> None:
    """Put another function in the place of one, wherever it was imported by its name."""
    for owner in [m for n, m in sys.modules.items() if n.startswith("microagg_ops")]:
        for alias in [key for key, value in vars(owner).items() if value is function]:
            undo.callback(setattr, owner, alias, function)
            setattr(owner, alias, other)


def counted(
    function: Callable[..., Any], found: Counter[str], words: Callable[[Any], Words]
) -> Callable[..., Any]:
    """Make a function that counts its calls."""

    def call(*given: Any, **more: Any) -> Any:
        found.update(words(given))
        return function(*given, **more)

    return call


def together(release: Path, connections: dict[str, str], folder: Path) -> None:
    """Run all stages in one process, as the command line does."""
    run_release(
        release, connections=connections, start=START, end=END,
        reports=folder / "reports", staging=folder / "staging",
    )  # fmt: skip


def apart(release: Path, connections: dict[str, str], folder: Path) -> None:
    """Run each stage on what it finds in staging, as tasks of Airflow do."""
    run = None
    for stage in STAGES:
        run = make_run(
            load_release(release), folder / "staging", connections=connections,
            start=START, end=END, reports=folder / "reports",
            run_id="apart",
        )  # fmt: skip
        run_stage(stage, run)
    assert run is not None
    run.staging.remove()


def seed(folder: Path, rows: int) -> tuple[dict[str, str], Path]:
    """Make the warehouse of the demo, with a plain table of numbers beside it."""
    path = folder / "warehouse.duckdb"
    seed_warehouse(path)
    X = normal(rows, COLUMNS)
    names = [f"q{j}" for j in range(COLUMNS)]
    large = pa.table(dict(zip(names, X.T, strict=True)) | {"s": np.zeros(rows, np.int64)})
    with duckdb.connect(str(path)) as con:
        con.register("seed", large)
        con.execute("create table clinic.large as from seed")
    release = folder / "large.yaml"
    release.write_text(LARGE.format(quasi=", ".join(f"{n}: {{type: number}}" for n in names)))
    return {"warehouse": f"duckdb://{path}"}, release


def walks(rows: int) -> dict[str, tuple[float, Counter[str]]]:
    """Run both releases in both ways; give seconds and counts."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        connections, large = seed(folder, rows)
        cases = {"the demo": (RELEASE, ROWS), f"{rows:,} rows": (large, rows)}
        together(RELEASE, connections, folder)  # compiled before the clock runs
        for case, (release, size) in cases.items():
            for way in (together, apart):
                began = time.process_time()
                with counting(size) as counts:
                    way(release, connections, folder)
                how = WAYS[way is apart]
                found[f"{case}, {how}"] = time.process_time() - began, counts
    return found


def measure(quick: bool) -> Section:
    """Count and time; a small second table where it must be quick."""
    found = walks(QUICK if quick else LARGE_ROWS)
    words = sorted({word for _, counts in found.values() for word in counts})
    table = []
    for word in words:
        cells = []
        for case, (_, counts) in found.items():
            before = BEFORE.get(case, {}).get(word)
            cells.append(f"{counts[word]}" if before is None else f"{before} → {counts[word]}")
        table.append([word, *cells])
    table.append(["CPU seconds", *(f"{seconds:.1f}" for seconds, _ in found.values())])
    about = (
        "What a run of the demo's release, and of one with four columns of numbers, does with its "
        "rows: all stages in one process as the command line runs them, and each stage by itself "
        "on what it finds in staging, as tasks of Airflow do. Before the arrow: 0.2.0, counted by "
        "the same functions."
    )
    return Section("Walks through the rows", about, [], markdown(["", *found], table))
