"""How many threads: processors of the affinity and the quota, or fewer."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from microagg_ops import partition, threads
from microagg_ops.errors import ReleaseError
from microagg_ops.methods import mdav, plain


@pytest.fixture(autouse=True)
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of eight processors, whichever this one is."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.delenv(threads.VARIABLE, raising=False)


def system(root: Path, own: str, limits: dict[str, str]) -> Path:
    """Make the files of a cgroup and of those above it."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(f"1:name=x:/other\n0::{own}\n")
    for name, text in limits.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("own", "limits", "expected"),
    [
        ("/", {}, 8),
        ("/", {"cpu.max": "max 100000\n"}, 8),
        ("/", {"cpu.max": "300000 100000\n"}, 3),
        ("/", {"cpu.max": "250000 100000\n"}, 2),
        ("/", {"cpu.max": "50000 100000\n"}, 1),
        ("/", {"cpu.max": "3200000 100000\n"}, 8),
        ("/pod/task", {"pod/cpu.max": "200000 100000", "pod/task/cpu.max": "max 100000"}, 2),
        ("/not/seen/here", {"cpu.max": "400000 100000"}, 4),
        ("/", {"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
        ("/", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8),
        ("/", {"cpu.max": "garbage"}, 8),
    ],
)
def test_processors_of_the_quota(
    tmp_path: Path, own: str, limits: dict[str, str], expected: int
) -> None:
    assert threads.processors(system(tmp_path, own, limits)) == expected


def test_processors_of_the_affinity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5})
    assert threads.processors(tmp_path) == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert threads.processors(tmp_path) == 6


def test_the_setting_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "processors", lambda: 8)
    assert threads.count() == 8
    monkeypatch.setenv(threads.VARIABLE, " 3 ")
    assert threads.count() == 3
    with threads.at_most(2):
        assert threads.count() == 2
        with threads.at_most(None):
            assert threads.count() == 2
        with threads.at_most(100):
            assert threads.count() == 8, "more than there are would wait for each other"
    assert threads.count() == 3
    monkeypatch.setenv(threads.VARIABLE, "")
    assert threads.count() == 8


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "²"])
def test_a_bad_environment_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(threads.VARIABLE, text)
    with pytest.raises(ReleaseError, match="must be a whole number of 1 or more"):
        threads.count()


@pytest.mark.parametrize("method", ["mdav", "best"])
def test_labels_do_not_depend_on_the_number(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    monkeypatch.setattr(threads, "processors", lambda: 4)
    monkeypatch.setattr(plain, "way", lambda *_: plain.TREE)
    X = np.random.default_rng(1).integers(0, 40, (6000, 3)).astype(float)
    params = {"iterations": 2} if method == "best" else {}
    found = [partition(X, 4, method, threads=many, **params) for many in (1, 2, 4)]
    assert all((labels == found[0]).all() for labels in found)


def test_one_processor_has_no_helper_that_spins(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    make = threads.pool

    def noted(most: int) -> object:
        asked.append(min(most, threads.count()))
        return make(most)

    monkeypatch.setattr(threads, "pool", noted)
    monkeypatch.setattr(plain, "way", lambda *_: plain.TREE)
    begun: list[object] = []
    monkeypatch.setattr("microagg_ops.kernels.mdav.lookahead.serve", lambda *a: begun.append(a))
    partition(np.random.default_rng(2).normal(size=(3000, 3)), 3, threads=1)
    assert set(asked) == {1} and not begun
    assert mdav.THREADS > 1


@pytest.mark.parametrize("many", [0, -1, "2"])
def test_a_bad_number_is_refused(many: object) -> None:
    with pytest.raises(ReleaseError, match="'threads' parameter"):
        partition(np.zeros((4, 1)), 2, threads=many)  # type: ignore[arg-type]
