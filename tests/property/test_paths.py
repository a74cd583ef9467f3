"""Paths, tours and their clusters against slow definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import partition
from microagg_ops.kernels import random as chance
from microagg_ops.kernels.paths import tours as kernels
from microagg_ops.methods import tours
from microagg_ops.methods.mhm import cut_path, tour_to_assignment
from microagg_ops.methods.partition import Clock, no_progress
from microagg_ops.methods.tsp_mhm import path_through
from tests import naive
from tests.property.test_mdav import tables


def sse(X: np.ndarray, labels: np.ndarray) -> float:
    return sum(naive.spread(X[labels == g].tolist()) for g in np.unique(labels))


def normal(rows: int, seed: int, columns: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, columns))


@settings(max_examples=150, deadline=None)
@given(tables(), st.integers(0, 2**32 - 1))
def test_a_path_is_cut_at_the_least_loss(table: tuple[np.ndarray, int], seed: int) -> None:
    X, k = table
    path = np.random.default_rng(seed).permutation(len(X))
    labels, found = cut_path(X, k, path, no_progress)
    assert found == pytest.approx(naive.cut(X[path].tolist(), k), rel=1e-9, abs=1e-3)
    assert sse(X, labels) == pytest.approx(found, rel=1e-9, abs=1e-3)
    assert np.bincount(labels).min() >= k
    assert (np.diff(labels[path]) <= 0).all()  # clusters are stretches of the path


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(0, 2**32 - 1))
def test_a_tour_is_cut_at_the_least_loss(table: tuple[np.ndarray, int], seed: int) -> None:
    X, k = table
    tour = np.random.default_rng(seed).permutation(len(X))
    labels, found = tour_to_assignment(X, k, tour, no_progress)
    assert found == pytest.approx(naive.cut_tour(X[tour].tolist(), k), rel=1e-9, abs=1e-3)
    assert sse(X, labels) == pytest.approx(found, rel=1e-9, abs=1e-3)
    assert np.bincount(labels).min() >= k


@pytest.mark.parametrize("seed", range(20))
def test_one_sorted_column_is_partitioned_optimally(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(int(rng.integers(4, 11)), 1)), 1)
    k = 2 + seed % 2
    assert sse(X, partition(X, k, "mhm")) == pytest.approx(naive.optimal(X, k)[0], abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_nearest_rows_and_walks(seed: int) -> None:
    X = np.round(normal(40, seed), seed % 2)  # many ties, then few
    near = tours.nearest_rows(X, 7, Clock())
    for row in range(40):
        by = sorted(set(range(40)) - {row}, key=lambda r: (naive.distance(X[row], X[r]), r))
        assert near[row].tolist() == by[:7]
    path = tours.nearest_neighbour(X, near, seed, Clock())
    assert path.tolist() == naive.nearest_next(X.tolist(), seed)
    assert kernels.path_length(X, path) == pytest.approx(naive.length(X.tolist(), path.tolist()))
    every = [naive.nearest_next(X.tolist(), start) for start in range(40)]
    assert tours.repetitive_nearest_neighbour(X, Clock()).tolist() == min(
        every, key=lambda p: kernels.path_length(X, np.array(p))
    )


@pytest.mark.parametrize("rule", [*tours.RULES, "cheapest_insertion"])
@pytest.mark.parametrize("seed", range(6))
def test_insertion_follows_its_rule(rule: str, seed: int) -> None:
    X = normal(25, seed)
    given_ = np.delete(np.arange(26), seed)
    chance.shuffle(chance.seeded(seed, 1), given_)
    path = tours.constructed(X, rule, seed, seed, Clock())
    expected = naive.inserted(X.tolist(), rule, [seed, *given_.tolist()])
    # A path has two directions.
    assert path.tolist() in (expected, expected[::-1])


@pytest.mark.parametrize("seed", range(5))
def test_two_opt_leaves_no_turn_that_helps(seed: int) -> None:
    X = normal(11, seed, 2)  # every other row is on a row's list of ten
    path = tours.constructed(X, "two_opt", 0, 0, Clock()).tolist()
    found = naive.length(X.tolist(), path)
    assert naive.swapped(X.tolist(), path) >= found - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_the_strong_tour_of_a_few_rows_is_the_shortest(seed: int) -> None:
    X = normal(8, seed, 2)
    *_, (kicks, path) = tours.tour_paths(X, "strong", seed, Clock(), 100)
    assert kicks == 800
    assert sorted(path.tolist()) == list(range(8))
    assert kernels.path_length(X, path) == pytest.approx(naive.shortest(X.tolist()))


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from(tours.TOURS), st.integers(0, 9))
def test_every_tour_goes_through_every_row_once(
    table: tuple[np.ndarray, int], tour: str, seed: int
) -> None:
    X, _ = table
    for _, path in tours.tour_paths(X, tour, seed, Clock(), 30):
        assert sorted(path.tolist()) == list(range(len(X)))


@pytest.mark.parametrize("seed", range(60, 120))
def test_a_tour_of_large_numbers_is_settled_for_good(seed: int) -> None:
    """Where rounding looked like a gain, nodes swapped their places for ever."""

    class Patient(Clock):
        ticks = 0

        def tick(self, done: float) -> None:
            self.ticks += 1
            assert self.ticks < 50

    rng = np.random.default_rng(seed)
    few = rng.uniform(-1e6, 1e6, rng.integers(2, 5))
    X = rng.choice(few, size=(int(rng.integers(5, 40)), int(rng.integers(1, 5))))
    near = tours.nearest_rows(X, min(10, len(X) - 1), Clock())
    tours.Search(X, near, rng.permutation(len(X)), 0).settle(True, Patient())


@pytest.mark.parametrize("seed", range(3))
def test_the_length_that_a_search_says_it_saved_is_saved(seed: int) -> None:
    X = normal(300, seed)
    near = tours.nearest_rows(X, 10, Clock())
    search = tours.Search(X, near, np.random.default_rng(seed).permutation(300), seed)
    search.settle(True, Clock())
    for _ in range(20):
        before = kernels.path_length(X, search.path)
        gain = search.kick(50)
        assert gain >= 0
        assert kernels.path_length(X, search.path) == pytest.approx(before - gain, abs=1e-9)
        assert (search.tour[search.place] == np.arange(301)).all()


@settings(max_examples=60, deadline=None)
@given(tables())
def test_a_path_through_clusters_passes_each_at_one_go(table: tuple[np.ndarray, int]) -> None:
    X, k = table
    labels = partition(X, k)
    path = path_through(X, labels, no_progress)
    assert sorted(path.tolist()) == list(range(len(X)))
    assert (np.diff(labels[path]) != 0).sum() == labels.max()
    assert cut_path(X, k, path, no_progress)[1] <= sse(X, labels) * (1 + 1e-9) + 1e-3
