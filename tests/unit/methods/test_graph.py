"""What every method over paths, tours and exchanges promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microagg_ops import partition
from microagg_ops.errors import BudgetError, DataError, ReleaseError
from microagg_ops.methods.mhm import ORDERS
from microagg_ops.methods.partition import Clock, Point
from microagg_ops.methods.registry import METHODS as REGISTERED
from microagg_ops.methods.start import RANDOM
from microagg_ops.methods.tours import TOURS
from microagg_ops.release.faults import schema
from tests import naive

METHODS = (
    "mhm",
    "npn_mhm",
    "mdav_mhm",
    "mdav_lk_mhm",
    "tsp_mhm",
    "compress_tsp_mhm",
    "mf_tsp",
    "rcs",
    "icsm",
)
every_method = pytest.mark.parametrize("method", METHODS)


def table(rows: int, seed: int = 0, columns: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, columns))


def sse(X: np.ndarray, labels: np.ndarray) -> float:
    return sum(naive.spread(X[labels == g].tolist()) for g in np.unique(labels))


@every_method
@pytest.mark.parametrize(
    ("rows", "k"), [(2, 2), (3, 2), (4, 2), (5, 2), (6, 3), (7, 3), (11, 4), (19, 5), (60, 4)]
)
def test_any_number_of_rows(method: str, rows: int, k: int) -> None:
    X = table(rows, rows)
    labels = partition(X, k, method)
    assert labels.dtype == np.int32
    assert np.bincount(labels).min() >= k
    assert np.bincount(labels).max() < 2 * k


@every_method
def test_equal_rows_and_one_column(method: str) -> None:
    for X in (np.zeros((23, 2)), np.repeat(table(6), 5, axis=0), table(40, columns=1)):
        assert np.bincount(partition(X, 3, method)).min() >= 3


@every_method
def test_a_seed_repeats_and_the_input_stays(method: str) -> None:
    X = table(200)
    before = X.copy()
    first = partition(X, 3, method, seed=7)
    assert np.array_equal(first, partition(np.asfortranarray(X), 3, method, seed=7))
    assert np.array_equal(X, before)


@every_method
def test_progress_rises_to_one(method: str) -> None:
    told: list[float] = []
    partition(table(300), 3, method, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 1


@every_method
def test_the_loss_is_far_below_that_of_a_random_partition(method: str) -> None:
    X = table(200)
    assert sse(X, partition(X, 3, method)) < 0.5 * sse(X, np.arange(200) // 4)


@pytest.mark.parametrize("tour", TOURS)
def test_every_tour_can_be_used_and_compressed(tour: str) -> None:
    X = table(120)
    for method in ("tsp_mhm", "compress_tsp_mhm"):
        labels = partition(X, 3, method, tour=tour)
        assert np.bincount(labels).min() >= 3
        assert np.array_equal(labels, partition(X, 3, method, tour=tour))


@pytest.mark.parametrize("compression", [2, 3, 5, 200])
def test_compression(compression: int) -> None:
    labels = partition(table(101), 3, "compress_tsp_mhm", compression=compression)
    assert np.bincount(labels).min() >= 3


@pytest.mark.parametrize(
    ("method", "params", "says"),
    [
        ("tsp_mhm", {"tour": "concorde"}, "'tour' parameter must be one of strong"),
        ("tsp_mhm", {"kicks": -1}, "'kicks' parameter"),
        ("mdav_lk_mhm", {"kicks": "many"}, "'kicks' parameter"),
        ("compress_tsp_mhm", {"compression": 1}, "'compression' parameter"),
        ("mf_tsp", {"tour": "strong"}, "'tour' parameter must be one of arbitrary_insertion"),
        ("rcs", {"start": "rcs"}, "'start' parameter must be one of .*mdav"),
        ("icsm", {"start": np.zeros(4)}, "one label a row"),
        ("icsm", {"start": np.arange(9)}, "fewer than k = 3 rows"),
        ("rcs", {"probability": -0.1}, "'probability' parameter"),
        ("rcs", {"events": "ten"}, "'events' parameter"),
        ("icsm", {"pool": 0}, "'pool' parameter"),
        ("icsm", {"iterations": -1}, "'iterations' parameter"),
        ("mhm", {"order": "columns"}, "'order' parameter must be one of first_component"),
        ("mhm", {"order": [0, 0, 1, 2, 3, 4, 5, 6, 7]}, "a permutation of the 9 rows"),
        ("mhm", {"order": [0, 1]}, "a permutation of the 9 rows"),
    ],
)
def test_parameters_are_checked(method: str, params: dict[str, Any], says: str) -> None:
    with pytest.raises(ReleaseError, match=says):
        partition(table(9), 3, method, **params)


def test_a_path_may_be_given() -> None:
    X = np.arange(12.0)
    order = np.array([0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11])
    assert partition(X, 3, "mhm", order="rows").tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    labels = partition(X, 3, "mhm", order=order)
    assert labels.tolist() == [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3]


def test_the_first_component_is_the_default_path() -> None:
    rng = np.random.default_rng(0)
    place = rng.permutation(30).astype(float)
    X = np.outer(place, [3.0, -4.0]) + rng.normal(scale=1e-3, size=(30, 2))
    labels = partition(X, 3, "mhm")
    assert np.array_equal(labels, partition(place, 3, "mhm"))


def test_mdav_mhm_is_never_worse_than_mdav() -> None:
    for seed in range(5):
        X = table(150, seed)
        assert sse(X, partition(X, 4, "mdav_mhm")) <= sse(X, partition(X, 4)) + 1e-9


def test_a_path_without_time_fails() -> None:
    X = table(6000, columns=8)
    for method in ("npn_mhm", "tsp_mhm"):
        with pytest.raises(BudgetError):
            partition(X, 3, method, budget=0.01)


def test_a_search_that_runs_out_of_time_is_one_with_fewer_kicks() -> None:
    X = table(1500)
    points: list[Point] = []
    partition(X[:60], 3, "tsp_mhm")
    stopped = partition(X, 3, "tsp_mhm", kicks=1e6, budget=2.0, trajectory=points)
    kicks = points[-1].iterations
    assert 0 < kicks < 1500e6
    assert np.array_equal(stopped, partition(X, 3, "tsp_mhm", kicks=kicks / 1500))
    losses = [point.sse for point in points]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(sse(X, stopped))


@pytest.mark.parametrize("method", ["rcs", "icsm"])
@pytest.mark.parametrize("start", ["mdav", "mhm", "tsp_mhm"])
def test_a_search_is_never_worse_than_its_start(method: str, start: str) -> None:
    X = table(240)
    labels = partition(X, 3, start, seed=5)
    found = partition(X, 3, method, start=start, seed=5)
    assert sse(X, found) <= sse(X, labels)
    assert start != "mdav" or sse(X, found) < 0.99 * sse(X, labels)
    assert np.array_equal(found, partition(X, 3, method, start=labels, seed=5))


def test_more_iterations_never_lose_and_the_trajectory_tells_of_them() -> None:
    X = table(300)
    points: list[Point] = []
    whole = partition(X, 3, "icsm", trajectory=points)
    assert points[0].sse == pytest.approx(sse(X, partition(X, 3)))
    for point in points[::20]:
        labels = partition(X, 3, "icsm", iterations=point.iterations)
        assert sse(X, labels) == pytest.approx(point.sse)
    assert points[-1].sse == pytest.approx(sse(X, whole))
    assert [p.sse for p in points] == sorted((p.sse for p in points), reverse=True)


def test_icsm_out_of_time_is_icsm_with_fewer_iterations() -> None:
    X = table(2500)
    start = partition(X, 3)
    partition(X[:60], 3, "icsm")
    points: list[Point] = []
    stopped = partition(X, 3, "icsm", start=start, budget=1.0, trajectory=points)
    again = partition(X, 3, "icsm", start=start, iterations=points[-1].iterations)
    assert np.array_equal(stopped, again)


def test_rcs_without_time_gives_its_start() -> None:
    X = table(100)
    start = partition(X, 3)
    assert np.array_equal(partition(X, 3, "rcs", start=start, budget=0.0), start)


def test_shuffling_needs_a_seed_only_with_events() -> None:
    X = table(300)
    calm = [partition(X, 3, "rcs", seed=s, events=0).tolist() for s in (1, 2)]
    wild = [partition(X, 3, "rcs", seed=s, probability=0.05).tolist() for s in (1, 2)]
    assert calm[0] == calm[1]
    assert wild[0] != wild[1]


def test_mf_tsp_refuses_a_table_whose_square_is_too_large() -> None:
    with pytest.raises(DataError, match="5000 rows at most. Got 5001") as caught:
        partition(table(5001), 3, "mf_tsp")
    assert caught.value.code == "too_many"


def test_a_part_of_a_clock() -> None:
    told: list[float] = []
    part = Clock(progress=told.append).part(0.5, 0.75)
    part.part(0.0, 0.5).tick(1.0)
    part.tick(1.0)
    assert told == [0.625, 0.75]


def test_the_schema_knows_what_a_search_may_start_from() -> None:
    params = schema("release")["properties"]["aggregate"]["properties"]["params"]["properties"]
    assert sorted(params["start"]["enum"]) == sorted(
        [RANDOM, *(name for name in REGISTERED if REGISTERED[name].starts)]
    )
    assert params["tour"]["enum"] == list(TOURS)
    assert params["order"]["enum"] == list(ORDERS)
