"""What every method must bear; a method that is added to METHODS is tested here at once."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from microagg_ops import partition
from microagg_ops.errors import BudgetError
from microagg_ops.methods.partition import as_points
from microagg_ops.methods.registry import METHODS
from tests.clocks import ticking

every_method = pytest.mark.parametrize("method", sorted(METHODS))
# Methods for tables of any size; the others are for some thousand rows.
LARGE = sorted({"best", "fmdav", "mdav", "optimal", "vmdav"})
every_large_method = pytest.mark.parametrize("method", LARGE)
# Tours are searched with a tolerance that is not relative to the values.
NOT_FREE_OF_SCALE = {"compress_tsp_mhm", "mdav_lk_mhm", "mf_tsp", "tsp_mhm"}
# Methods that leave equal rows together whenever k of them are there.
FINDS_DUPLICATES = {"mdav", "fmdav", "vmdav", "best", "optimal"}
ONE_COLUMN = {"optimal"}


def params_of(method: str) -> dict[str, Any]:
    """A search is kept short."""
    known = inspect.signature(METHODS[method].load()).parameters
    return {"iterations": 2 if method == "best" else 20} if "iterations" in known else {}


def columns_for(method: str, X: np.ndarray) -> np.ndarray:
    """As much of a table as a method takes."""
    return X[:, :1] if method in ONE_COLUMN else X


def found(method: str, X: np.ndarray, k: int) -> np.ndarray:
    """Labels, having checked that they are a partition into clusters of k rows or more."""
    labels = partition(columns_for(method, X), k, method, **params_of(method))
    assert labels.dtype == np.int32
    assert len(labels) == len(X)
    assert np.bincount(labels).min() >= k
    return labels


@every_method
def test_duplicate_rows(method: str) -> None:
    X = np.repeat(np.random.default_rng(1).normal(size=(12, 3)), 5, axis=0)
    labels = found(method, X, 5)
    if method in FINDS_DUPLICATES:
        assert len({(label, *row) for label, row in zip(labels, X.tolist(), strict=True)}) == 12


@every_method
def test_all_rows_equal(method: str) -> None:
    found(method, np.full((40, 3), 7.5), 3)


@every_method
def test_constant_columns_change_nothing(method: str) -> None:
    X = np.random.default_rng(2).normal(size=(60, 3))
    if method not in ONE_COLUMN:
        with_constants = np.column_stack([X, np.zeros(60), np.full(60, 4.0)])
        assert np.array_equal(found(method, with_constants, 4), found(method, X, 4))


@every_method
@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_from_k_to_3k_rows(method: str, k: int) -> None:
    X = np.random.default_rng(k).normal(size=(3 * k, 2))
    for rows in range(k, 3 * k + 1):
        labels = found(method, X[:rows], k)
        assert labels.max() + 1 <= rows // k


@every_method
def test_k_is_all_rows(method: str) -> None:
    assert found(method, np.random.default_rng(3).normal(size=(25, 4)), 25).tolist() == [0] * 25


@every_method
def test_one_column(method: str) -> None:
    found(method, np.random.default_rng(4).normal(size=(70, 1)), 6)


@every_method
def test_200_columns(method: str) -> None:
    found(method, np.random.default_rng(5).normal(size=(90, 200)), 6)


@every_method
def test_values_from_tiny_to_huge(method: str) -> None:
    rng = np.random.default_rng(6)
    X = rng.choice([-1.0, 1.0], (80, 3)) * 10 ** rng.uniform(-12, 12, (80, 3))
    found(method, X, 4)


@every_method
@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
def test_a_scale_changes_nothing(method: str, scale: float) -> None:
    X = np.random.default_rng(7).normal(size=(80, 3))
    if method in NOT_FREE_OF_SCALE and scale < 1:
        pytest.skip("its tolerance is not relative")
    assert np.array_equal(found(method, X * scale, 4), found(method, X, 4))


@every_method
def test_the_same_twice(method: str) -> None:
    X = np.round(np.random.default_rng(8).normal(size=(300, 3)), 1)
    assert np.array_equal(found(method, X, 4), found(method, X, 4))


@every_method
def test_the_input_stays_as_it_is(method: str) -> None:
    X = np.random.default_rng(9).normal(size=(50, 3))
    before = X.copy()
    found(method, X, 3)
    assert np.array_equal(X, before)


@every_large_method
def test_a_budget_is_kept(method: str) -> None:
    points = as_points(columns_for(method, np.random.default_rng(10).normal(size=(120_000, 8))))
    # The second look is too late. How many looks a whole run takes depends on threads, but every
    # method for large tables takes more than two, except the one that is done in a moment.
    clock = ticking(budget=1)
    with contextlib.suppress(BudgetError):  # what has no result before its end
        assert np.bincount(METHODS[method].load()(points, 3, seed=0, clock=clock)).min() >= 3
    if method == "best":  # it gives MDAV's partition back in any case
        assert [point.iterations for point in clock.trajectory] == [0]
    else:
        assert clock.seconds == (2 if method in ONE_COLUMN else 3)


@pytest.mark.parametrize("method", sorted(name for name in METHODS if METHODS[name].refines))
def test_a_search_has_a_result_however_short_its_budget(method: str) -> None:
    X = np.random.default_rng(13).normal(size=(300, 3))
    assert np.bincount(partition(X, 4, method, budget=1e-9)).min() >= 4


@every_large_method
def test_progress_rises_to_one(method: str) -> None:
    told: list[float] = []
    X = columns_for(method, np.random.default_rng(11).normal(size=(8_000, 4)))
    partition(X, 5, method, progress=told.append, **params_of(method))
    assert told == sorted(told)
    assert told[0] >= 0.0
    assert told[-1] == 1.0


def run(script: str) -> dict[str, Any]:
    """Run a script in an interpreter of its own; it prints an object."""
    setup = "from tests.unit.methods.test_edges import *\n"
    done = subprocess.run(
        [sys.executable, "-c", setup + script],
        capture_output=True,
        text=True,
        check=False,
        # Arrays go back to the system when they are freed, so that a later peak shows.
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"},
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_forked_child_finds_the_same() -> None:
    assert run("""
X = np.random.default_rng(12).normal(size=(3000, 4))
def same(method):
    expected = found(method, X, 3)
    child = os.fork()
    if not child:
        os._exit(0 if np.array_equal(found(method, X, 3), expected) else 1)
    return os.waitpid(child, 0)[1] == 0
print(json.dumps({method: same(method) for method in LARGE}))
""") == dict.fromkeys(LARGE, True)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_no_method_takes_twelve_times_the_memory_of_its_input() -> None:
    ratios = run("""
def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
def ratio(method):
    shape = (400_000, 1) if method in ONE_COLUMN else (40_000, 10)
    X = np.random.default_rng(13).normal(size=shape)
    found(method, X, 5)  # compiling takes memory of its own
    before = status("VmRSS")
    open("/proc/self/clear_refs", "w").write("5")  # the peak counts from here
    found(method, X, 5)
    return (status("VmHWM") - before) / X.nbytes
print(json.dumps({method: ratio(method) for method in LARGE}))
""")
    assert {method: ratio for method, ratio in ratios.items() if ratio > 12} == {}
    assert max(ratios.values()) > 0.5  # it did measure something
