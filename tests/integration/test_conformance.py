"""What holds of each warehouse: what is tried here is what the table in the documentation says."""

from __future__ import annotations

import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from microagg_ops import run_release
from microagg_ops.cli.main import main
from microagg_ops.errors import DataError, WarehouseError
from microagg_ops.sql import TableName
from microagg_ops.warehouse import Connection, Rows, Warehouse, connect
from microagg_ops.warehouse.conformance import CLAIMS, examine
from microagg_ops.warehouse.duckdb import DuckDBWarehouse
from tests.airflow_home import REPOSITORY
from tests.integration.test_warehouses import empty_database
from tests.mariadb import start_mariadb
from tests.postgres import Postgres

PAGE = REPOSITORY / "docs" / "reference" / "warehouses.md"


@pytest.fixture(scope="module")
def mariadb() -> Iterator[str]:
    with (
        tempfile.TemporaryDirectory(prefix="microagg-mariadb-") as folder,
        start_mariadb(Path(folder)) as url,
    ):
        yield url


def duckdb_file(folder: Path, _: pytest.FixtureRequest) -> str:
    duckdb.connect(str(folder / "x.duckdb")).close()
    return f"duckdb://{folder / 'x.duckdb'}"


def sqlite_file(folder: Path, _: pytest.FixtureRequest) -> str:
    sqlite3.connect(folder / "x.db").close()
    return f"sqlite:///{folder / 'x.db'}"


def postgres_database(_: Path, request: pytest.FixtureRequest) -> str:
    server: Postgres = request.getfixturevalue("postgres")
    return server.url(empty_database(server))


def mariadb_database(_: Path, request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("mariadb"))


def delta_folder(folder: Path, _: pytest.FixtureRequest) -> str:
    (folder / "delta").mkdir()
    return f"delta://{folder / 'delta'}"


def iceberg_catalogue(folder: Path, _: pytest.FixtureRequest) -> str:
    uri = f"sqlite:///{folder / 'catalogue.db'}"
    extra = {"type": "sql", "uri": uri, "warehouse": f"file://{folder / 'iceberg'}"}
    return json.dumps({"conn_type": "iceberg", "extra": extra})


KINDS: dict[str, Callable[[Path, pytest.FixtureRequest], str]] = {
    "DuckDB": duckdb_file,
    "PostgreSQL": postgres_database,
    "SQLite": sqlite_file,
    "MariaDB": mariadb_database,
    "Delta": delta_folder,
    "Iceberg": iceberg_catalogue,
}


