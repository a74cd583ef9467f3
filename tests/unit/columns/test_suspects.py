"""Roles judged by the data: what stops a release, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from microagg_ops.columns import suspects
from microagg_ops.columns.suspects import Judged, find_suspects, fixed_share, rank_correlation
from microagg_ops.metrics.tables import row_classes
from microagg_ops.release.document import build, find_faults
from microagg_ops.release.model import Release
from tests import naive

N = 400
RNG = np.random.default_rng(8)
AGE = RNG.integers(18, 90, N)
CODE = RNG.integers(0, 60, N)
SEX = RNG.integers(0, 2, N)
WHO = np.arange(N) // 2
QUASI = {
    "age": {"type": "integer"},
    "postcode": {"type": "nominal"},
    "sex": {"type": "nominal"},
    "bmi": {"type": "number"},
}


def release_of(kept: str, *, strata: bool = False, entity: bool = False, **more: Any) -> Release:
    document: dict[str, Any] = {
        "release": "r",
        "source": {"conn_id": "w", "table": "source"},
        "columns": {"quasi": QUASI, "sensitive": [] if strata else [kept], **more},
        "strata": [kept] if strata else [],
        "aggregate": {"k": 5},
        "publish": {"conn_id": "w", "table": "target"},
    }
    if entity:
        document["columns"]["entity"] = "who"
    assert not list(find_faults(document))
    return build(document, "")


def table_of(name: str, values: Any, rows: int = N) -> pa.Table:
    return pa.table(
        {
            "age": AGE[:rows],
            "postcode": [f"{100 + code}" for code in CODE[:rows]],
            "sex": np.where(SEX[:rows] == 0, "f", "m"),
            "bmi": np.round(np.random.default_rng(2).normal(26, 4, rows), 1),
            "who": WHO[:rows],
            name: values,
        }
    )


def said(name: str, values: Any, *, rows: int = N, **how: Any) -> str:
    found = find_suspects(release_of(name, **how), table_of(name, values, rows))
    return "; ".join(map(str, found))


def text(values: Any) -> list[str]:
    return [f"c{value}" for value in values]


def some_missing(values: Any, share: float) -> pa.Array:
    return pa.array(values, mask=RNG.random(len(values)) < share)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (RNG.permutation(N), "of its 400 values 100% belong to one row alone"),
        (RNG.lognormal(8, 1, N), "one row alone"),
        (text(RNG.permutation(N)), "one row alone"),
        (some_missing(RNG.permutation(N), 0.9), "one row alone"),
        (np.where(np.arange(N) < 150, 0, np.arange(N)), "of its 400 values 62%"),
        (AGE, "it fixes the quasi-identifier 'age' to 100%"),
        (-AGE, "'age'"),
        (2024 - AGE - RNG.integers(0, 2, N), "'age'"),
        (text(AGE), "'age'"),
        (text(AGE // 5), "'age'"),
        (AGE // 10, "'age'"),
        (some_missing(AGE, 0.5), "'age'"),
        (np.where(RNG.random(N) < 0.03, 50, AGE), "'age'"),
        (AGE + RNG.normal(0, 2, N), "its rank correlation with the quasi-identifier 'age' is 1.00"),
        (text(CODE), "'postcode' to 100%"),
        (CODE * 7 % 61, "'postcode'"),
        (text(CODE * 3 + RNG.integers(0, 3, N)), "'postcode'"),
        (np.where(SEX == 0, "woman", "man"), "'sex'"),
        (pa.array(SEX == 1), "'sex'"),
    ],
)  # fmt: skip
def test_what_stops_a_sensitive_column(values: Any, why: str) -> None:
    assert why in said("s", values)


@pytest.mark.parametrize(
    "values",
    [
        RNG.integers(0, 7, N),
        RNG.integers(0, 150, N),  # few share a value, and still none is fixed by it
        text(RNG.zipf(1.6, N).clip(max=1000)),
        np.zeros(N),
        pa.nulls(N, pa.float64()),
        pa.array(RNG.random(N) < 0.5),
        some_missing(text(RNG.integers(0, 7, N)), 0.95),
        # Of men alone, or nearly: a low number of values is fixed by many things.
        np.where(SEX == 0, "ovaries", np.where(RNG.random(N) < 0.5, "prostate", "testicles")),
        np.round(AGE + RNG.normal(0, 25, N), -1),  # what goes with age
        (AGE > 65).astype(int),
        CODE // 10,  # a coarse area names no postcode
        RNG.integers(0, 3, N).astype(float),
        pa.array(RNG.integers(19000, 19300, N), pa.int32()).cast(pa.date32()),
    ],
)  # fmt: skip
def test_what_does_not(values: Any) -> None:
    assert said("s", values) == ""


@pytest.mark.parametrize("rows", [5, 8, 19, 20, 30])
def test_small_tables(rows: int) -> None:
    assert "one row alone" in said("s", np.arange(rows), rows=rows)
    assert "one row alone" not in said("s", np.arange(rows) // 2, rows=rows)
    alike = np.arange(rows)
    alike[0] = alike[1]  # of few, one value that is shared is enough
    assert ("one row alone" in said("s", alike, rows=rows)) == (rows >= 20)
    assert said("s", np.arange(rows) % 3, rows=rows) == ""


def test_fewer_than_five_say_nothing() -> None:
    assert said("s", [1, 2, 3, 4], rows=4) == ""


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("rows", [20, 40, 100])
def test_columns_that_have_nothing_to_do_with_each_other(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, rng.integers(2, max(3, rows // 3)), rows)
    assert "quasi-identifier" not in said("s", values, rows=rows)


def test_strata_may_fix_a_quasi_identifier_but_not_name_people() -> None:
    assert said("band", AGE // 5, strata=True) == ""
    assert "one row alone" in said("band", RNG.permutation(N), strata=True)


def test_what_many_rows_of_one_entity_share_is_its_own() -> None:
    code = text(RNG.permutation(N)[WHO])
    assert said("s", code) == ""
    assert "of its 200 values 100% belong to one entity alone" in said("s", code, entity=True)


def test_rows_of_one_entity_are_no_evidence_of_a_copy() -> None:
    rows, who = 400, np.arange(400) // 100
    table = table_of("s", who % 2, rows).drop_columns(["who", "age"])
    table = table.append_column("who", pa.array(who)).append_column("age", pa.array(30 + who))
    assert find_suspects(release_of("s", entity=True), table) == []


@pytest.mark.parametrize("strata", [False, True])
def test_names_and_forms(strata: bool) -> None:
    few = RNG.integers(0, 9, N)
    assert "its name is that of an identifier" in said("patient_id", few, strata=strata)
    assert said("has_email", few, strata=strata) == ""
    mails = [f"p{i}@example.org" for i in few]
    assert "100% of its values look like e-mail addresses" in said("s", mails, strata=strata)
    # What says yes or no names nobody, whatever its name is.
    assert said("email", few > 4, strata=strata) == ""


def test_a_quasi_identifier_is_judged_by_its_name_and_form() -> None:
    table = table_of("s", np.zeros(N))
    mails = pa.array([f"p{i}@example.org" for i in CODE])
    table = table.set_column(table.column_names.index("postcode"), "postcode", mails)
    (found,) = find_suspects(release_of("s"), table)
    assert str(found) == "'postcode' (100% of its values look like e-mail addresses)"


def test_a_reason_clears_one_column_and_no_other() -> None:
    table = table_of("s", AGE).append_column("t", pa.array(RNG.permutation(N)))
    sensitive = {"sensitive": ["s", "t"]}
    assert [one.column for one in find_suspects(release_of("s", **sensitive), table)] == ["s", "t"]
    reasons = {"may_leave": {"t": "drawn at random"}}
    found = find_suspects(release_of("s", **sensitive, **reasons), table)
    assert [one.column for one in found] == ["s"]


def test_a_large_table_is_judged_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects, "SAMPLE", 150)
    assert "'postcode'" in said("s", text(CODE))
    assert "'age'" in said("s", 2024 - AGE)
    assert said("s", RNG.integers(0, 7, N)) == ""
    assert "of its 400 values 100%" in said("s", RNG.permutation(N))


Ids = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 8)), min_size=30, max_size=60)


@settings(deadline=None)
@given(Ids, st.booleans())
def test_fixed_share_is_that_of_the_oracle(pairs: list[tuple[int, int]], ordered: bool) -> None:
    own, other = (np.array(side) for side in zip(*pairs, strict=True))
    assume(len(set(other.tolist())) > 1)
    found = fixed_share(own, other, ordered=ordered)
    assume(found != 0.0)  # too little to say
    expected = naive.fixed_share(own.tolist(), other.tolist(), ordered=ordered)
    assert found == pytest.approx(expected, abs=1e-8)


@settings(deadline=None)
@given(Ids)
def test_rank_correlation_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    own, other = (np.array(side) for side in zip(*pairs, strict=True))
    assume(len(set(own.tolist())) > 1 and len(set(other.tolist())) > 1)
    assert rank_correlation(own, other) == pytest.approx(spearmanr(own, other)[0], abs=1e-8)


Held = st.lists(st.tuples(st.none() | st.integers(0, 9), st.integers(0, 9)), min_size=1)


@settings(deadline=None)
@given(Held)
def test_holdings_are_those_of_the_oracle(pairs: list[tuple[int | None, int]]) -> None:
    values, who = (list(side) for side in zip(*pairs, strict=True))
    table = pa.table({"s": pa.array(values, pa.int64()), "who": who})
    column = Judged("s", table["s"])
    found = suspects.holdings(column, row_classes(table, ["who"]))
    assert found == naive.holdings(values, who)
    assert suspects.holdings(column, None) == naive.holdings(values, range(len(who)))


COLUMNS: list[Callable[[np.random.Generator, int], Any]] = [
    lambda rng, n: rng.permutation(n),
    lambda rng, n: AGE[:n],
    lambda rng, n: text(CODE[:n]),
    lambda rng, n: rng.integers(0, 6, n),
    lambda rng, n: AGE[:n] + rng.normal(0, 4, n),
    lambda rng, n: pa.array(rng.integers(0, n // 2, n), mask=rng.random(n) < 0.3),
    lambda rng, n: [f"canary{i}@example.org" for i in rng.integers(0, 9, n)],
]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(COLUMNS), st.integers(20, N), st.integers(0, 2**32 - 1), st.booleans())
def test_the_order_of_rows_does_not_matter_and_no_value_is_said(
    make: Callable[[np.random.Generator, int], Any], rows: int, seed: int, entity: bool
) -> None:
    rng = np.random.default_rng(seed)
    values = pa.array(make(rng, rows))
    if pa.types.is_integer(values.type):  # values that would be seen at once
        values = pa.array([None if v is None else 918_270_000 + v for v in values.to_pylist()])
    table, release = table_of("s", values, rows), release_of("s", entity=entity)
    found = find_suspects(release, table)
    assert find_suspects(release, table.take(rng.permutation(rows))) == found
    assert not any(canary in str(found) for canary in ("91827", "canary", "c1"))
