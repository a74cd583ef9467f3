"""What every warehouse promises, on DuckDB, PostgreSQL and SQLite."""

from __future__ import annotations

import sqlite3
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import duckdb
import pyarrow as pa
import pytest

from microagg_ops.errors import DataError, MicroaggError, WarehouseError
from microagg_ops.release.condition import Condition
from microagg_ops.series.ledger import Ledger, Member, Publication
from microagg_ops.sql import TableName
from microagg_ops.stages.ledgers import NEXT, TableLedger
from microagg_ops.warehouse import Connection, Rows, Warehouse, connect
from tests.postgres import Postgres

CANARY = "canary-7f3a"


@dataclass(frozen=True)
class Store:
    """The database of one test, reached without the code under test."""

    kind: str
    url: str
    open: Callable[[], Any]

    @property
    def warehouse(self) -> Warehouse:
        return connect(Connection.parse(self.url))

    def execute(self, *statements: str) -> None:
        with closing(self.open()) as con, closing(con.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        with closing(self.open()) as con, closing(con.cursor()) as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def load(self, table: str, rows: pa.Table) -> None:
        """Make a DuckDB or PostgreSQL table of rows."""
        with closing(self.open()) as con, closing(con.cursor()) as cursor:
            if self.kind == "duckdb":
                cursor.register("given", rows)
                cursor.execute(f"create table {table} as from given")
            else:
                cursor.adbc_ingest(table, rows, mode="create")


@contextmanager
def open_store(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """Make an empty database for one test."""
    path = folder / f"store.{kind}"
    if kind == "duckdb":
        duckdb.connect(str(path)).close()
        yield Store(kind, f"duckdb://{path}", lambda: duckdb.connect(str(path)))
    elif kind == "sqlite":
        path.touch()
        yield Store(kind, f"sqlite:///{path}", lambda: sqlite3.connect(path, isolation_level=None))
    else:
        server = request.getfixturevalue("postgres")
        url = server.url(empty_database(server))
        yield Store(kind, url, lambda: adbc.connect(url, autocommit=True))


@cache
def shared_database(server: Postgres) -> str:
    server.execute("create database shared")
    return "shared"


def empty_database(server: Postgres) -> str:
    """Empty the database that tests share: to make a new one takes longer than most of them."""
    name = shared_database(server)
    server.execute(
        "drop schema public cascade",
        "create schema public",
        "grant usage on schema public to public",
        database=name,
    )
    return name


def shown(error: BaseException) -> str:
    """Return all that a log would show of an error."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(error)


@pytest.fixture(params=["duckdb", "postgres", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with open_store(request.param, tmp_path, request) as opened:
        yield opened


@pytest.fixture(params=["duckdb", "postgres"])
def typed_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A database with types of its own for moments; SQLite has none."""
    with open_store(request.param, tmp_path, request) as opened:
        yield opened


T = TableName.parse("t")


def rows(**columns: list[Any]) -> Rows:
    return Rows(pa.table(columns), {})


# Describing


def test_missing_table_is_none(store: Store) -> None:
    assert store.warehouse.describe(T) is None


def test_table_of_a_missing_schema_is_none(typed_store: Store) -> None:
    assert typed_store.warehouse.describe(TableName.parse("nowhere.t")) is None


def test_required_table_is_named_when_missing(store: Store) -> None:
    with pytest.raises(DataError, match="no table 'nothing'") as caught:
        store.warehouse.require(TableName.parse("nothing"))
    assert caught.value.code == "no_table"
    assert not caught.value.retryable


def test_columns_are_described_in_order(store: Store) -> None:
    store.execute("create table t (z integer, a text, m date)")
    found = store.warehouse.describe(T)
    assert found is not None
    assert list(found) == ["z", "a", "m"]
    assert found["z"].lower() == "integer"


def test_views_are_described_and_read(store: Store) -> None:
    store.execute("create table t (a integer)", "insert into t values (1), (2)")
    store.execute("create view v as select a, a * 10 as b from t")
    view = TableName.parse("v")
    found = store.warehouse.require(view)
    assert store.warehouse.read(view, found)["b"].to_pylist() == [10, 20]


# Reading


def test_only_chosen_columns_are_read(store: Store) -> None:
    store.execute("create table t (a integer, b text, c text)", "insert into t values (1,'x','y')")
    found = store.warehouse.read(T, {"c": "text", "a": "integer"})
    assert found.to_pydict() == {"c": ["y"], "a": [1]}


TYPES = {
    "smallint": ("-7", pa.int16(), -7),
    "integer": ("2147483647", pa.int32(), 2147483647),
    "bigint": ("9223372036854775807", pa.int64(), 9223372036854775807),
    "real": ("0.5", pa.float32(), 0.5),
    "double precision": ("0.1", pa.float64(), 0.1),
    "text": ("'ж%:x'", pa.string(), "ж%:x"),
    "varchar(20)": ("'abc'", pa.string(), "abc"),
    "date": ("'2024-02-29'", pa.date32(), date(2024, 2, 29)),
    "timestamp": (
        "'2024-02-29 23:59:59.123456'",
        pa.timestamp("us"),
        datetime(2024, 2, 29, 23, 59, 59, 123456),
    ),
    "timestamp with time zone": (
        "'2024-03-01 00:30:00+02'",
        pa.timestamp("us", "UTC"),
        datetime(2024, 2, 29, 22, 30, tzinfo=UTC),
    ),
    "boolean": ("true", pa.bool_(), True),
}


@pytest.mark.parametrize("sql_type", TYPES)
def test_types_are_read_with_nulls(typed_store: Store, sql_type: str) -> None:
    literal, kind, value = TYPES[sql_type]
    typed_store.execute(
        f"create table t (a {sql_type})", f"insert into t values ({literal}), (null)"
    )
    found = typed_store.warehouse.read(T, typed_store.warehouse.require(T))["a"]
    text = pa.types.is_string(kind)
    assert pa.types.is_string(found.type) if text else found.type == kind
    assert sorted(found.to_pylist(), key=str) == sorted([value, None], key=str)


def test_numeric_is_read_as_a_decimal(store: Store) -> None:
    store.execute("create table t (a numeric(10, 2))", "insert into t values (1.25), (null)")
    found = store.warehouse.read(T, store.warehouse.require(T))["a"]
    assert found.type == pa.decimal128(10, 2)
    assert found.to_pylist() == [Decimal("1.25"), None]


def test_types_are_those_declared_whatever_the_cells(store: Store) -> None:
    types = {
        "i": ("integer", pa.int64()), "d": ("numeric(10, 2)", pa.decimal128(10, 2)),
        "f": ("double precision", pa.float64()), "y": ("date", pa.date32()),
        "s": ("text", pa.string()),
    }  # fmt: skip
    store.execute(f"create table t ({', '.join(f'{n} {sql}' for n, (sql, _) in types.items())})")
    for cells in ("null, null, null, null, null", "1, 1, 1, null, null"):
        store.execute("delete from t", f"insert into t values ({cells})")
        found = store.warehouse.read(T, store.warehouse.require(T)).schema
        assert [kind.replace("int32", "int64") for kind in map(str, found.types)] == [
            str(kind) for _, kind in types.values()
        ]


def test_sqlite_tells_what_it_holds_where_that_is_not_what_was_declared(tmp_path: Path) -> None:
    with open_store("sqlite", tmp_path, None) as store:  # type: ignore[arg-type]
        store.execute(
            "create table t (i integer, n numeric, d decimal(4, 2))",
            "insert into t values (7.25, 0.123456789012345, 1.25), (1, 1e-12, 12345.5)",
        )
        found = store.warehouse.read(T, store.warehouse.require(T)).to_pydict()
    assert found["i"] == [7.25, 1]
    assert found["n"] == [0.123456789012345, 1e-12]
    assert found["d"] == [Decimal("1.25"), Decimal("12345.5")]


def test_all_null_column_is_read(store: Store) -> None:
    store.execute("create table t (a integer, b text)", "insert into t values (1, null)")
    found = store.warehouse.read(T, store.warehouse.require(T))
    assert found.to_pylist() == [{"a": 1, "b": None}]


def test_empty_table_has_its_columns(store: Store) -> None:
    store.execute("create table t (a integer, b text)")
    found = store.warehouse.read(T, store.warehouse.require(T))
    assert found.column_names == ["a", "b"]
    assert found.num_rows == 0


# Conditions

HALF_OPEN = "m >= :start and m < :end"
MARCH = {"start": datetime(2024, 3, 1, tzinfo=UTC), "end": datetime(2024, 4, 1, tzinfo=UTC)}


def days_of(store: Store, where: str, values: dict[str, datetime]) -> list[int]:
    found = store.warehouse.read(T, {"n": "integer"}, Condition(where), values)
    return sorted(found["n"].to_pylist())


@pytest.mark.parametrize("sql_type", ["date", "timestamp"])
def test_interval_is_half_open(store: Store, sql_type: str) -> None:
    clock = "" if sql_type == "date" else " 00:00:00.000000"
    store.execute(
        f"create table t (n integer, m {sql_type})",
        f"insert into t values (1, '2024-02-29{clock}'), (2, '2024-03-01{clock}'), "
        f"(3, '2024-03-31{clock}'), (4, '2024-04-01{clock}'), (5, null)",
    )
    assert days_of(store, HALF_OPEN, MARCH) == [2, 3]


def test_interval_cuts_a_day(store: Store) -> None:
    store.execute(
        "create table t (n integer, m timestamp)",
        "insert into t values (1, '2024-03-01 05:59:59.000000'), (2, '2024-03-01 06:00:00.000000')",
    )
    six = datetime(2024, 3, 1, 6, tzinfo=UTC)
    assert days_of(store, HALF_OPEN, {"start": six, "end": MARCH["end"]}) == [2]


def test_interval_meets_moments_with_a_zone(typed_store: Store) -> None:
    typed_store.execute(
        "create table t (n integer, m timestamp with time zone)",
        "insert into t values (1, '2024-03-01 01:59:59+02'), (2, '2024-03-01 02:00:00+02'), "
        "(3, '2024-03-31 19:59:59-04'), (4, '2024-03-31 20:00:00-04')",
    )
    assert days_of(typed_store, HALF_OPEN, MARCH) == [2, 3]


def test_bounds_in_another_zone_are_the_same_moments(store: Store) -> None:
    store.execute(
        "create table t (n integer, m timestamp)",
        "insert into t values (1, '2024-02-29 23:00:00.000000'), (2, '2024-03-01 00:00:00.000000')",
    )
    tokyo = timezone(timedelta(hours=9))
    assert days_of(store, HALF_OPEN, {k: v.astimezone(tokyo) for k, v in MARCH.items()}) == [2]


def test_parameter_may_appear_twice_and_out_of_order(store: Store) -> None:
    store.execute(
        "create table t (n integer, m date, o date)",
        "insert into t values (1, '2024-03-05', '2024-03-06'), (2, '2024-03-05', '2024-05-01')",
    )
    where = "m < :end and o < :end and m >= :start and o >= :start"
    assert days_of(store, where, MARCH) == [1]


def test_text_in_a_condition_is_left_alone(store: Store) -> None:
    store.execute(
        "create table t (n integer, b text)",
        "insert into t values (1, 'at :start'), (2, '100% :end'), (3, 'neither')",
    )
    assert days_of(store, "b = 'at :start' or b like '100%% :end'", {}) == [1, 2]


def test_alternatives_do_not_escape_the_condition(store: Store) -> None:
    store.execute("create table t (n integer)", "insert into t values (1), (2), (3)")
    assert days_of(store, "n = 1 or n = 3", {}) == [1, 3]


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ("nope > 1", "no_column"),
        ("n >", "bad_where"),
        ("no_such_function(n) = 1", "bad_where"),
        ("trusted_but_not_there(n) = 1", "bad_sql"),
    ],
)
def test_bad_condition_is_not_retried(store: Store, where: str, code: str) -> None:
    store.execute("create table t (n integer, b text)", f"insert into t values (1, '{CANARY}')")
    condition = Condition(where, ("trusted_but_not_there",))
    with pytest.raises(MicroaggError) as caught:
        store.warehouse.read(T, {"n": "integer"}, condition, {})
    assert (caught.value.code, caught.value.retryable) == (code, False)
    assert CANARY not in shown(caught.value)


