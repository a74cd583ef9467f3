"""A release on a cluster of its own: a master and two workers, one of whose executors is killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from tests.integration.test_spark import PLAIN, people, released
from tests.spark import REASON, open_session

pytestmark = [pytest.mark.server, pytest.mark.slow]
EXECUTOR = "CoarseGrainedExecutorBackend"
DRIVER = """
import sys
from microagg_ops.pipeline import run_release
done = run_release(
    sys.argv[1], reports=sys.argv[2], staging=sys.argv[3],
    progress=lambda stage, share: print(stage, share, flush=True),
)
print("k", done.k, all(done.checks.values()), flush=True)
"""
OPTIONS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "600m",
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
}


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of this process, to compare with."""
    yield from open_session("local[2]", tmp_path_factory.mktemp("spark"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, list[int]]]:
    """A standalone master with two workers of one core: its port, and the ids of the workers."""
    home = Path(pytest.importorskip("pyspark", reason=REASON).__file__).parent
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    environment = os.environ | {"SPARK_LOCAL_DIRS": str(folder), "SPARK_NO_DAEMONIZE": "1"}
    run = str(home / "bin" / "spark-class")
    own = ["--host", "127.0.0.1", "--webui-port", "0"]
    master = ["master.Master", *own, "--port", str(port)]
    worker = ["worker.Worker", *own, "-c", "1", "-m", "700m", "-d", str(folder / "work"),
              f"spark://127.0.0.1:{port}"]  # fmt: skip
    started = []
    try:
        for what in (master, worker, worker):
            log = (folder / f"{len(started)}.log").open("wb")
            command = [run, f"org.apache.spark.deploy.{what[0]}", *what[1:]]
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            wait_for(folder, "Successfully started service", len(started))
        yield port, [process.pid for process in started[1:]]
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


def wait_for(folder: Path, words: str, many: int) -> None:
    """Wait until the latest log has some words."""
    until = time.monotonic() + 120
    while words not in (folder / f"{many - 1}.log").read_text("utf-8", "replace"):
        assert time.monotonic() < until, "the cluster does not start"
        time.sleep(0.2)


def executors(workers: list[int]) -> list[int]:
    """The executors of these workers."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and EXECUTOR in (entry / "cmdline").read_text():
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                found += [int(entry.name)] * (parent in workers)
        except OSError:
            continue
    return found


def test_a_release_outlives_an_executor(
    cluster: tuple[int, list[int]], spark: Any, tmp_path: Path
) -> None:
    port, workers = cluster
    lake = tmp_path / "lake"
    lake.mkdir()
    table = people(4000)
    pq.write_table(table, lake / "people.parquet", row_group_size=500)
    connection = {"conn_type": "spark", "host": "spark://127.0.0.1", "port": port, "extra": OPTIONS}
    environment = os.environ | {
        "AIRFLOW_CONN_LAKE": f"parquet://{lake}",
        "AIRFLOW_CONN_CLUSTER": json.dumps(connection),
        "PYSPARK_PYTHON": sys.executable,
    }
    engine = {"name": "spark", "conn_id": "cluster", "block_rows": 500}
    file, staging = tmp_path / "release.yaml", tmp_path / "staging"
    file.write_text(yaml.safe_dump(PLAIN | {"engine": engine}))
    command = [sys.executable, "-c", DRIVER, str(file), str(tmp_path / "reports"), str(staging)]
    killed, last, log = 0, "", (tmp_path / "driver.log").open("w")
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
    ) as driver:
        for last in driver.stdout or ():
            if last == "aggregate 0.0\n":
                time.sleep(0.5)
                os.kill(executors(workers)[0], signal.SIGKILL)
                killed += 1
    assert driver.returncode == 0, (tmp_path / "driver.log").read_text()[-2000:]
    assert last == "k 4 True\n"
    assert killed == 1
    assert not staging.exists()
    found = pq.read_table(lake / "pub" / "people")
    _, calm = released(tmp_path, table, engine={"name": "spark", "block_rows": 500})
    assert found.equals(calm)
