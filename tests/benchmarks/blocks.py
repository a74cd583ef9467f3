"""What blocks cost: the loss of clusters within blocks beside that of all rows together.

``python -m tests.benchmarks.blocks [rows] [columns] [k]``
"""

from __future__ import annotations

import sys

import numpy as np

from microagg_ops.engines.cuts import cut, numbers
from microagg_ops.methods import partition
from microagg_ops.metrics.loss import centroids, sse


def tables(rows: int, columns: int) -> dict[str, np.ndarray]:
    """Normal, clustered and heavy-tailed rows."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 5, (50, columns))
    return {
        "normal": rng.normal(size=(rows, columns)),
        "clustered": centres[rng.integers(0, 50, rows)] + rng.normal(size=(rows, columns)),
        "heavy tails": rng.standard_t(2, (rows, columns)),
    }


def lost(points: np.ndarray, k: int, parts: int) -> float:
    """SSE of MDAV within blocks that a sample of the rows is cut into."""
    sample = points[np.random.default_rng(1).choice(len(points), min(len(points), 20_000), False)]
    blocks = numbers(points, cut(sample, parts))
    found = 0.0
    for block in np.unique(blocks):
        rows = points[blocks == block]
        labels = partition(rows, k, "mdav")
        found += sse(rows, centroids(rows, labels)[labels])
    return found


def main(rows: int = 50_000, columns: int = 13, k: int = 5) -> None:
    """Print a row for each table and number of blocks."""
    for name, table in tables(rows, columns).items():
        points = (table - table.mean(0)) / table.std(0)
        whole = lost(points, k, 1)
        ratios = [lost(points, k, parts) / whole for parts in (4, 16, 64)]
        print(f"| {name} | {' | '.join(f'{ratio:.3f}' for ratio in ratios)} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
