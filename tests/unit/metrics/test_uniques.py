"""Risk before protection."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.errors import DataError
from microagg_ops.metrics import reidentification, suda, suda_scores
from microagg_ops.metrics.uniques import dis_scores, file_risk
from tests import naive
from tests.unit.metrics.mixed import POOLS, Mixed, tables

NAMES = st.lists(st.sampled_from(list(POOLS)), min_size=1, max_size=5, unique=True)


@settings(max_examples=100, deadline=None)
@given(tables(), NAMES, st.integers(1, 5))
def test_scores_agree_with_the_slow_version(table: Mixed, quasi: list[str], largest: int) -> None:
    sets = naive.minimal_uniques(table.plain(*quasi), largest)
    expected = [naive.suda_score(found, largest, len(quasi)) for found in sets]
    for frame in table.frames():
        assert suda_scores(frame, quasi, largest).tolist() == expected
        found = suda(frame, quasi, largest)
        assert found.rows == table.rows
        assert found.special == sum(score > 0 for score in expected)
        assert found.highest == max(expected)
        assert found.mean == pytest.approx(sum(expected) / table.rows)
        assert found.minimal == tuple(
            sum(len(s) == size for row in sets for s in row)
            for size in range(1, min(largest, len(quasi)) + 1)
        )
        for j, name in enumerate(quasi):
            with_it = [[s for s in row if j in s] for row in sets]
            part = sum(naive.suda_score(row, largest, len(quasi)) for row in with_it)
            total = sum(expected)
            assert found.contributions[name] == pytest.approx(100 * part / total if total else 0)


@settings(max_examples=50, deadline=None)
@given(tables(), NAMES, st.one_of(st.none(), st.sampled_from(list(POOLS))))
def test_reidentification_agrees_with_the_slow_version(
    table: Mixed, quasi: list[str], entity: str | None
) -> None:
    who = table.plain(entity) if entity else range(table.rows)
    sizes = [
        len({who[i] for i in rows})
        for rows in naive.members(table.plain(*quasi)).values()
        for _ in rows
    ]
    for frame in table.frames():
        found = reidentification(frame, quasi, entity)
        assert found.rows == len(sizes)
        assert found.uniques == sizes.count(1)
        assert found.expected == pytest.approx(sum(1 / size for size in sizes))
        assert found.highest == 1 / min(sizes)


@pytest.fixture
def households() -> pd.DataFrame:
    """The ten records by which the sdcMicro guide explains SUDA (residence, gender, …)."""
    rows = ["UFSE", "UFSE", "UFiN", "UMCE", "RFCX", "UMCE", "UFPN", "UMHX", "UFSN", "UFSN"]
    return pd.DataFrame([list(row) for row in rows], columns=["a", "b", "c", "d"])


def test_the_example_of_the_guide(households: pd.DataFrame) -> None:
    scores = suda_scores(households, ["a", "b", "c", "d"], 3)
    assert scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    found = suda(households, ["a", "b", "c", "d"], 3)
    assert (found.uniques, found.special, found.minimal) == (4, 4, (4, 5, 0))
    assert found.dis == pytest.approx(0.04 / 5.98)


def test_dis_scores_of_the_guide() -> None:
    # It prints them for the scores of an earlier definition: 7/4 for size 1, 1/2 for size 2.
    scores = np.array([0, 0, 1.75, 0, 3.25, 0, 1.75, 2.75, 0, 0])
    found = dis_scores(scores, file_risk(4, 6, 0.01), 4, 4)
    assert found[[2, 4, 6, 7]].round(4).tolist() == [0.0051, 0.0107, 0.0051, 0.0088]
    assert found[scores == 0].tolist() == [0] * 6


def test_nobody_is_unique(households: pd.DataFrame) -> None:
    found = suda(pd.concat([households, households]), ["a", "b", "c"])
    assert (found.uniques, found.special, found.highest, found.dis, found.highest_dis) == (0,) * 5


@pytest.mark.parametrize(("quasi", "largest"), [([], 3), (["a"], 0)])
def test_what_makes_no_sense_is_said(
    households: pd.DataFrame, quasi: list[str], largest: int
) -> None:
    with pytest.raises(DataError):
        suda_scores(households, quasi, largest)
    with pytest.raises(DataError):
        suda(households, quasi, largest)