def test_failed_cast_in_a_condition_shows_no_cell(typed_store: Store) -> None:
    typed_store.execute(
        "create table t (n integer, b text)", f"insert into t values (1, '{CANARY}')"
    )
    with pytest.raises(WarehouseError) as caught:
        typed_store.warehouse.read(T, {"n": "integer"}, Condition("cast(b as integer) > 0"), {})
    assert not caught.value.retryable
    assert CANARY not in shown(caught.value)


# Names

ODD = ('a"b', "two words", "UPPER", "größe_ж", "50%", "a:b", "it's", "a.b", "$1", "(x)")
EVIL = TableName(('x"; drop table y; --',))


def test_odd_names_are_only_names(store: Store) -> None:
    store.execute("create table y (a integer)", "insert into y values (1)")
    given = pa.table({name: [i, i + 1] for i, name in enumerate(ODD)})
    store.warehouse.write(EVIL, Rows(given, {}))
    store.warehouse.write(EVIL, Rows(given, {}))
    found = store.warehouse.read(EVIL, store.warehouse.require(EVIL))
    assert found.to_pydict() == given.to_pydict()
    assert store.fetch(f"select count(*) from {EVIL.quoted()}") == [(2,)]
    assert store.fetch("select a from y") == [(1,)]


def test_interval_columns_may_have_odd_names(store: Store) -> None:
    start = datetime(2024, 3, 1)
    for name in ODD:
        target = TableName((f"of {name}",))
        table = pa.table({"a": [1], name: pa.array([start], pa.timestamp("us"))})
        for _ in range(2):
            store.warehouse.write(target, Rows(table, {}, (name, start)))
        assert store.fetch(f"select a from {target.quoted()}") == [(1,)]


