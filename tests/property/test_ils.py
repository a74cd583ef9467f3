"""LS, LSC, ILSM and ILSMC against their definitions, and what they promise."""

from __future__ import annotations

import itertools
import signal
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import partition
from microagg_ops.errors import ReleaseError
from microagg_ops.kernels.search import swap_shift
from microagg_ops.kernels.simd import floats
from microagg_ops.methods.ilsm import ilsmc
from microagg_ops.methods.ls import Descent
from microagg_ops.methods.partition import Point, renumbered
from microagg_ops.methods.start import cluster_range, random_labels
from tests import naive
from tests.clocks import ticking
from tests.property.tables import tables

LOCAL, ITERATED = ("ls", "lsc"), ("ilsm", "ilsmc")
RULES = [
    {"perturb": perturb, "accept": accept}
    for perturb in ("uniform", "biased")
    for accept in ("static", "dynamic")
]


def clumps(seed: int, rows: int, columns: int = 3) -> np.ndarray:
    """Rows around a few places, so that clusters interact now and then."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)) + 3 * rng.integers(0, 3, (rows, 1))


# The four theorems


def two_clusters(seed: int) -> tuple[np.ndarray, list[int], Descent, tuple[float, Any, Any]]:
    """Two random clusters of three to six rows, k = 3, their gap, radii and sizes.

    A third one, far away, keeps them off the middle.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 7, 2)
    labels = np.repeat([0, 1, 2], [*sizes, 3])
    apart = rng.choice([0.5, 1.0, 2.0, 4.0, 8.0])
    X = (
        rng.normal(size=(len(labels), 2))
        + apart * (labels[:, None] == 1)
        - 40 * (labels[:, None] == 2)
    )
    search = Descent(X, labels.astype(np.int32), 3, 0, cached=True)
    centres = search.clusters.centres
    gap = float(((centres[0] - centres[1]) ** 2).sum())
    return X, labels.tolist(), search, (gap, search.clusters.radius, sizes)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_swap_and_may_swap_say_what_the_sse_does(seed: int) -> None:
    X, labels, search, (gap, radius, sizes) = two_clusters(seed)
    points, centres = search.clusters.points, search.clusters.centres
    u, before = centres[1] - centres[0], naive.loss(X, labels)
    any_helps = False
    for x, y in itertools.product(range(sizes[0]), range(sizes[0], sizes.sum())):
        after = list(labels)
        after[x], after[y] = 1, 0
        helps = naive.loss(X, after) < before
        v = points[y] - points[x]
        assert swap_shift.swap_lowers(gap, u @ (v - u), (1 / sizes).sum(), v @ v) == helps
        any_helps |= helps
    assert swap_shift.may_swap(gap, *radius[:2]) or not any_helps


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_shift_and_may_shift_say_what_the_sse_does(seed: int) -> None:
    X, labels, search, (gap, radius, sizes) = two_clusters(seed)
    points, centres = search.clusters.points, search.clusters.centres
    before = naive.loss(X, labels)
    for a, b in ((0, 1), (1, 0)):
        any_helps = False
        for x in np.flatnonzero(np.array(labels) == a):
            after = list(labels)
            after[x] = b
            helps = naive.loss(X, after) < before
            own, other = (float(((points[x] - centres[c]) ** 2).sum()) for c in (a, b))
            assert swap_shift.shift_lowers(own, sizes[a], other, sizes[b]) == helps
            any_helps |= helps
        assert swap_shift.may_shift(gap, radius[a], sizes[a], sizes[b]) or not any_helps


def reach_each_other(search: Descent) -> bool:
    """Whether the marks of the first two clusters leave it open that they interact."""
    norms, sums, reaches = search.clusters[-4:-1]
    apart = max(abs(norms[0] - norms[1]), abs(sums[0] - sums[1]))
    return bool(apart <= reaches[0] + reaches[1])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_clusters_that_do_not_reach_each_other_cannot_change(seed: int) -> None:
    _, _, search, (gap, radius, sizes) = two_clusters(seed)
    if not reach_each_other(search):
        assert not swap_shift.may_swap(gap, *radius[:2])
        for a, b in ((0, 1), (1, 0)):
            assert sizes[a] == 3 or not swap_shift.may_shift(gap, radius[a], sizes[a], sizes[b])


def test_some_clusters_do_not_reach_each_other() -> None:
    within = sum(reach_each_other(two_clusters(seed)[2]) for seed in range(200))
    assert 0 < within < 200


