"""V-MDAV against its definition, on tables with many ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops import partition
from microagg_ops.errors import ReleaseError
from tests import naive
from tests.property.tables import tables


@settings(max_examples=400, deadline=None)
@given(tables(), st.sampled_from([0, 0.2, 0.5, 1, 1.1, 2]))
def test_partition_is_that_of_the_definition(table: tuple[np.ndarray, int], gain: float) -> None:
    X, k = table
    assert partition(X, k, "vmdav", gain=gain).tolist() == naive.vmdav(X, k, gain)


@pytest.mark.parametrize("gain", [0.2, 1.1])
def test_larger_than_a_block_and_with_rows_leaving(gain: float) -> None:
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(1200, 2)) + 5 * rng.integers(0, 5, (1200, 1)), 1)
    assert partition(X, 5, "vmdav", gain=gain).tolist() == naive.vmdav(X, 5, gain)


def test_a_row_that_is_close_joins() -> None:
    X = np.array([[0.0], [1], [2], [3], [100], [101], [102], [103]])
    assert np.bincount(partition(X, 3, "vmdav", gain=1.1)).tolist() == [4, 4]


@pytest.mark.parametrize("gain", [-1, "much", True, float("nan")])
def test_the_gain_is_a_number_of_0_or_more(gain: object) -> None:
    with pytest.raises(ReleaseError, match="'gain' parameter"):
        partition(np.zeros((4, 1)), 2, "vmdav", gain=gain)
