"""The search for the lowest loss: its moves against recomputed SSE, its promises as a whole."""

from __future__ import annotations

import os
from itertools import count, pairwise
from types import SimpleNamespace
from unittest.mock import patch

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import partition
from microagg_ops.kernels.random import seeded
from microagg_ops.kernels.search import annealing, ejection_chains
from microagg_ops.kernels.search.journal import make_scratch
from microagg_ops.kernels.search.partition import rebuild
from microagg_ops.kernels.simd import floats
from microagg_ops.methods import best as method
from microagg_ops.methods import effort, neighbours, plain
from microagg_ops.methods.best import Search
from microagg_ops.methods.neighbours import approximate_knn, exact_knn, spatial_order
from microagg_ops.methods.partition import Clock, Point
from microagg_ops.metrics.loss import centroids, sse
from tests import naive
from tests.clocks import ticking
from tests.property.tables import tables


def lost(X: np.ndarray, labels: np.ndarray) -> float:
    """The SSE of a partition, where the naive way takes too long."""
    return sse(X, centroids(X, labels)[labels])


def a_search(seed: int, rows: int, k: int, columns: int = 3) -> tuple[np.ndarray, Search]:
    """A search at its start, on a table with a few clumps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) + 4 * rng.integers(0, 3, (rows, 1))
    return X, Search(X, partition(X, k), k, seed, Clock())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.booleans())
def test_the_best_chain_is_the_best_of_all(seed: int, k: int, kept: bool) -> None:
    rng = np.random.default_rng(seed)
    rows, length = int(rng.integers(3 * k, 3 * k + 2)), 3
    X = rng.normal(size=(rows, 2))
    labels = np.arange(rows) % (rows // k)
    search = Search(X, labels.astype(np.int32), k, 0, Clock())
    near = exact_knn(X, rows - 1, Clock())
    parts, distances = search.parts, search.scratches[0].distances
    distances = distances if kept else distances[:0]
    scratch = make_scratch(len(parts.sizes), length, 500, distances, rows, k)
    found = [ejection_chains.best_chain(parts, near, scratch, row, k)[0] for row in range(rows)]
    expected = naive.best_chain(X, labels.tolist(), k, length)
    assert min(found) * search.scale**2 == pytest.approx(expected, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.05, 2.0]),
    st.booleans(),
    st.sampled_from([None, 4]),
)
def test_the_change_of_sse_is_what_measuring_again_gives(
    seed: int, k: int, temperature: float, taking_over: bool, sweeps: int | None
) -> None:
    X, search = a_search(seed, 60, k)
    if taking_over:
        along = np.argsort(np.argsort(X[:, 0])) // k
        search.kept = np.minimum(along, 60 // k - 1).astype(np.int32), 0.0
        search.begin_anew(remembering=True)
    for kind in (annealing.anneal, ejection_chains.iterate):
        (rows, free), _ = search.divide()
        before = naive.sse_of(X, search.parts.labels.tolist())
        if kind is annealing.anneal:
            args = (rows, free, k, temperature, temperature / 2, 2000, sweeps, 3, seeded(seed, 9))
            change = annealing.anneal(search.parts, search.near, search.heat, *args)
        else:
            args = (rows, free, k, temperature, 20_000, seeded(seed, 9))
            settling = search.scratches[0], search.guide, search.settled
            change = ejection_chains.iterate(search.parts, search.near, *settling, *args)
        labels = search.parts.labels.tolist()
        after = naive.sse_of(X, labels)
        assert change * search.scale**2 == pytest.approx(after - before, abs=1e-8)
        sizes = np.bincount(labels)
        assert sizes[sizes > 0].min() >= k
        assert sizes.max() <= max(2 * k - 1, np.bincount(partition(X, k)).max())
        assert search.sse >= 0


@pytest.mark.parametrize("tail", [0.0, 9.0])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_neighbours_are_the_nearest_rows(k: int, tail: float) -> None:
    rng = np.random.default_rng(k)
    X = np.round(rng.normal(size=(300, 2)), 1)
    X *= np.exp(tail * rng.exponential(size=(300, 1)))  # a dense core, and rows very far out
    near = exact_knn(X, k, Clock())
    for row in range(0, 300, 7):
        guide = sorted(
            (i for i in range(300) if i != row), key=lambda i: (naive.distance(X[i], X[row]), i)
        )
        assert near[row].tolist() == guide[:k]


@settings(max_examples=50, deadline=None)
@given(tables())
def test_measuring_all_rows_finds_the_neighbours_that_the_tree_finds(
    table: tuple[np.ndarray, int],
) -> None:
    X, k = table
    count = min(k, len(X) - 1)
    with patch.object(plain, "way", lambda *_: plain.TREE):
        expected = exact_knn(X, count, Clock())
    with patch.object(plain, "way", lambda *_: plain.BRUTE_FORCE):
        assert (exact_knn(X, count, Clock()) == expected).all()


def test_neighbours_of_equal_rows_are_the_lowest_rows() -> None:
    near = exact_knn(np.ones((5, 2)), 2, Clock())
    assert near.tolist() == [
        [1, 2],
        [0, 2],
        [0, 1],
        [0, 1],
        [0, 1],
    ]


def test_rows_take_turns_sweep_by_sweep() -> None:
    """Whatever the temperature, a row without heat never moves uphill."""
    _, search = a_search(3, 400, 3)
    search.heat[:] = 0.0
    before, ends = search.scaled, []
    for sweeps in (1, 5):
        (rows, free), _ = search.divide()
        args = (rows, free, 3, 1e9, 1e9, 20_000, sweeps, 0, seeded(1, 9))
        change = annealing.anneal(search.parts, search.near, search.heat, *args)
        ends.append(change)
        assert change <= 0.0
    assert ends[0] < -0.01 * before
    # The heat of each row counts: with some, the same temperature is a turmoil.
    search.heat[:] = 1.0
    assert annealing.anneal(search.parts, search.near, search.heat, *args) > 0.1 * before


@pytest.mark.parametrize("tail", [0.0, 1.0])
def test_most_of_what_is_nearly_nearest_is(monkeypatch: pytest.MonkeyPatch, tail: float) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(5000, 6)) * np.exp(tail * rng.exponential(size=(5000, 1)))
    X[rng.choice(5000, 200)] = X[rng.choice(5000, 200)]  # some rows are equal
    X = X[spatial_order(X)]
    near = approximate_knn(X, 12, Clock())
    right = [np.isin(*both).mean() for both in zip(near, exact_knn(X, 12, Clock()), strict=True)]
    assert np.mean(right) > 0.95
    assert (near != np.arange(5000)[:, None]).all()
    assert all(len(set(row)) == 12 for row in near.tolist())
    away = np.linalg.norm(X[:, None] - X[near], axis=2)
    assert (np.diff(away, axis=1) > -1e-5 * away.max()).all()
    # The same, however the work is shared out.
    monkeypatch.setattr(neighbours, "THREADS", 1)
    monkeypatch.setattr(neighbours, "STRETCH", neighbours.BLOCK)
    assert (approximate_knn(X, 12, Clock()) == near).all()


def test_cuts_and_rounds_both_find_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(9).normal(size=(4000, 8))
    exact, right = exact_knn(X, 9, Clock()), {}
    for cuts, rounds in ((2, 0), (6, 0), (2, 2)):
        monkeypatch.setattr(neighbours, "CUTS", cuts)
        monkeypatch.setattr(neighbours, "ROUNDS", rounds)
        found = approximate_knn(X, 9, Clock())
        right[cuts, rounds] = np.mean([np.isin(*b).mean() for b in zip(found, exact, strict=True)])
    assert right[6, 0] > right[2, 0] + 0.1 and right[2, 2] > right[2, 0] + 0.1


def test_equal_rows_are_nearly_neighbours_too() -> None:
    near = approximate_knn(np.ones((700, 2)), 5, Clock())
    assert (near != np.arange(700)[:, None]).all()
    assert all(len(set(row)) == 5 for row in near.tolist())


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 6), st.integers(20, 400))
def test_it_is_never_worse_than_mdav_and_every_cluster_has_k(seed: int, k: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.gamma(1, size=(rows, 3))
    trajectory: list = []
    labels = partition(X, k, "best", seed=seed, iterations=3, trajectory=trajectory)
    assert np.bincount(labels).min() >= k
    after, before = naive.sse_of(X, labels.tolist()), naive.sse_of(X, partition(X, k).tolist())
    assert after <= before + 1e-9
    assert trajectory[0].sse == pytest.approx(before)
    assert trajectory[-1].sse == pytest.approx(after)
    assert [point.sse for point in trajectory] == sorted(
        (point.sse for point in trajectory), reverse=True
    )


def test_one_core_and_two_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = a_search(1, 400, 3)
    twice = partition(X, 3, "best", iterations=6, seed=5)

    class OneAfterTheOther:
        def __init__(self, workers: int) -> None: ...
        def __enter__(self) -> OneAfterTheOther:
            return self

        def __exit__(self, *args: object) -> None: ...
        def map(self, work, regions):  # type: ignore[no-untyped-def]
            return [work(region) for region in reversed(regions)]

    monkeypatch.setattr(method, "threads", SimpleNamespace(pool=OneAfterTheOther))
    assert partition(X, 3, "best", iterations=6, seed=5).tolist() == twice.tolist()
    assert partition(X, 3, "best", iterations=6, seed=6).tolist() != twice.tolist()


def test_many_rows_are_searched_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = a_search(4, 300, 4)
    few = partition(X, 4, "best", iterations=4)
    monkeypatch.setattr(method, "FEW", 0)
    assert partition(X, 4, "best", iterations=4).tolist() == few.tolist()


def test_large_tables_are_searched_row_by_neighbouring_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(6)
    X = np.round(rng.normal(size=(600, 3)), 1)  # some rows are equal
    order = spatial_order(X)
    assert sorted(order.tolist()) == list(range(600))
    steps = np.linalg.norm(np.diff(X[order], axis=0), axis=1).mean()
    assert steps < 0.7 * np.linalg.norm(np.diff(X, axis=0), axis=1).mean()
    X = rng.normal(size=(floats.LARGE + 500, 3))
    monkeypatch.setattr(method, "MANY", floats.LARGE)
    labels = partition(X, 4, "best", iterations=12)
    assert np.bincount(labels).min() >= 4
    after, before = lost(X, labels), lost(X, partition(X, 4))
    assert after < 0.9 * before
    assert partition(X, 4, "best", iterations=12).tolist() == labels.tolist()


def test_a_cluster_of_another_partition_is_taken_over() -> None:
    X = np.array([[0.0], [1], [2], [10], [11], [12]])
    search = Search(X, np.array([0, 1, 0, 1, 0, 1], np.int32), 3, 0, Clock())
    search.kept = np.array([0, 0, 0, 1, 1, 1], np.int32), 0.0
    search.begin_anew(remembering=True)
    parts, scratch, guide = search.parts, search.scratches[0], search.guide
    search.divide()
    before = naive.sse_of(X, parts.labels.tolist())
    change = (
        ejection_chains.take_over(parts, search.near, scratch, guide, 4, 2, 3) * search.scale**2
    )
    # What was left of the others was too few for two clusters.
    assert parts.labels[3:].tolist() == [2, 2, 2] and len(set(parts.labels[:3])) == 1
    assert change == pytest.approx(4.0 - before)
    search.parts.labels[:] = search.kept[0]
    rebuild(parts)
    scratch.journal_size[0] = scratch.dirty_size[0] = 0
    assert ejection_chains.take_over(parts, search.near, scratch, guide, 4, 2, 3) == np.inf
    assert parts.labels.tolist() == [0, 0, 0, 1, 1, 1]  # it is there already


def test_later_runs_take_over_what_earlier_ones_found(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = a_search(9, 200, 3)
    monkeypatch.setattr(method, "LONG_RUN", 1000)
    anew: list[float] = []
    begin = Search.begin_anew

    def noted(search: Search, remembering: bool = False) -> None:
        begin(search, remembering)
        if remembering:
            anew.append(naive.sse_of(X, search.guide.labels.tolist()))

    monkeypatch.setattr(Search, "begin_anew", noted)
    labels = partition(X, 3, "best", iterations=40)
    assert len(anew) == method.RUNS - 1
    best_so_far = [*anew, naive.sse_of(X, labels.tolist())]
    assert all(late <= early + 1e-9 for early, late in pairwise(best_so_far))


@pytest.mark.parametrize("planned", [1, 2, 3, 19, 20, 21])
def test_a_search_may_go_on_beyond_its_plan(planned: int) -> None:
    X, _ = a_search(7, 60, 3)
    labels = partition(X, 3, "best", iterations=planned + 3, schedule=planned)
    assert np.bincount(labels).min() >= 3


def test_the_clock_ends_the_look_for_neighbours() -> None:
    X, _ = a_search(8, 60, 3)
    over = Clock(budget=0.0, began=0.0)
    for find in (exact_knn, approximate_knn):
        assert find(X, 5, over).tolist() == np.zeros((60, 5)).tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
def test_four_columns_at_a_time_give_what_one_gives(seed: int, kind: type) -> None:
    rng = np.random.default_rng(seed)
    points, sums = (rng.normal(size=(6, 4 * rng.integers(1, 5))).astype(kind) for _ in range(2))
    sums = np.resize(sums, points.shape)
    sizes = rng.integers(2, 9, 2)
    found = measured(points, sums, 1.0 / sizes)
    p, s = points.astype(float), sums.astype(float) / np.resize(sizes, 6)[:, None]
    gap, off = s[1] - s[0], p[1] - p[0]
    swap = 2 * off @ gap - off @ off * (1 / sizes).sum()
    expected = naive.distance(p[0], s[1]), naive.distance(p[0], p[1]), swap
    assert found[:3] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found[3] == pytest.approx(swap, rel=1e-5, abs=1e-5)


@numba.njit
def measured(points, sums, shares):  # type: ignore[no-untyped-def]
    """What the vectors give; they can only be called from compiled code."""
    floats.prefetch(points, 5)
    gap = (2 * (sums[1] * shares[1] - sums[0] * shares[0])).astype(points.dtype)
    return (
        floats.to_centroid(points, 0, sums, 1, shares[1]),
        floats.squared_distance(points, 0, 1),
        floats.change_of_swap(points, 0, 1, sums, 0, 1, shares[0], shares[1]),
        floats.change_of_swap_along(points, 0, 1, gap, shares.sum()),
    )


def test_two_courses_are_tried_where_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = a_search(5, 200, 3)
    followed: list[method.Course] = []
    follow = Search.follow

    def noted(search: Search, course: method.Course, number: int, planned: int) -> None:
        followed.append(course)
        follow(search, course, number, planned)

    monkeypatch.setattr(Search, "follow", noted)
    partition(X, 3, "best", iterations=40)
    first, second = method.courses(3)
    assert followed[:4] == [first, first, second, second]
    assert len(set(followed[4:])) == 1 and followed[-1] in (first, second)
    followed.clear()
    monkeypatch.setattr(method, "PLENTY", 1 << 40)
    partition(X, 3, "best", iterations=4)
    assert followed == [method.GENTLE] * 4


def points_of(trajectory: list[Point]) -> list[tuple[int, int]]:
    """Iterations and schedule of every point."""
    return [(point.iterations, point.schedule) for point in trajectory]


@pytest.mark.parametrize(("many", "a_look"), [(20_000, 0.05), (100, 0.01)])
def test_a_budget_buys_the_same_work_whatever_the_clock_says(
    monkeypatch: pytest.MonkeyPatch, many: int, a_look: float
) -> None:
    monkeypatch.setattr(method, "MANY", many)
    X, _ = a_search(2, 500, 4)
    found = []
    # As fast as can be, then so slow that the budget is used up long before the last iteration.
    for each in (0.0, a_look):
        looks = count()
        clock = Clock(1, began=0.0, now=lambda looks=looks, each=each: each * next(looks))
        found.append((method.best(X, 4, seed=1, clock=clock).tolist(), clock.trajectory))
    (labels, trajectory), *others = found
    assert trajectory[-1].iterations == trajectory[-1].schedule > 1
    for other, points in others:
        assert other == labels
        assert points_of(points) == points_of(trajectory)
    assert not any(point.guarded for _, points in found for point in points)
    assert found[-1][1][-1].seconds > 1, "the last one took longer than its budget"


@pytest.mark.parametrize("many", [20_000, 100])
def test_a_run_that_the_guard_ended_says_so_and_can_be_replayed(
    monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(method, "MANY", many)
    X, _ = a_search(2, 500, 4)
    clock = ticking(budget=10)
    labels = method.best(X, 4, seed=1, clock=clock)
    last = clock.trajectory[-1]
    assert last.guarded and not any(point.guarded for point in clock.trajectory[:-1])
    assert 0 < last.iterations < last.schedule
    assert 10 < last.seconds <= method.GUARD * 10 + 3
    replay = {"iterations": last.iterations, "schedule": last.schedule}
    again = Clock()
    assert method.best(X, 4, seed=1, clock=again, **replay).tolist() == labels.tolist()
    assert not again.trajectory[-1].guarded


def test_iterations_are_a_limit_beside_a_budget() -> None:
    X, _ = a_search(2, 100, 4)
    trajectory: list[Point] = []
    partition(X, 4, "best", budget=1000, iterations=2, trajectory=trajectory)
    assert points_of(trajectory) == [(0, 2), (1, 2), (2, 2)]


@given(
    st.floats(0.01, 100),
    st.integers(10, 2_000_000),
    st.integers(1, 50),
    st.integers(2, 30),
    st.booleans(),
)
def test_a_plan_grows_with_the_budget_alone(
    budget: float, rows: int, columns: int, k: int, large: bool
) -> None:
    def plan(budget: float, rows: int, columns: int) -> int:
        work = 500_000, 3_000_000
        return effort.iterations_within(budget, (rows, columns), k, work, large)

    planned = plan(budget, rows, columns)
    assert 0 <= planned <= plan(2 * budget, rows, columns)
    assert planned >= plan(budget, 2 * rows, columns)
    assert planned >= plan(budget, rows, columns + 1)
    # No iteration takes less than a hundredth of a second anywhere.
    assert planned <= 100 * budget + 1


def test_a_forked_child_finds_the_same() -> None:
    X, _ = a_search(3, 200, 3)
    expected = partition(X, 3, "best", iterations=2)
    child = os.fork()
    if child == 0:
        same = partition(X, 3, "best", iterations=2).tolist() == expected.tolist()
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