# Local search


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(0, 12))
def test_local_search_is_that_of_the_definition(seed: int, k: int, more: int) -> None:
    X = clumps(seed, 4 * k + more)
    start = random_labels(len(X), k, seed)
    search = naive.IteratedSearch(X, k, start.tolist(), seed % 1000)
    search.search(set(range(len(X) // k)))
    expected = naive.labels_of([c for c in search.clusters if c], len(X))
    for method in LOCAL:
        found = partition(X, k, method, start=start, seed=seed % 1000)
        assert found.tolist() == renumbered(np.array(expected)).tolist()


@settings(max_examples=40, deadline=None)
@given(tables(most_rows=80), st.integers(0, 99), st.integers(1, 60))
def test_the_cache_changes_nothing_wherever_the_search_stops(
    table: tuple[np.ndarray, int], seed: int, iterations: int
) -> None:
    X, k = table
    found = [
        partition(X, k, m, start="random", seed=seed, iterations=n).tolist()
        for m in LOCAL
        for n in (iterations, None)
    ]
    assert found[0] == found[2]
    assert found[1] == found[3]


@settings(max_examples=30, deadline=None)
@given(tables(most_rows=80), st.integers(0, 99))
def test_local_search_lowers_the_sse_and_keeps_the_number_of_clusters(
    table: tuple[np.ndarray, int], seed: int
) -> None:
    X, k = table
    start = random_labels(len(X), k, seed)
    trajectory: list[Point] = []
    labels = partition(X, k, "lsc", start=start, seed=seed, trajectory=trajectory)
    before, after = (naive.loss(X, of.tolist()) for of in (start, labels))
    assert after <= before * (1 + 1e-12)
    sizes = np.bincount(labels)
    assert len(sizes) == start.max() + 1
    assert k <= sizes.min()
    assert sizes.max() <= max(8 * k - 1, np.bincount(start).max())
    assert [point.sse for point in trajectory] == pytest.approx([before, after], rel=1e-6, abs=1e-9)


def test_a_start_with_large_clusters_is_taken() -> None:
    X = clumps(1, 60)
    start = np.append(np.zeros(50, int), np.repeat([1, 2], 5))
    for method in LOCAL:
        labels = partition(X, 3, method, start=start)
        assert len(np.bincount(labels)) == 3
        assert naive.loss(X, labels.tolist()) < naive.loss(X, start.tolist())
    for method in ITERATED:
        sizes = np.bincount(partition(X, 3, method, start=start, iterations=60))
        assert cluster_range(60, 3)[0] <= len(sizes) <= 20
        assert sizes.min() >= 3


# Iterated local search


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: "-".join(rules.values()))
@pytest.mark.parametrize("seed", range(3))
def test_iterated_search_is_that_of_the_definition(seed: int, rules: dict[str, str]) -> None:
    k = 2 + seed % 2
    X = clumps(seed, 30 + seed, 2)
    start = random_labels(len(X), k, seed)
    search = naive.IteratedSearch(X, k, start.tolist(), seed)
    expected = search.run(
        15, 5 if rules["perturb"] == "biased" else 1, 1e-5 if rules["accept"] == "dynamic" else 0.0
    )
    for method in ITERATED:
        found = partition(X, k, method, start=start, seed=seed, iterations=15, **rules)
        assert found.tolist() == renumbered(np.array(expected)).tolist()


@settings(max_examples=25, deadline=None)
@given(tables(most_rows=70), st.integers(0, 99), st.sampled_from(RULES))
def test_it_is_never_worse_than_its_start_and_the_cache_changes_nothing(
    table: tuple[np.ndarray, int], seed: int, rules: dict[str, str]
) -> None:
    X, k = table
    trajectory: list[Point] = []
    given_ = {"seed": seed, "iterations": 20, **rules}
    labels = partition(X, k, "ilsmc", trajectory=trajectory, **given_)
    assert labels.tolist() == partition(X, k, "ilsm", **given_).tolist()
    assert np.bincount(labels).min() >= k
    before, after = (naive.loss(X, of.tolist()) for of in (partition(X, k), labels))
    assert after <= before * (1 + 1e-9) + 1e-9
    assert trajectory[-1].sse == pytest.approx(after, rel=1e-6, abs=1e-9)
    losses = [point.sse for point in trajectory]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_the_cache_changes_nothing_among_many_clusters(seed: int) -> None:
    """More of them than are compared at once, several times over; some of them empty."""
    X = clumps(seed, 700, 5) ** 3
    for plain, cached, params in (("ls", "lsc", {}), ("ilsm", "ilsmc", {"iterations": 40})):
        found = [
            partition(X, 3, method, start="random", seed=seed, **params)
            for method in (plain, cached)
        ]
        assert found[0].max() > 2 * floats.BLOCK
        np.testing.assert_array_equal(*found)


def test_rules_and_seeds_make_a_difference() -> None:
    X = clumps(3, 300)
    found = [
        partition(X, 3, "ilsmc", seed=seed, iterations=300, start="random", **rules).tolist()
        for seed in (1, 2)
        for rules in RULES
    ]
    assert all(a != b for a, b in itertools.combinations(found, 2))


def test_more_iterations_go_on_where_fewer_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    X = clumps(4, 400)
    whole = partition(X, 3, "ilsmc", iterations=200)
    monkeypatch.setattr("microagg_ops.methods.ls.WORK_PER_CALL", 3000.0)
    trajectory: list[Point] = []
    assert (
        partition(X, 3, "ilsmc", iterations=200, trajectory=trajectory).tolist() == whole.tolist()
    )
    assert len(trajectory) > 50
    assert trajectory[-1].iterations == 200
    assert partition(X, 3, "ilsm", iterations=200).tolist() == whole.tolist()


@pytest.mark.parametrize("method", [*LOCAL, *ITERATED])
def test_a_run_that_its_budget_stopped_can_be_replayed(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("microagg_ops.methods.ls.WORK_PER_CALL", 1e5)
    # From anywhere to a stop, a search of these takes seconds.
    X = clumps(5, 6000 if method in LOCAL else 600)
    partition(X[:100], 3, method, iterations=2)
    trajectory: list[Point] = []
    params = {"seed": 7, "start": "random"}
    labels = partition(X, 3, method, budget=0.15, trajectory=trajectory, **params)
    last = trajectory[-1].iterations
    assert last > 0
    assert partition(X, 3, method, iterations=last, **params).tolist() == labels.tolist()
    half = partition(X, 3, method, iterations=max(1, last // 2), **params)
    assert last == 1 or half.tolist() != labels.tolist()


def test_a_budget_that_ends_within_the_first_search_gives_what_it_has() -> None:
    clock = ticking(budget=12)
    labels = ilsmc(clumps(6, 100_000), 3, seed=0, clock=clock, start="random")
    assert clock.seconds < 20
    assert np.bincount(labels).min() >= 3
    assert clock.trajectory[-1].iterations == 0
    assert clock.trajectory[-1].sse < clock.trajectory[0].sse


@pytest.mark.parametrize("method", [*LOCAL, *ITERATED])
def test_a_kill_is_heard_within_a_second(method: str) -> None:
    X = clumps(7, 30_000, 10)
    partition(X[:100], 5, method, start="random", iterations=2)

    class Killed(Exception):
        pass

    def kill(number: int, frame: Any) -> None:
        raise Killed

    # Both clocks count what this process works, not how long it waits for its turn.
    before = signal.signal(signal.SIGPROF, kill)
    signal.setitimer(signal.ITIMER_PROF, 0.7)
    began = time.process_time()
    try:
        with pytest.raises(Killed):
            partition(X, 5, method, start="random")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert time.process_time() - began < 0.7 + 2.0


@pytest.mark.parametrize("rows", [4, 5, 6, 7, 8, 9, 40, 41, 1000])
def test_a_random_start_is_a_partition_of_the_allowed_size(rows: int) -> None:
    for seed in range(20):
        sizes = np.bincount(random_labels(rows, 4, seed))
        least, most = cluster_range(rows, 4)
        assert least <= len(sizes) <= most
        assert sizes.min() >= 4
        assert sizes.max() <= 7
    assert not np.array_equal(random_labels(1000, 4, 1), random_labels(1000, 4, 2))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"perturb": "wild"}, "'perturb' parameter must be one of uniform, biased"),
        ({"accept": "never"}, "'accept' parameter must be one of static, dynamic"),
        ({"iterations": 0}, "'iterations' parameter must be a number of 1 or more"),
        ({"start": "ilsm"}, "'start' parameter must be one of .*random"),
        ({"start": np.arange(50)}, "cluster of fewer than k = 3 rows"),
    ],
)
def test_a_bad_parameter_is_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        partition(clumps(8, 50), 3, "ilsmc", **params)
