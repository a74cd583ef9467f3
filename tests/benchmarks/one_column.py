"""How long the optimal partition of one column takes, beside microagg1d."""

from __future__ import annotations

from functools import partial

import numpy as np

from microagg_ops import partition
from tests.benchmarks.harness import Find, Panel, Section, exponent, grow

SIZES = (10_000, 100_000, 1_000_000)
QUICK = (1_000, 10_000)


def skewed(rows: int) -> np.ndarray:
    """One column with a long tail, not sorted."""
    return np.random.default_rng(rows).gamma(1, size=(rows, 1))


def peers(k: int) -> dict[str, Find]:
    """Return microagg1d, if it is there, on sorted input as it must be."""
    try:
        import microagg1d
    except ImportError:
        return {}

    def find(X: np.ndarray, method: str) -> np.ndarray:
        order = np.argsort(X[:, 0], kind="stable")
        labels = np.empty(len(X), np.int32)
        labels[order] = microagg1d.univariate_microaggregation(X[order, 0], k, method=method)
        return labels

    return {f"microagg1d {method}": partial(find, method=method) for method in ("auto", "wilber")}


def measure(quick: bool) -> Section:
    """Measure a small and a larger k."""
    panels = []
    for k in (3, 10):
        finds = {name: partial(partition, k=k, method=name) for name in ("optimal", "mdav")}
        measured = list(grow(finds | peers(k), skewed, QUICK if quick else SIZES, 60.0))
        panels.append(Panel(f"one gamma column, k = {k}", measured))
    text = [line for panel in panels for line in compared(panel)]
    if not peers(3):
        text.append("microagg1d is not installed and was left out.")
    about = "Time and information loss of `optimal`, beside `mdav` and beside microagg1d."
    return Section("One column", about, panels, text)


def compared(panel: Panel) -> list[str]:
    """Say how the time grows and by how much others lose more."""
    rows = max(m.rows for m in panel.of("optimal"))
    loss = {m.name: m.loss for m in panel.measured if m.rows == rows}
    more = [
        f"{name} {100 * (lost / loss['optimal'] - 1):+.4f} %"
        for name, lost in loss.items()
        if name != "optimal"
    ]
    return [
        f"{panel.title}: time of `optimal` grows with rows to the power "
        f"{exponent(panel.of('optimal')):.2f}. Loss at {rows:,} rows against `optimal`: "
        f"{', '.join(more)}.",
        "",
    ]
