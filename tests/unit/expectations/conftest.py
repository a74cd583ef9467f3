"""Every engine that an expectation counts in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.expectations.engines import DuckDB, Engine, Pandas, Spark, postgres_engine


@pytest.fixture(scope="module")
def spark() -> Any:
    """A Spark session on this machine."""
    reason = "pyspark is not installed: it comes with the extra spark"
    sql = pytest.importorskip("pyspark.sql", reason=reason)
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    yield session
    session.stop()


SERVERS = [pytest.param(name, marks=pytest.mark.server) for name in ("postgres", "spark")]


@pytest.fixture(scope="module", params=["pandas", "duckdb", *SERVERS])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """One engine after the other."""
    if request.param == "pandas":
        return Pandas()
    if request.param == "duckdb":
        path: Path = tmp_path_factory.mktemp("duckdb") / "w.duckdb"
        return DuckDB(f"duckdb:///{path}")
    if request.param == "postgres":
        return postgres_engine(request.getfixturevalue("postgres"))
    return Spark(request.getfixturevalue("spark"))
