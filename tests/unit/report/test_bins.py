"""Distributions tell nothing of a few people, and no value of a cell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg_ops.columns.encoding import Encoded, read
from microagg_ops.release.columns import Quasi
from microagg_ops.report.bins import date_edges, distribution, nice


def column(cells: list, kind: str = "number", order: tuple[str, ...] = ()) -> Encoded:
    plain = {"number": pa.float64(), "integer": pa.int64(), "date": pa.date32()}
    array = pa.array(cells, plain.get(kind, pa.string()))
    return read("a", Quasi(kind, order=order), pa.chunked_array([array]))


@given(
    st.lists(st.tuples(st.integers(0, 12), st.floats(-1e6, 1e6)), min_size=1, max_size=60),
    st.integers(2, 6),
)
def test_every_bin_has_k_entities(rows: list[tuple[int, float]], k: int) -> None:
    entities = np.array([who for who, _ in rows])
    values = np.array([value for _, value in rows])
    encoded = column(values.tolist())
    told = distribution(encoded, encoded, entities, k)
    edges = [float(edge.replace(",", "")) for edge in told["edges"]]
    bins = np.searchsorted(edges, values, "right")
    found = [len(set(entities[bins == i])) for i in range(len(edges) + 1)]
    assert len(found) == 1 or min(found) >= k
    shares = [100 * np.mean(bins == i) for i in range(len(found))]
    assert told["before"] == pytest.approx(shares, abs=1e-3)
    assert told["after"] == told["before"]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=60), st.integers(2, 6))
def test_every_bin_of_categories_has_k_rows(cells: list[str], k: int) -> None:
    rows = np.arange(len(cells))
    for encoded in (column(cells, "nominal"), column(cells, "ordinal", tuple("abcdefgh"))):
        told = distribution(encoded, encoded, rows, k)
        counts = np.array(told["before"]) * len(cells) / 100
        assert len(counts) == len(told["bins"])
        assert len(counts) == 1 or min(counts) > k - 0.01
        assert sum(told["before"]) == pytest.approx(100, abs=0.01)


def test_an_entity_in_several_bins_is_counted_once() -> None:
    encoded = column([float(i) for i in range(100)])
    assert distribution(encoded, encoded, np.arange(100) % 2, 3)["bins"] == ["all"]
    assert len(distribution(encoded, encoded, np.arange(100) % 3, 3)["bins"]) > 5


def test_extremes_and_names_are_not_told() -> None:
    cells = [*np.linspace(10, 90, 200).tolist(), 123456.789, -98765.4321]
    told = str(distribution(column(cells), column(cells), np.arange(202), 5))
    assert "123" not in told and "987" not in told
    told = str(distribution(*[column(["x", "y"] * 9, "nominal")] * 2, np.arange(18), 3)["bins"])
    assert told == "['1', '2']"


def test_one_value_is_one_bin_without_an_edge() -> None:
    told = distribution(column([4.5] * 9), column([4.5] * 9), np.arange(9), 2)
    assert (told["bins"], told["edges"], told["before"]) == (["all"], [], [100.0])


def test_nulls_are_counted_apart() -> None:
    before, after = column([1.0, 2.0, None, 4.0]), column([1.5, 1.5, None, None])
    told = distribution(before, after, np.arange(4), 2)
    assert (told["missing_before"], told["missing_after"]) == (1, 2)
    nothing = distribution(column([None] * 3), column([None] * 3), np.arange(3), 2)
    assert nothing["bins"] == [] and nothing["missing_before"] == 3


@pytest.mark.parametrize(
    ("low", "high", "first"),
    [(0, 7, "2 Jan 1970"), (0, 300, "Feb 1970"), (0, 20_000, "1980"), (0, 0.4, "1 Jan 1970 00:00")],
)
def test_dates_have_edges_of_a_calendar(low: float, high: float, first: str) -> None:
    edges, names = date_edges(low, high, coarsest=1.0 if high > 1 else 0.0)
    assert first in names[:2]
    assert edges == sorted(edges)
    assert 3 <= len(edges) <= 13


@pytest.mark.parametrize(
    ("step", "round_"), [(0.7, 1), (1, 1), (1.2, 2), (3, 5), (51, 100), (0, 0)]
)
def test_steps_are_round(step: float, round_: float) -> None:
    assert nice(step) == pytest.approx(round_)
