"""Wrong connections to a real PostgreSQL: told apart, not shown, retried only if they can heal."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from microagg_ops.errors import WarehouseError
from microagg_ops.sql import TableName
from microagg_ops.warehouse import Connection, Warehouse, connect
from tests.postgres import Postgres, start_postgres

SECRET = "right-0815"
# Who comes how: the tests' own login without a password, all others with one.
RULES = """
host all postgres 127.0.0.1/32 trust
host all ann,nobody_knows,shut 127.0.0.1/32 scram-sha-256
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that wants a password."""
    with (
        tempfile.TemporaryDirectory(prefix="microagg-postgres-") as folder,
        start_postgres(Path(folder)) as running,
    ):
        running.execute(
            f"create role ann login password '{SECRET}'",
            f"create role shut nologin password '{SECRET}'",
            "create database closed",
            "revoke connect on database closed from public",
            "create schema pub authorization ann",
            'create schema "two words" authorization ann',
        )
        (Path(folder) / "data" / "pg_hba.conf").write_text(RULES)
        running.execute("select pg_reload_conf()")
        until = time.monotonic() + 10
        while reached(at(running, password="wrong")) and time.monotonic() < until:
            time.sleep(0.05)
        yield running


def at(server: Postgres, **given: Any) -> Warehouse:
    fields = {"host": "127.0.0.1", "port": server.port, "login": "ann", "password": SECRET}
    return connect(Connection("postgres", **{**fields, "schema": "postgres", **given}))


def reached(warehouse: Warehouse) -> bool:
    try:
        warehouse.reach()
    except WarehouseError:
        return False
    return True


@pytest.mark.parametrize(
    ("given", "code", "retryable"),
    [
        ({"host": "no-such-host.invalid"}, "unknown_host", False),
        ({"port": 1}, "unreachable", True),
        ({"host": "/nowhere"}, "unreachable", True),
        ({"password": "wrong-4711"}, "bad_login", False),
        ({"password": ""}, "bad_login", False),
        ({"login": "nobody_knows"}, "bad_login", False),
        ({"login": "shut"}, "bad_login", False),
        ({"login": "unlisted"}, "bad_login", False),
        ({"schema": "nowhere_db"}, "no_database", False),
        ({"schema": "closed"}, "bad_login", False),
        ({"extra": {"sslmode": "require"}}, "no_tls", False),
        ({"extra": {"sslmode": "verify-full", "sslrootcert": "/nowhere"}}, "no_tls", False),
        ({"extra": {"sslmode": "odd"}}, "bad_option", False),
        ({"extra": {"connect_timeout": "soon"}}, "bad_option", False),
        ({"extra": {"options": "-c no_such_setting=1"}}, "bad_option", False),
        ({"extra": {"options": "-c statement_timeout=soon"}}, "bad_option", False),
        ({"extra": {"options": "--no-such-switch"}}, "bad_option", False),
        ({"extra": {"service": "nowhere"}}, "bad_option", False),
        ({"extra": {"target_session_attrs": "standby"}}, "unreachable", True),
    ],
)
def test_wrong_connection_is_told_apart(
    server: Postgres, given: dict[str, Any], code: str, retryable: bool
) -> None:
    with pytest.raises(WarehouseError) as caught:
        at(server, **given).reach()
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    shown = str(caught.value)
    for secret in (SECRET, "wrong-4711", "127.0.0.1", "nobody_knows", "nowhere_db"):
        assert secret not in shown


def test_right_connection_is_reached(server: Postgres) -> None:
    at(server).reach()


def test_options_with_spaces_reach_the_server(server: Postgres) -> None:
    options = "-c statement_timeout=45000 -c search_path=pub"
    warehouse = at(server, extra={"options": options, "application_name": "two words"})
    assert warehouse.identity(TableName.parse("t"))[-2] == "pub"


@pytest.mark.parametrize("path", ["pub", ["pub", "public"], '"two words", pub'])
def test_search_path_finds_and_makes_tables(server: Postgres, path: Any) -> None:
    import pyarrow as pa

    from microagg_ops.warehouse import Rows

    home = "two words" if "two" in path else "pub"
    warehouse = at(server, extra={"search_path": path, "options": "-c statement_timeout=45000"})
    warehouse.write(TableName.parse("made"), Rows(pa.table({"a": [1]}), {}))
    assert server.fetch(f'select a from "{home}".made') == [(1,)]
    assert warehouse.describe(TableName.parse("made")) == {"a": "bigint"}
    server.execute(f'drop table "{home}".made')
