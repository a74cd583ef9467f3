"""How low `best` gets in a minute on the data sets of the papers, with each of three seeds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from microagg_ops import partition
from microagg_ops.metrics.loss import centroids, information_loss
from tests.benchmarks.harness import Section, markdown
from tests.golden.test_published import standardized

NAMES = ("tarragona", "census", "eia10", "eia11")
KS = (3, 4, 5, 6, 10)
SEEDS = (0, 1, 2)
BUDGET, QUICK_BUDGET = 60, 2


def measure(quick: bool) -> Section:
    """Run every cell, and set it beside the lowest loss that any paper prints."""
    data = Path(os.environ["MICROAGG_DATA"])
    printed = json.loads((data / "published.json").read_text())["best_known_il"]
    budget = QUICK_BUDGET if quick else BUDGET
    table, reached, below = [], 0, 0
    for name, k, losses in cells(data, budget, NAMES[:1] if quick else NAMES):
        known = printed[name][str(k)]
        digits = max(2, len(str(known).partition(".")[2]))  # 17.1 stands for a printed 17.10
        reached += all(round(loss, digits) <= known for loss in losses)
        below += all(loss < known for loss in losses)
        table.append([f"{name}, k = {k}", *(f"{loss:.4f}" for loss in losses), f"{known:g}"])
        print(" | ".join(table[-1]), flush=True)
    header = ["", *(f"seed {seed}" for seed in SEEDS), "lowest printed"]
    text = markdown(header, table)
    text += [
        f"Of {len(table)} cells all three seeds are at or below the lowest printed loss, after "
        f"rounding to its digits, in {reached}, and below it in {below}.",
        "",
    ]
    about = f"Information loss (%) of `best` after {budget} s on two cores, beside the lowest that "
    return Section("The lowest loss", about + "any of the papers prints.", [], text)


def cells(
    data: Path, budget: int, names: tuple[str, ...]
) -> Iterator[tuple[str, int, list[float]]]:
    """Return the losses of all seeds, a cell at a time."""
    partition(np.random.default_rng(0).normal(size=(400, 3)), 3, "best", iterations=2)  # compiled
    for name in names:
        X = standardized(data, name)
        for k in KS:
            found = [partition(X, k, "best", seed=seed, budget=budget) for seed in SEEDS]
            yield name, k, [information_loss(X, centroids(X, f)[f]) for f in found]
