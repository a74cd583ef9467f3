"""Attribute grouping: what paper 003 prints of it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from microagg_ops.grouping.correlation import correlated, correlations

# 003, table A.1: the hand-made groups of four correlated attributes, a1 to a12.
FOUR_CORRELATED = [[1, 3, 8, 9], [2, 4, 6, 7], [5, 10, 11, 12]]


def census(data: Path) -> np.ndarray:
    with (data / "datasets" / "census.csv").open() as file:
        return np.array([[float(v) for v in row] for row in list(csv.reader(file))[1:]])


def test_correlated_groups_of_four_are_those_made_by_hand(data: Path) -> None:
    # They are groups of alike columns only if a1 is afnlwgt and ernval is the one left out.
    X = census(data)[:, :12]
    found = correlated(correlations([column[:, None] for column in X.T]), 4)
    assert [[column + 1 for column in group] for group in found] == FOUR_CORRELATED