def test_two_names_of_one_table_are_one(store: Store) -> None:
    store.execute("create table t (a integer)")
    home = "public" if store.kind == "postgres" else "main"
    identity = store.warehouse.identity
    assert identity(T) == identity(TableName((home, "t")))
    assert identity(T) != identity(TableName.parse("other"))


def test_name_before_and_after_creation_is_one(store: Store) -> None:
    before = store.warehouse.identity(T)
    store.execute("create table t (a integer)")
    assert store.warehouse.identity(T) == before


# Writing

EVERY_TYPE = pa.table(
    {
        "small": pa.array([1, None], pa.int16()),
        "whole": pa.array([2**40, None], pa.int64()),
        "number": pa.array([0.1, None], pa.float64()),
        "words": pa.array(["ж 'quoted'\nline", None], pa.string()),
        "day": pa.array([date(1899, 12, 31), None], pa.date32()),
        "moment": pa.array([datetime(2024, 1, 1, 12, 0, 0, 5), None], pa.timestamp("us")),
        "yes": pa.array([True, None], pa.bool_()),
    }
)


def test_written_rows_are_read_back(store: Store) -> None:
    store.warehouse.write(T, Rows(EVERY_TYPE, {}))
    found = store.warehouse.read(T, store.warehouse.require(T))
    assert found.to_pydict() == EVERY_TYPE.to_pydict()


