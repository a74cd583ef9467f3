"""What the cache of iterated local search saves, beside the figures of the paper."""

from __future__ import annotations

import time

import numpy as np

from microagg_ops import partition
from tests.benchmarks.harness import Section, markdown
from tests.benchmarks.search import ITERATIONS, KS, NAMES, printed, table, verdict


def timed(name: str, k: int, method: str, iterations: int) -> tuple[np.ndarray, float]:
    """Return the labels that are found, and the CPU seconds."""
    began = time.process_time()
    labels = partition(table(name), k, method, seed=1, start="random", iterations=iterations)
    return labels, time.process_time() - began


def ratios(iterations: int) -> list[list[object]]:
    """CPU seconds of ilsmc and ilsm, side by side."""
    lines: list[list[object]] = []
    for name in NAMES:
        for k in KS:
            found, fast = timed(name, k, "ilsmc", iterations)
            expected, slow = timed(name, k, "ilsm", iterations)
            np.testing.assert_array_equal(found, expected)
            ours, paper = printed("ilsmc_seconds_per_5000_iterations", name, k)
            target, ratio = paper / ours, slow / fast
            cells = f"{fast:.2f}", f"{slow:.1f}", f"{ratio:.1f}", f"{target:.1f}"
            lines.append([name, k, *cells, verdict(ratio >= target)])
            print(*lines[-1], flush=True)
    return lines


def measure(quick: bool) -> Section:
    """Time both methods, one after the other; few iterations where it must be quick."""
    for method in ("ilsm", "ilsmc"):  # compiled before the clock runs
        partition(table("tarragona")[:50], 3, method, start="random", iterations=2)
    iterations = 50 if quick else ITERATIONS
    text = [
        *markdown(
            ["data", "k", "ilsmc", "ilsm", "ratio", "printed ratio", "held"], ratios(iterations)
        ),
        "Both found the same labels. `ilsmc` leaves out the pairs that did not change, and those "
        "too far apart by two cheap bounds.",
        "",
    ]
    about = (
        f"CPU seconds of {iterations:,} iterations of `ilsmc` and of `ilsm` from a random "
        "partition, one seed, by data set and k."
    )
    return Section("The cache of iterated local search", about, [], text)
