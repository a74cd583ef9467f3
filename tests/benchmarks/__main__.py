"""``make bench``: time and loss of every method, side by side in one run.

Each method partitions the same generated tables; the results replace results.md beside this file.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from microagg_ops import __version__, partition
from microagg_ops.methods import METHODS
from microagg_ops.metrics.loss import centroids, information_loss

RESULTS = Path(__file__).with_name("results.md")
COLUMNS, K = 13, 10


@dataclass(frozen=True)
class Measured:
    """One method on one table."""

    method: str
    rows: int
    seconds: float
    loss: float


def table(rows: int) -> np.ndarray:
    """Independent normal columns: the hardest case for anything that prunes by distance."""
    return np.random.default_rng(rows).normal(size=(rows, COLUMNS))


def measure(sizes: list[int], repeats: int) -> Iterator[Measured]:
    """Time each method on each table, the methods in turn, and keep the best time."""
    for method in METHODS:
        partition(table(200), K, method)  # compile before the clock runs
    for rows in sizes:
        X = table(rows)
        best = dict.fromkeys(METHODS, float("inf"))
        loss: dict[str, float] = {}
        for _ in range(repeats):
            for method in METHODS:
                began = time.perf_counter()
                labels = partition(X, K, method)
                best[method] = min(best[method], time.perf_counter() - began)
                loss[method] = information_loss(X, centroids(X, labels)[labels])
        for method in METHODS:
            yield Measured(method, rows, best[method], loss[method])


def exponent(found: list[Measured]) -> float:
    """Growth of time with rows, fitted over the upper half of the sizes."""
    upper = found[len(found) // 2 :] if len(found) > 3 else found
    slope = np.polyfit(np.log([m.rows for m in upper]), np.log([m.seconds for m in upper]), 1)[0]
    return float(slope)


def written(found: list[Measured]) -> str:
    """Give the results as a page."""
    lines = [
        "# Benchmarks",
        "",
        f"{COLUMNS} independent normal columns, k = {K}; best of the repeats, all in one run.",
        f"microagg-ops {__version__}, {datetime.now(UTC):%Y-%m-%d}, {machine()}.",
        "",
        "| method | rows | seconds | information loss, % |",
        "|---|---:|---:|---:|",
        *(f"| {m.method} | {m.rows:,} | {m.seconds:.3f} | {m.loss:.2f} |" for m in found),
        "",
    ]
    for method in METHODS:
        growth = exponent([m for m in found if m.method == method])
        lines.append(f"Time of `{method}` grows with rows to the power {growth:.2f}.")
    return "\n".join([*lines, ""])


def machine() -> str:
    """Name the machine by what matters."""
    model = platform.machine()
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
    return f"{os.cpu_count()} cores of {model}"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[1000, 3000, 10_000, 30_000, 100_000]
    )
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    page = written(list(measure(arguments.sizes, arguments.repeats)))
    RESULTS.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
