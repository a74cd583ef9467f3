"""Labels of every method, bit for bit: what moves code about must not move a row.

The digests in ``labels.json`` were made before the kernels were renamed. A change that means to
find other clusters says so, and writes them anew: ``python -m tests.golden.test_labels``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from microagg_ops import partition
from microagg_ops.methods.registry import METHODS

FROZEN = Path(__file__).with_name("labels.json")
SEARCHES = {"ls": 30, "lsc": 30, "ilsm": 40, "ilsmc": 40, "best": 12, "icsm": 30}
SMALL = ("mf_tsp", "tsp_mhm", "fmdav", "vmdav", "ilsm", "ls", "icsm")


def tables() -> dict[str, np.ndarray[Any, Any]]:
    """Tables of several shapes: plain, clustered with ties, heavy tails, one column, and larger."""
    rng = np.random.default_rng(20261118)
    centres = rng.normal(size=(12, 6))
    made = {
        "normal": rng.normal(size=(400, 5)),
        "ties": rng.integers(0, 4, size=(300, 4)).astype(float),
        "tails": np.exp(1.5 * rng.normal(size=(350, 7))),
        "line": rng.normal(size=(500, 1)),
        "clustered": centres[rng.integers(12, size=3000)] + 0.1 * rng.normal(size=(3000, 6)),
        "large": rng.normal(size=(25_000, 8)),
    }
    return {name: (X - X.mean(0)) / X.std(0) for name, X in made.items()}


def cases() -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """Every method on the tables that it can take in a second or two."""
    for method in METHODS:
        for table in tables():
            if (method == "optimal") != (table == "line"):
                continue
            if method in SMALL and table in ("clustered", "large"):
                continue
            if table == "large" and method not in ("mdav", "best", "mhm", "mdav_mhm"):
                continue
            params = {"iterations": SEARCHES[method]} if method in SEARCHES else {}
            for k in (3, 5) if table != "large" else (4,):
                yield method, table, k, params


def digest(method: str, table: str, k: int, params: dict[str, Any]) -> str:
    labels = partition(tables()[table], k, method, seed=7, **params)
    return hashlib.sha256(labels.astype("<i4").tobytes()).hexdigest()


def name_of(case: tuple[str, str, int, dict[str, Any]]) -> str:
    return f"{case[0]} {case[1]} k={case[2]}"


@pytest.mark.parametrize("case", list(cases()), ids=name_of)
def test_labels_are_what_they_were(case: tuple[str, str, int, dict[str, Any]]) -> None:
    assert digest(*case) == json.loads(FROZEN.read_text())[name_of(case)]


def test_every_method_is_frozen() -> None:
    frozen = json.loads(FROZEN.read_text())
    assert {name.split()[0] for name in frozen} == set(METHODS)
    assert set(frozen) == {name_of(case) for case in cases()}


if __name__ == "__main__":
    FROZEN.write_text(
        json.dumps({name_of(case): digest(*case) for case in cases()}, indent=1) + "\n"
    )