def test_column_without_any_value_is_written(store: Store) -> None:
    store.warehouse.write(T, Rows(pa.table({"a": [1, 2], "b": pa.nulls(2)}), {}))
    assert store.fetch("select a, b from t order by a") == [(1, None), (2, None)]


def test_new_table_takes_the_given_types(store: Store) -> None:
    table = pa.table({"a": [1], "b": [1.25]})
    types = {"a": "smallint", "b": "numeric(10,2)"}
    store.warehouse.write(T, Rows(table, types))
    found = {n: kind.lower().replace(" ", "") for n, kind in store.warehouse.require(T).items()}
    assert {n: kind.replace("decimal", "numeric") for n, kind in found.items()} == types
    assert store.fetch("select b from t")[0][0] in (Decimal("1.25"), "1.25")


def test_types_of_another_database_are_not_taken(tmp_path: Path) -> None:
    types = {"a": "integer); drop table y; --", "b": "no such type(3)", "c": "date(1, 2)"}
    with open_store("sqlite", tmp_path, None) as store:  # type: ignore[arg-type]
        store.execute("create table y (a integer)")
        store.warehouse.write(T, Rows(pa.table({"a": [1], "b": ["x"], "c": ["z"]}), types))
        assert store.warehouse.require(T) == {"a": "BIGINT", "b": "TEXT", "c": "TEXT"}
        assert store.fetch("select count(*) from y") == [(0,)]


