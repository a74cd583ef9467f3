"""What stands for a cluster, against exact arithmetic."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.columns.encoding import Encoded, read
from microagg_ops.columns.representatives import representable, representatives, rounded
from microagg_ops.release.columns import Quasi
from tests import naive

ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.sampled_from([1.0, 2.0, 0.5])),
    min_size=1,
    max_size=25,
)


def encoded(how: Quasi, values: list[int]) -> Encoded:
    names = ["e", "d", "c", "b", "a"]
    cells = [names[v] for v in values] if how.type in ("nominal", "ordinal") else values
    return read("c", how, pa.chunked_array([pa.array(cells)]))


@settings(max_examples=300, deadline=None)
@given(ROWS)
def test_mean_median_and_mode_agree_with_the_slow_versions(
    rows: list[tuple[int, int, float]],
) -> None:
    values, labels, weights = (list(column) for column in zip(*rows, strict=True))
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    how = {"mean": Quasi("number"), "median": Quasi("number", representative="median")}
    found = {
        name: representatives(encoded(kind, values), labels, np.array(weights))
        for name, kind in (how | {"mode": Quasi("nominal")}).items()
    }
    nominal = encoded(Quasi("nominal"), values).codes
    for g in range(labels.max() + 1):
        own = [(v, w) for v, w, label in zip(values, weights, labels, strict=True) if label == g]
        cells, by = [v for v, _ in own], [w for _, w in own]
        assert found["mean"][g] == pytest.approx(naive.weighted_mean(cells, by))
        assert found["median"][g] == sum(naive.weighted_median(cells, by)) / 2
        codes = nominal[labels == g].tolist()
        assert found["mode"][g] == naive.mode(codes, by, nominal.tolist(), weights)


def test_ordinal_takes_the_lower_of_two_categories() -> None:
    how = Quasi("ordinal", order=("e", "d", "c", "b", "a"))
    assert representable(encoded(how, [0, 3]), np.zeros(2, np.int32)).tolist() == [0.0]


def test_a_median_of_whole_numbers_is_one() -> None:
    how = Quasi("integer", representative="median")
    assert representable(encoded(how, [1, 4]), np.zeros(2, np.int32)).tolist() == [2.0]


def test_cells_that_are_null_do_not_count() -> None:
    cells = pa.chunked_array([pa.array([1.0, None, None, 4.0])])
    found = representatives(read("c", Quasi("number"), cells), np.array([0, 0, 1, 2], np.int32))
    np.testing.assert_array_equal(found, [1.0, np.nan, 4.0])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(1, 9)), min_size=1, max_size=60))
def test_rounding_keeps_the_total_to_half_a_cluster(clusters: list[tuple[float, int]]) -> None:
    means, sizes = (np.array(column, float) for column in zip(*clusters, strict=True))
    found = rounded(means, sizes)
    assert ((found == np.floor(means)) | (found == np.ceil(means))).all()
    assert abs(((found - means) * sizes).sum()) <= sizes.max() / 2 + 1e-6


def test_the_noise_of_a_division_does_not_move_a_whole_number() -> None:
    means = np.array([0.5, 2.0000000000000004, 0.5, 1.9999999999999998])
    assert rounded(means, np.array([3.0, 9.0, 3.0, 9.0]))[[1, 3]].tolist() == [2.0, 2.0]
