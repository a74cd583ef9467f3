"""No fault leaves a mixed target, an untrue word about it, or raw rows behind a sweep.

A short form runs with the suite; ``CHAOS=long`` (``make chaos``) goes on for the minutes that
``CHAOS_MINUTES`` names, and keeps its table for the documentation.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.chaos.harness import Ground, chaos, written

LONG = os.environ.get("CHAOS") == "long"
SEED = int(os.environ.get("CHAOS_SEED", "20261118"))
MINUTES = float(os.environ.get("CHAOS_MINUTES", "60"))


def test_faults(tmp_path: Path, warehouse: Path, release_file: Path) -> None:
    ground = Ground(tmp_path, warehouse, release_file)
    tries, seconds = (0, MINUTES * 60) if LONG else (6, 40.0)
    rows = chaos(ground, SEED, tries, seconds)
    if LONG:
        written(rows, SEED)
    assert sum(row.tries for row in rows.values()) > 0
    for name, row in rows.items():
        assert (row.mixed, row.raw_left, row.untrue) == (0, 0, 0), (name, row.examples)
