"""Classes of a table."""

from __future__ import annotations

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.metrics.anonymity import classes
from tests import naive

VALUES = st.sampled_from(["x", "y", None])
ROWS = st.lists(st.tuples(VALUES, VALUES, st.integers(0, 4)), min_size=1, max_size=30)


@settings(max_examples=200, deadline=None)
@given(ROWS, st.integers(2, 4), st.randoms(use_true_random=False))
def test_counts_agree_with_the_slow_version(
    rows: list[tuple[str | None, str | None, int]], k: int, random: object
) -> None:
    frame = pd.DataFrame(rows, columns=["a", "b", "who"])
    frame.index = pd.Index([0] * len(frame))  # duplicate labels change nothing
    quasi = [row[:2] for row in rows]
    for entity, who in ((None, None), ("who", [row[2] for row in rows])):
        expected = naive.class_sizes(quasi, who)
        found = classes(frame, ["a", "b"], k, entity)
        assert found.smallest == expected[0]
        assert found.count == len(expected)
        assert found.below == sum(size < k for size in expected)
        assert found.rows_below == sum(size for size in expected if size < k)
        assert found.sizes == {size: expected.count(size) for size in expected}


def test_no_rows_means_no_class() -> None:
    found = classes(pd.DataFrame({"a": []}), ["a"], 2)
    assert (found.smallest, found.count, found.sizes) == (0, 0, {})
