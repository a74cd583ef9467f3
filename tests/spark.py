"""A session of Spark for tests: on this machine, small, and one for all of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REASON = "pyspark is not installed: it comes with the extra spark"
OPTIONS = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "WARN",
}


def open_session(master: str, folder: Path, **options: str) -> Iterator[Any]:
    """Open a session whose events, logs and tables lie in a folder."""
    sql = pytest.importorskip("pyspark.sql", reason=REASON)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    events = folder / "events"
    events.mkdir(exist_ok=True)
    builder = sql.SparkSession.builder.master(master)
    own = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.sql.warehouse.dir": str(folder / "tables"),
        "spark.local.dir": str(folder / "scratch"),
    }
    for name, value in (OPTIONS | own | options).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