@pytest.mark.parametrize("digits", [2, 20])
def test_decimals_are_written_exactly_or_not_at_all(store: Store, digits: int) -> None:
    amount = Decimal("9" * digits + ".25")
    table = pa.table({"a": pa.array([amount, None], pa.decimal128(30, 2))})
    if store.kind == "sqlite" and digits > 15:
        with pytest.raises(DataError, match="alters 1 of the rows"):
            store.warehouse.write(T, Rows(table, {}))
        return
    for _ in range(2):
        store.warehouse.write(T, Rows(table, {}))
    assert store.warehouse.read(T, store.warehouse.require(T)).to_pydict() == table.to_pydict()


def test_text_is_not_taken_for_a_number(store: Store) -> None:
    store.execute("create table t (a integer)", "insert into t values (1)")
    with pytest.raises(MicroaggError) as caught:
        store.warehouse.write(T, rows(a=["02", "3"]))
    assert not caught.value.retryable
    assert store.fetch("select a from t") == [(1,)]


def test_replace_leaves_only_the_new_rows(store: Store) -> None:
    store.warehouse.write(T, rows(a=[1, 2], b=["x", "y"]))
    store.warehouse.write(T, rows(a=[3], b=["z"]))
    assert store.fetch("select a, b from t") == [(3, "z")]


def in_interval(start: datetime, values: list[int]) -> Rows:
    marks = pa.array([start.replace(tzinfo=None)] * len(values), pa.timestamp("us"))
    return Rows(pa.table({"a": values, "since": marks}), {}, ("since", start))


def test_interval_replaces_only_its_own_rows(store: Store) -> None:
    march, april = MARCH.values()
    store.warehouse.write(T, in_interval(march, [1, 2]))
    store.warehouse.write(T, in_interval(april, [3]))
    store.warehouse.write(T, in_interval(march, [4]))
    assert store.fetch("select a from t order by a") == [(3,), (4,)]


def test_interval_written_twice_is_there_once(store: Store) -> None:
    for _ in range(2):
        store.warehouse.write(T, in_interval(MARCH["start"], [1, 2]))
    assert store.fetch("select a from t order by a") == [(1,), (2,)]


OTHER_TARGETS = {
    "a integer": "it lacks: b",
    "a integer, b text, c text": "it has besides: c",
    "b text, a integer": "in another order",
    "a integer, c text": "it lacks: b; it has besides: c",
}


@pytest.mark.parametrize("columns", OTHER_TARGETS)
def test_target_with_other_columns_is_refused(store: Store, columns: str) -> None:
    store.execute(f"create table t ({columns})", "insert into t (a) values (1)")
    with pytest.raises(DataError) as caught:
        store.warehouse.write(T, rows(a=[2], b=["x"]))
    assert caught.value.code == "target_differs"
    assert OTHER_TARGETS[columns] in str(caught.value)
    assert store.fetch("select a from t") == [(1,)]


def test_failure_in_the_middle_leaves_the_old_rows(store: Store) -> None:
    store.execute(
        f"create table t (a integer, b text check (b <> '{CANARY}'))",
        "insert into t values (1, 'old'), (2, 'older')",
    )
    many = 50_000
    with pytest.raises(WarehouseError) as caught:
        store.warehouse.write(T, rows(a=list(range(many + 1)), b=["new"] * many + [CANARY]))
    assert store.fetch("select a, b from t order by a") == [(1, "old"), (2, "older")]
    assert not caught.value.retryable
    assert CANARY not in shown(caught.value)


