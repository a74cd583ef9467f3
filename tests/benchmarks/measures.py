"""Time and memory of the measures, in one run.

Each measure runs in a process of its own that has compiled its kernels, and peers run beside it.
Memory is what the process took at its peak above what it had with the table in memory.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from microagg_ops import metrics
from microagg_ops.metrics.loss import centroids
from tests.benchmarks.harness import Section, markdown

QUASI = [f"q{j}" for j in range(6)]


@dataclass(frozen=True)
class Measured:
    """One measure on one table."""

    name: str
    rows: int
    seconds: float
    processor: float
    frames: float


def published(rows: int, k: int = 7) -> pd.DataFrame:
    """A protected table: about k rows share six numbers; a diagnosis and a cost are sensitive."""
    rng = np.random.default_rng(rows)
    cluster = rng.integers(0, max(rows // k, 1), rows)
    frame = pd.DataFrame({q: rng.normal(size=max(rows // k, 1))[cluster] for q in QUASI})
    return frame.assign(
        diagnosis=rng.choice([f"diagnosis {i}" for i in range(40)], rows),
        cost=rng.gamma(2.0, 100.0, rows),
        person=rng.integers(0, rows, rows),
    )


def before_and_after(rows: int, columns: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns, and the same with rows averaged that are alike in the first two."""
    points = np.random.default_rng(rows).normal(size=(rows, columns))
    labels = np.empty(rows, np.int32)
    labels[np.lexsort([points[:, 1], points[:, 0].round(1)])] = np.arange(rows) // k
    return points, centroids(points, labels)[labels]


def tasks() -> dict[str, tuple[int, Callable[[int], tuple[Any, Callable[[], Any]]]]]:
    """The measures: rows, and what makes the table and the call."""

    def on_frame(call: Callable[[Any], Any], kind: str = "pandas") -> Any:
        def made(rows: int) -> tuple[Any, Callable[[], Any]]:
            frame: Any = published(rows)
            frame = pl.from_pandas(frame) if kind == "polars" else frame
            return frame, lambda: call(frame)

        return made

    def on_arrays(call: Callable[[Any, Any], Any], columns: int, k: int) -> Any:
        def made(rows: int) -> tuple[Any, Callable[[], Any]]:
            before, after = before_and_after(rows, columns, k)
            return (before, after), lambda: call(before, after)

        return made

    def k_and_l(frame: Any) -> None:
        found = metrics.row_classes(frame, QUASI)
        metrics.k_anonymity(frame, found)
        metrics.diversity(frame, found, "diagnosis")

    def peer_k(frame: Any) -> None:
        frame.groupby(QUASI, dropna=False, sort=False).size().min()

    def closeness(sensitive: str) -> Callable[[Any], Any]:
        return lambda frame: metrics.t_closeness(frame, QUASI, sensitive)

    million = 1_000_000
    return {
        "k, distinct and entropy l": (million, on_frame(k_and_l)),
        "k, distinct and entropy l, polars frame": (million, on_frame(k_and_l, "polars")),
        "k": (million, on_frame(lambda f: metrics.k_anonymity(f, QUASI))),
        "k, by entity": (million, on_frame(lambda f: metrics.k_anonymity(f, QUASI, "person"))),
        "k, by pandas groupby": (million, on_frame(peer_k)),
        "k, by polars group_by": (
            million,
            on_frame(lambda f: f.group_by(QUASI).len()["len"].min(), "polars"),
        ),
        "t, nominal": (million, on_frame(closeness("diagnosis"))),
        "t, ordered (every value different)": (million, on_frame(closeness("cost"))),
        "SUDA up to 3 of 6 columns": (million, on_frame(lambda f: metrics.suda(f, QUASI))),
        "distance linkage": (100_000, on_arrays(metrics.distance_linkage, 6, 5)),
        "distance linkage, every row different": (
            100_000,
            on_arrays(lambda b, a: metrics.distance_linkage(b, b + 0.1 * a), 6, 5),
        ),
        "distance linkage of a sample of 100,000": (
            million,
            on_arrays(metrics.distance_linkage, 6, 5),
        ),
        "rank linkage": (100_000, on_arrays(metrics.rank_linkage, 6, 5)),
        "probabilistic linkage of a sample of 10,000": (
            100_000,
            on_arrays(metrics.probabilistic_linkage, 6, 5),
        ),
        "interval disclosure": (million, on_arrays(metrics.interval_disclosure, 6, 5)),
        "IL1 to IL5": (million, on_arrays(metrics.mean_variation, 6, 5)),
        "propensity": (million, on_arrays(metrics.propensity, 6, 5)),
        "a fitness: IL, ID and DLD, 12 columns": (1000, on_arrays(fitness, 12, 5)),
    }


def fitness(before: np.ndarray, after: np.ndarray) -> float:
    """What a search for groups of columns computes for each candidate."""
    loss = metrics.information_loss(before, after)
    interval = metrics.interval_disclosure(before, after).overall
    linked = metrics.distance_linkage(before, after).certain_percent
    return metrics.score(loss, metrics.disclosure_risk(interval, linked))


def memory(field: str) -> int:
    """Memory of this process in bytes: VmRSS is now, VmHWM its peak since it was reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


def run(name: str, share: int) -> Measured:
    """Run one measure in this process: once on a small table to compile, then three times."""
    rows, make = tasks()[name]
    rows //= share
    make(300)[1]()
    table, call = make(rows)
    size = sum(
        part.nbytes if isinstance(part, np.ndarray) else frame_bytes(part)
        for part in (table if isinstance(table, tuple) else (table,))
    )
    gc.collect()
    held = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    times, processor = [], []
    for _ in range(3):
        began, busy = time.perf_counter(), time.process_time()
        call()
        times.append(time.perf_counter() - began)
        processor.append(time.process_time() - busy)
    more = (memory("VmHWM") - held) / size
    return Measured(name, rows, min(times), min(processor), more)


def frame_bytes(frame: Any) -> int:
    """Size of a frame."""
    if isinstance(frame, pl.DataFrame):
        return int(frame.estimated_size())
    return int(frame.memory_usage(deep=True).sum())


def measure(quick: bool) -> Section:
    """Measure all, each in a process of its own."""
    lines = []
    for name in tasks():
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.measures", name, "100" if quick else "1"],
            capture_output=True,
            text=True,
            check=True,
        )
        rows, seconds, processor, frames = json.loads(done.stdout)
        lines.append([name, f"{rows:,}", f"{seconds:.4f}", f"{processor:.4f}", f"{frames:.1f}"])
        print(" | ".join(lines[-1]), flush=True)
    header = ["measure", "rows", "seconds", "of processors", "memory above the table, in tables"]
    about = "Measures on 6 quasi-identifiers, and peers beside them; the best of three."
    return Section("Measures", about, [], markdown(header, lines))


if __name__ == "__main__":
    found = run(sys.argv[1], int(sys.argv[2]))
    print(json.dumps([found.rows, found.seconds, found.processor, found.frames]))
