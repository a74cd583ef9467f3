"""Two runs of one interval at once, in processes of their own: the target is right each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from microagg_ops.cli.demo_data import clinic_patients
from microagg_ops.sql import TableName
from microagg_ops.staging.digests import content_digest
from microagg_ops.warehouse import Connection, Rows, connect
from microagg_ops.warehouse.base import Warehouse
from tests.airflow_home import REPOSITORY, duckdb_connection
from tests.postgres import Postgres

ROUNDS = 50
RELEASE = """
release: together
source:
  conn_id: warehouse
  table: patients
  where: "admitted >= :start and admitted < :end"
columns:
  entity: patient_id
  quasi:
    age: {type: integer}
    height_cm: {type: number}
  sensitive: [diagnosis]
aggregate: {k: 3}
report: {formats: [json]}
publish: {conn_id: warehouse, table: published, mode: append_interval}
"""
# Imports take seconds, so a process runs the release once a line: a run id and a year.
WORKER = """
import logging, sys
from datetime import UTC, datetime

logging.disable(logging.CRITICAL)
from microagg_ops.operators import MicroaggCleanupOperator
from microagg_ops.task_groups.release import OPERATORS

given = {"release": "together.yaml", "staging": "staging"}
tasks = [op(task_id=f"r.{op.stage}", **given) for op in (*OPERATORS, MicroaggCleanupOperator)]
print("ready", flush=True)
for line in sys.stdin:
    run_id, year = line.split()
    start, end = (datetime(int(year) + more, 1, 1, tzinfo=UTC) for more in (0, 1))
    try:
        for task in tasks:
            # The report is the dearest stage and has a folder of its own in each run: once will do.
            if task.stage == "report" and not run_id.startswith("first"):
                continue
            task.execute(
                {"run_id": run_id, "data_interval_start": start, "data_interval_end": end}
            )
        print("done", flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
"""
PUBLISHED = TableName.parse("published")


class Worker:
    """A process that runs the release whenever it is told to."""

    def __init__(self, folder: Path, connection: str) -> None:
        environment = {
            **os.environ,
            "AIRFLOW_CONN_WAREHOUSE": connection,
            "AIRFLOW__MICROAGG__REPORTS": str(folder / "reports"),
            "PYTHONPATH": str(REPOSITORY),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def tell(self, run_id: str, year: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{run_id} {year}\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        """Wait for the next line that is ours; Airflow prints too."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(("ready", "done")) or "Exception" in line.split(" ")[0]:
                return line.strip()
        return f"ended with {self.process.wait()}"


@pytest.fixture(scope="module")
def small() -> pa.Table:
    return clinic_patients(90, seed=3)


def workers_of(folder: Path, connection: str) -> Iterator[list[Worker]]:
    (folder / "together.yaml").write_text(RELEASE)
    workers = [Worker(folder, connection) for _ in range(2)]
    try:
        assert [worker.hear() for worker in workers] == ["ready", "ready"]
        yield workers
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.wait()


def digest(warehouse: Warehouse) -> tuple[int, str]:
    found = warehouse.read(PUBLISHED, warehouse.require(PUBLISHED))
    return found.num_rows, content_digest(found)


def race(workers: list[Worker], name: str, years: tuple[int, int]) -> None:
    """Let both run at the same time."""
    for i, (worker, year) in enumerate(zip(workers, years, strict=True)):
        worker.tell(f"{name}_{i}", year)
    assert [worker.hear() for worker in workers] == ["done", "done"]


@pytest.fixture(scope="module")
def in_postgres(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory, small: pa.Table
) -> Iterator[tuple[Warehouse, list[Worker]]]:
    folder = tmp_path_factory.mktemp("together")
    with postgres.database("together") as url:
        warehouse = connect(Connection.parse(url))
        warehouse.write(TableName.parse("patients"), Rows(small, {}))
        connection = {"conn_type": "postgres", "host": "127.0.0.1", "port": postgres.port}
        connection |= {"login": "postgres", "schema": "together"}
        for workers in workers_of(folder, json.dumps(connection)):
            yield warehouse, workers
    assert list((folder / "staging").iterdir()) == []


def test_two_runs_of_one_interval_fifty_times(
    in_postgres: tuple[Warehouse, list[Worker]], small: pa.Table
) -> None:
    warehouse, workers = in_postgres
    # Another interval is there already, and must stay as it is.
    race(workers, "first", (2024, 2025))
    expected = digest(warehouse)
    years = [day.year for day in small["admitted"].to_pylist()]
    assert expected[0] == sum(year in (2024, 2025) for year in years)
    for round_ in range(ROUNDS):
        race(workers, f"round_{round_}", (2025, 2025))
        assert digest(warehouse) == expected, f"round {round_}"


def test_two_runs_of_one_duckdb_file(tmp_path: Path, small: pa.Table) -> None:
    path = tmp_path / "warehouse.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("seed", small)
        con.execute("create table patients as from seed")
    warehouse = connect(Connection("duckdb", str(path)))
    for workers in workers_of(tmp_path, duckdb_connection(path)):
        race(workers, "first", (2024, 2025))
        expected = digest(warehouse)
        for round_ in range(5):
            race(workers, f"round_{round_}", (2025, 2025))
            assert digest(warehouse) == expected, f"round {round_}"
