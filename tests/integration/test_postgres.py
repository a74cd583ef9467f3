"""What is PostgreSQL's own: rights, locks, and all that hangs on a table."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import adbc_driver_postgresql.dbapi as adbc
import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.errors import DataError, WarehouseError
from microagg_ops.release.condition import Condition
from microagg_ops.sql import TableName
from microagg_ops.staging.digests import content_digest
from microagg_ops.warehouse import Connection, Rows, Warehouse, connect
from tests.integration.test_warehouses import CANARY, empty_database, shown
from tests.postgres import Postgres

T = TableName.parse("t")


@dataclass(frozen=True)
class Database:
    """A database of one test."""

    server: Postgres
    name: str

    @property
    def warehouse(self) -> Warehouse:
        return self.of("postgres")

    def of(self, user: str) -> Warehouse:
        return connect(Connection.parse(self.server.url(self.name, user)))

    def execute(self, *statements: str) -> None:
        self.server.execute(*statements, database=self.name)

    def fetch(self, query: str) -> list[tuple]:
        return self.server.fetch(query, database=self.name)


@pytest.fixture
def db(postgres: Postgres) -> Iterator[Database]:
    """An empty database, with the settings that a test left, undone."""
    db = Database(postgres, empty_database(postgres))
    yield db
    postgres.execute(f"alter database {db.name} reset all")


@pytest.fixture
def lowly(db: Database) -> Iterator[str]:
    """A role without rights, in a database where t holds a row."""
    name = f"lowly_{uuid.uuid4().hex}"
    db.execute(
        f"create role {name} login",
        "create table t (a integer, b text)",
        f"insert into t values (1, '{CANARY}')",
    )
    yield name
    db.execute(f"drop owned by {name}", f"drop role {name}")


def new(**columns: list) -> Rows:
    return Rows(pa.table(columns), {})


def test_server_is_postgresql_18(postgres: Postgres) -> None:
    (version,) = postgres.fetch("select version()")[0]
    assert version.startswith("PostgreSQL 18")


# What hangs on a table


def test_replace_keeps_the_table_and_all_that_hangs_on_it(db: Database, lowly: str) -> None:
    db.execute(
        "create index by_b on t (b)",
        "create view v as select a from t",
        "comment on table t is 'kept'",
        f"grant select on t to {lowly}",
    )
    oid = "select 't'::regclass::oid::int"
    before = db.fetch(oid)
    db.warehouse.write(T, new(a=[2, 3], b=["x", "y"]))
    assert db.fetch(oid) == before
    assert db.fetch("select a from v order by a") == [(2,), (3,)]
    assert db.fetch("select indexname::text from pg_indexes where tablename = 't'") == [("by_b",)]
    assert db.fetch("select obj_description('t'::regclass)") == [("kept",)]
    found = db.of(lowly).read(T, {"a": "integer"})
    assert sorted(found["a"].to_pylist()) == [2, 3]


def test_replace_keeps_the_types_of_the_target(db: Database) -> None:
    db.execute("create type mood as enum ('sad', 'glad')")
    types = {
        "a": "smallint", "n": "numeric(10,2)", "m": "mood", "u": "uuid",
        "v": "character varying(5)", "c": "character(3)", "p": "timestamp(0) without time zone",
        "z": "timestamp with time zone", "i": "inet", "j": "jsonb",
    }  # fmt: skip
    db.execute(f"create table t ({', '.join(f'{name} {kind}' for name, kind in types.items())})")
    db.execute(
        "insert into t values (1, 1.25, 'glad', gen_random_uuid(), 'abcde', 'ab', "
        "'2024-03-01 12:00', '2024-03-01 12:00+02', '10.0.0.1', '{\"k\": [1, null]}')",
        "insert into t (a) values (2)",
    )
    rows = "select t::text from t order by a"
    before = db.fetch(rows)
    found = db.warehouse.read(T, db.warehouse.require(T))
    db.warehouse.write(T, Rows(found, {}))
    assert db.fetch(rows) == before
    assert db.warehouse.describe(T) == types
    copy = TableName.parse("copy")
    db.warehouse.write(copy, Rows(found, types))
    assert db.fetch("select copy::text from copy order by a") == before
    assert db.warehouse.describe(copy) == types


@pytest.mark.parametrize("kind", ["character varying(3)", "character(3)"])
def test_text_too_long_is_refused_and_never_cut(db: Database, kind: str) -> None:
    db.execute(f"create table t (a {kind})", "insert into t values ('old')")
    with pytest.raises(WarehouseError) as caught:
        db.warehouse.write(T, new(a=[CANARY]))
    assert not caught.value.retryable
    assert CANARY not in shown(caught.value)
    assert db.fetch("select a::text from t") == [("old",)]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("numeric(38,20)", "123456789012345678.12345678901234567890"),
        ("numeric(38,0)", "12345678901234567890123456789012345678"),
        ("numeric", "12345678901234567890.5"),
        ("numeric", "-0.000000000000000000001"),
        ("numeric", "-12345678901234567890123456789012345678"),
    ],
)
def test_numeric_keeps_all_its_digits(db: Database, kind: str, value: str) -> None:
    db.execute(f"create table t (a {kind})", f"insert into t values ({value}), (null), (1)")
    found = db.warehouse.read(T, db.warehouse.require(T))
    assert found["a"].to_pylist() == [Decimal(value), None, Decimal(1)]
    db.warehouse.write(T, Rows(found, {}))
    assert db.fetch(f"select count(*) from t where a = {value}") == [(1,)]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("numeric(10,2)", "'NaN'", math.nan),
        ("numeric", "'Infinity'", math.inf),
        ("numeric", "'-Infinity'", -math.inf),
        ("numeric(50,0)", "1e45", 1e45),
        ("numeric", "1e45", 1e45),
        ("numeric", "1e37 + 0.25", 1e37),
    ],
)
def test_numeric_that_no_decimal_holds_is_a_double(
    db: Database, kind: str, value: str, expected: float
) -> None:
    db.execute(f"create table t (a {kind})", f"insert into t values ({value}), (null)")
    found = db.warehouse.read(T, db.warehouse.require(T))["a"].to_pylist()
    assert found == pytest.approx([expected, None], nan_ok=True)


def test_numeric_without_rows_is_read(db: Database) -> None:
    db.execute("create table t (a numeric, b numeric(10,2))")
    found = db.warehouse.read(T, db.warehouse.require(T))
    assert found.schema.types == [pa.decimal128(38, 0), pa.decimal128(10, 2)]


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("value", ["infinity", "-infinity"])
def test_infinite_moment_is_refused(db: Database, kind: str, value: str) -> None:
    db.execute(f"create table t (a {kind})", f"insert into t values ('{value}'), ('0001-01-01 BC')")
    with pytest.raises(DataError, match="'a' is infinite in 1 of 2 rows") as caught:
        db.warehouse.read(T, db.warehouse.require(T))
    assert caught.value.code == "infinite"


def test_arrays_are_read_as_text(db: Database) -> None:
    db.execute(
        "create table t (a varchar(3)[], n numeric[])", "insert into t values ('{x}', '{1}')"
    )
    found = db.warehouse.read(T, db.warehouse.require(T))
    assert found.to_pylist() == [{"a": "{x}", "n": "{1}"}]


def test_nothing_of_the_passage_is_left(db: Database) -> None:
    db.warehouse.write(T, new(a=[1]))
    query = "select relname::text from pg_class where relname like 'microagg%'"
    assert db.fetch(query) == []


# Moments


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_bounds_are_utc_whatever_the_server_says(db: Database, kind: str) -> None:
    db.execute(f"alter database {db.name} set timezone to 'America/New_York'")
    db.execute(
        f"create table t (n integer, m {kind})",
        "set timezone to 'UTC'",
        "insert into t values (1, '2024-02-29'), (2, '2024-03-01'), (3, '2024-04-01')",
    )
    bounds = {"start": datetime(2024, 3, 1, tzinfo=UTC), "end": datetime(2024, 4, 1, tzinfo=UTC)}
    where = "m >= :start and m < :end and :start < :end"
    found = db.warehouse.read(T, {"n": "integer"}, Condition(where), bounds)
    assert found["n"].to_pylist() == [2]


def test_bound_may_be_cast_and_shifted(db: Database) -> None:
    db.execute("create table t as select 1 as n, date '2024-03-01' as m")
    where = "m = :start::date and m < date_trunc('month', :start) + interval '1 day'"
    bounds = {"start": datetime(2024, 3, 1, 5, tzinfo=UTC)}
    assert db.warehouse.read(T, {"n": "integer"}, Condition(where), bounds).num_rows == 1


# Rights


def test_role_that_may_not_write_is_refused_for_good(db: Database, lowly: str) -> None:
    db.execute(f"grant select on t to {lowly}")
    with pytest.raises(WarehouseError) as caught:
        db.of(lowly).write(T, new(a=[2], b=["x"]))
    assert (caught.value.code, caught.value.retryable) == ("read_only", False)
    assert db.fetch("select a from t") == [(1,)]


def test_role_that_may_not_create_is_refused_for_good(db: Database, lowly: str) -> None:
    with pytest.raises(WarehouseError) as caught:
        db.of(lowly).write(TableName.parse("made"), new(a=[2]))
    assert (caught.value.code, caught.value.retryable) == ("read_only", False)
    assert db.warehouse.describe(TableName.parse("made")) is None


def test_role_that_may_write_needs_no_more(db: Database, lowly: str) -> None:
    db.execute(f"grant select, insert, delete on t to {lowly}")
    db.of(lowly).write(T, new(a=[2], b=["x"]))
    assert db.fetch("select a from t") == [(2,)]


def test_role_that_may_not_read_shows_nothing(db: Database, lowly: str) -> None:
    with pytest.raises(WarehouseError) as caught:
        db.of(lowly).read(T, {"b": "text"})
    assert not caught.value.retryable
    assert CANARY not in shown(caught.value)


def test_server_that_is_read_only_is_refused_for_good(db: Database, lowly: str) -> None:
    db.execute(f"alter database {db.name} set default_transaction_read_only = on")
    with pytest.raises(WarehouseError) as caught:
        db.warehouse.write(T, new(a=[2], b=["x"]))
    db.server.execute(f"alter database {db.name} reset all")
    assert (caught.value.code, caught.value.retryable) == ("read_only", False)
    assert db.fetch("select a from t") == [(1,)]


# Failures


def test_trigger_that_fails_leaves_the_old_rows(db: Database, lowly: str) -> None:
    db.execute(
        "create function halt() returns trigger language plpgsql as "
        "$$ begin if new.a > 2 then raise exception 'no to %', new.b; end if; return new; end $$",
        "create trigger halt before insert on t for each row execute function halt()",
    )
    with pytest.raises(WarehouseError) as caught:
        db.warehouse.write(T, new(a=[2, 3], b=["x", CANARY]))
    assert (caught.value.code, caught.value.retryable) == ("refused", False)
    assert CANARY not in shown(caught.value)
    assert db.fetch("select a, b from t") == [(1, CANARY)]


def test_killed_session_leaves_the_old_rows_and_may_heal(db: Database, lowly: str) -> None:
    db.execute(
        "create function die() returns trigger language plpgsql as "
        "$$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$",
        "create trigger die before insert on t for each row execute function die()",
    )
    with pytest.raises(WarehouseError) as caught:
        db.warehouse.write(T, new(a=[2], b=["x"]))
    assert caught.value.retryable
    assert db.fetch("select a from t") == [(1,)]


def test_target_that_waits_too_long_may_heal(db: Database, lowly: str) -> None:
    db.execute(f"alter database {db.name} set lock_timeout = '100ms'")
    with adbc.connect(db.server.url(db.name)) as con, con.cursor() as cursor:
        cursor.execute("lock table t in exclusive mode")
        with pytest.raises(WarehouseError) as caught:
            db.warehouse.write(T, new(a=[2], b=["x"]))
    assert caught.value.retryable
    assert db.fetch("select a from t") == [(1,)]


def test_view_that_cannot_be_written_is_refused_for_good(db: Database) -> None:
    db.execute("create view t as select 1 as a group by 1")
    with pytest.raises(WarehouseError) as caught:
        db.warehouse.write(T, new(a=[2]))
    assert not caught.value.retryable


def test_missing_database_shows_no_password(postgres: Postgres) -> None:
    url = f"postgresql://postgres:hushhush@127.0.0.1:{postgres.port}/nowhere"
    with pytest.raises(WarehouseError) as caught:
        connect(Connection.parse(url)).describe(T)
    assert "hushhush" not in str(caught.value)


def test_role_without_temporary_tables_is_refused_for_good(db: Database, lowly: str) -> None:
    db.execute(
        f"revoke temporary on database {db.name} from public", f"grant all on table t to {lowly}"
    )
    with pytest.raises(WarehouseError) as caught:
        db.of(lowly).write(T, new(a=[2], b=["x"]))
    db.execute(f"grant temporary on database {db.name} to public")
    assert (caught.value.code, caught.value.retryable) == ("read_only", False)
    assert db.fetch("select a from t") == [(1,)]


def test_column_that_postgresql_has_no_type_for_is_refused_for_good(db: Database) -> None:
    with pytest.raises(WarehouseError) as caught:
        db.warehouse.write(T, new(a=[{CANARY: 1}]))
    assert (caught.value.code, caught.value.retryable) == ("refused", False)
    assert CANARY not in shown(caught.value)


# Several writers


def test_two_writers_of_a_new_target_both_succeed(db: Database) -> None:
    gate = threading.Barrier(2)

    def write(value: int) -> None:
        gate.wait()
        db.warehouse.write(T, new(a=[value] * 1000))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, (1, 2)))
    assert db.fetch("select count(*), count(distinct a) from t") == [(1000, 1)]


def test_writers_that_spell_the_target_differently_wait_for_each_other(db: Database) -> None:
    db.execute(
        "create table t (a integer)",
        "create function dawdle() returns trigger language plpgsql as "
        "$$ begin perform pg_sleep(0.4); return null; end $$",
        "create trigger dawdle after insert on t for each statement execute function dawdle()",
    )

    def write(name: str, value: int, after: float) -> None:
        time.sleep(after)
        db.warehouse.write(TableName.parse(name), new(a=[value]))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, ("t", "public.t"), (1, 2), (0, 0.2)))
    assert db.fetch("select a from t") == [(2,)]


def test_writers_of_two_intervals_both_stay(db: Database) -> None:
    starts = [datetime(2024, month, 1) for month in (1, 2, 3, 4)]

    def write(start: datetime) -> None:
        marks = pa.array([start] * 100, pa.timestamp("us"))
        db.warehouse.write(T, Rows(pa.table({"since": marks}), {}, ("since", start)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, starts * 2))
    assert db.fetch("select since, count(*) from t group by 1 order by 1") == [
        (start, 100) for start in starts
    ]


def test_readers_see_all_old_rows_until_all_are_new(db: Database, lowly: str) -> None:
    with adbc.connect(db.server.url(db.name)) as con, con.cursor() as cursor:
        cursor.execute("set transaction isolation level repeatable read")
        cursor.execute("select a from t")
        assert cursor.fetchall() == [(1,)]
        db.warehouse.write(T, new(a=[2], b=["x"]))
        cursor.execute("select a from t")
        assert cursor.fetchall() == [(1,)]
    assert db.fetch("select a from t") == [(2,)]


# Names and size


def test_schema_is_found_by_the_search_path(db: Database) -> None:
    db.execute("drop schema if exists other cascade", "create schema other")
    db.execute("create table other.t (a integer)")
    assert db.warehouse.identity(T) != db.warehouse.identity(TableName.parse("other.t"))
    db.execute(f"alter database {db.name} set search_path = other, public")
    assert db.warehouse.identity(T) == db.warehouse.identity(TableName.parse("other.t"))


def test_case_of_a_name_counts(db: Database) -> None:
    db.execute('create table "T" (a integer)')
    assert db.warehouse.describe(T) is None
    assert db.warehouse.describe(TableName.parse("T")) == {"a": "integer"}


def test_many_rows_come_back_equal(db: Database) -> None:
    rng = np.random.default_rng(5)
    many = 200_000
    words = rng.choice(["a", "ж", "", 'x,y\n"z"\\N'], many)
    days = pa.array([date(2000, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 9000, many)])
    given = pa.table(
        {
            "i": rng.integers(-(2**62), 2**62, many),
            "f": pa.array(rng.normal(size=many), mask=rng.random(many) < 0.1),
            "s": pa.array(words, mask=rng.random(many) < 0.1),
            "d": days,
            "m": pa.array(rng.integers(0, 2**50, many), pa.timestamp("us")),
            "b": rng.random(many) < 0.5,
        }
    )
    db.warehouse.write(T, Rows(given, {}))
    found = db.warehouse.read(T, db.warehouse.require(T))
    assert found.schema.types == given.schema.types
    assert content_digest(found) == content_digest(given)


def test_many_publishes_do_not_pile_up_dead_rows(db: Database) -> None:
    db.execute("create table t (a bigint, b text)", "alter table t set (autovacuum_enabled = off)")
    rows = new(a=list(range(4_000)), b=["a row of some length"] * 4_000)
    size = "select pg_table_size('t')"
    sizes = []
    for _ in range(8):
        db.warehouse.write(T, rows)
        sizes.append(db.fetch(size)[0][0])
    assert sizes[-1] <= 2.2 * sizes[0]
    assert db.fetch("select count(*) from t") == [(4_000,)]


def test_who_may_only_write_publishes_all_the_same(db: Database, lowly: str) -> None:
    db.execute(f"grant select, insert, update, delete on t to {lowly}")
    db.of(lowly).write(T, new(a=pa.array([5], pa.int32()), b=["x"]))
    assert db.fetch("select a from t") == [(5,)]
