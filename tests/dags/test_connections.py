"""Connections made by ``airflow connections add``, tested as its button does, used by releases."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import pytest

from tests.airflow_home import AirflowHome, Batch, patients_with_canary, seed_warehouse
from tests.dags.test_fail_closed import DAGS, release
from tests.postgres import Postgres

# The command line of Airflow takes seconds to load, so one process makes and tests them all.
COMMANDS = """
import contextlib, io, json, os, sys

os.environ["AIRFLOW__CORE__TEST_CONNECTION"] = "Enabled"
from airflow.cli import cli_parser

parser = cli_parser.get_parser()
told = {}
for conn_id, *arguments in json.loads(sys.argv[1]):
    given = parser.parse_args(["connections", "add", conn_id, *arguments])
    given.func(given)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        given = parser.parse_args(["connections", "test", conn_id])
        given.func(given)
    told[conn_id] = out.getvalue()
print()
print(json.dumps(told))
"""
# What SQL operators do with the same connections.
QUERIES = """
from datetime import datetime

from airflow.sdk import DAG, task

with DAG("queries", schedule=None, start_date=datetime(2026, 1, 1)):

    @task
    def query(conn_id):
        from airflow.sdk import BaseHook

        hook = BaseHook.get_connection(conn_id).get_hook()
        hook.run(["create table queried (a integer)", "insert into queried values (7)"])
        found = [list(row) for row in hook.get_records("select a from queried")]
        hook.run("drop table queried")
        return found

    query.expand(conn_id=["duck", "lake", "db"])
"""


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> Iterator[str]:
    with postgres.database("connected") as url:
        postgres.execute("create schema clinic", "create schema pub", database="connected")
        with adbc.connect(url) as con, con.cursor() as cursor:
            cursor.adbc_ingest("patients", patients_with_canary(600), db_schema_name="clinic")
            con.commit()
        yield url


@pytest.fixture(scope="module")
def home(airflow_home: AirflowHome, tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    home = airflow_home.copy(tmp_path_factory.mktemp("connections") / "home")
    seed_warehouse(home.warehouse, patients_with_canary(600))
    sqlite3.connect(home.folder / "lake.db").close()
    return home


@pytest.fixture(scope="module")
def tested(home: AirflowHome, url: str, postgres: Postgres) -> dict[str, str]:
    """What the test of each connection says, once it is added."""
    where = ("--conn-host", "127.0.0.1", "--conn-port", str(postgres.port), "--conn-login")
    extra = {"options": "-c statement_timeout=60000", "search_path": "pub, clinic"}
    catalogue = {"type": "sql", "uri": f"sqlite:///{home.folder / 'bergs.db'}"}
    server = ("--conn-type", "postgres", *where, "postgres", "--conn-schema")
    given: list[tuple[str, ...]] = [
        ("duck", "--conn-type", "duckdb", "--conn-host", str(home.warehouse)),
        ("pond", "--conn-uri", f"duckdb:///{home.warehouse}?memory_limit=1GB"),
        ("lake", "--conn-type", "sqlite", "--conn-host", str(home.folder / "lake.db")),
        ("db", *server, "connected", "--conn-extra", json.dumps(extra)),
        ("ponds", "--conn-type", "delta", "--conn-host", str(home.folder)),
        ("bergs", "--conn-type", "iceberg", "--conn-extra", json.dumps(catalogue)),
        ("elsewhere", *server, "no_such_database"),
        ("nowhere", "--conn-uri", "postgres://someone:secret-word@127.0.0.1:1/x"),
        ("nothing", "--conn-type", "duckdb", "--conn-host", "/nowhere/x.duckdb"),
    ]
    out = home.python("-c", COMMANDS, json.dumps(given))
    return dict(json.loads(out.splitlines()[-1]))


@pytest.mark.parametrize("conn_id", ["duck", "pond", "lake", "db", "ponds", "bergs"])
def test_right_connection_passes_its_test(tested: dict[str, str], conn_id: str) -> None:
    assert "Connection success" in tested[conn_id]


@pytest.mark.parametrize(
    ("conn_id", "words"),
    [
        ("elsewhere", "there is no database of this name"),
        ("nowhere", "nothing answers at this host and port"),
        ("nothing", "does not exist"),
    ],
)
def test_wrong_connection_is_told_why(tested: dict[str, str], conn_id: str, words: str) -> None:
    told = " ".join(tested[conn_id].split())
    assert "Connection failed" in told
    assert words in told
    assert "secret-word" not in told


@pytest.fixture(scope="module")
def batch(home: AirflowHome, tested: dict[str, str]) -> Batch:
    def to(conn_id: str, table: str) -> dict[str, Any]:
        return {"conn_id": conn_id, "table": table}

    # Found and made by the search path, which has a space in it.
    into = release("into", source=to("duck", "clinic.patients"), publish=to("db", "protected"))
    out = release("out", source=to("db", "patients"), publish=to("lake", "protected"))
    (home.dags / "into.yaml").write_text(into.replace("where: admitted < :end\n", ""))
    (home.dags / "out.yaml").write_text(out)
    (home.dags / "releases.py").write_text(DAGS)
    (home.dags / "queries.py").write_text(QUERIES)
    return home.run("into", "out", "queries")


def test_other_operators_can_use_the_hooks(batch: Batch) -> None:
    told = [batch.runs["queries"].xcoms[f"query[{i}].return_value"] for i in range(3)]
    assert told == ["[[7]]"] * 3


def test_releases_go_from_one_to_the_other(
    batch: Batch, home: AirflowHome, postgres: Postgres
) -> None:
    assert [run.state for run in batch.runs.values()] == ["success"] * 3
    smallest = "select min(n) from (select count(*) n from protected group by age, height_cm) c"
    in_schema = smallest.replace("from protected", "from pub.protected")
    assert postgres.fetch(in_schema, database="connected")[0][0] >= 7
    with sqlite3.connect(home.folder / "lake.db") as con:
        assert con.execute(smallest).fetchone()[0] >= 7


def test_nothing_of_a_connection_is_logged(batch: Batch, home: AirflowHome) -> None:
    assert "statement_timeout" not in batch.log
    assert Path(home.folder / "lake.db").exists()
