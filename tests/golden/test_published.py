"""The figures that the papers print, on the data that they used."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from microagg_ops import partition
from microagg_ops.metrics.loss import centroids, information_loss
from tests import naive


def standardized(data: Path, name: str) -> np.ndarray:
    """A data set as the papers use it: mean 0, standard deviation 1."""
    about = json.loads((data / "published.json").read_text())["datasets"][name]
    with (data / about["file"]).open() as file:
        rows = list(csv.DictReader(file))
    named = [] if about["columns"].startswith("all") else about["columns"].split()
    X = np.array([[float(row[c]) for c in named or row] for row in rows])
    assert len(X) == about["rows"]
    return (X - X.mean(0)) / X.std(0)


@pytest.mark.parametrize("k", [3, 4, 5, 6, 10])
@pytest.mark.parametrize("name", ["tarragona", "census", "eia10", "eia11"])
def test_mdav_loses_what_the_papers_print(data: Path, name: str, k: int) -> None:
    X = standardized(data, name)
    labels = partition(X, k)
    printed = json.loads((data / "published.json").read_text())["mdav_il"][name][str(k)]
    assert round(information_loss(X, centroids(X, labels)[labels]), 4) == printed


def test_threads_never_change_what_mdav_finds(data: Path) -> None:
    # Rows leave while others are searched for: here many of them are in one place, or nearly so.
    X = standardized(data, "eia11")
    wanted = naive.mdav(X, 5)
    for _ in range(100):
        assert partition(X, 5).tolist() == wanted


@pytest.mark.parametrize("single_precision", [False, True])
@pytest.mark.parametrize("k", [3, 4, 5, 6, 10])
@pytest.mark.parametrize("name", ["tarragona", "census", "eia10", "eia11"])
def test_fmdav_loses_what_mdav_does(data: Path, name: str, k: int, single_precision: bool) -> None:
    X = standardized(data, name)
    labels = partition(X, k, "fmdav", single_precision=single_precision)
    printed = json.loads((data / "published.json").read_text())["mdav_il"][name][str(k)]
    assert round(information_loss(X, centroids(X, labels)[labels]), 4) == printed


@pytest.mark.parametrize("k", [3, 4, 5, 6, 10])
@pytest.mark.parametrize("name", ["tarragona", "census", "eia10", "eia11"])
def test_fmdav_without_rounding_has_the_labels_of_mdav(data: Path, name: str, k: int) -> None:
    X = standardized(data, name)
    exact = {"algebraic_distance": False, "single_precision": False}
    assert np.array_equal(partition(X, k, "fmdav", **exact), partition(X, k))


@pytest.mark.parametrize(("k", "gain"), [(3, 0.2), (5, 0.2), (6, 0.5), (10, 0.2)])
def test_vmdav_loses_what_the_paper_prints(data: Path, k: int, gain: float) -> None:
    X = standardized(data, "census")
    labels = partition(X, k, "vmdav", gain=gain)
    printed = json.loads((data / "published.json").read_text())["vmdav_il"]["census"][str(k)]
    assert round(information_loss(X, centroids(X, labels)[labels]), 4) == printed


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("name", ["tarragona", "census"])
def test_mdav_labels_are_those_of_the_definition(data: Path, name: str, k: int) -> None:
    X = standardized(data, name)
    assert partition(X, k).tolist() == naive.mdav(X, k)


def test_mdav_on_a_table_that_needs_no_file() -> None:
    X = np.array([[i * i % 37, i * 7 % 11, (i % 5) ** 2] for i in range(40)], float)
    labels = partition(X, 4)
    assert labels.tolist() == naive.mdav(X, 4)
    after = centroids(X, labels)[labels]
    assert information_loss(X, after) == pytest.approx(naive.information_loss(X, after))
