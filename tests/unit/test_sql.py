"""Names are quoted, whatever they hold."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg_ops.sql import TableName, quote

# What a database can be given as text: no NUL, no half of a surrogate pair.
names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


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
