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
from microagg_ops.series.history import DIGITS, Present, Rules
from microagg_ops.series.ledger import Ledger, Publication, read_ledger
from microagg_ops.series.retold import retold
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