def test_failure_leaves_no_new_table(typed_store: Store) -> None:
    table = pa.table({"a": ["1", CANARY]})
    with pytest.raises(WarehouseError) as caught:
        typed_store.warehouse.write(T, Rows(table, {"a": "integer"}))
    assert typed_store.warehouse.describe(T) is None
    assert CANARY not in shown(caught.value)


def test_value_that_does_not_fit_is_refused(typed_store: Store) -> None:
    typed_store.execute("create table t (a smallint)", "insert into t values (1)")
    large = 7654321
    with pytest.raises(WarehouseError) as caught:
        typed_store.warehouse.write(T, rows(a=[large]))
    assert typed_store.fetch("select a from t") == [(1,)]
    assert str(large) not in shown(caught.value)


def test_table_in_a_schema_that_is_not_there(typed_store: Store) -> None:
    with pytest.raises(WarehouseError) as caught:
        typed_store.warehouse.write(TableName.parse("nowhere.t"), rows(a=[1]))
    assert not caught.value.retryable


# Reaching


@pytest.mark.parametrize(
    "url",
    [
        "duckdb:///nowhere/x.duckdb",
        "sqlite:////nowhere/x.db",
        "postgresql://someone:secret-word@127.0.0.1:1/x",
    ],
)
def test_unreachable_warehouse_may_heal(url: str) -> None:
    with pytest.raises(WarehouseError) as caught:
        connect(Connection.parse(url)).describe(T)
    assert (caught.value.code, caught.value.retryable) == ("unreachable", True)
    assert "secret-word" not in shown(caught.value)


@pytest.mark.parametrize("scheme", ["duckdb://", "sqlite:///"])
def test_looking_for_a_file_does_not_make_it(scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "missing.db"
    for action in (lambda w: w.describe(T), lambda w: w.write(T, rows(a=[1]))):
        with pytest.raises(MicroaggError) as caught:
            action(connect(Connection.parse(f"{scheme}{path}")))
        assert caught.value.retryable
    assert not path.exists()


@pytest.mark.parametrize(("given", "fits"), [("bigint", True), ("real", False), ("integer", False)])
def test_target_that_would_alter_a_value_is_refused(
    typed_store: Store, given: str, fits: bool
) -> None:
    typed_store.execute(f"create table t (a {given})")
    typed_store.warehouse.write(TableName.parse("t"), rows(a=[7]))
    values = [7, 8] if fits else [7.25, 0.1]
    if fits:
        typed_store.warehouse.write(TableName.parse("t"), rows(a=values))
    else:
        with pytest.raises(DataError, match="alters [12] of the rows") as caught:
            typed_store.warehouse.write(TableName.parse("t"), rows(a=values))
        assert caught.value.code == "target_alters"
        assert typed_store.warehouse.read(TableName.parse("t"), {"a": given})["a"].to_pylist() == [
            7
        ]


# The ledger of a series


def test_a_ledger_is_read_as_it_was_written(store: Store) -> None:
    member = Member("e" * 32, "1.0", 1, None, 0, 0, "0" * 32)
    gone = Member("f" * 32, "1.0", 1, 2, 5, 1, "1" * 32)
    publication = Publication(1, "run", "now", "d", {"age": "double"}, "i", "r", None)
    ledger = Ledger(
        "s", "key", "2027", 1, 0.5, (publication,), (member, gone),
        {"1.0": pa.table({"age": [1.5], "d": ["ä"]})}, {"w": 2}, {"e" * 32: 2},
    )  # fmt: skip
    kept = TableLedger(store.warehouse, TableName.parse("ledger"), "w")
    for which in ("", NEXT):
        assert kept.read(which) is None
        kept.write(ledger.table(), which)
        assert kept.read(which) == ledger
        kept.write(None, which)
        assert kept.read(which) is None
