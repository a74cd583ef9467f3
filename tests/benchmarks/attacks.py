"""Attacks on the demo's table: time and figures, side by side with anonymeter.

anonymeter wants a numpy older than ours, so it runs in an interpreter of its own that
MICROAGG_ANONYMETER names: the python of an environment with ``anonymeter==1.1.0`` installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from microagg_ops.attacks.inference import inference
from microagg_ops.attacks.linkability import linkability
from microagg_ops.attacks.singling_out import MOST_COLUMNS, attempt
from microagg_ops.cli.demo_data import clinic_patients
from microagg_ops.release.document import load_release
from microagg_ops.stages import Run
from microagg_ops.stages.attack_simulation import protect_half, read_ground
from microagg_ops.stages.extract import keep
from microagg_ops.staging.store import MemoryStaging
from tests.benchmarks.harness import Section, markdown

PEER = "MICROAGG_ANONYMETER"
RELEASE = Path(__file__).parents[2] / "dags" / "clinic_patients.yaml"
HEADER = ["attack", "seconds", "attempts", "succeeds", "held out", "risk", "95 % confidence"]


def demo_run(rows: int) -> Run:
    """A run of the demo's release on its table, in memory."""
    release = load_release(RELEASE)

    def no_warehouse(conn_id: str) -> Any:
        raise LookupError(conn_id)

    run = Run(release, MemoryStaging(), no_warehouse, Path("reports"), "benchmark")
    table = clinic_patients(rows)
    keep(run, table.select([n for n in table.column_names if n in release.extracted]), {}, "")
    return run


def own_lines(run: Run, tables: tuple[pa.Table, pa.Table, pa.Table]) -> list[list[str]]:
    """Attack with our own code; the kernels are compiled beforehand."""
    small = demo_run(2_000)
    ready = read_ground(small, *protect_half(small))
    secret = run.release.columns.sensitive[0]
    cases: dict[str, Callable[[Any], Any]] = {
        "singling out, one column": lambda ground: attempt(ground, 1, 1),
        "singling out, several columns": lambda ground: attempt(ground, 2, MOST_COLUMNS),
        "linkability": linkability,
        "inference": lambda ground: inference(ground, [secret])[secret],
    }
    began = time.perf_counter()
    ground = read_ground(run, *tables)
    lines = [["read the tables", f"{time.perf_counter() - began:.2f}", "", "", "", "", ""]]
    for name, case in cases.items():
        case(ready)
        began = time.perf_counter()
        found = case(ground)
        lines.append(line(name, time.perf_counter() - began, found.told()))
    return lines


def peer_lines(
    run: Run, tables: tuple[pa.Table, pa.Table, pa.Table], attacks: int
) -> list[list[str]]:
    """Attack the same tables with anonymeter; nothing where it is not there."""
    python, release = os.environ.get(PEER), run.release
    if not python:
        return []
    with tempfile.TemporaryDirectory() as folder:
        for name, table in zip(("published", "members", "others"), tables, strict=True):
            kept = plain(table.select(tables[0].column_names))
            pyarrow.csv.write_csv(kept, Path(folder) / f"{name}.csv")
        text = [f.name for f in plain(tables[0]).schema if pa.types.is_string(f.type)]
        told = {
            "quasi": list(release.quasi), "strata": list(release.strata), "text": text,
            "secret": release.columns.sensitive[0],
        }  # fmt: skip
        (Path(folder) / "columns.json").write_text(json.dumps(told))
        peer = Path(__file__).with_name("anonymeter_peer.py")
        done = subprocess.run(
            [python, str(peer), folder, str(attacks)], capture_output=True, text=True, check=True
        )
    found = [json.loads(row) for row in done.stdout.splitlines() if row.startswith("{")]
    return [line(one["name"], one["seconds"], one) for one in found]


def plain(table: pa.Table) -> pa.Table:
    """Write dates as days, and booleans as text: what anonymeter takes."""
    for i, field in enumerate(table.schema):
        if pa.types.is_date(field.type):
            table = table.set_column(i, field.name, table[i].cast(pa.int32()))
        elif pa.types.is_boolean(field.type):
            table = table.set_column(i, field.name, table[i].cast(pa.string()))
    return table


def line(name: str, seconds: float, found: dict[str, Any]) -> list[str]:
    """Write the figures of one attack."""
    if "error" in found:
        return [name, f"{seconds:.2f}", found["error"], "", "", "", ""]
    shares = [f"{100 * found[key]:.2f} %" for key in ("attack", "control", "risk")]
    between = f"{100 * found['low']:.2f} to {100 * found['high']:.2f} %"
    return [name, f"{seconds:.2f}", f"{found['attempts']:,}", *shares, between]


def measure(quick: bool) -> Section:
    """Protect half of the table, and attack it."""
    rows = 4_000 if quick else 100_000
    run = demo_run(rows)
    protect_half(demo_run(2_000))
    began = time.perf_counter()
    tables = protect_half(run)
    protected = time.perf_counter() - began
    text = ["### microagg attack", "", *markdown(HEADER, own_lines(run, tables))]
    peer = peer_lines(run, tables, 500 if quick else 2_000)
    text += ["### anonymeter 1.1.0", ""]
    text += markdown(HEADER, peer) if peer else [f"Not measured: {PEER} names no interpreter.", ""]
    about = (
        f"The demo's release on {rows:,} admissions, of which those of half the patients are held "
        f"out and the others protected in {protected:.1f} s. Both attack the same published rows."
    )
    return Section("Attacks", about, [], text)
