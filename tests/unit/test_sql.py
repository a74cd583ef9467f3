"""Names are quoted and values are bound, whatever they hold."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.sql import TableName, bind, parameters, quote

# What a database can be given as text: no NUL, no half of a surrogate pair.
names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


def dollar(name: str) -> str:
    return f"${name}"


@pytest.mark.parametrize(
    ("name", "quoted"),
    [("age", '"age"'), ("a b", '"a b"'), ('a"b', '"a""b"'), ('";--', '""";--"'), ("a'b", '"a\'b"')],
)
def test_a_quoted_name(name: str, quoted: str) -> None:
    assert quote(name) == quoted


def test_a_name_with_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        quote("a\0b")


@settings(deadline=None)
@given(name=names)
def test_no_name_escapes_its_quotes(name: str) -> None:
    with duckdb.connect() as con:
        assert con.execute(f"select 1 as {quote(name)}").description[0][0] == name


@settings(deadline=None)
@given(name=names)
def test_no_table_name_escapes_its_quotes(name: str) -> None:
    table = TableName(("main", name))
    with duckdb.connect() as con:
        con.execute(f"create table {table.quoted()} (i int)")
        found = con.execute("select table_name from duckdb_tables()").fetchall()
    assert found == [(name,)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("t", ("t",)),
        ("s.t", ("s", "t")),
        ("d.s.t", ("d", "s", "t")),
        (["s", "a.b"], ("s", "a.b")),
        (TableName(("s", "t")), ("s", "t")),
    ],
)
def test_the_parts_of_a_table_name(
    name: str | list[str] | TableName, parts: tuple[str, ...]
) -> None:
    assert TableName.parse(name).parts == parts


def test_a_table_name_tells_its_name_and_schema() -> None:
    assert (TableName.parse("d.s.t").name, TableName.parse("d.s.t").schema) == ("t", "s")
    assert TableName.parse("t").schema is None


def test_a_table_name_is_quoted_part_by_part() -> None:
    assert TableName(("s.x", 'a"b')).quoted() == '"s.x"."a""b"'


def test_parameters_are_listed_in_order_and_as_often_as_they_appear() -> None:
    assert parameters("a >= :start and a < :end or b = :start") == ["start", "end", "start"]


def test_a_condition_without_parameters() -> None:
    assert parameters("age > 3 and name = 'x'") == []


def test_parameters_become_placeholders() -> None:
    bound = bind("a >= :start and a < :end or b = :start", dollar)
    assert bound == "a >= $start and a < $end or b = $start"


@pytest.mark.parametrize(
    "condition",
    [
        "a = 'x :start y'",
        'a."b :start" = 1',
        "a = 'it''s :start'",
        'a."b"":start" = 1',
        "a::date = b::date",
        "a = 'x; -- /* $$'",
        "a = '12:30:00'",
        "a = ''",
    ],
)
def test_quoted_text_and_casts_are_left_alone(condition: str) -> None:
    assert bind(condition, dollar) == condition
    assert parameters(condition) == []


def test_a_parameter_may_be_cast() -> None:
    assert bind("a >= :start::date", dollar) == "a >= $start::date"


def test_text_between_is_given_to_the_driver_to_escape() -> None:
    doubled = bind("a % 2 = 0 and b = '%' and c < :end", dollar, lambda t: t.replace("%", "%%"))
    assert doubled == "a %% 2 = 0 and b = '%%' and c < $end"


@pytest.mark.parametrize(
    ("condition", "what"),
    [
        ("a = 1; drop table t", "a semicolon"),
        ("a = 1 -- and b", "a comment"),
        ("a = 1 /* and b */", "a comment"),
        ("a = $$x$$", "dollar-quoted text"),
        ("a = $tag$x$tag$", "dollar-quoted text"),
        ("a = 'x", "a quote that is not closed"),
        ('a = "x', "a quote that is not closed"),
        ("a = 'x''", "a quote that is not closed"),
        ("a = '''; drop table t", "a quote that is not closed"),
    ],
)
def test_what_could_end_a_condition_is_refused(condition: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        bind(condition, dollar)


def test_bound_values_are_found_by_a_database() -> None:
    condition = bind("i >= :start and t <> ':end' and i < :end", dollar)
    query = f"select i from (values (1, ':end'), (2, 'x'), (3, 'x')) v(i, t) where ({condition})"
    with duckdb.connect() as con:
        assert con.execute(query, {"start": 1, "end": 3}).fetchall() == [(2,)]


@pytest.mark.parametrize("condition", ["1 = 1) or (1 = 1", "(1 = 1", "1 = 1)"])
def test_a_condition_cannot_leave_its_parentheses(condition: str) -> None:
    with pytest.raises(ValueError, match="a parenthesis that is not"):
        parameters(condition)


def test_parentheses_inside_text_are_text() -> None:
    assert parameters("a = ')(' and (b = :start)") == ["start"]
