"""Means that few entities make up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.columns.dominance import parts
from tests import naive

ROWS = st.lists(
    st.tuples(st.integers(0, 9).map(float), st.integers(0, 3), st.integers(0, 5)),
    min_size=1,
    max_size=30,
)


@settings(max_examples=200, deadline=None)
@given(ROWS, st.integers(1, 3))
def test_shares_agree_with_the_slow_version(rows: list[tuple[float, int, int]], n: int) -> None:
    values, labels, entities = (list(column) for column in zip(*rows, strict=True))
    labels = np.unique(labels, return_inverse=True)[1].tolist()
    found = parts(np.array(values), np.array(labels, np.int32), np.array(entities))
    expected = naive.contributions(values, labels, entities)
    for label, cluster in expected.items():
        total = sum(cluster)
        share = sum(cluster[:n]) / total if total else 0.0
        rest = 100 * sum(cluster[2:]) / cluster[0] if total else np.inf
        assert found.share(n)[label] == pytest.approx(share)
        assert found.remainder()[label] == pytest.approx(rest)


def test_the_example_of_the_p_percent_rule() -> None:
    # Of 110 the largest has 80 and the second 25: the second can tell 80 to within 5 of it.
    found = parts(np.array([80.0, 25.0, 5.0]), np.zeros(3, np.int32), np.arange(3))
    assert found.remainder().tolist() == [6.25]
    assert found.share(1)[0] == pytest.approx(80 / 110)
    assert found.share(2)[0] == pytest.approx(105 / 110)
