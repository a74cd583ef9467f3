"""How near the lower bound comes to the lowest loss known, and what it costs on large tables."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from microagg_ops import lower_bound, partition
from microagg_ops.methods.bound import STEPS, compile_ahead, least_loss, loss_of, scatter
from microagg_ops.methods.partition import Clock
from tests.benchmarks.best import KS, NAMES
from tests.benchmarks.harness import Section, markdown
from tests.golden.test_published import standardized

BUDGET, QUICK_BUDGET = 60, 5
# Information loss (%) that `best` reached: the lowest of three seeds in results/best.md.
REACHED = {
    "tarragona": (14.4705, 17.0877, 20.1560, 23.4926, 30.1224),
    "census": (4.6964, 6.0727, 7.2769, 8.2852, 11.3939),
    "eia10": (0.3610, 0.5093, 0.7459, 0.9304, 1.8408),
    "eia11": (0.3500, 0.4833, 0.7301, 0.9019, 1.9386),
}
ALIKE = np.empty(0)


def measure(quick: bool) -> Section:
    """Bound every cell, and larger tables of normal rows by the split alone."""
    data = Path(os.environ["MICROAGG_DATA"])
    budget = QUICK_BUDGET if quick else BUDGET
    compile_ahead(False)
    table, proven = [], 0
    for name in NAMES[:1] if quick else NAMES:
        X = standardized(data, name)
        spread = scatter(X, ALIKE)
        for k, reached in zip(KS, REACHED[name], strict=True):
            parts = [
                100 * least_loss(X, k, ALIKE, clock=Clock(), steps=steps) / spread / reached
                for steps in (0, STEPS)
            ]
            began = time.perf_counter()
            bound = lower_bound(X, k, budget=budget)
            took = time.perf_counter() - began
            ratio = bound / reached
            proven += ratio >= (0.9 if k <= 5 else 0.8)
            table.append([
                f"{name}, k = {k}", f"{reached:.4f}", *(f"{part:.3f}" for part in parts),
                f"{ratio:.3f}", f"{bound:.4f}", f"{took:.0f}",
            ])  # fmt: skip
            print(" | ".join(table[-1]), flush=True)
    header = ["", "`best`", "neighbours", "split", "clusters", "bound", "seconds"]
    text = markdown(header, table)
    text += [
        f"Of {len(table)} cells {proven} have a ratio of 0.90 or more (k = 3, 4, 5), 0.80 or more "
        "(k = 6, 10).",
        "",
    ]
    about = (
        f"The bound (% of SST) within {budget} s, as a share of the lowest loss that `best` found: "
        "the neighbour bound, the split bound, and with clusters generated. Other work ran at the "
        "same time."
    )
    return Section("The lower bound", about, [], text + large(quick))


def large(quick: bool) -> list[str]:
    """Bound tables of normal rows by the split alone, beside the loss of a search."""
    table = []
    for rows in (20_000,) if quick else (20_000, 100_000):
        X = np.random.default_rng(0).normal(size=(rows, 13))
        began = time.perf_counter()
        labels = partition(X, 5, "best", budget=30)
        searched, began = time.perf_counter() - began, time.perf_counter()
        ratio = least_loss(X, 5, ALIKE, clock=Clock()) / loss_of(X, labels, ALIKE)
        table.append([f"{rows:,}", f"{ratio:.3f}", f"{time.perf_counter() - began:.0f}",
                      f"{searched:.0f}"])  # fmt: skip
        print(" | ".join(table[-1]), flush=True)
    return markdown(["rows × 13, k = 5", "split / `best`", "seconds", "of `best`"], table)
