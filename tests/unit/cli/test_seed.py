"""The source of the example DAGs, in a warehouse that has nothing yet."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import duckdb
import pytest

from microagg_ops.cli.main import main
from microagg_ops.release.document import load_release
from tests.postgres import Postgres

ROOT = Path(__file__).parents[3]
COUNT = "select count(*), count(distinct patient_id) from clinic.patients"


def columns_of_the_example() -> set[str]:
    release = load_release(ROOT / "dags" / "clinic_patients.yaml")
    assert str(release.source.table) == "clinic.patients"
    return {*release.quasi, *release.columns.sensitive, *release.strata, "patient_id"}


def test_duckdb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new.duckdb"
    for rows in (400, 300):  # the second time replaces the first
        url = f"warehouse=duckdb://{path}"
        assert main(["seed", "--rows", str(rows), "--connection", url]) == 0
        assert f"{rows} rows" in capsys.readouterr().out
        with duckdb.connect(str(path), read_only=True) as con:
            assert con.execute(COUNT).fetchone() == (rows, int(rows * 0.86))
            found = {name for name, *_ in con.execute("describe clinic.patients").fetchall()}
            assert columns_of_the_example() <= found
            assert ("pub",) in con.execute("select schema_name from duckdb_schemas()").fetchall()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_postgres(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with postgres.database("seeded") as url:
        monkeypatch.setenv("AIRFLOW_CONN_LAKE", url)
        for _ in range(2):
            assert main(["seed", "--rows", "300", "--conn-id", "lake", "--json"]) == 0
            told = json.loads(capsys.readouterr().out)
            assert told == {"table": "clinic.patients", "rows": 300, "kind": "PostgreSQL"}
            assert postgres.fetch(COUNT, "seeded") == [(300, 258)]
        assert postgres.fetch("select to_regnamespace('pub')::text", "seeded") == [("pub",)]


def test_other_tables_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "used.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("create schema clinic")
        con.execute("create table clinic.patients as select 1 as mine")
    assert main(["seed", "--connection", f"warehouse=duckdb://{path}", "--json"]) == 2
    assert json.loads(capsys.readouterr().err)["error"] == "target_differs"
    with duckdb.connect(str(path), read_only=True) as con:
        assert con.execute("from clinic.patients").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--rows", "0", "--connection", "warehouse=duckdb:///x"], "bad_release"),
        ([], "no_connection"),
    ],
)
def test_what_cannot_be_seeded(
    arguments: list[str],
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_WAREHOUSE", raising=False)
    assert main(["seed", "--json", *arguments]) == 2
    assert json.loads(capsys.readouterr().err)["error"] == code
