"""Every engine counts alike, and like the slow versions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from microagg_ops.metrics.anonymity import closeness_of, diversity_of
from tests import naive
from tests.unit.expectations.engines import Engine, Spark
from tests.unit.metrics.mixed import POOLS, Mixed, tables

NAMES = st.lists(st.sampled_from(list(POOLS)), min_size=1, max_size=3, unique=True)
ONE = st.sampled_from(list(POOLS))
CASES: list[Any] = [tables(), NAMES, ONE, st.one_of(st.none(), ONE), st.integers(1, 3)]
KINDS = {
    "whole": "integer", "number": "number", "truth": "boolean", "day": "date",
    "moment": "timestamp", "text": "text", "amount": "decimal", "grade": "text",
}  # fmt: skip


def flat(table: Mixed) -> pa.Table:
    """The table without dictionaries, which databases do not take."""
    made = table.arrow()
    place = made.column_names.index("grade")
    return made.set_column(place, "grade", made["grade"].cast(pa.string()))


def many(engine: Engine) -> int:
    return 4 if isinstance(engine, Spark) else 40


def test_counts_agree_with_the_slow_versions(engine: Engine) -> None:
    @settings(max_examples=many(engine), deadline=None, suppress_health_check=list(HealthCheck))
    @given(*CASES)
    def agree(table: Mixed, quasi: list[str], name: str, entity: str | None, at: int) -> None:
        who = [row[0] for row in table.plain(entity)] if entity else None
        rows = table.plain(*quasi)
        values = [row[0] for row in table.plain(name)]
        counts = naive.value_counts(rows, values, who)
        sizes = naive.class_sizes(rows, who)
        with engine.holding(flat(table)) as found:
            assert found.rows() == table.rows
            assert found.sizes(quasi, entity) == {size: sizes.count(size) for size in sizes}
            assert found.null_rows(quasi) == sum(None in row for row in rows)
            people = found.values(quasi, name, entity)
        diverse = diversity_of(people, at)
        assert diverse.distinct == naive.distinct_l(rows, values, who)
        assert diverse.entropy == pytest.approx(naive.entropy_l(counts), rel=1e-12)
        assert diverse.recursive == pytest.approx(naive.recursive_c(counts, at), rel=1e-12)
        order = sorted(table.order(name)[1:]) if name == "grade" else table.order(name)
        if name == "grade":  # as text: "high" before "low"
            order = [v for v in [None] if v in values] + sorted({*values} - {None})
        (overall,) = naive.value_counts([()] * table.rows, values, who)
        for ordered in (False, True):
            slow = naive.closeness(counts, overall, order if ordered else None)
            fast = closeness_of(people, ordered=ordered)
            assert fast == pytest.approx(slow, abs=1e-12)

    agree()


def test_kinds_are_those_of_a_release_even_without_rows(engine: Engine) -> None:
    for rows in (1, 0):
        table = flat(Mixed({name: pool[1:2] for name, pool in POOLS.items()})).slice(0, rows)
        with engine.holding(table) as found:
            assert found.kinds() == KINDS
            assert list(found.kinds()) == list(KINDS)


def ledger_of(steps: dict[int, list[tuple[int, int, int]]], began: int) -> pa.Table:
    """A ledger: entity to its classes, each since when and changed how; waiting ones beside it."""
    rows = [("series", "s", None, began, None, None), ("waiting", "e1", None, 4, None, None)]
    for who, taken in steps.items():
        for i, (group, since, changed) in enumerate(taken):
            until = taken[i + 1][1] - 1 if i + 1 < len(taken) else None
            rows.append(("member", f"e{who}", f"1.{group}", since, until, changed))
    names = ("part", "entity", "class", "since", "until", "changed")
    kinds = (*(pa.string(),) * 3, *(pa.int64(),) * 3)
    columns = zip(names, kinds, zip(*rows, strict=True), strict=True)
    return pa.table({name: pa.array(cells, kind) for name, kind, cells in columns})


STEP = st.tuples(st.integers(0, 1), st.integers(0, 1))
STEPS = st.dictionaries(
    st.integers(0, 9),
    st.dictionaries(st.integers(1, 12), STEP, min_size=1, max_size=3),
    min_size=1,
)


def test_traces_agree_with_the_slow_version(engine: Engine) -> None:
    @settings(max_examples=many(engine), deadline=None, suppress_health_check=list(HealthCheck))
    @given(STEPS, st.integers(1, 3))
    def agree(steps: dict[int, dict[int, tuple[int, int]]], began: int) -> None:
        told = {who: [(group, since, changed) for since, (group, changed) in sorted(taken.items())]
                for who, taken in steps.items()}  # fmt: skip
        ledger = ledger_of(told, began)
        each: dict[str, list[tuple[object, ...]]] = {}
        for row in ledger.to_pylist():
            if row["part"] == "member" and row["since"] >= began:
                step = (row["since"], row["class"], row["until"], row["changed"])
                each.setdefault(row["entity"], []).append(step)
        sizes = Counter(Counter(tuple(sorted(own, key=str)) for own in each.values()).values())
        with engine.holding(ledger) as found:
            assert found.traces() == sizes

    agree()


def test_the_expectation_of_history_k(engine: Engine) -> None:
    from microagg_ops.expectations import ExpectLedgerToKeepHistoryK

    ledger = ledger_of({i: [(i // 3, 1, 0)] for i in range(6)}, 1)
    for k, passed in ((3, True), (4, False)):
        found = engine.validate(ledger, ExpectLedgerToKeepHistoryK(k=k))
        assert found.success is passed
        assert found.result["observed_value"] == 3
        assert found.result["details"]["entities_below"] == (0 if passed else 6)


NUMBER = st.one_of(st.none(), st.sampled_from([float("nan"), -0.0, 1.5, -2.25, 1e6]))
PAIRS = st.lists(
    st.tuples(NUMBER, NUMBER, st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=9
)


def test_totals_and_loss_agree_with_the_slow_versions(engine: Engine) -> None:
    @settings(max_examples=many(engine), deadline=None, suppress_health_check=list(HealthCheck))
    @given(PAIRS)
    def agree(rows: list[tuple[float | None, float | None, float]]) -> None:
        known = [tuple(None if v != v else v for v in row) for row in rows]
        old, new, weights = ([row[i] for row in known] for i in range(3))
        made = {"old": [r[0] for r in rows], "new": [r[1] for r in rows]}
        table = pa.table({n: pa.array(v, pa.float64()) for n, v in made.items()} | {"w": weights})
        with engine.holding(table) as found:
            total = found.total("new", "w")
            plain = found.total("new", None)
            loss = found.loss({"new": "old"}).overall
        parts = [w * v for v, w in zip(new, weights, strict=True) if v is not None]
        assert total.total == pytest.approx(sum(parts))
        assert total.size == pytest.approx(sum(map(abs, parts)))
        assert (total.rows, plain.rows) == (len(parts), len(parts))
        assert loss == pytest.approx(slow_loss(old, new))

    agree()


def slow_loss(old: list[float | None], new: list[float | None]) -> float:
    """SSE/SST in percent, NULL at the mean."""
    there = [v for v in old if v is not None]
    mean = sum(there) / len(there) if there else 0.0
    before, after = ([mean if v is None else v for v in side] for side in (old, new))
    spread = sum((v - mean) ** 2 for v in before) if len(set(there)) > 1 else 0.0
    lost = sum((a - b) ** 2 for a, b in zip(before, after, strict=True))
    return 100 * lost / spread if spread else 0.0


@pytest.mark.parametrize(
    ("name", "total"),
    [("whole", 3.0), ("truth", 1.0), ("day", 19_783.0), ("amount", 2.1), ("moment", 19_723.25)],
)
def test_what_has_steps_has_a_total(engine: Engine, name: str, total: float) -> None:
    from datetime import UTC, date, datetime
    from decimal import Decimal

    table = pa.table(
        {
            "whole": pa.array([1, 2, None]),
            "truth": pa.array([True, False, None]),
            "day": pa.array([date(1969, 12, 31), date(2024, 3, 2), None]),
            "amount": pa.array([Decimal("0.10"), Decimal("2.00"), None]),
            "moment": pa.array(
                [datetime(1970, 1, 1, 0, tzinfo=UTC), datetime(2024, 1, 1, 6, tzinfo=UTC), None],
                pa.timestamp("us", "UTC"),
            ),
        }
    )
    with engine.holding(table) as found:
        assert found.total(name, None).total == pytest.approx(total, abs=1e-9)
        assert found.total(name, None).rows == 2


def test_columns_are_fetched_as_they_are(engine: Engine) -> None:
    table = pa.table({"a": [1.5, float("nan"), None], "b": ["x", None, "y"]})
    with engine.holding(table) as found:
        fetched = found.fetch(["b", "a"])
    assert fetched.column_names == ["b", "a"]
    rows = sorted(zip(*(fetched[n].to_pylist() for n in "ba"), strict=True), key=repr)
    assert str(rows).replace("nan", "None") == "[('x', 1.5), ('y', None), (None, None)]"
