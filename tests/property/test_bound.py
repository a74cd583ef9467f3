"""A lower bound is never above the least loss, by whatever kernel it is found."""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import lower_bound, partition
from microagg_ops.methods.bound import (
    ascend,
    least_loss,
    loss_of,
    neighbour_split,
    scatter,
)
from microagg_ops.methods.cluster_generation import Clusters, Pricing, generated_bound
from microagg_ops.methods.partition import Clock
from microagg_ops.methods.registry import METHODS
from tests import naive_bound

ALIKE = np.empty(0)
LONG = bool(os.environ.get("MICROAGG_BOUND_LONG"))


def table(seed: int, rows: int, columns: int) -> np.ndarray:
    """Rows of one of several kinds: even, on a grid with ties, clustered, heavy-tailed, offset."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    kind = seed % 6
    if kind == 1:
        X = np.round(2 * X)
    elif kind == 2:
        X = X / 20 + rng.integers(0, 3, size=(rows, 1))
    elif kind == 3:
        X = rng.standard_cauchy(size=(rows, columns)) ** 3
    elif kind == 4:
        X = 1e9 + X
    elif kind == 5:
        X[: rows // 2] = X[0]
    return np.ascontiguousarray(X)


@pytest.mark.parametrize("seed", range(400 if LONG else 120))
def test_bound_is_at_most_the_optimum_of_small_tables(seed: int) -> None:
    k = 2 + seed % 4
    rows = min(9 + seed % 3, 2 * k + 3)
    X = table(seed, rows, 1 + seed % 3)
    optimum = naive_bound.least_loss(X, k)
    for few in (0, rows):
        for steps in (0, 60):
            found = least_loss(X, k, ALIKE, clock=Clock(), few=few, steps=steps)
            assert 0 <= found <= optimum * (1 + 1e-9)
    percent = lower_bound(X, k)
    assert percent * scatter(X, ALIKE) / 100 <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_bound_is_at_most_the_optimum_of_weighted_rows(seed: int) -> None:
    k, rows = 2 + seed % 3, 8
    X = table(seed, rows, 1 + seed % 3)
    rng = np.random.default_rng(seed)
    mass = rng.uniform(0.5, 2, rows) if seed % 2 else np.exp(rng.normal(size=rows) * 3)
    optimum = naive_bound.least_loss(X, k, mass)
    for steps in (0, 60):
        found = least_loss(X, k, mass, clock=Clock(), steps=steps)
        assert 0 <= found <= optimum * (1 + 1e-9)


def test_bound_reaches_the_optimum_of_clusters_far_apart() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(8, 2)) * 100, 3, axis=0) + rng.normal(size=(24, 2))
    labels = np.repeat(np.arange(8), 3)
    loss = loss_of(X, labels.astype(np.int32), ALIKE)
    assert 0.99 * loss <= least_loss(X, 3, ALIKE, clock=Clock(), few=24) <= loss * (1 + 1e-9)


@given(seed=st.integers(0, 10_000), k=st.integers(2, 4), weighted=st.booleans())
@settings(max_examples=60, deadline=None)
def test_shares_are_the_least_of_all_sets(seed: int, k: int, weighted: bool) -> None:
    X = np.random.default_rng(seed).normal(size=(9, 2))
    rng = np.random.default_rng(seed + 1)
    mass = rng.uniform(0.1, 1, 9) if weighted else ALIKE
    split = neighbour_split(X, k, mass)
    ascend(split, k, 10.0, 5, Clock())
    parts = np.full((9, 9), np.inf)
    for i in range(9):
        for at in range(split.head[i], split.head[i + 1]):
            parts[i, split.other[at]] = float(split.half[at]) + float(split.shift[at])
    assert (split.shift == -split.shift[split.twin]).all()
    assert (split.half == split.half[split.twin]).all()
    # What two rows bear of their pair is never more than the pair.
    weights = mass if weighted else np.ones(9)
    square = ((X[:, None] - X[None]) ** 2).sum(2) * np.outer(weights, weights)
    off = ~np.eye(9, dtype=bool)
    assert ((parts + parts.T)[off] <= square[off]).all()
    np.testing.assert_allclose(split.share, naive_bound.shares(parts, k, weights), rtol=1e-9)


@given(seed=st.integers(0, 10_000), k=st.integers(2, 3), nodes=st.sampled_from([1, 5, 100_000]))
@settings(max_examples=40, deadline=None)
def test_pricing_finds_the_least_reduced_cost_or_a_bound_of_it(
    seed: int, k: int, nodes: int
) -> None:
    from microagg_ops.methods import cluster_generation

    X = np.random.default_rng(seed).normal(size=(9, 2))
    split = neighbour_split(X, k, ALIKE)
    ascend(split, k, scatter(X, ALIKE) / 4, 10, Clock())
    rng = np.random.default_rng(seed)
    prices = split.share * rng.uniform(0.8, 2, 9)
    pricing, clusters = Pricing(X, split, k), Clusters(X)
    before, cluster_generation.NODES = cluster_generation.NODES, nodes
    try:
        bound, excess = pricing.run(prices, 0.0, clusters, Clock())
    finally:
        cluster_generation.NODES = before
    order = pricing.order.tolist()
    wanted = np.maximum(0.0, -naive_bound.least_reduced(X, prices, k, order))
    if nodes == 100_000:
        np.testing.assert_allclose(excess[order], wanted, atol=1e-9)
    assert (excess[order] >= wanted - 1e-9).all()
    assert bound <= naive_bound.least_loss(X, k) + 1e-9
    for rows, cost in clusters.known.items():
        assert cost < prices[list(rows)].sum()


@pytest.mark.parametrize("method", sorted(METHODS))
def test_no_method_loses_less_than_the_bound(method: str) -> None:
    about = METHODS[method]
    X = table(2, 150, 1 if about.one_column else 3)
    for k in (2, 3, 5):
        labels = partition(X, k, method, **about.briefly())
        assert lower_bound(X, k) <= 100 * loss_of(X, labels, ALIKE) / scatter(X, ALIKE)


@pytest.mark.parametrize("k", [2, 3, 5, 10])
def test_bound_is_at_most_the_optimal_partition_of_one_column(k: int) -> None:
    for seed in range(6):
        X = table(seed, 200, 1)
        loss = loss_of(X, partition(X, k, "optimal"), ALIKE)
        split = neighbour_split(X, k, ALIKE)
        least = ascend(split, k, loss, 100, Clock())
        assert least <= loss * (1 + 1e-9)
        assert generated_bound(X, split, k, least, Clock()) <= loss * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_neighbour_bound_is_the_first_step_and_more_work_never_lowers_it(seed: int) -> None:
    X = table(seed, 300, 3)
    found = [
        least_loss(X, 4, ALIKE, clock=Clock(), few=f, steps=s)
        for f, s in ((0, 0), (0, 40), (0, 200), (300, 200))
    ]
    # The split is in single precision, rounded down.
    assert all(less <= more * (1 + 1e-5) for less, more in pairwise(found))
    assert found[0] > 0


def test_bound_is_the_same_again_and_in_any_unit() -> None:
    X = table(2, 200, 3)
    assert lower_bound(X, 3) == lower_bound(X, 3) == pytest.approx(lower_bound(4 * X, 3), rel=1e-12)


def test_weights_of_one_are_no_weights() -> None:
    X = table(0, 200, 3)
    plain = least_loss(X, 3, ALIKE, clock=Clock())
    assert least_loss(X, 3, np.ones(200), clock=Clock()) == pytest.approx(plain, rel=1e-6)
