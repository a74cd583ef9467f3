"""What `best` gains over MDAV on large tables within ten times MDAV's own time."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from microagg_ops import partition
from microagg_ops.methods.best import HELD, MANY
from microagg_ops.metrics.loss import centroids, information_loss
from tests.benchmarks.harness import Section, markdown
from tests.benchmarks.tables import normal, real_shaped

K, COLUMNS, TIMES = 5, 13, 10
SIZES, QUICK = (100_000, 1_000_000), (3_000, 10_000)
SHAPES = {"normal": normal, "real-shaped": real_shaped}


def measure(quick: bool) -> Section:
    """Run MDAV, then `best` with ten times the seconds that it took."""
    for method, params in (("mdav", {}), ("best", {"iterations": HELD + 1, "schedule": 1})):
        partition(normal(MANY + 1, COLUMNS), K, method, **params)  # compiled before the clock runs
    table = []
    for shape, made in SHAPES.items():
        for rows in QUICK if quick else SIZES:
            X = made(rows, COLUMNS)
            before, taken = lost(X, partial(partition, X, K))
            after, spent = lost(X, partial(partition, X, K, "best", budget=TIMES * taken))
            table.append(
                [f"{shape}, {rows:,} rows", f"{taken:.1f} s, {before:.2f} %",
                 f"{spent:.1f} s, {after:.2f} %", f"{100 * (1 - after / before):.1f} %"]
            )  # fmt: skip
            print(" | ".join(table[-1]), flush=True)
    about = f"Loss of `best` beside MDAV's, {COLUMNS} columns, k = {K}, one run after the other."
    return Section("Large tables", about, [], markdown(["", "`mdav`", "`best`", "less"], table))


def lost(X: np.ndarray, find: partial[np.ndarray]) -> tuple[float, float]:
    """Return the loss of what is found, and the seconds that it took."""
    began = time.perf_counter()
    labels = find()
    taken = time.perf_counter() - began
    return information_loss(X, centroids(X, labels)[labels]), taken
