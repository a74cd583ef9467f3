"""Distances between rows of mixed types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.columns.encoding import Encoded, read
from microagg_ops.columns.space import as_column, as_points, losses, points, squared
from microagg_ops.release.columns import Quasi


def encoded(values: list[Any], how: Quasi) -> Encoded:
    return read("c", how, pa.chunked_array([pa.array(values)]))


@pytest.mark.parametrize("values", [["x", "y"], ["x", "y", "z", "y"], [True, False, True]])
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_any_two_categories_are_one_weight_apart(values: list[Any], weight: float) -> None:
    declared = "boolean" if values[0] is True else "nominal"
    found = encoded(values, Quasi(declared, weight=weight))
    places = points(found)
    for i, one in enumerate(values):
        for j, other in enumerate(values):
            apart = np.linalg.norm(places[i] - places[j])
            assert apart == pytest.approx(weight * (one != other))
            code = found.codes[j : j + 1]
            assert squared(found, code, found.codes[i], (0.0, 1.0))[0] == pytest.approx(apart**2)


def test_numbers_are_standardized_and_weighted() -> None:
    found = encoded([1.0, 5.0, None], Quasi("number", weight=3.0))
    assert points(found, (1.0, 2.0))[:, 0].tolist()[:2] == [0.0, 6.0]
    assert np.isnan(points(found, (1.0, 2.0))[2, 0])
    assert squared(found, found.codes[:1], found.codes[1:2], (1.0, 2.0)).tolist() == [36.0]


def test_coordinates_survive_arrow() -> None:
    for width in (1, 3):
        given = np.arange(6.0).reshape(-1, width)
        given[0, 0] = np.nan
        column = pa.chunked_array([as_column(given)])
        np.testing.assert_array_equal(as_points(column), given)


@pytest.mark.parametrize("many", [101, 5_000])
def test_many_categories_are_about_a_weight_apart(many: int) -> None:
    found = encoded([f"c{i:05}" for i in range(many)], Quasi("nominal", weight=2.0))
    places = points(found)
    assert places.shape == (many, 128)
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, many, (2, 4_000))
    apart = np.linalg.norm(places[one] - places[other], axis=1)
    assert (apart[one == other] == 0).all()
    assert (abs(apart[one != other] - 2.0) < 0.8).all()
    assert apart[one != other].mean() == pytest.approx(2.0, abs=0.05)
    # The same on every machine, for ever.
    for i in (0, 1, many - 1):
        bits = "".join(f"{splitmix64(2 * i + word):064b}"[::-1] for word in (0, 1))
        assert (places[i] > 0).tolist() == [bit == "1" for bit in bits]


def splitmix64(n: int) -> int:
    """The number n of the generator of Steele, Lea and Flood (2014) with the seed 0."""
    mask = 2**64 - 1
    z = (n + 1) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return z ^ z >> 31


def test_one_cluster_loses_all_and_none_loses_nothing() -> None:
    kinds = (Quasi("number"), Quasi("number", representative="median"), Quasi("nominal"))
    for how in kinds:
        before = encoded(["a", "b", "b"] if how.type == "nominal" else [1.0, 2.0, 6.0], how)
        middle = {"mean": 3.0, "median": 2.0, "mode": 1.0}[how.statistic]
        ones, scales = np.ones(3), {"c": (0.0, 2.0)}
        assert losses([before], [np.full(3, middle)], scales, ones)[0] == pytest.approx(100.0)
        assert losses([before], [before.codes], scales, ones)[0] == 0.0
        # Suppressed cells lose what one cluster would.
        assert losses([before], [np.full(3, np.nan)], scales, ones)[0] == pytest.approx(100.0)


def test_losses_are_weighted_and_nulls_have_nothing_to_lose() -> None:
    before = encoded([0.0, 4.0, None], Quasi("number"))
    after = np.array([0.0, 2.0, 9.0])
    # Weighted mean 3; spread 1 * 9 + 3 * 1; error 3 * 4.
    found, by_column = losses([before], [after], {"c": (0.0, 1.0)}, np.array([1.0, 3.0, 5.0]))
    assert found == by_column["c"] == pytest.approx(100.0)
