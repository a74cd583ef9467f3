"""k, l and t of a table."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.errors import DataError
from microagg_ops.metrics import (
    class_sizes,
    classes,
    diversity,
    homogeneity,
    k_anonymity,
    k_by_group,
    k_by_stratum,
    p_sensitivity,
    t_closeness,
)
from microagg_ops.metrics.anonymity import earth_movers, total_variations, values_of
from tests import naive
from tests.unit.metrics.mixed import POOLS, Mixed, tables

NAMES = st.lists(st.sampled_from(list(POOLS)), min_size=1, max_size=3, unique=True)
ONE = st.sampled_from(list(POOLS))


@settings(max_examples=100, deadline=None)
@given(tables(), NAMES, st.one_of(st.none(), ONE), st.integers(2, 4))
def test_classes_agree_with_the_slow_version(
    table: Mixed, quasi: list[str], entity: str | None, k: int
) -> None:
    who = [row[0] for row in table.plain(entity)] if entity else None
    expected = naive.class_sizes(table.plain(*quasi), who)
    for frame in table.frames():
        found = classes(frame, quasi, k, entity)
        assert found.smallest == expected[0] == k_anonymity(frame, quasi, entity)
        assert found.count == len(expected)
        assert found.below == sum(size < k for size in expected)
        assert found.rows_below == sum(size for size in expected if size < k)
        assert found.sizes == {size: expected.count(size) for size in expected}


@settings(max_examples=50, deadline=None)
@given(tables(), NAMES, ONE)
def test_k_by_stratum_is_k_of_each_stratum(table: Mixed, quasi: list[str], stratum: str) -> None:
    expected = [
        min(naive.class_sizes([table.plain(*quasi)[i] for i in rows]))
        for rows in naive.members(table.plain(stratum)).values()
    ]
    for frame in table.frames():
        assert k_by_stratum(frame, quasi, [stratum]) == tuple(sorted(expected))
        assert k_by_group(frame, [quasi, [stratum]], [stratum]) == (
            min(expected),
            k_anonymity(frame, [stratum]),
        )


@settings(max_examples=100, deadline=None)
@given(tables(), NAMES, ONE, st.one_of(st.none(), ONE), st.integers(1, 3))
def test_diversity_agrees_with_the_slow_version(
    table: Mixed, quasi: list[str], sensitive: str, entity: str | None, at: int
) -> None:
    who = [row[0] for row in table.plain(entity)] if entity else None
    values = [row[0] for row in table.plain(sensitive)]
    counts = naive.value_counts(table.plain(*quasi), values, who)
    for frame in table.frames():
        found = diversity(frame, quasi, sensitive, entity, l=at)
        assert found.distinct == naive.distinct_l(table.plain(*quasi), values, who)
        assert found.entropy == pytest.approx(naive.entropy_l(counts), rel=1e-12)
        assert found.recursive == pytest.approx(naive.recursive_c(counts, at), rel=1e-12)
        assert found.distinct == p_sensitivity(frame, quasi, [sensitive, sensitive], entity)


@settings(max_examples=100, deadline=None)
@given(tables(), NAMES, ONE, st.one_of(st.none(), ONE), st.integers(1, 3))
def test_homogeneity_agrees_with_the_slow_version(
    table: Mixed, quasi: list[str], sensitive: str, entity: str | None, k: int
) -> None:
    rows = table.plain(*quasi)
    who = [row[0] for row in table.plain(entity)] if entity else range(len(rows))
    values = [row[0] for row in table.plain(sensitive)]
    same, all_ = naive.homogeneity(rows, values, who, k)
    for frame in table.frames():
        found = homogeneity(frame, quasi, sensitive, entity, k=k)
        assert (found.classes, found.entities, found.values) == (
            len(same),
            sum(same),
            len(set(values)),
        )
        assert found.share_of_classes == len(same) / max(len(all_), 1)
        assert found.share_of_entities == sum(same) / max(sum(all_), 1)


@settings(max_examples=100, deadline=None)
@given(tables(), NAMES, ONE, st.one_of(st.none(), ONE))
def test_closeness_agrees_with_the_slow_version(
    table: Mixed, quasi: list[str], sensitive: str, entity: str | None
) -> None:
    who = [row[0] for row in table.plain(entity)] if entity else None
    values = [row[0] for row in table.plain(sensitive)]
    counts = naive.value_counts(table.plain(*quasi), values, who)
    (overall,) = naive.value_counts([()] * table.rows, values, who)
    nominal = expected = naive.closeness(counts, overall, None)
    if sensitive != "text":
        expected = naive.closeness(counts, overall, table.order(sensitive))
    for frame in table.frames():
        found = t_closeness(frame, quasi, sensitive, entity)
        assert found == pytest.approx(expected, abs=1e-12)
        found = t_closeness(frame, quasi, sensitive, entity, ordered=False)
        assert found == pytest.approx(nominal, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(tables(min_size=2), NAMES, ONE, st.randoms(use_true_random=False))
def test_order_of_rows_changes_nothing(
    table: Mixed, quasi: list[str], sensitive: str, random: object
) -> None:
    order = list(range(table.rows))
    random.shuffle(order)  # type: ignore[attr-defined]
    for frame, other in zip(table.frames(), table.shuffled(order).frames(), strict=True):
        assert sorted(class_sizes(frame, quasi)) == sorted(class_sizes(other, quasi))
        first, second = diversity(frame, quasi, sensitive), diversity(other, quasi, sensitive)
        assert first.distinct == second.distinct
        assert first.entropy == pytest.approx(second.entropy)
        assert t_closeness(frame, quasi, sensitive) == pytest.approx(
            t_closeness(other, quasi, sensitive)
        )


@pytest.fixture
def patients() -> pd.DataFrame:
    """Nine patients of three classes: Li, Li and Venkatasubramanian 2007, tables 3 and 4."""
    return pd.DataFrame(
        {
            "class": [1, 1, 1, 2, 2, 2, 3, 3, 3],
            "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
            "disease": [
                "gastric ulcer", "gastritis", "stomach cancer", "gastritis", "flu", "bronchitis",
                "bronchitis", "pneumonia", "stomach cancer",
            ],
        }
    )  # fmt: skip


def test_closeness_of_the_salaries_of_the_paper(patients: pd.DataFrame) -> None:
    # {3, 4, 5} is 0.375 from all nine salaries and {6, 8, 11} is 0.167, as the paper prints.
    values = values_of(patients, ["class"], "salary")
    found = earth_movers(values)
    assert found[:2].tolist() == pytest.approx([0.375, 12 / 72])
    assert t_closeness(patients, ["class"], "salary") == pytest.approx(0.375)
    # Regrouped as in its last table, no class is farther than 0.167.
    regrouped = patients.assign(**{"class": [1, 3, 1, 2, 2, 2, 3, 1, 3]})
    assert t_closeness(regrouped, ["class"], "salary") == pytest.approx(12 / 72)


def test_closeness_of_the_diseases_by_hand(patients: pd.DataFrame) -> None:
    # By hand: excess over the table of each class, in ninths: 2 + 1 + 1, 1 + 2 + 1, 1 + 2 + 1.
    values = values_of(patients, ["class"], "disease")
    found = total_variations(values)
    assert found.tolist() == pytest.approx([4 / 9, 4 / 9, 4 / 9])


def test_diversity_of_a_table_of_the_literature() -> None:
    # The 3-diverse inpatients of Machanavajjhala et al. 2006: three classes of four.
    frame = pd.DataFrame(
        {
            "class": [1] * 4 + [2] * 4 + [3] * 4,
            "disease": [
                "heart", "viral", "cancer", "cancer",
                "cancer", "heart", "viral", "viral",
                "heart", "viral", "cancer", "cancer",
            ],
        }
    )  # fmt: skip
    found = diversity(frame, ["class"], "disease", l=2)
    assert found.distinct == 3
    # Each class has shares 1/2, 1/4, 1/4: entropy 1.5 log 2; r1 / (r2 + r3) = 2 / 2.
    assert found.entropy == pytest.approx(2**1.5)
    assert found.recursive == pytest.approx(1.0)
    assert diversity(frame, ["class"], "disease", l=3).recursive == pytest.approx(2.0)
    assert diversity(frame, ["class"], "disease", l=4).recursive == math.inf


def test_values_of_one_person_are_no_diversity() -> None:
    # Four people have only x, the fifth x, y and z: two of them can differ, and no more.
    frame = pd.DataFrame(
        {"class": [1] * 7, "person": [1, 2, 3, 4, 5, 5, 5], "disease": list("xxxxxyz")}
    )
    found = diversity(frame, ["class"], "disease", "person", l=2)
    assert found.distinct == 2 == p_sensitivity(frame, ["class"], ["disease"], "person")
    # Shares of x, y and z by hand: 4 + 1/3, 1/3 and 1/3 of five.
    assert found.recursive == pytest.approx((4 + 1 / 3) / (2 / 3))
    shares = [13 / 15, 1 / 15, 1 / 15]
    assert found.entropy == pytest.approx(math.exp(-sum(p * math.log(p) for p in shares)))
    assert diversity(frame, ["class"], "disease").distinct == 3


def test_rows_of_one_person_count_once_in_the_table_too() -> None:
    # Of three people the first has y, and x in both classes: half of one in the table.
    frame = pd.DataFrame(
        {"class": [1, 1, 1, 2, 2], "person": [1, 1, 2, 1, 3], "disease": list("xyxxx")}
    )
    # Class 1 has x and y in shares 3/4 and 1/4, the table in 5/6 and 1/6; class 2 has x alone.
    assert t_closeness(frame, ["class"], "disease", "person") == pytest.approx(1 / 6)
    values = values_of(frame, ["class"], "disease", "person")
    assert total_variations(values).tolist() == pytest.approx([1 / 12, 1 / 6])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(0, 4)), min_size=1))
def test_people_with_many_values_agree_with_the_slow_version(rows: list[tuple[int, ...]]) -> None:
    frame = pd.DataFrame(rows, columns=["class", "person", "value"])
    quasi, who, values = ([row[i] for row in rows] for i in range(3))
    expected = naive.distinct_l([(q,) for q in quasi], values, who)
    assert diversity(frame, ["class"], "value", "person").distinct == expected


def test_no_rows_means_no_class() -> None:
    frame = pd.DataFrame({"a": pd.Series([], dtype=float), "s": pd.Series([], dtype=str)})
    found = classes(frame, ["a"], 2)
    assert (found.smallest, found.count, found.sizes) == (0, 0, {})
    assert k_by_stratum(frame, ["a"], ["s"]) == ()
    assert diversity(frame, ["a"], "s").distinct == 0
    assert t_closeness(frame, ["a"], "s") == 0


@pytest.mark.parametrize(
    ("frame", "quasi", "said"),
    [
        (pd.DataFrame({"a": [1]}), ["b"], "no column 'b'"),
        (pd.DataFrame({"a": [1, "x"]}), ["a"], "'a' mixes types"),
        (pd.DataFrame({"a": [[1], [2]]}), ["a"], "cannot be compared"),
        (pd.DataFrame({"a": [1]}), [], "one column or more"),
        ({"a": [1]}, ["a"], "Got dict instead"),
    ],
)
def test_what_cannot_be_counted_is_said(frame: object, quasi: list[str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        k_anonymity(frame, quasi)
