"""Attribute grouping: what Balasch i Masoliver (2010) prints of it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from microagg_ops import partition
from microagg_ops.grouping.chromosome import encoded
from microagg_ops.grouping.correlation import correlated, correlations
from microagg_ops.grouping.gomm import gomm
from microagg_ops.methods.partition import Clock
from microagg_ops.metrics import interval_disclosure
from microagg_ops.metrics.loss import centroids, information_loss
from tests.benchmarks.grouping import BY_HAND, fitness_of, made_by_hand


def census(data: Path) -> np.ndarray:
    with (data / "datasets" / "census.csv").open() as file:
        rows = [[float(v) for v in row] for row in list(csv.reader(file))[1:]]
    return np.array(sorted(rows))


def test_correlated_groups_of_four_are_those_made_by_hand(data: Path) -> None:
    # They are groups of alike columns only if a1 is afnlwgt and ernval is the one left out.
    X = census(data)[:, :12]
    found = correlated(correlations([column[:, None] for column in X.T]), 4)
    assert [[column + 1 for column in group] for group in found] == sorted(BY_HAND["Gc4"])


@pytest.mark.parametrize("k", [5, 25, 100])
def test_the_score_of_a_single_group_is_that_of_the_measures(data: Path, k: int) -> None:
    X = census(data)[:, 1:]
    Z = (X - X.mean(0)) / X.std(0)
    labels = partition(Z, k)
    loss = information_loss(Z, centroids(Z, labels)[labels])
    interval = interval_disclosure(X, centroids(X, labels)[labels]).overall
    measured = fitness_of(X, k).measure(encoded([list(range(12))]).key)
    assert measured.score == pytest.approx((loss + interval / 2) / 2, abs=0.01)
    assert measured.linkage == 0


def test_with_a_small_k_no_grouping_made_by_hand_betters_a_single_group(data: Path) -> None:
    X = census(data)[:, 1:]
    fitness = fitness_of(X, 5)
    scores = {n: fitness.measure(encoded(g).key).score for n, g in made_by_hand(X).items()}
    assert min(scores, key=lambda name: scores[name]) == "single"
    assert max(scores, key=lambda name: scores[name]) == "univariate"


def test_with_a_large_k_a_short_search_betters_every_grouping_made_by_hand(data: Path) -> None:
    X = census(data)[:, 1:]
    fitness = fitness_of(X, 100)
    scores = [fitness.measure(encoded(groups).key).score for groups in made_by_hand(X).values()]
    found = gomm(fitness, population=20, generations=5, seed=0, clock=Clock(), dynamic=True)
    assert found.measured.score < min(scores) < 20.6
    assert len(found.groups) > 1
