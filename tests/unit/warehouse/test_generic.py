"""The path for any other database, tried on SQLite."""

from __future__ import annotations

import sqlite3
import traceback
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa

from microagg_ops.errors import DataError, WarehouseError
from microagg_ops.release.condition import Condition
from microagg_ops.sql import TableName
from microagg_ops.warehouse import Rows
from microagg_ops.warehouse.generic import ROWS_PER_BATCH, GenericWarehouse

T = TableName.parse("t")
NEW = Rows(pa.table({"a": [2, 3]}), {})
CANARY = "canary-7f3a"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "x y%20.db"
    execute(found, "create table t (a integer)", "insert into t values (1)")
    return found


def execute(path: Path, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements; give the rows of the last."""
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        return [con.execute(statement).fetchall() for statement in statements][-1]


def test_types_are_read_with_nulls(path: Path) -> None:
    execute(
        path,
        "create table s (s smallint, i integer, b bigint, r real, n numeric(10, 2), x text, "
        "v varchar(9), d date, m timestamp, y boolean)",
        "insert into s values (1, 2, 9007199254740993, 0.5, 1.25, 'ж', 'v', '2024-02-29', "
        "'2024-02-29 12:00:00.000005', 1)",
        "insert into s (s) values (null)",
    )
    table, house = TableName.parse("s"), GenericWarehouse.at_file(str(path))
    found = house.read(table, house.require(table))
    assert found.select(["s", "i", "b", "x", "v", "d", "m", "y"]).to_pylist()[0] == {
        "s": 1,
        "i": 2,
        "b": 9007199254740993,
        "x": "ж",
        "v": "v",
        "d": date(2024, 2, 29),
        "m": datetime(2024, 2, 29, 12, 0, 0, 5),
        "y": True,
    }
    assert found["r"].to_pylist() == [0.5, None]
    assert found["n"].cast(pa.float64()).to_pylist() == [1.25, None]
    assert set(found.to_pylist()[1].values()) == {None}


def test_column_that_mixes_types_is_read_as_text(path: Path) -> None:
    execute(path, "create table s (a)", "insert into s values (1), ('x'), (null)")
    found = GenericWarehouse.at_file(str(path)).read(TableName.parse("s"), {"a": ""})
    assert found["a"].to_pylist() == ["1", "x", None]


def test_cell_that_is_no_date_is_not_shown(path: Path) -> None:
    execute(path, "create table s (d date)", f"insert into s values ('{CANARY}')")
    with pytest.raises(WarehouseError) as caught:
        GenericWarehouse.at_file(str(path)).read(TableName.parse("s"), {"d": "DATE"})
    assert not caught.value.retryable
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_midnight_meets_a_day(path: Path) -> None:
    execute(path, "create table s (d date)", "insert into s values ('2024-03-01'), ('2024-04-01')")
    march = {"start": datetime(2024, 3, 1, tzinfo=UTC), "end": datetime(2024, 4, 1, tzinfo=UTC)}
    house = GenericWarehouse.at_file(str(path))
    found = house.read(
        TableName.parse("s"), {"d": ""}, Condition("d >= :start and d < :end"), march
    )
    assert found["d"].to_pylist() == [date(2024, 3, 1)]


def test_rows_of_several_batches_arrive(path: Path) -> None:
    many = 2 * ROWS_PER_BATCH + 1
    GenericWarehouse.at_file(str(path)).write(T, Rows(pa.table({"a": range(many)}), {}))
    assert execute(path, "select count(*), sum(a) from t") == [(many, many * (many - 1) // 2)]


def test_failure_in_the_last_batch_leaves_the_old_rows(path: Path) -> None:
    execute(path, "create table s (a integer check (a >= 0))", "insert into s values (7)")
    rows = Rows(pa.table({"a": [*range(ROWS_PER_BATCH), -1]}), {})
    with pytest.raises(WarehouseError) as caught:
        GenericWarehouse.at_file(str(path)).write(TableName.parse("s"), rows)
    assert (caught.value.code, caught.value.retryable) == ("refused", False)
    assert execute(path, "select a from s") == [(7,)]


def test_failure_leaves_no_new_table(path: Path) -> None:
    too_large = Rows(pa.table({"a": pa.array([2**63], pa.uint64())}), {})
    house = GenericWarehouse.at_file(str(path))
    with pytest.raises(WarehouseError) as caught:
        house.write(TableName.parse("s"), too_large)
    assert not caught.value.retryable
    assert house.describe(TableName.parse("s")) is None


def test_read_only_database_is_refused_for_good(path: Path) -> None:
    query = {"mode": "ro", "uri": "true"}
    house = GenericWarehouse.at(sa.URL.create("sqlite", database=path.as_uri(), query=query))
    assert house.read(T, {"a": ""}).to_pydict() == {"a": [1]}
    with pytest.raises(WarehouseError) as caught:
        house.write(T, NEW)
    assert (caught.value.code, caught.value.retryable) == ("read_only", False)
    assert execute(path, "select a from t") == [(1,)]


def test_locked_database_may_heal(path: Path) -> None:
    query = {"timeout": "0.1"}
    house = GenericWarehouse.at(sa.URL.create("sqlite", database=str(path), query=query))
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute("begin exclusive")
        with pytest.raises(WarehouseError) as caught:
            house.write(T, NEW)
    assert (caught.value.code, caught.value.retryable) == ("unreachable", True)
    assert execute(path, "select a from t") == [(1,)]


def test_names_and_paths_in_another_spelling_are_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    here = GenericWarehouse.at_file(path.name)
    there = GenericWarehouse.at_file(str(path))
    assert here.identity(TableName.parse("T")) == there.identity(TableName.parse("main.t"))


def test_same_name_in_another_file_is_another_table(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.touch()
    here, there = (GenericWarehouse.at_file(str(file)) for file in (path, other))
    assert here.identity(T) != there.identity(T)


def test_engine_of_another_may_be_given_twice(path: Path) -> None:
    engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)))
    for _ in range(2):
        GenericWarehouse(engine).write(T, NEW)
    assert execute(path, "select a from t order by a") == [(2,), (3,)]


def test_unreachable_server_may_heal_and_shows_no_password() -> None:
    house = GenericWarehouse.at("postgresql+psycopg2://u:hushhush@127.0.0.1:1/d")
    with pytest.raises(WarehouseError) as caught:
        house.identity(T)
    assert caught.value.retryable
    assert "hushhush" not in str(caught.value) + repr(house)


def test_a_target_that_alters_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "house.sqlite"
    with sqlite3.connect(path) as con:
        # Text affinity: numbers become text.
        con.execute("create table t (a text, d decimal(5, 1))")
        con.execute("insert into t values ('old', 1)")
    rows = Rows(pa.table({"a": [1.5, 2.5], "d": pa.array([1, 2], pa.decimal128(5, 1))}), {})
    with pytest.raises(DataError, match="alters 2 of the rows"):
        GenericWarehouse.at_file(str(path)).write(TableName(("t",)), rows)
    with sqlite3.connect(path) as con:
        assert con.execute("select a from t").fetchall() == [("old",)]


def test_decimals_are_published(tmp_path: Path) -> None:
    path = tmp_path / "house.sqlite"
    sqlite3.connect(path).close()
    values = [Decimal("1.25"), None, Decimal("-3.50")]
    rows = Rows(pa.table({"d": pa.array(values, pa.decimal128(9, 2))}), {})
    warehouse = GenericWarehouse.at_file(str(path))
    warehouse.write(TableName(("t",)), rows)
    found = warehouse.read(TableName(("t",)), {"d": "NUMERIC(9, 2)"})
    assert sorted(found["d"].to_pylist(), key=str) == sorted(values, key=str)


def test_column_that_mixes_bytes_with_text_is_refused(path: Path) -> None:
    execute(path, "create table s (a)", f"insert into s values (x'AA'), ('{CANARY}')")
    with pytest.raises(DataError, match="'a' mixes bytes") as caught:
        GenericWarehouse.at_file(str(path)).read(TableName.parse("s"), {"a": ""})
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_a_boolean_that_holds_another_number_stays_a_number(path: Path) -> None:
    execute(path, "create table s (a boolean, b boolean)", "insert into s values (1, 2), (0, null)")
    columns = {"a": "BOOLEAN", "b": "BOOLEAN"}
    found = GenericWarehouse.at_file(str(path)).read(TableName.parse("s"), columns)
    assert found.to_pydict() == {"a": [True, False], "b": [2, None]}
