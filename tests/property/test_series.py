"""History k of random series, by three counts: the ledger's, the definition's, and SQL's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.series.arrange import arrange
from microagg_ops.series.history import DIGITS, Present, Rules, plan
from microagg_ops.series.ledger import Ledger, Publication, read_ledger
from microagg_ops.series.retold import retold
from microagg_ops.series.together import Elsewhere, joint_k
from microagg_ops.series.traces import history_k
from tests import naive_series

K = 3
# A person: two columns and a block, each of few values, so that much happens at once.
person = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1))
states = st.lists(st.dictionaries(st.integers(0, 29), person, max_size=30), min_size=2, max_size=6)


def present(state: dict[int, tuple[int, int, int]]) -> Present:
    records = ["".join(f"{value:0{DIGITS}d}" for value in who) for who in state.values()]
    return Present([f"p{who:02}" for who in state], records, [who[2] for who in state.values()])


def by_order(values: np.ndarray) -> Any:
    """Cluster neighbours on a line."""

    def find(places: np.ndarray) -> np.ndarray:
        labels = np.empty(len(places), np.int32)
        order = np.argsort(values[places], kind="stable")
        labels[order] = np.minimum(np.arange(len(places)) // K, max(len(places) // K - 1, 0))
        return labels

    return find


def published(ledger: Ledger) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {
        m.entity: (
            m.group,
            tuple(m.record[i : i + DIGITS] for i in range(0, len(m.record), DIGITS)),
        )
        for m in ledger.members
        if m.until is None
    }


def counted_by_sql(ledger: Ledger) -> int | None:
    with duckdb.connect() as con:
        con.register("ledger", ledger.table())
        found = con.execute(naive_series.HISTORY_K).fetchone()
    return found[0] if found else None


def noted(ledger: Ledger) -> Ledger:
    one = Publication(ledger.next, "r", "", "", {}, "", "", None)
    ledger = replace(ledger, publications=(*ledger.publications, one))
    again = read_ledger(ledger.table())
    assert set(again.members) == set(ledger.members)
    assert replace(again, members=ledger.members) == ledger
    return ledger


@settings(max_examples=60, deadline=None)
@given(states, st.sampled_from([None, 0, 1]), st.integers(0, 2))
def test_history_k_holds_by_construction(
    series: list[dict[int, tuple[int, int, int]]], hold: int | None, patience: int
) -> None:
    ledger, tables = Ledger("s", ""), []
    rules = Rules(K, hold=hold, patience=patience)
    for state in series:
        here = present(state)
        points = np.array([[who[0] * 1.0] for who in state.values()]).reshape(-1, 1)
        found = arrange(ledger, here, points, rules=rules, find=by_order(points[:, 0]))
        rows = {
            name: pa.table({"d": [here.records[p] for p in places]})
            for name, places in found.fresh.items()
        }
        following = noted(replace(found.ledger, classes={**found.ledger.classes, **rows}))
        tables.append(published(following))
        assert all(len(following.classes[name]) == len(those)
                   for name, those in following.current().items())  # fmt: skip
        # A class shows of each member what it was published with, whatever has become of others.
        for name, those in following.current().items():
            assert following.classes[name]["d"].to_pylist() == [m.record for m in those]
        k = naive_series.history_k(tables)
        assert history_k(following) == k
        assert k is None or k >= K
        if len(tables) > 1:
            assert min(naive_series.changed_parts(*tables[-2:]), default=K) >= K
        # Nobody waits while it is published, nobody is forgotten.
        assert not set(following.waiting) & set(tables[-1])
        ledger = following
    assert history_k(ledger) == counted_by_sql(ledger)


@settings(max_examples=60, deadline=None)
@given(states, st.lists(st.sampled_from("ab"), min_size=6, max_size=6), st.integers(0, 1))
def test_two_series_keep_k_over_their_joint_classes(
    series: list[dict[int, tuple[int, int, int]]], order: list[str], hold: int
) -> None:
    ledgers = {"a": Ledger("a", "", k=K), "b": Ledger("b", "", k=K)}
    tables: dict[str, list[Any]] = {"a": [], "b": []}
    for own, everybody in zip(order, series, strict=False):
        (other,) = set(ledgers) - {own}
        ledger = ledgers[own]
        elsewhere = Elsewhere.of(ledger, [ledgers[other]], K)
        # The second one leaves out some people, and sees another column than the first.
        state = {who: v for who, v in everybody.items() if own == "a" or who % 7}
        here = present(state)
        blocks = list(zip(here.blocks, map(elsewhere.of_entity, here.entities), strict=True))
        here = replace(here, blocks=blocks)
        points = np.array([[who["ab".index(own)] * 1.0] for who in state.values()]).reshape(-1, 1)
        found = arrange(
            ledger, here, points, rules=Rules(K, hold=hold or None, patience=0),
            find=by_order(points[:, 0]), enough=elsewhere.lets_part, elsewhere=elsewhere,
        )  # fmt: skip
        rows = {
            name: pa.table({"d": [here.records[p] for p in places]})
            for name, places in found.fresh.items()
        }
        ledgers[own] = noted(replace(found.ledger, classes={**found.ledger.classes, **rows}))
        tables[own].append(published(ledgers[own]))
        both = [tables["a"], tables["b"]]
        k = naive_series.joint_k(both)
        assert joint_k(list(ledgers.values())) == k
        assert k is None or k >= K


@settings(max_examples=60, deadline=None)
@given(states)
def test_history_k_of_tables_formed_anew_is_that_of_the_definition(
    series: list[dict[int, tuple[int, int, int]]],
) -> None:
    ledger, tables = Ledger("s", ""), []
    for state in series:
        here = present(state)
        groups: dict[int, list[int]] = {}
        for place, who in enumerate(state.values()):
            groups.setdefault(who[0], []).append(place)
        rows = [pa.table({"d": [here.records[p] for p in those]}) for those in groups.values()]
        ledger = noted(retold(ledger, here, list(groups.values()), rows))
        tables.append(published(ledger))
        assert history_k(ledger) == naive_series.history_k(tables)
    assert history_k(ledger) == counted_by_sql(ledger)


def test_an_epoch_begins_anew_and_both_together_single_out() -> None:
    from microagg_ops.series.traces import singled_out

    here = present({i: (i % 4, 0, 0) for i in range(12)})
    groups = [[[i for i in range(12) if i % n == r] for r in range(n)] for n in (4, 3)]
    ledger = Ledger("s", "")
    for epoch, those in zip(("", "2027"), groups, strict=True):
        ledger = ledger.begin(epoch) if epoch else ledger
        rows = [pa.table({"d": [str(p) for p in places]}) for places in those]
        ledger = noted(retold(ledger, here, those, rows))
        assert history_k(ledger) == len(those[0])
    assert singled_out(ledger, 3) == 12


def test_who_leaves_takes_nobody_out_of_a_class_elsewhere() -> None:
    """One class of nine here, three of three there: three who leave must be one of those."""
    wide, narrow = Ledger("wide", "", k=K), Ledger("narrow", "", k=K)
    everybody = present(dict.fromkeys(range(9), (0, 0, 0)))
    for ledger, groups in ((wide, [range(9)]), (narrow, [range(3), range(3, 6), range(6, 9)])):
        rows = [pa.table({"d": [str(p) for p in places]}) for places in groups]
        found = noted(retold(ledger, everybody, [list(g) for g in groups], rows))
        wide, narrow = (found, narrow) if ledger is wide else (wide, found)
    elsewhere = Elsewhere.of(wide, [narrow], K)
    for gone, left in (({0, 1, 2}, 3), ({0, 3, 6}, 0)):
        here = present({i: (0, 0, 0) for i in range(9) if i not in gone})
        for enough, parted in ((elsewhere.lets_part, left), (bool, 3)):
            assert plan(wide, here, Rules(K), enough).left == parted
