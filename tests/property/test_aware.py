"""Whatever the table: the limits that are asked for hold, and less is lost than by crude repair."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from microagg_ops.errors import DataError, ReleaseError
from microagg_ops.kernels.search.limits import shortage
from microagg_ops.methods import aware, partition
from microagg_ops.methods import parts as module
from microagg_ops.methods.aware import made_aware, make_desk
from microagg_ops.methods.limits import (
    Sensitive,
    compiled,
    held_values,
    refuse_impossible,
    spread_of,
)
from microagg_ops.methods.partition import Clock
from microagg_ops.methods.parts import divided
from microagg_ops.release.validate import Close, Diverse
from tests import naive_diverse as naive

LIMITS = st.one_of(
    st.integers(1, 4).map(Diverse),
    st.floats(1, 4).map(lambda least: Diverse(least, "entropy")),
    st.just(Diverse(2, "entropy")),  # met by two equally frequent values, but for rounding
    st.builds(Diverse, st.integers(1, 4), st.just("recursive"), st.floats(0.3, 4)),
    st.just(Diverse(2, "recursive", 1.0)),  # not met at the bound
    st.builds(Close, st.floats(0, 0.8), st.booleans()),
)
PEOPLE = st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=30)


def column(people, limit, name="diagnosis"):
    """Make a column of people, each a set of values that are ranks but for gaps."""
    rows = [(i, value) for i, values in enumerate(people) for value in values]
    who, values = (np.array(one, np.int64) for one in zip(*rows, strict=True))
    ranks = np.unique(values, return_inverse=True)[1].astype(np.int64)
    begin, held = held_values(who, ranks)
    close = limit if isinstance(limit, Close) else None
    return Sensitive(name, begin, held, spread_of(who, ranks), None if close else limit, close)


def asked(limit):
    """Return a limit as the oracle wants it."""
    if isinstance(limit, Close):
        return {"t": limit.t, "ordered": limit.ordered}
    return {"l": limit.l, "kind": limit.kind, "c": limit.c}


@settings(deadline=None, max_examples=300)
@given(PEOPLE, LIMITS, st.data())
@example([{0}, {1}, {0, 1}], Diverse(3), None)
def test_a_cluster_is_short_where_people_do_not_meet_the_limit(people, limit, data):
    some = [0, 1, 2] if data is None else data.draw(
        st.sets(st.integers(0, len(people) - 1), min_size=1).map(sorted)
    )  # fmt: skip
    whole = column(people, limit)
    desk = make_desk(len(people), len(whole.ranks))
    desk.rows[: len(some)] = some
    short = shortage(compiled([whole]), desk, len(some))
    expected = naive.meets([people[i] for i in some], people, **asked(limit))
    assert (short == 0) == expected
    assert short >= 0
    assert any(whole.of(np.array(some)).faults()) != expected


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(12, 60), st.integers(2, 5), LIMITS, LIMITS)
def test_sizes_and_limits_hold_whatever_the_table(seed, rows, k, one, two):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 6, (rows, 2)).astype(float) + rng.normal(size=(rows, 2)) / 9
    columns, tables = [], []
    for limit in (one, two):
        people = [set(rng.integers(0, 5, rng.integers(1, 3)).tolist()) for _ in range(rows)]
        columns.append(column(people, limit))
        tables.append(people)
    possible = all(naive.meets(t, t, **asked(h)) for t, h in zip(tables, (one, two), strict=True))
    if not possible:
        with pytest.raises(DataError, match="No clusters"):
            partition(points, k, sensitive=tuple(columns))
        return
    labels = partition(points, k, sensitive=tuple(columns))
    assert np.bincount(labels).min() >= k
    for people, limit in zip(tables, (one, two), strict=True):
        for cluster in range(labels.max() + 1):
            members = [people[i] for i in np.flatnonzero(labels == cluster)]
            assert naive.meets(members, people, **asked(limit))
    again = partition(points, k, sensitive=tuple(columns))
    assert (labels == again).all()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(12, 120), st.integers(2, 5), st.integers(2, 4))
def test_less_is_lost_than_by_crude_repair(seed, rows, k, l):  # noqa: E741
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rows, 2))
    values = np.where(rng.random(rows) < 0.6, 0, rng.integers(1, 5, rows))
    assume(len(set(values.tolist())) >= l)
    crude = naive.crude_repair(points, partition(points, k), values, l)
    labels = partition(points, k, sensitive=values, l=l)
    assert naive.sse(points, labels) <= naive.sse(points, crude) * (1 + 1e-9)


@pytest.mark.parametrize(
    "method", ["mdav", "fmdav", "vmdav", "best", "lsc", "ilsmc", "mhm", "mdav_mhm", "rcs", "icsm"]
)
def test_every_method_meets_the_limits(method):
    from microagg_ops.methods.registry import METHODS

    rng = np.random.default_rng(4)
    points, values = rng.normal(size=(90, 2)), rng.integers(0, 4, 90) // 2
    how = METHODS[method].briefly()
    labels = partition(points, 3, method, sensitive={"v": values}, l={"v": 2}, seed=1, **how)
    assert np.bincount(labels).min() >= 3
    assert all(len(set(values[labels == c])) == 2 for c in range(labels.max() + 1))
    plain = partition(points, 3, method, seed=1, **how)
    assert any(len(set(values[plain == c])) < 2 for c in range(plain.max() + 1))


def test_one_column_by_its_optimal_partition_meets_the_limits():
    rng = np.random.default_rng(5)
    points, values = rng.normal(size=200), rng.integers(0, 3, 200)
    labels = partition(points, 3, "optimal", sensitive=values, l=3)
    assert all(len(set(values[labels == c])) == 3 for c in range(labels.max() + 1))


def test_a_partition_that_meets_the_limits_stays_as_it_is():
    points = np.random.default_rng(6).normal(size=(60, 2))
    labels = partition(points, 4)
    assert (partition(points, 4, sensitive=np.arange(60), l=4) == labels).all()


def test_a_large_table_is_mended_in_parts_that_can_meet_the_limits(monkeypatch):
    monkeypatch.setattr(aware, "WHOLE", 500)
    monkeypatch.setattr(module, "PART", 100)
    rng = np.random.default_rng(7)
    points = rng.normal(size=(3000, 3))
    values = np.where(points[:, 0] > -0.5, 0, rng.integers(1, 4, 3000))  # in one place alone
    people = [{int(value)} for value in values]
    whole = (column(people, Diverse(2)),)
    parts = divided(points, partition(points, 5), whole)
    assert len(parts) > 5
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(3000))
    labels = partition(points, 5, sensitive=values, l=2)
    assert np.bincount(labels).min() >= 5
    assert min(len(set(values[labels == c])) for c in range(labels.max() + 1)) >= 2


@pytest.mark.parametrize("ordered", [True, False])
def test_no_part_grows_because_a_sensitive_column_follows_another_one(monkeypatch, ordered):
    monkeypatch.setattr(module, "PART", 100)
    rng = np.random.default_rng(10)
    points = rng.normal(size=(3000, 4))
    follows = points[:, 1] + points[:, 2] + 0.3 * rng.normal(size=3000)
    people = [{int(value)} for value in np.round(follows * (10 if ordered else 1))]
    whole = (column(people, Close(0.1 if ordered else 0.2, ordered)),)
    labels = partition(points, 5)
    parts = divided(points, labels, whole)
    assert max(len(part) for part in parts) < 200
    monkeypatch.setattr(module, "flattened", lambda centres, points, columns: centres)
    assert max(len(part) for part in divided(points, labels, whole)) > 200


def test_parts_of_one_column_are_cut_along_it_though_a_sensitive_column_follows_it(monkeypatch):
    monkeypatch.setattr(module, "PART", 100)
    points = np.random.default_rng(11).normal(size=(2000, 1))
    whole = (column([{int(5 * value)} for value in points[:, 0]], Close(0.6, True)),)
    parts = divided(points, partition(points, 5), whole)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(2000))
    assert len(parts) > 1


def test_labels_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(aware, "WHOLE", 500)
    monkeypatch.setattr(module, "PART", 200)
    rng = np.random.default_rng(8)
    points, values = rng.normal(size=(1500, 2)), rng.integers(0, 3, 1500)
    found = []
    for threads in (1, 4):
        monkeypatch.setattr(aware, "THREADS", threads)
        found.append(partition(points, 4, sensitive=values, l=3))
    assert (found[0] == found[1]).all()


def test_a_budget_that_is_spent_still_meets_the_limits():
    rng = np.random.default_rng(9)
    points, values = rng.normal(size=(400, 2)), rng.integers(0, 3, 400)
    whole = (column([{int(value)} for value in values], Diverse(3)),)
    clock = Clock(budget=0.0, began=-1.0, now=lambda: 0.0)
    labels = made_aware(points, 3, partition(points, 3), whole, seed=0, clock=clock)
    assert all(len(set(values[labels == c])) == 3 for c in range(labels.max() + 1))


def test_what_cannot_be_met_is_refused_by_counts_and_not_by_values():
    whole = (column([{7}, {7}, {8}, {7, 8}], Diverse(3), "illness"),)
    with pytest.raises(DataError) as refused:
        refuse_impossible(whole, " of one stratum")
    assert refused.value.code == "limits_cannot_be_met"
    assert "'illness' has 2" in str(refused.value)
    assert "l = 3" in str(refused.value)
    assert "7" not in str(refused.value)


@pytest.mark.parametrize(
    "how",
    [
        {"l": 2},
        {"sensitive": [0, 1] * 10},
        {"sensitive": [0, 1] * 10, "l": 0},
        {"sensitive": [0, 1] * 10, "l": 1.5},
        {"sensitive": [0, 1] * 10, "l": True},
        {"sensitive": [0, 1] * 10, "t": 2},
        {"sensitive": [0, 1] * 10, "l": {"l": 2, "kind": "recursive"}},
        {"sensitive": {"a": [0, 1] * 10}, "l": {"b": 2}},
    ],
)
def test_a_bad_limit_is_refused(how):
    with pytest.raises(ReleaseError):
        partition(np.arange(40.0).reshape(20, 2), 3, **how)


def test_codes_are_one_a_row_and_null_is_a_value():
    points = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(DataError, match="not one for each row"):
        partition(points, 3, sensitive=[0, 1], l=2)
    labels = partition(points, 3, sensitive=["a", None] * 10, l=2)
    assert np.bincount(labels).min() >= 3
