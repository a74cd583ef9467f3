"""Where a warehouse is: URLs, Airflow's JSON, and no password in sight."""

from __future__ import annotations

import json
import sqlite3
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import duckdb
import pyarrow as pa
import pytest

from microagg_ops.errors import ReleaseError, WarehouseError
from microagg_ops.sql import TableName
from microagg_ops.warehouse import Connection, Rows, connect, from_environment
from microagg_ops.warehouse.duckdb import DuckDBWarehouse
from microagg_ops.warehouse.generic import GenericWarehouse
from microagg_ops.warehouse.postgres import PostgresWarehouse, search_path

SECRET = "p@ss:w/rd?#%ж"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("duckdb:///data/x.duckdb", "/data/x.duckdb"),
        ("duckdb://data/x.duckdb", "data/x.duckdb"),
        ("duckdb://x.duckdb", "x.duckdb"),
        ("duckdb:x.duckdb", "x.duckdb"),
        ("duckdb://Data/UPPER.duckdb", "Data/UPPER.duckdb"),
        ("duckdb:///data/two%20words%25.duckdb", "/data/two words%.duckdb"),
        ("sqlite:////data/x.db", "/data/x.db"),
        ("sqlite:///x.db", "x.db"),
    ],
)
def test_path_of_an_embedded_database(url: str, path: str) -> None:
    assert Connection.parse(url).path == path


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"host": "/data/x.duckdb"}, "/data/x.duckdb"),
        ({"host": "x.duckdb"}, "x.duckdb"),
        ({"schema": "data/x.duckdb"}, "/data/x.duckdb"),
        ({"host": "", "extra": {"database": "/data/x.duckdb"}}, "/data/x.duckdb"),
        ({"host": None, "extra": '{"database": "/data/x.duckdb"}'}, "/data/x.duckdb"),
        ({}, ""),
    ],
)
def test_path_in_the_json_of_airflow(fields: dict[str, object], path: str) -> None:
    assert Connection.parse(json.dumps({"conn_type": "duckdb", **fields})).path == path


def test_url_is_taken_apart() -> None:
    url = f"postgresql://us%40er:{quote(SECRET, safe='')}@Host:5433/my%20db?sslmode=disable"
    assert Connection.parse(url) == Connection(
        "postgresql", "host", 5433, "us@er", SECRET, "my db", {"sslmode": "disable"}
    )


def test_json_of_airflow_is_taken_apart() -> None:
    fields = {
        "conn_type": "postgres",
        "host": "h",
        "port": "5433",
        "login": "u",
        "password": SECRET,
        "schema": "d",
        "extra": '{"sslmode": "disable"}',
    }
    expected = Connection("postgres", "h", 5433, "u", SECRET, "d", {"sslmode": "disable"})
    assert Connection.parse(json.dumps(fields)) == expected


def test_url_for_a_driver_reads_as_it_was_given() -> None:
    given = Connection("postgres", "h", 5433, "us@er", SECRET, "my db", {"sslmode": "disable"})
    url = given.url("postgresql")
    assert Connection.parse(url) == Connection(
        "postgresql", "h", 5433, "us@er", SECRET, "my db", {"sslmode": "disable"}
    )
    assert unquote(urlsplit(url).password or "") == SECRET


@pytest.mark.parametrize("host", ["/var/run/postgresql", "::1"])
def test_host_with_marks_of_a_url_stays_a_host(host: str) -> None:
    url = Connection("postgres", host, 5433, "u", "", "db").url("postgresql")
    parts = urlsplit(url)
    assert unquote(parts.hostname or "") == host
    assert (parts.port, parts.path) == (5433, "/db")


def test_only_plain_extras_reach_the_driver() -> None:
    extra = {"sslmode": "require", "connect_timeout": 3, "nested": {"a": 1}, "list": [1]}
    query = urlsplit(Connection("postgres", "h", extra=extra).url("postgresql")).query
    assert query == "sslmode=require&connect_timeout=3"


def test_a_space_reaches_the_driver_as_a_space() -> None:
    """A plus is a space in forms only: libpq would look for an option +search_path."""
    url = Connection("postgres", "h", extra={"options": "-c a=b -c c=d"}).url("postgresql")
    assert urlsplit(url).query == "options=-c%20a%3Db%20-c%20c%3Dd"


def test_what_a_form_leaves_empty_is_not_passed() -> None:
    extra = {"sslmode": None, "options": "", "sslsni": True, "keepalives": False}
    assert Connection("postgres", extra=extra).passed == {"sslsni": "1", "keepalives": "0"}


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ("pub", "-c search_path=pub"),
        ("pub, staging", r"-c search_path=pub,\ staging"),
        (["pub", '"My Schema"'], r'-c search_path=pub,"My\ Schema"'),
        ("", ""),
        (None, ""),
    ],
)
def test_search_path_is_an_option_of_the_server(given: object, option: str) -> None:
    assert search_path(given) == option


def test_extras_that_airflow_writes_as_json_into_a_url_are_read() -> None:
    extra = quote(json.dumps({"sslsni": True, "search_path": ["a"]}))
    found = Connection.parse(f"postgres://u@h/d?__extra__={extra}").extra
    assert found == {"sslsni": True, "search_path": ["a"]}


def test_repr_hides_the_password_and_the_extras() -> None:
    connection = Connection("postgres", "h", 1, "u", SECRET, "d", {"private_key": SECRET})
    assert SECRET not in repr(connection)
    assert SECRET not in str(connection)


