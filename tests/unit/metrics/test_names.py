"""The measures by their names: what an import loads, and where they run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from microagg_ops import metrics


def python(script: str) -> str:
    """Run a script in a fresh interpreter; give what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", metrics.__all__)
def test_measure_is_there_and_says_what_it_does(name: str) -> None:
    found = getattr(metrics, name)
    assert found.__name__ == name
    assert found.__doc__
    assert name in dir(metrics)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = metrics.magic


def test_names_load_nothing_heavy() -> None:
    told = python(
        "import json, sys\nimport microagg_ops.metrics as m\n"
        "[getattr(m, name) for name in m.__all__]\nprint(json.dumps(sorted(sys.modules)))"
    )
    heavy = {"numpy", "numba", "pandas", "polars", "pyarrow", "scipy"}
    assert set(json.loads(told)) & heavy == set()


@pytest.mark.slow
def test_measures_run_in_a_forked_child() -> None:
    # The parent has used threads of polars and Arrow, which a fork does not keep.
    told = python(
        """
import os, signal
import numpy as np, pandas as pd, polars as pl
from microagg_ops.metrics import *

rng = np.random.default_rng(0)
frame = pl.DataFrame({
    "a": rng.integers(0, 50, 200_000),
    "b": rng.choice(["x", "y"], 200_000),
    "s": rng.normal(size=200_000),
})
before = frame.head(5000).to_pandas()

def measured():
    return [
        k_anonymity(frame, ["a", "b"]),
        diversity(frame, ["a"], "b"),
        t_closeness(frame, ["a", "b"], "s"),
        suda(before, ["a", "b", "s"]),
        distance_linkage(before, before.assign(a=before.a // 3)),
        probabilistic_linkage(before, before.assign(a=before.a // 3)),
        propensity(before, before.assign(a=before.a // 3)),
    ]

assert frame.group_by("a", "b").len().height == 100
expected = measured()
child = os.fork()
if child == 0:
    signal.alarm(120)
    os._exit(0 if measured() == expected else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    assert told.strip() == "0"
