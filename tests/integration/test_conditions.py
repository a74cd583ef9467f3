"""Conditions on real databases: those that are accepted mean what they say, and give no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from microagg_ops.errors import DataError, ReleaseError, WarehouseError
from microagg_ops.release.condition import Condition
from microagg_ops.sql import TableName
from tests.conditions import COLUMNS, HOSTILE, PLAIN, ROWS
from tests.integration.test_warehouses import Store, open_store, shown

T = TableName.parse("t")
MARCH = {"start": datetime(2024, 3, 1, tzinfo=UTC), "end": datetime(2024, 4, 1, tzinfo=UTC)}
READ = {"n": "integer", "region": "text"}


@pytest.fixture(scope="module", params=["duckdb", "postgres", "sqlite"])
def people(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A table with identifiers, and another that no condition may reach."""
    folder: Path = tmp_path_factory.mktemp("conditions")
    with open_store(request.param, folder, request) as store:
        store.execute(
            f"create table t ({COLUMNS})",
            f"insert into t values {', '.join(ROWS)}",
            "create table u (n integer, ssn text)",
            "insert into u values (1, 'canary-u')",
        )
        # To open a DuckDB file takes a while, unless it is open already.
        with closing(store.open()):
            yield store


def by_hand(cursor: Any, kind: str, text: str) -> list[int]:
    """Return the rows of a condition as the database itself reads it."""
    for name, moment in MARCH.items():
        day = f"'{moment:%Y-%m-%d}'"
        bound = day if kind == "sqlite" else f"timestamp {day}"
        text = text.replace(f":{name}", bound) if f"':{name}'" not in text else text
    cursor.execute(f"select n from t where ({text})")
    return sorted(row[0] for row in cursor.fetchall())


def test_plain_conditions_mean_what_they_say(people: Store) -> None:
    mine = [text for kinds, text in PLAIN if people.kind in kinds.split()]
    assert len(mine) > 100
    with closing(people.open()) as con, closing(con.cursor()) as cursor:
        expected = {text: by_hand(cursor, people.kind, text) for text in mine}
    differ, sizes = [], set()
    for text in mine:
        found = people.warehouse.read(T, READ, Condition(text), MARCH)
        assert found.column_names == list(READ)
        rows = sorted(found["n"].to_pylist())
        sizes.add(len(rows))
        if rows != expected[text]:
            differ.append(text)
    assert differ == []
    assert sizes == set(range(8)), "the conditions tell rows apart"


def test_hostile_conditions_reach_no_database(people: Store) -> None:
    for text in HOSTILE:
        with pytest.raises(ReleaseError, match="The condition on the source holds") as caught:
            people.warehouse.read(T, READ, Condition(text), MARCH)
        assert (caught.value.code, caught.value.retryable) == ("bad_where", False)


ESCAPE = (
    r"n < 0 or E'\'' is null) union all select n, ssn from t "
    r"where (n is not null or E'\'' is null"
)


def test_escape_string_does_not_leave_its_parentheses(people: Store) -> None:
    with pytest.raises(ReleaseError, match="a backslash") as caught:
        people.warehouse.read(T, READ, Condition(ESCAPE), MARCH)
    assert caught.value.code == "bad_where"


@pytest.mark.parametrize("name", ["agee", '"Age "', "t", "ctid", "tableoid", '"t"', "rowid"])
def test_column_that_is_not_there_is_named(people: Store, name: str) -> None:
    with pytest.raises((DataError, ReleaseError)) as caught:
        people.warehouse.read(T, READ, Condition(f"{name} is not null"), {})
    assert caught.value.code in ("no_column", "bad_where")
    assert name.strip('"') in str(caught.value)


def test_closest_column_is_offered(people: Store) -> None:
    with pytest.raises(DataError, match="no column 'agee'.*source.where.*Did you mean 'age'"):
        people.warehouse.read(T, READ, Condition("agee > 3"), {})


def test_case_of_a_quoted_name_counts_where_the_database_counts_it(people: Store) -> None:
    where = Condition('"AGE" > 60')
    if people.kind == "postgres":
        with pytest.raises(DataError, match="no column 'AGE'"):
            people.warehouse.read(T, READ, where, {})
    else:
        assert people.warehouse.read(T, READ, where, {})["n"].to_pylist() == [5, 6]


# What fails on a row

FAILING = {
    "cast(ssn as integer) > 0": "duckdb postgres",
    "ssn::date > '2024-01-01'": "duckdb postgres",
    "ssn::boolean": "duckdb postgres",
    "ssn::numeric(4, 2) > 1": "duckdb postgres",
    "ssn::uuid is null": "duckdb postgres",
    "ssn::timestamp is null": "duckdb postgres",
    "extract(year from ssn::date) = 1": "duckdb postgres",
    "date_part(ssn, seen) = 1": "duckdb",
    "to_date(ssn, 'YYYY-MM-DD') is null": "postgres",
    "to_timestamp(ssn, 'YYYY') is null": "postgres",
    "seen at time zone ssn is null": "duckdb",
    "name ~ ('(' || ssn)": "duckdb postgres",
    "strptime(ssn, '%Y') is null": "duckdb",
    "regexp_matches(name, '(' || ssn)": "duckdb",
}


@pytest.mark.parametrize("text", FAILING)
def test_failure_on_a_row_shows_no_cell(people: Store, text: str) -> None:
    if people.kind not in FAILING[text]:
        pytest.skip("another database's SQL")
    with pytest.raises(WarehouseError) as caught:
        people.warehouse.read(T, READ, Condition(text), {})
    assert "canary" not in shown(caught.value)
    assert not caught.value.retryable


TRUSTED = {
    "postgres": [
        "pg_has_role(ssn, 'usage')",
        "has_table_privilege(ssn, 'select')",
        "regexp_count(name, '(' || ssn) = 0",
        "pg_catalog.pg_has_role(ssn, 'usage')",
    ],
    "duckdb": ["error(ssn) is null", "enum_code(ssn) = 1", "getvariable(ssn) = 'x'"],
    "sqlite": ["json(ssn) is null", "json_extract(ssn, ssn) is null"],
}


def test_trusted_functions_run_and_their_failures_show_no_cell(people: Store) -> None:
    for text in TRUSTED[people.kind]:
        name = text.partition("(")[0]
        with pytest.raises(ReleaseError, match="the function"):
            people.warehouse.read(T, READ, Condition(text), {})
        with pytest.raises(WarehouseError) as caught:
            people.warehouse.read(T, READ, Condition(text, (name,)), {})
        assert "canary" not in shown(caught.value)
        assert not caught.value.retryable


def test_trusted_function_gives_its_rows(people: Store) -> None:
    call = {"duckdb": "ord(name) > 90", "postgres": "pg_catalog.ascii(name) > 90"}.get(
        people.kind, "unicode(name) > 90"
    )
    trusted = (call.partition("(")[0].upper(),)
    assert people.warehouse.read(T, READ, Condition(call, trusted), {})["n"].to_pylist() == [2]
