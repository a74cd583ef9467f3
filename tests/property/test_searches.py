"""Shuffling, exchange and neighbourhoods against slow definitions."""

from __future__ import annotations

import numpy as np
import pytest

from microagg_ops import partition
from microagg_ops.kernels.paths import mf_tsp
from microagg_ops.kernels.search import icsm
from microagg_ops.methods.icsm import Exchange, scores
from microagg_ops.methods.mf_tsp import grown
from microagg_ops.methods.partition import Clock, renumbered
from microagg_ops.methods.rcs import LEAST_GAIN
from microagg_ops.metrics.loss import centroids
from tests import naive


def random_start(rows: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A table and a random partition with clusters of k to 2k - 1 rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    labels, row, g = np.zeros(rows, np.int32), 0, 0
    while row < rows:
        left = rows - row
        size = left if left < 2 * k else int(rng.integers(k, min(2 * k, left - k + 1)))
        labels[row : row + size] = g
        row, g = row + size, g + 1
    return X, renumbered(rng.permutation(labels))


@pytest.mark.parametrize("seed", range(10))
def test_weights_are_changes_of_the_sse(seed: int) -> None:
    X, labels = random_start(14, 3, seed)
    means, sizes = centroids(X, labels), np.bincount(labels)
    before = naive.loss(X, labels.tolist())
    for a in range(14):
        for b in range(14):
            p, q = int(labels[a]), int(labels[b])
            if p == q:
                continue
            one_way = icsm.replaced(X, a, b, means[q], sizes[q])
            assert one_way == pytest.approx(naive.replaced(X, labels.tolist(), a, b))
            after = labels.tolist()
            after[a], after[b] = q, p
            change = naive.loss(X, after) - before
            assert icsm.exchanged(X, a, b, p, q, means, sizes) == pytest.approx(change)
            after[b] = q
            change = naive.loss(X, after) - before
            moved = icsm.left(X, a, means[p], sizes[p])
            moved += icsm.joined(X, a, means[q], sizes[q])
            assert moved == pytest.approx(change)


@pytest.mark.parametrize("seed", range(10))
def test_scores_sum_over_all_pairs(seed: int) -> None:
    X, labels = random_start(17, 3, seed)
    X += 100.0
    found = scores(X, labels, centroids(X, labels), np.bincount(labels))
    np.testing.assert_allclose(found, naive.scores(X, labels.tolist()), rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_the_best_circle_is_found_and_made(seed: int) -> None:
    X, labels = random_start(9 + seed % 3, 2, seed)
    search = Exchange(X, 2, labels, 100, Clock())
    nodes, _ = search.ranked()
    ranks = [int(np.flatnonzero(nodes == len(X) + g)[0]) for g in range(labels.max() + 1)]
    best = naive.best_circle(X, labels.tolist(), 2, ranks)
    before = search.sse
    assert search.circle() == (best < 0)
    if best < 0:
        assert search.sse - before == pytest.approx(best)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_simple_helps_after_icsm(seed: int) -> None:
    X, start = random_start(40, 3, seed)
    labels = partition(X, 3, "icsm", start=start, pool=1 + seed).tolist()
    least = naive.loss(X, labels) - 1e-9
    for a in range(40):
        for b in range(40):
            p, q = labels[a], labels[b]
            if p == q:
                continue
            after = list(labels)
            after[a], after[b] = q, p
            assert naive.loss(X, after) >= least
            after[b] = q
            assert labels.count(p) == 3 or labels.count(q) == 5 or naive.loss(X, after) >= least


@pytest.mark.parametrize("seed", range(12))
def test_shuffling_without_events_is_that_of_the_definition(seed: int) -> None:
    k = 2 + seed % 3
    X, start = random_start(24, k, seed)
    expected = naive.shuffled(X, k, start.tolist(), LEAST_GAIN)
    found = partition(X, k, "rcs", start=start, events=0)
    assert found.tolist() == renumbered(np.array(expected)).tolist()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("k", [2, 3, 5])
def test_rows_that_are_neighbours_often_are_together(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.triu(rng.integers(0, 3, size=(20, 20)), 1).astype(np.int32)
    matrix += matrix.T
    assert grown(matrix, k, Clock())[0].tolist() == naive.neighbours(matrix.tolist(), k)


def test_neighbours_on_a_path_are_counted_both_ways() -> None:
    matrix = np.zeros((4, 4), np.int32)
    for path in ([0, 1, 2, 3], [2, 1, 3, 0]):
        mf_tsp.count(matrix, np.array(path))
    assert matrix.tolist() == [[0, 1, 0, 1], [1, 0, 2, 1], [0, 2, 0, 1], [1, 1, 1, 0]]
