"""MDAV against its definition, on tables with many ties."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import partition
from microagg_ops.errors import DataError
from microagg_ops.kernels import sums
from microagg_ops.kernels.mdav import median_split
from microagg_ops.kernels.mdav.branch_and_bound import search
from microagg_ops.kernels.mdav.lookahead import make_lookahead, serve
from microagg_ops.kernels.mdav.queries import make_queries
from microagg_ops.methods import mdav as method
from microagg_ops.methods import plain
from microagg_ops.methods.mdav import build_index, distinct_points
from microagg_ops.methods.partition import Clock
from microagg_ops.methods.registry import METHODS
from microagg_ops.metrics.loss import centroids, centroids_in_turns, information_loss
from tests import naive
from tests.property.tables import tables

the_way = plain.way


@pytest.fixture(scope="module", autouse=True)
def the_tree() -> Iterator[None]:
    """Small tables, too, are searched by the tree, unless a test says otherwise."""
    with patch.object(plain, "way", lambda *_: plain.TREE):
        yield


@settings(max_examples=400, deadline=None)
@given(tables())
def test_partition_is_that_of_the_definition(table: tuple[np.ndarray, int]) -> None:
    X, k = table
    assert partition(X, k).tolist() == naive.mdav(X, k)


@pytest.mark.parametrize("way", [plain.BRUTE_FORCE, plain.BOXES])
@settings(max_examples=200, deadline=None)
@given(tables())
def test_plain_ways_find_it_too(way: str, table: tuple[np.ndarray, int]) -> None:
    X, k = table
    with patch.object(plain, "way", lambda *_: way):
        assert partition(X, k).tolist() == naive.mdav(X, k)


@pytest.mark.parametrize("way", [plain.BRUTE_FORCE, plain.BOXES])
@pytest.mark.parametrize(("columns", "k"), [(1, 2), (2, 3), (4, 10), (9, 4)])
def test_plain_ways_agree_with_the_tree_in_many_leaves(way: str, columns: int, k: int) -> None:
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(5000, columns)) * np.exp(rng.exponential(size=(5000, 1)))
    X[1000:3000] = np.round(X[1000:3000])  # ties, and rows that are equal
    X[::700] *= 1e12
    expected = partition(X, k)
    with patch.object(plain, "way", lambda *_: way):
        assert (partition(X, k) == expected).all()


def test_the_way_depends_on_size_and_on_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    way = the_way
    monkeypatch.setattr(plain, "_SPENT", [0.0])
    assert way(1000, 5, 5) == plain.TREE, "it is loaded"
    monkeypatch.delitem(sys.modules, "microagg_ops.kernels.mdav.exact")
    assert way(1000, 5, 5) == plain.BRUTE_FORCE
    monkeypatch.setattr("microagg_ops.kernels.is_ready", lambda _: True)
    # So in many strata, until compiled kernels would have been worth their loading.
    ways = [way(1000, 5, 5) for _ in range(200)]
    assert ways == sorted(ways) and {*ways} == {plain.BRUTE_FORCE, plain.TREE}


@given(tables())
def test_centroids_in_turns_are_those_of_the_kernel(table: tuple[np.ndarray, int]) -> None:
    X, k = table
    labels = (np.arange(len(X)) * 7 % 11).astype(np.int32) // k
    labels[labels == 1] = 0  # a cluster without rows
    sizes = np.bincount(labels)
    expected = sums.centroids(np.ascontiguousarray(X.T), labels, len(sizes))
    np.testing.assert_array_equal(centroids_in_turns(X, labels, sizes), expected)


def test_values_that_cannot_be_squared_are_refused() -> None:
    points, clock = np.array([[1e200], [0.0], [1.0], [-1e200]]), Clock()
    with pytest.raises(DataError, match="too large to be squared"):
        METHODS["mdav"].load()(points, 2, seed=0, clock=clock)
    # Whoever calls it by `partition` is spared that: points are scaled there.
    assert np.bincount(partition(points, 2)).min() >= 2


# Pairs are found side by side from the first on, however few rows are left.
BESIDE = {"TRIAL": 0, "LONG": -1, "SHARE": 1}


@settings(max_examples=200, deadline=None)
@given(tables(), st.integers(1, 20), st.integers(1, 3))
def test_looking_ahead_in_threads_finds_the_same(
    table: tuple[np.ndarray, int], pairs: int, threads: int
) -> None:
    X, k = table
    with patch.multiple(method, **BESIDE, AHEAD=pairs, THREADS=threads):
        assert partition(X, k).tolist() == naive.mdav(X, k)


@pytest.mark.parametrize("columns", [2, 9])
def test_clusters_found_side_by_side_are_those_found_one_by_one(columns: int) -> None:
    # Several branches of the tree, in each of which many searches look; many rows are equally far.
    X = np.random.default_rng(columns).integers(-9, 9, (30_000, columns)).astype(float)
    with patch.multiple(method, AHEAD=1):
        wanted = partition(X, 4)
    for lookahead, threads in ((40, 1), (160, 2), (600, 3)):
        with patch.multiple(method, **BESIDE, FEWEST=lookahead, AHEAD=lookahead, THREADS=threads):
            assert (partition(X, 4) == wanted).all()


@settings(max_examples=100, deadline=None)
@given(tables())
def test_every_cluster_has_k_rows_and_no_label_is_skipped(table: tuple[np.ndarray, int]) -> None:
    X, k = table
    labels = partition(X, k)
    sizes = np.bincount(labels)
    assert labels.dtype == np.int32
    assert sizes.min() >= k
    first = [int(np.flatnonzero(labels == g)[0]) for g in range(len(sizes))]
    assert first == sorted(first)


@settings(max_examples=100, deadline=None)
@given(tables())
def test_means_are_kept_and_loss_agrees_with_exact_arithmetic(
    table: tuple[np.ndarray, int],
) -> None:
    X, k = table
    labels = partition(X, k)
    after = centroids(X, labels)[labels]
    np.testing.assert_allclose(after.sum(0), X.sum(0), rtol=1e-9, atol=1e-6)
    assert information_loss(X, after) == pytest.approx(naive.information_loss(X, after), abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_rows_without_ties_may_come_in_any_order(
    table: tuple[np.ndarray, int], random: object
) -> None:
    _, k = table
    rng = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    X = rng.normal(size=(len(table[0]), 3))
    order = rng.permutation(len(X))
    straight, shuffled = partition(X, k), partition(X[order], k)
    pairs = set(zip(straight[order].tolist(), shuffled.tolist(), strict=True))
    assert len(pairs) == len(np.unique(straight))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_larger_than_a_block_and_with_rows_leaving(k: int) -> None:
    rng = np.random.default_rng(k)
    X = np.round(rng.normal(size=(1500, 3)), 1)
    assert partition(X, k).tolist() == naive.mdav(X, k)


@pytest.mark.parametrize("seed", range(5))
def test_outliers_that_left_do_not_spoil_the_centroid_of_the_rest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    X[rng.choice(300, 4, replace=False)] *= 1e16
    assert partition(X, 2).tolist() == naive.mdav(X, 2)


SHAPES = {
    "heavy tails": lambda rng, n: rng.standard_cauchy((n, 4)) ** 3,
    "scales apart": lambda rng, n: rng.normal(size=(n, 4)) * [1e-12, 1e-3, 1.0, 1e12],
    "far from the origin": lambda rng, n: 1e9 + rng.normal(size=(n, 3)),
    "many columns": lambda rng, n: rng.normal(size=(n, 40)),
    "one line": lambda rng, n: np.outer(rng.exponential(size=n), [1.0, 2.0, -1.0]),
    "few values": lambda rng, n: rng.integers(0, 3, (n, 3)).astype(float),
    "constant": lambda rng, n: np.ones((n, 2)),
    "two places": lambda rng, n: rng.integers(0, 2, (n, 1)) * 1e6 + rng.normal(size=(n, 2)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape_of_table_gives_the_partition_of_the_definition(shape: str) -> None:
    X = SHAPES[shape](np.random.default_rng(1), 1300)
    wanted = naive.mdav(X, 13)
    assert partition(X, 13).tolist() == wanted
    with patch.multiple(method, **BESIDE, THREADS=2):
        assert partition(X, 13).tolist() == wanted
    # Built anew again and again, with the grid and the ranking of before or without.
    for moved in (np.inf, -1.0):
        with patch.multiple(method, REBUILD=0.001, WORK_PER_CALL=100, MOVED=moved):
            assert partition(X, 13).tolist() == wanted


ELSEWHERE = """
import json, sys
import numpy as np
from microagg_ops import partition
print(json.dumps(partition(np.array(json.load(sys.stdin)), 5).tolist()))
"""


def test_a_processor_with_fewer_instructions_finds_the_same() -> None:
    X = np.round(np.random.default_rng(3).normal(size=(700, 7)), 1)
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    run = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], env=environment, input=json.dumps(X.tolist()),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(run.stdout) == partition(X, 5).tolist() == naive.mdav(X, 5)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from(sorted(SHAPES)), st.integers(1, 700), st.booleans()
)
def test_searches_find_what_measuring_all_rows_finds(
    seed: int, shape: str, rows: int, far: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = SHAPES[shape](rng, rows)
    cloud = distinct_points(X)
    distinct, (_, tree) = cloud.points, build_index(cloud, X.mean(axis=0))
    k = min(rows, int(rng.integers(1, 20)))
    beside = int(rng.integers(1, 9))
    queries = make_queries(k, X.shape[1], beside)
    # What some searches find is what the next expect, rightly or not.
    for _ in range(3):
        queries.sources[:] = rng.integers(len(distinct), size=beside)
        search(cloud, tree, queries, beside, k, far, 0)
        for here, found in zip(queries.sources, queries.rows, strict=True):
            away = [naive.distance(row, distinct[here]) * (-1 if far else 1) for row in X]
            assert sorted(found) == sorted(sorted(range(rows), key=lambda i: (away[i], i))[:k])


@pytest.mark.parametrize("far", [False, True])
def test_searches_in_a_tree_of_many_branches_find_what_measuring_all_rows_finds(far: bool) -> None:
    # More than one group of branches; whole numbers, so that many are exactly as far.
    rng = np.random.default_rng(5)
    X = rng.integers(-40, 40, (140_000, 4)).astype(float)
    cloud = distinct_points(X)
    distinct, (_, tree) = cloud.points, build_index(cloud, X.mean(axis=0))
    queries = make_queries(7, 4, 12)
    for _ in range(3):
        queries.sources[:] = rng.integers(len(distinct), size=12)
        search(cloud, tree, queries, 12, 7, far, 0)
        for here, found in zip(queries.sources, queries.rows, strict=True):
            away = ((X - distinct[here]) ** 2).sum(axis=1) * (-1 if far else 1)
            assert set(found) == set(np.argsort(away, kind="stable")[:7])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-3, 3) | st.floats(width=32, allow_nan=False), max_size=300), st.data())
def test_what_is_before_the_middle_is_not_larger_than_what_is_after(
    values: list[float], data: st.DataObject
) -> None:
    values = [value + 0.0 for value in values]
    # Neighbours on either side must stay as they are.
    keys = np.array([7, *map(median_split.as_key, values), 9], np.int32)
    order, middle = np.arange(len(keys), dtype=np.int32), data.draw(st.integers(1, len(keys) - 1))
    before, size = keys.copy(), len(keys) + median_split.SAMPLE + median_split.LANES
    spare, others = np.empty(size, np.int32), np.empty(size, np.int32)
    median_split.select(keys, order, spare, others, 1, len(keys) - 1, middle)
    assert sorted(order) == list(range(len(keys)))
    assert (keys == before[order]).all()
    assert (order[0], order[-1]) == (0, len(keys) - 1)
    lower, upper = ([values[i - 1] for i in part] for part in (order[1:middle], order[middle:-1]))
    assert max(lower, default=-np.inf) <= min(upper, default=np.inf)


def test_a_thread_that_is_left_alone_does_not_wait_for_ever() -> None:
    X = np.random.default_rng(2).normal(size=(300, 3))
    cloud = distinct_points(X)
    _, tree = build_index(cloud, X.mean(axis=0))
    # Nothing says that it is over, as where an exception came between two steps.
    queries = make_queries(3, 3)
    serve(cloud, tree, make_lookahead(3, 4, len(X)), 3, queries)
    assert queries.work[0] == 0