def documented() -> dict[str, dict[str, str]]:
    """Read the table: kind to claim to verdict."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        kind: {row[0]: re.sub(r"\W*\d*$", "", row[i]) for row in rows}
        for i, kind in enumerate(head)
        if i
    }


def test_every_kind_and_claim_is_in_the_table() -> None:
    table = documented()
    assert set(table) == set(KINDS)
    assert all(list(claims) == list(CLAIMS) for claims in table.values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_warehouse_holds_what_the_table_says(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    warehouse = connect(Connection.parse(KINDS[kind](tmp_path, request)))
    found = {one.claim: (one.verdict, one.how) for one in examine(warehouse)}
    assert {claim: verdict for claim, (verdict, _) in found.items()} == documented()[kind], found


class Careless(DuckDBWarehouse):
    """A warehouse that deletes in one transaction and writes in another."""

    def write(self, table: TableName, rows: Rows) -> None:
        super().write(table, Rows(rows.data.slice(0, 0), rows.types, rows.interval))
        super().write(table, rows)


class Rounding(DuckDBWarehouse):
    """A warehouse that rounds, and says nothing."""

    def write(self, table: TableName, rows: Rows) -> None:
        import pyarrow as pa

        rounded = [
            column.cast(pa.float32()).cast(pa.float64()) if column.type == pa.float64() else column
            for column in rows.data.columns
        ]
        data = pa.table(dict(zip(rows.data.column_names, rounded, strict=True)))
        super().write(table, Rows(data, rows.types, rows.interval, rows.commit))


@pytest.mark.parametrize(
    ("kind", "failing"),
    [
        (
            Careless,
            {
                "a target that would alter values is refused",
                "a replace that is cut leaves the old rows",
                "an interval that is cut leaves the old rows",
                "a new table that is cut is not there",
                "a reader during the swap",
            },
        ),
        (Rounding, {"numbers, to the last bit"}),
    ],
)
def test_a_warehouse_that_breaks_a_claim_is_found(
    kind: type[DuckDBWarehouse], failing: set[str], tmp_path: Path
) -> None:
    duckdb_file(tmp_path, None)  # type: ignore[arg-type]
    found = examine(kind(str(tmp_path / "x.duckdb")))
    broken = {one.claim for one in found if one.verdict == "FAILS"}
    lacking = {"a new table that is cut is not there"} & failing
    assert broken | lacking == failing


def tables(path: Path) -> int:
    with duckdb.connect(str(path)) as con:
        return int(con.sql("select count(*) from duckdb_tables()").fetchall()[0][0])


def test_the_command_prints_a_table_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = duckdb_file(tmp_path, None)  # type: ignore[arg-type]
    with duckdb.connect(str(tmp_path / "x.duckdb")) as con:
        con.execute("create schema trial")
    assert main(["conformance", "--connection", f"pond={url}", "--schema", "trial"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^claim +pond$", out, re.MULTILINE)
    assert re.search(r"^NaN +holds$", out, re.MULTILINE)
    assert "Releases can trust this." in out
    assert tables(tmp_path / "x.duckdb") == 0


def test_a_warehouse_that_is_away_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--connection", "x=duckdb:///nowhere/x.duckdb"]) == 3
    assert "does not exist" in capsys.readouterr().err


def test_a_release_goes_from_delta_to_iceberg(
    tmp_path: Path, release_file: Path, patients: pa.Table
) -> None:
    connections = {"lake": delta_folder(tmp_path, None), "ice": iceberg_catalogue(tmp_path, None)}  # type: ignore[arg-type]
    lake, ice = (connect(Connection.parse(url)) for url in connections.values())
    lake.write(TableName.parse("clinic.patients"), Rows(patients, {}))
    text = release_file.read_text().replace(
        "conn_id: warehouse, table: clinic", "conn_id: lake, table: clinic"
    )
    text = text.replace("table: clinic.patients}", "table: clinic.patients, where: 'age > 20'}")
    release_file.write_text(text.replace("conn_id: warehouse", "conn_id: ice"))
    for _ in range(2):
        done = run_release(release_file, connections=connections, reports=tmp_path / "reports")
    table = TableName.parse("pub.clinic_patients")
    found = ice.read(table, ice.require(table))
    assert 0 < found.num_rows == done.rows <= patients.num_rows
    sizes = found.group_by(["age", "height_cm", "bmi", "admitted", "region"]).aggregate(
        [([], "count_all")]
    )
    assert min(sizes["count_all"].to_pylist()) >= 3


@pytest.mark.parametrize("name", ["..", "../t", "a/b", ""])
def test_no_name_leads_out_of_a_folder(tmp_path: Path, name: str) -> None:
    lake = connect(Connection.parse(delta_folder(tmp_path, None)))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no name of a Delta table"):
        lake.write(TableName((name, "t")), Rows(pa.table({"a": [1]}), {}))


@pytest.mark.parametrize(
    ("given", "code", "retryable"),
    [
        ({"login": "nobody_knows", "password": "wrong-4711"}, "bad_login", False),
        ({"schema": "no_such_database"}, "no_database", False),
        ({"host": "no-such-host.invalid"}, "unknown_host", False),
        ({"port": 1}, "unreachable", True),
    ],
)
def test_wrong_connection_to_mariadb_is_told_apart(
    mariadb: str, given: dict[str, object], code: str, retryable: bool
) -> None:
    right = Connection.parse(mariadb)
    fields = {"host": right.host, "port": right.port, "login": "root", "schema": "tested"}
    wrong: Warehouse = connect(Connection("mysql", **{**fields, **given}))  # type: ignore[arg-type]
    with pytest.raises(WarehouseError) as caught:
        wrong.reach()
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert "wrong-4711" not in str(caught.value)
