"""A condition stays one: what people write passes, what somebody tries does not."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.release.condition import DIALECTS, Condition, parameters, resolve
from microagg_ops.sql import quote
from tests.conditions import ALONE, HOSTILE, PLAIN

OTHERS = ("", "tsql", "oracle", "snowflake", "bigquery")


def passes(text: str, dialect: str | None) -> bool:
    try:
        Condition(text).check(dialect)
    except ValueError:
        return False
    return True


def written(text: str, dialect: str = "duckdb") -> str:
    return Condition(text).written(dialect, lambda name, _: quote(name), lambda name: f"${name}")


def test_there_are_enough_of_both() -> None:
    assert len(set(ALONE)) > 450
    assert len({text for _, text in PLAIN}) > 200


@pytest.mark.parametrize("dialect", [*DIALECTS, None])
def test_plain_conditions_pass(dialect: str | None) -> None:
    mine = [text for kinds, text in PLAIN if dialect is None or dialect in kinds.split()]
    assert [text for text in mine if not passes(text, dialect)] == []


@pytest.mark.parametrize("dialect", [*DIALECTS, None])
def test_no_hostile_condition_passes(dialect: str | None) -> None:
    assert [text for text in HOSTILE if passes(text, dialect)] == []


@pytest.mark.parametrize("dialect", OTHERS)
def test_no_hostile_condition_passes_in_other_dialects(dialect: str) -> None:
    assert [text for text in ALONE if passes(text, dialect)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1; drop table t", "a semicolon"),
        ("a = 1 -- and b", "a comment"),
        ("a = 1 /* and b */", "a comment"),
        ("a = $tag$x$tag$", "dollar-quoted text"),
        ("a = 'x", "a quote that is not closed"),
        ("a = 'x''", "a quote that is not closed"),
        (r"a = E'\''", "a backslash"),
        ("a = N'x'", "text with a prefix"),
        ("a = 'x' 'y'", "two texts side by side"),
        ("1 = 1) or (1 = 1", "a parenthesis that is not opened"),
        ("(1 = 1", "a parenthesis that is not closed"),
        ("a = 'x\0'", "a control character"),
        ("t.a = 1", "a name with a dot"),
        ("f(a)", r"the function f\(\)"),
        ("a::regclass is null", "a cast to a type that is not plain"),
        ("user = 'x'", "must be quoted"),
        ("a + 1", "neither true nor false"),
        ("a >", "not one SQL condition"),
        ("a = 1 and a in (select 1)", "not plain in a condition"),
    ],
)
def test_what_is_refused_is_said(text: str, found: str) -> None:
    with pytest.raises(ValueError, match=found):
        Condition(text).check()


def test_what_runs_is_written_anew() -> None:
    text = "Age>=:start and\n\"Odd \"\"Name\" like 'it''s :end' and year(d)=1"
    text += " or extract(year from d)<2"
    assert written(text) == (
        '"Age" >= $start and "Odd ""Name" like \'it\'\'s :end\' and year("d") = 1 '
        'or extract(year from "d") < 2'
    )


def test_columns_that_are_called_like_types_and_units_are_columns() -> None:
    text = "date >= :start::date and year = 2024 and extract(year from date) = 1"
    assert written(text) == (
        '"date" >= $start :: date and "year" = 2024 and extract(year from "date") = 1'
    )


def test_parameters_are_listed_in_order_and_as_often_as_they_appear() -> None:
    assert parameters("a >= :start and a < :end or b = :start") == ["start", "end", "start"]
    assert parameters("a = ':start' and \"x :end\" = 1 and b::date = c and d = '12:30'") == []


def test_trusted_names_open_no_query() -> None:
    words = ("select", "from", "exists", "count", "u", "over", "name")
    for text in ("a in (select a from u)", "exists (select 1)", "count(a) > 1", "a::name = 'x'"):
        with pytest.raises(ValueError, match="not plain"):
            Condition(text, words).check()
    Condition("my.own(a) = 1 and other(a)", ("MY.own", "other")).check()


@pytest.mark.parametrize(
    ("name", "quoted", "dialect", "found"),
    [
        ("AGE", False, "postgres", "age"),
        ("AGE", True, "postgres", None),
        ("Big", True, "postgres", "Big"),
        ("Big", False, "postgres", None),
        ("AGE", True, "duckdb", "age"),
        ("big", False, "sqlite", "Big"),
        ("TWICE", False, "duckdb", None),
        ("twice", False, "duckdb", "twice"),
        ("none", False, "mysql", None),
    ],
)
def test_names_are_those_that_the_database_means(
    name: str, quoted: bool, dialect: str, found: str | None
) -> None:
    assert resolve(name, quoted, ["age", "Big", "twice", "Twice"], dialect) == found


PIECES = st.sampled_from(
    [
        *"""'"`\\$#;()[]{}:,.@!~|&^%?*/+-=<>""", "--", "/*", "*/", "''", "E'", "U&'", "N'", "$$",
        "select", "union all", "from", "u", "ssn", "n", "1", "or", "and", "not", "in", "is null",
        "true", "lower(", "exists", "pg_sleep(1)", "::name", "::date", "case when", "then", "end",
        ":start", "'x'", " ", "\n", "\0", "\xa0", "’",
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("create table t (n integer, ssn text)")
    con.execute("insert into t values (1, 'canary'), (2, 'canary')")
    con.execute("create table u (n integer, ssn text)")
    return con


@settings(deadline=None, max_examples=150)
@given(pieces=st.lists(PIECES, max_size=14), apart=st.booleans(), around=st.sampled_from(ALONE))
def test_nothing_glued_together_gets_out(
    database: duckdb.DuckDBPyConnection, pieces: list[str], apart: bool, around: str
) -> None:
    glued = (" " if apart else "").join(pieces)
    for text in (glued, f"n > 0 and {glued}", f"{glued}{around}", f"{around}{glued}"):
        for dialect in DIALECTS:
            if not passes(text, dialect):
                continue
            condition = written(text, dialect).replace("$start", "null")
            # Whatever passed is one expression over the row: alone in its place it gives one value.
            plan = f"select n from t where ({condition})"
            try:
                statements = database.extract_statements(plan)
            except duckdb.ParserException:
                continue  # another dialect's SQL
            assert len(statements) == 1
            assert not {"select", "union", "exists"} & set(_bare(condition).split())


def _bare(condition: str) -> str:
    """Return what is outside of quotes."""
    return " ".join(
        part for i, part in enumerate(condition.replace('"', "'").split("'")) if not i % 2
    )
