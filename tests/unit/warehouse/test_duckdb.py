"""What is DuckDB's own: files, locks, and names without case."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pytest

from microagg_ops.errors import DataError, WarehouseError
from microagg_ops.release.condition import Condition
from microagg_ops.sql import TableName
from microagg_ops.warehouse import Rows
from microagg_ops.warehouse.duckdb import DuckDBWarehouse

T = TableName.parse("t")
NEW = Rows(pa.table({"a": pa.array([2, 3], pa.int32())}), {})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "x.duckdb"
    duckdb.connect(str(found)).execute("create table t as select 1 as a").close()
    return found


def content(path: Path, query: str = "from t order by all") -> list[tuple[object, ...]]:
    with duckdb.connect(str(path)) as con:
        return con.execute(query).fetchall()


def test_names_do_not_tell_case(path: Path) -> None:
    house = DuckDBWarehouse(str(path))
    for spelling in ("T", "MAIN.T", "x.main.t", "X.Main.T"):
        table = TableName.parse(spelling)
        assert house.describe(table) == {"a": "INTEGER"}
        assert house.identity(table) == house.identity(T)


def test_target_in_another_case_is_replaced(path: Path) -> None:
    DuckDBWarehouse(str(path)).write(TableName.parse("T"), NEW)
    assert content(path) == [(2,), (3,)]


def test_two_paths_of_one_file_are_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = path.with_name("link.duckdb")
    link.symlink_to(path)
    monkeypatch.chdir(path.parent)
    found = {DuckDBWarehouse(str(p)).identity(T) for p in (path, link, "x.duckdb", "./x.duckdb")}
    assert len(found) == 1


def test_same_name_in_another_file_is_another_table(path: Path, tmp_path: Path) -> None:
    other = DuckDBWarehouse(str(tmp_path / "y.duckdb"))
    assert other.identity(T) != DuckDBWarehouse(str(path)).identity(T)


def test_replaced_table_keeps_its_views_indexes_and_types(path: Path) -> None:
    with duckdb.connect(str(path)) as con:
        con.execute("create table p (a bigint primary key, b varchar default 'x')")
        con.execute("create index by_b on p (b)")
        con.execute("insert into p values (1, 'old')")
        con.execute("create view v as select a from p")
    rows = Rows(pa.table({"a": pa.array([1, 2], pa.int16()), "b": ["new", None]}), {"a": "integer"})
    house = DuckDBWarehouse(str(path))
    house.write(TableName.parse("p"), rows)
    assert house.describe(TableName.parse("p")) == {"a": "BIGINT", "b": "VARCHAR"}
    assert content(path, "from v order by a") == [(1,), (2,)]
    assert content(path, "select index_name from duckdb_indexes()") == [("by_b",)]


def test_labels_of_an_enumeration_are_read_and_written(path: Path) -> None:
    with duckdb.connect(str(path)) as con:
        con.execute("create type mood as enum ('sad', 'glad')")
        con.execute("create table e as select 'glad'::mood as m")
    house, table = DuckDBWarehouse(str(path)), TableName.parse("e")
    types = house.require(table)
    found = house.read(table, types)
    house.write(TableName.parse("copy"), Rows(found, types))
    assert house.require(TableName.parse("copy")) == types
    assert content(path, "from copy") == [("glad",)]


def test_database_open_read_only_is_refused_for_good(path: Path) -> None:
    with duckdb.connect(str(path), read_only=True), pytest.raises(WarehouseError) as caught:
        DuckDBWarehouse(str(path)).write(T, NEW)
    assert (caught.value.code, caught.value.retryable) == ("read_only", False)
    assert content(path) == [(1,)]


def test_reading_shares_a_file_open_for_writing(path: Path) -> None:
    with duckdb.connect(str(path)):
        assert DuckDBWarehouse(str(path)).read(T, {"a": "INTEGER"}).to_pydict() == {"a": [1]}


@contextmanager
def powerless(*, folder: int, file: int) -> Iterator[Path]:
    """Return a database in a folder, with these modes, as a user whom modes bind; root is not."""
    with TemporaryDirectory() as made:
        path = Path(made) / "x.duckdb"
        duckdb.connect(str(path)).execute("create table t as select 1 as a").close()
        path.chmod(file)
        path.parent.chmod(folder)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield path
        finally:
            if root:
                os.seteuid(0)
            path.parent.chmod(0o700)


def test_file_without_the_right_to_write_is_refused_for_good() -> None:
    with powerless(folder=0o555, file=0o444) as path:
        house = DuckDBWarehouse(str(path))
        with pytest.raises(WarehouseError) as caught:
            house.write(T, NEW)
        assert house.read(T, {"a": "INTEGER"}).to_pydict() == {"a": [1]}
    assert (caught.value.code, caught.value.retryable) == ("read_only", False)


def test_file_in_a_closed_folder_is_unreachable() -> None:
    with powerless(folder=0o000, file=0o444) as path, pytest.raises(WarehouseError) as caught:
        DuckDBWarehouse(str(path)).describe(T)
    assert caught.value.code == "unreachable"


HOLD = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); input()"


def test_file_held_by_another_process_may_heal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microagg_ops.warehouse.duckdb.PATIENCE", 0.3)
    house = DuckDBWarehouse(str(path))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        for action in (lambda: house.describe(T), lambda: house.write(T, NEW)):
            with pytest.raises(WarehouseError) as caught:
                action()
            assert (caught.value.code, caught.value.retryable) == ("unreachable", True)
            assert str(path) not in str(caught.value)
        holder.communicate("\n")
    assert content(path) == [(1,)]
    house.write(T, NEW)
    assert content(path) == [(2,), (3,)]


def test_two_writers_that_meet_may_be_retried(path: Path) -> None:
    with duckdb.connect(str(path)) as con:
        con.begin().execute("delete from t")
        with pytest.raises(WarehouseError) as caught:
            DuckDBWarehouse(str(path)).write(T, NEW)
        assert (caught.value.code, caught.value.retryable) == ("conflict", True)
        con.rollback()
    assert content(path) == [(1,)]


def test_moments_are_utc_whatever_the_session_has(path: Path) -> None:
    moment = "timestamptz '2024-03-01 00:30:00+02'"
    with duckdb.connect(str(path)) as con:
        con.execute(f"create table m as select {moment} as a")
    found = DuckDBWarehouse(str(path)).read(
        TableName.parse("m"), {"a": ""}, Condition("a::date < '2024-03-01'")
    )
    assert found.num_rows == 1
    assert found["a"].type == pa.timestamp("us", "UTC")


# What can go wrong with a file, each by its name


@pytest.mark.parametrize("content", [b"\0junk" * 9_000, b"hello, world\n" * 2_000])
def test_a_file_that_is_no_database_is_called_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "junk.duckdb").write_bytes(content)
    with pytest.raises(WarehouseError, match="no DuckDB database") as caught:
        DuckDBWarehouse(str(tmp_path / "junk.duckdb")).describe(T)
    assert (caught.value.code, caught.value.retryable) == ("not_a_database", False)


def test_a_full_disk_is_called_so_and_the_target_is_as_it_was(path: Path) -> None:
    script = (
        "import resource, signal, sys, duckdb, pandas, pyarrow as pa\n"
        "from microagg_ops.errors import WarehouseError\n"
        "from microagg_ops.warehouse import Rows\n"
        "from tests.unit.warehouse.test_duckdb import DuckDBWarehouse, T\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "rows = Rows(pa.table({'a': pa.array([i * 7919 % 2**31 for i in range(30_000)])}), {})\n"
        "try:\n    DuckDBWarehouse(sys.argv[1]).write(T, rows)\n"
        "except WarehouseError as error:\n    print(error.code, error.retryable, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("disk_full True"), done.stderr
    assert content(path) == [(1,)]


def test_an_interrupted_query_is_an_interrupt(path: Path) -> None:
    import signal

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt), DuckDBWarehouse(str(path))._open("") as con:
            con.execute("select count(*) from range(100000000000)").fetchall()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# Types


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("'101'::bit", "BIT"),
        ("5::bignum", "BIGNUM"),
        ("5::uhugeint", "UHUGEINT"),
        ("'12:00:00+02'::timetz", "TIME WITH TIME ZONE"),
    ],
)
def test_a_type_that_would_be_altered_is_refused(path: Path, value: str, kind: str) -> None:
    with duckdb.connect(str(path)) as con:
        con.execute(f"create or replace table t as select {value} as a")
    house = DuckDBWarehouse(str(path))
    with pytest.raises(DataError, match=f"'a' is of type {kind}.*Cast the column to") as caught:
        house.read(T, house.require(T))
    assert caught.value.code == "bad_type"


@pytest.mark.parametrize("digits", [38, 39])
def test_whole_numbers_of_38_digits_are_carried(path: Path, digits: int) -> None:
    number = 10 ** (digits - 1)
    with duckdb.connect(str(path)) as con:
        con.execute(f"create or replace table t as select '{number}'::hugeint as a")
    house = DuckDBWarehouse(str(path))
    if digits == 38:
        assert house.read(T, house.require(T))["a"].to_pylist() == [number]
    else:
        with pytest.raises(DataError, match="more than 38 digits"):
            house.read(T, house.require(T))
