"""NULLs: patterns that are widened, cells that are imputed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.columns.encoding import read
from microagg_ops.columns.nulls import blocks, imputed, widened
from microagg_ops.errors import DataError
from microagg_ops.release.columns import Quasi
from tests import naive


def widen(
    missing: np.ndarray, k: int, entities: np.ndarray | None = None, lost: np.ndarray | None = None
) -> np.ndarray:
    n = len(missing)
    return widened(
        missing,
        np.zeros(n, np.int64),
        np.arange(n) if entities is None else entities,
        k,
        np.zeros(missing.shape) if lost is None else lost,
    )


def rows(*patterns: tuple[str, int]) -> np.ndarray:
    return np.array([[c == "-" for c in text] for text, many in patterns for _ in range(many)])


def shown(missing: np.ndarray) -> dict[str, int]:
    texts = ["".join("-" if none else "x" for none in row) for row in missing]
    return {text: texts.count(text) for text in sorted(set(texts))}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # Nothing is too small.
        ([("xx", 3), ("x-", 3)], {"x-": 3, "xx": 3}),
        # One joins the pattern that has one NULL more.
        ([("xxx", 9), ("x-x", 1), ("x--", 3)], {"x--": 4, "xxx": 9}),
        # Two meet where both are NULL.
        ([("xx", 3), ("x-", 2), ("-x", 1)], {"--": 3, "xx": 3}),
        # Of two patterns at the same price, the one that is too small as well.
        ([("xx", 1), ("x-", 2), ("-x", 3)], {"-x": 3, "x-": 3}),
        # One that no other contains borrows rows, and no more than it lacks.
        ([("xx", 9), ("--", 1)], {"--": 3, "xx": 7}),
        # Where nobody has rows to spare, all meet.
        ([("xx", 3), ("--", 2)], {"--": 5}),
        ([("x-", 2), ("-x", 2)], {"--": 4}),
    ],
)
def test_widening(given: list[tuple[str, int]], expected: dict[str, int]) -> None:
    assert shown(widen(rows(*given), 3)) == expected


def test_rows_are_borrowed_where_least_is_lost() -> None:
    missing = rows(("x", 6), ("-", 1))
    lost = np.array([[9.0], [1.0], [8.0], [2.0], [3.0], [7.0], [0.0]])
    assert np.flatnonzero(widen(missing, 3, lost=lost)[:, 0]).tolist() == [1, 3, 6]


def test_an_entity_counts_once_and_moves_with_all_its_rows() -> None:
    missing = rows(("x", 8), ("-", 2))
    entities = np.array([0, 0, 1, 2, 2, 3, 4, 5, 0, 0])
    found = widen(missing, 2, entities)[:, 0]
    # Entity 0 is NULL in two rows, so another entity must join it: one that has a single row.
    assert np.flatnonzero(found).tolist() == [2, 8, 9]


TABLES = st.integers(1, 3).flatmap(
    lambda columns: st.lists(
        st.tuples(*[st.booleans() for _ in range(columns)], st.integers(0, 8), st.integers(0, 1)),
        min_size=4,
        max_size=40,
    )
)


@settings(max_examples=300, deadline=None)
@given(TABLES, st.integers(2, 4))
def test_every_pattern_has_k_entities_and_no_null_is_undone(
    table: list[tuple[int, ...]], k: int
) -> None:
    given = np.array(table)
    missing, entities, strata = given[:, :-2].astype(bool), given[:, -2], given[:, -1]
    for stratum in (0, 1):  # those that are too small never come here
        if len(np.unique(entities[strata == stratum])) < k:
            keep = strata != stratum
            missing, entities, strata = missing[keep], entities[keep], strata[keep]
    if not len(strata):
        return
    found = widened(missing, strata, entities, k, np.zeros(missing.shape))
    assert (found | missing).tolist() == found.tolist()
    kinds = np.column_stack([strata, found]).tolist()
    assert naive.class_sizes(kinds, entities.tolist())[0] >= k
    already = naive.class_sizes(np.column_stack([strata, missing]).tolist(), entities.tolist())
    if already[0] >= k:
        assert (found == missing).all()


def test_a_step_at_a_time_is_nearly_always_best() -> None:
    rng, best = np.random.default_rng(0), 0
    for _ in range(200):
        missing = rng.random((rng.integers(3, 8), 2)) < rng.random()
        cells = int((widen(missing, 3) & ~missing).sum())
        least = naive.least_suppression(missing.tolist(), 3)
        assert cells >= least
        best += cells == least
    assert best >= 190


def test_blocks_are_strata_by_patterns() -> None:
    strata = np.array([0, 0, 1, 1, 0])
    missing = np.array([[0], [1], [1], [0], [0]], bool)
    assert [block.tolist() for block in blocks(strata, missing)] == [[0, 4], [1], [2], [3]]


def test_imputation_takes_the_stratum_and_where_it_has_nothing_the_table() -> None:
    cells = pa.chunked_array([pa.array([1.0, None, 3.0, None, 8.0])])
    strata, ones = np.array([0, 0, 0, 1, 2]), np.ones(5)
    found = imputed(read("c", Quasi("number"), cells), strata, ones)
    assert found.codes.tolist() == [1.0, 2.0, 3.0, 4.0, 8.0]
    words = pa.chunked_array([pa.array(["b", "a", None, "b", "a", "a"])])
    nominal = imputed(read("c", Quasi("nominal"), words), np.array([0, 0, 0, 0, 1, 1]), np.ones(6))
    assert nominal.codes.tolist() == [1.0, 0.0, 1.0, 1.0, 0.0, 0.0]


def test_nothing_can_be_imputed_from_nothing() -> None:
    cells = pa.chunked_array([pa.array([None, None], pa.float64())])
    with pytest.raises(DataError, match="NULL in every row"):
        imputed(read("c", Quasi("number"), cells), np.zeros(2, np.int64), np.ones(2))
