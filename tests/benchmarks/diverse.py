"""What it costs to build clusters that meet limits on a sensitive column.

Beside the plain partition stand raising k until the plain one meets the limit, and a crude repair.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from microagg_ops import partition
from microagg_ops.methods.aware import made_aware, meets
from microagg_ops.methods.limits import Sensitive, sensitive_of
from microagg_ops.methods.partition import Clock
from microagg_ops.metrics.loss import centroids, information_loss
from tests import naive_diverse as naive
from tests.benchmarks.harness import Section, markdown
from tests.benchmarks.tables import normal, real_shaped
from tests.golden.test_published import standardized

K = 5
LARGE, LARGE_K = 1_000_000, 10
# The sensitive column of a table of numbers is its last, cut at these quantiles.
CUTS = (0.6, 0.7, 0.78, 0.85, 0.91, 0.96)

Case = tuple[str, np.ndarray, np.ndarray]


def measure(quick: bool) -> Section:
    """Measure small tables against raising k and the crude repair, and a large one for its time."""
    lines = [cell for case in list(cases())[: 2 if quick else None] for cell in cells(*case, quick)]
    header = ("table, limit", "k = 5", "k raised", "its loss", "crude", "built", "below k raised",
              "below crude")  # fmt: skip
    text = [
        f"Loss in percent, k = {K}, `mdav`. *k raised*: the first k whose plain partition passes "
        "(steps of a twentieth). *crude*: swap a redundant row for a near one with a new value, "
        "then merge what is short; of limits other than distinct values, merge alone.",
        "",
        *markdown(header, lines),
        *large(20_000 if quick else LARGE),
    ]
    about = "Clusters that meet l-diversity and t-closeness, beside a larger k and a crude repair."
    return Section("Diverse clusters", about, [], text)


def cases() -> Iterator[Case]:
    """Return tables with a sensitive column, those that are there."""
    folder = Path(os.environ.get("MICROAGG_DATA", ""))
    made = folder / "cases" / "tables.py"
    if os.environ.get("MICROAGG_DATA") and made.exists():
        spec = importlib.util.spec_from_file_location("cases_tables", made)
        module: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        for share in (0.7, 0.5):
            for seed in (0, 1):
                yield (f"share {share}, seed {seed}", *module.with_sensitive(share, seed))
        for name in ("tarragona", "census", "eia11"):
            yield (name, *cut(standardized(folder, name)))
    yield ("real-shaped", *cut(real_shaped(2_000, 9)))


def cut(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standardize all columns but the last, and cut that into seven values."""
    points = table[:, :-1]
    values = np.searchsorted(np.quantile(table[:, -1], CUTS), table[:, -1])
    return (points - points.mean(axis=0)) / points.std(axis=0), values


def cells(
    name: str, points: np.ndarray, values: np.ndarray, quick: bool
) -> Iterator[tuple[object, ...]]:
    """Measure a table under several limits."""
    limits: dict[str, dict[str, Any]] = {
        "l = 3": {"l": 3},
        "entropy l = 2.5": {"l": {"l": 2.5, "kind": "entropy"}},
        "t = 0.25, nominal": {"t": {"t": 0.25, "ordered": False}},
        "t = 0.15, ordered": {"t": {"t": 0.15, "ordered": True}},
    }
    plain = partition(points, K)
    for limit, how in list(limits.items())[: 1 if quick else None]:
        columns = sensitive_of(values, how.get("l"), how.get("t"), len(points))
        k, raised = raise_k(points, columns)
        if limit == "l = 3":
            crude = naive.crude_repair(points, plain, values, 3)
        else:
            crude = naive.merged(points, plain, lambda rows, c=columns: enough(c, rows))
        built = partition(points, K, sensitive=columns)
        losses = [lost(points, labels) for labels in (plain, raised, crude, built)]
        yield (
            f"{name}, {limit}", f"{losses[0]:.2f}", k, *(f"{loss:.2f}" for loss in losses[1:]),
            f"{100 * (1 - losses[3] / losses[1]):.0f} %",
            f"{100 * (1 - losses[3] / losses[2]):.0f} %",
        )  # fmt: skip


def raise_k(points: np.ndarray, columns: tuple[Sensitive, ...]) -> tuple[int, np.ndarray]:
    """Find the first k whose plain partition meets the limits."""
    k = K
    while True:
        labels = partition(points, k)
        if meets(points, labels, columns):
            return k, labels
        k = min(len(points), k + max(1, k // 20))


def enough(columns: tuple[Sensitive, ...], rows: np.ndarray) -> bool:
    """Say whether rows meet the limits."""
    return not any(fault for column in columns for fault in column.of(rows).faults())


def lost(points: np.ndarray, labels: np.ndarray) -> float:
    """Information loss in percent."""
    return information_loss(points, centroids(points, labels)[labels])


def large(rows: int) -> Iterator[str]:
    """Measure how many times longer it takes than the plain method where rows are many."""
    rng = np.random.default_rng(5)
    points = normal(rows, 13)
    frequent = np.where(rng.random(rows) < 0.5, 0, rng.integers(1, 8, rows))
    limits: dict[str, tuple[np.ndarray, Any, Any]] = {
        "l = 3, one of eight values in half of the rows": (frequent, 3, None),
        "t = 0.2, ordered, all values different": (rng.lognormal(size=rows), None, 0.2),
    }
    small = partition(points[:2_000], LARGE_K, sensitive=frequent[:2_000], l=3)  # compiled
    assert len(small)
    seconds, plain = timed(lambda: partition(points, LARGE_K))
    found: list[tuple[object, ...]] = [
        ("plain", f"{seconds:.1f} s", "1.0", f"{lost(points, plain):.2f} %", int(plain.max()) + 1)
    ]
    for name, (values, l, t) in limits.items():  # noqa: E741
        columns = sensitive_of(values, l, t, rows)

        def build(columns: tuple[Sensitive, ...] = columns) -> np.ndarray:
            return made_aware(points, LARGE_K, plain, columns, seed=0, clock=Clock())

        more, labels = timed(build)
        found.append(
            (name, f"{seconds + more:.1f} s", f"{1 + more / seconds:.1f}",
             f"{lost(points, labels):.2f} %", int(labels.max()) + 1)
        )  # fmt: skip
    yield f"{rows:,} rows of 13 normal columns, k = {LARGE_K}, in one process:"
    yield ""
    yield from markdown(("", "time", "times plain", "loss", "clusters"), found)


def timed(case: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Run a case; give seconds and result."""
    began = time.perf_counter()
    result = case()
    return time.perf_counter() - began, result