@pytest.mark.parametrize("kind", ["postgresql", "sqlite", "duckdb"])
def test_repr_of_a_warehouse_hides_the_password(kind: str) -> None:
    found = connect(Connection(kind, "h", 1, "u", "hushhush", "d"))
    assert "hushhush" not in repr(found)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("duckdb:///x", DuckDBWarehouse),
        ("postgres://u@h/d", PostgresWarehouse),
        ("postgresql://u@h/d", PostgresWarehouse),
        ("sqlite:///x", GenericWarehouse),
    ],
)
def test_warehouse_is_chosen_by_the_scheme(url: str, kind: type) -> None:
    assert type(connect(Connection.parse(url))) is kind


def test_unknown_scheme_has_no_driver_and_is_not_retried() -> None:
    given = Connection.parse("oddbase://u:hushhush@h/d")
    with pytest.raises(WarehouseError) as caught:
        connect(given)
    assert (caught.value.code, caught.value.retryable) == ("no_driver", False)
    assert caught.value.hint
    assert "hushhush" not in "".join(traceback.format_exception(caught.value))


def test_given_connection_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = tmp_path / "given.duckdb"
    duckdb.connect(str(given)).execute("create table t (a integer)").close()
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", "duckdb:///nowhere/x.duckdb")
    found = from_environment("warehouse", {"warehouse": f"duckdb://{given}"})
    assert found.describe(TableName.parse("t")) == {"a": "INTEGER"}


def test_connection_is_found_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "x.duckdb"
    duckdb.connect(str(path)).execute("create table t (a integer)").close()
    fields = {"conn_type": "duckdb", "host": str(path)}
    monkeypatch.setenv("AIRFLOW_CONN_MY_HOUSE", json.dumps(fields))
    assert from_environment("my_house").describe(TableName.parse("t")) == {"a": "INTEGER"}


def test_relative_path_begins_where_we_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "x.duckdb")).execute("create table t (a integer)").close()
    monkeypatch.chdir(tmp_path)
    found = from_environment("w", {"w": "duckdb://x.duckdb"})
    assert found.describe(TableName.parse("t")) == {"a": "INTEGER"}


def test_missing_connection_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_HOUSE", raising=False)
    with pytest.raises(ReleaseError, match="no connection 'house'") as caught:
        from_environment("house")
    assert caught.value.code == "no_connection"
    assert not caught.value.retryable
    assert "AIRFLOW_CONN_HOUSE" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "hushhush",
        "/data/hushhush.duckdb",
        "postgresql://u:hushhush@h:port/d",
        "postgresql://u:hushhush@[h/d",
        '{"conn_type": "postgres", "password": "hushhush"',
        '{"password": "hushhush"}',
        '{"conn_type": "postgres", "password": "hushhush", "port": "x"}',
        '{"conn_type": "duckdb", "password": "hushhush", "extra": "{"}',
        '{"conn_type": "duckdb", "password": "hushhush", "extra": "[1]"}',
        '{"conn_type": "postgres", "login": 5, "password": "hushhush"}',
    ],
)
def test_garbled_connection_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ReleaseError) as caught:
        from_environment("house", {"house": text})
    assert caught.value.code == "no_connection"
    assert "'house'" in str(caught.value)
    assert "postgresql://" in caught.value.hint
    assert "hushhush" not in "".join(traceback.format_exception(caught.value))


def test_extras_of_duckdb_are_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    duckdb.connect(str(path)).execute("create table t (a integer)").close()
    spill = tmp_path / "it's spilled"
    extra = {"threads": 1, "memory_limit": "300MB", "temp_directory": str(spill), "extensions": []}
    house = connect(Connection("duckdb", str(path), extra=extra))
    assert isinstance(house, DuckDBWarehouse)
    with house._open("to look") as con:
        names = ("threads", "memory_limit", "temp_directory")
        found = con.execute(f"select {', '.join(f'current_setting({n!r})' for n in names)}")
        threads, memory, folder = found.fetchone() or ()
    assert (threads, memory.partition(".")[0], folder) == (1, "286", str(spill))


def test_a_wrong_setting_of_duckdb_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    duckdb.connect(str(path)).close()
    house = connect(Connection("duckdb", str(path), extra={"memory_limit": "hushhush"}))
    with pytest.raises(WarehouseError, match="memory_limit") as caught:
        house.reach()
    assert (caught.value.code, caught.value.retryable) == ("bad_option", False)
    assert "hushhush" not in "".join(traceback.format_exception(caught.value))


def test_extras_of_sqlite_are_options_of_its_url(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as con:
        con.execute("create table t (a integer)")
    house = connect(Connection("sqlite", str(path), extra={"mode": "ro", "timeout": 3}))
    house.reach()
    with pytest.raises(WarehouseError) as caught:
        house.write(TableName.parse("t"), Rows(pa.table({"a": [1]}), {}))
    assert (caught.value.code, caught.value.retryable) == ("read_only", False)


@pytest.mark.parametrize(("installed", "driver"), [(True, "pymysql"), (False, "mysqldb")])
def test_mysql_takes_the_driver_that_is_there(
    monkeypatch: pytest.MonkeyPatch, installed: bool, driver: str
) -> None:
    made: list[Any] = []
    monkeypatch.setattr("microagg_ops.warehouse.generic.find_spec", lambda _: installed)
    monkeypatch.setattr(GenericWarehouse, "at", classmethod(lambda _, url: made.append(url)))
    extra = {"ssl": {"ca": "/ca.pem"}, "ssl_check_hostname": "true", "cursor": "sscursor"}
    connect(Connection("mysql", "h", 3306, "u", "p w", "d", extra))
    (url,) = made
    assert url.get_driver_name() == driver
    assert (url.username, url.password, url.host, url.port, url.database) == (
        "u", "p w", "h", 3306, "d",
    )  # fmt: skip
    assert dict(url.query) == {
        "charset": "utf8mb4", "ssl_ca": "/ca.pem", "ssl_check_hostname": "true",
    }  # fmt: skip
