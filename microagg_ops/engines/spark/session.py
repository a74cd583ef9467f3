"""The session of Spark: one that is there, one of a cluster, or one on this machine."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import MicroaggError, ReleaseError, WarehouseError, lacks_memory

if TYPE_CHECKING:
    from microagg_ops.warehouse.connection import Connection

CONNECT = ("sc", "spark_connect")
PORT, CONNECT_PORT = 7077, 15002
# What a run needs of any session: moments in UTC, and no cell of ours in a log by way of Python.
NEEDED = {"spark.sql.session.timeZone": "UTC"}
# Of a session on this machine. Shuffles and spills lie on disk, so they are encrypted; the web page
# of the driver is for nobody; and one partition a core is enough.
HERE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.io.encryption.enabled": "true",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def master_of(connection: Connection) -> str:
    """Return the URL of a cluster; Airflow keeps its scheme in the host."""
    host = connection.host.partition("://")[2] or connection.host
    if connection.conn_type in CONNECT:
        token = f"/;token={connection.password}" if connection.password else ""
        return f"sc://{host}:{connection.port or CONNECT_PORT}{token}"
    if host.startswith(("local", "yarn", "k8s")):
        return connection.host
    return f"spark://{host}:{connection.port or PORT}"


def open_session(connection: Connection | None) -> Any:
    """Open the session of a connection, or that of this process; without any, one on this machine.

    What the extra of a connection has under names that begin with ``spark.`` configures it.
    """
    sql = needed()
    master = "local[*]" if connection is None else master_of(connection)
    given = {} if connection is None else connection.extra
    options = {name: str(value) for name, value in given.items() if name.startswith("spark.")}
    there = sql.SparkSession.getActiveSession()
    if there is None:
        with refused("to open a session"):
            there = opened(sql.SparkSession.builder, master, options)
    for name, value in NEEDED.items():
        there.conf.set(name, value)
    return there


def opened(builder: Any, master: str, options: Mapping[str, str]) -> Any:
    """Open a new session."""
    builder = builder.appName("microagg_ops")
    builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    own = HERE if master.startswith("local") else {}
    if own:  # executors are on this machine, and have what this process has
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in (own | NEEDED | dict(options)).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def needed() -> Any:
    """Import Spark, or say how to get it."""
    try:
        # It warns of versions of pandas, which nothing here hands to it.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        import pyspark.sql
    except ImportError:
        raise ReleaseError(
            "The release asks for engine: spark, and pyspark is not installed.",
            code="no_spark",
            hint="Install microagg-ops[spark], and Java 17 or later.",
        ) from None
    return pyspark.sql


@contextmanager
def refused(doing: str) -> Iterator[None]:
    """Turn what Spark raises into an error of ours: its text may quote cells."""
    try:
        yield
    except MicroaggError:
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or lacks_memory(error):
            raise
        name = type(error).__name__
        retryable = "Analysis" not in name and "Parse" not in name
        java = "JAVA_GATEWAY" in str(error) or "Java" in name
        raise WarehouseError(
            f"Spark refused {doing} ({name}).",
            code="no_java" if java else "spark_failed",
            retryable=retryable and not java,
            hint="Install Java 17 or later, or set JAVA_HOME." if java
            else "Its own log says more; it may hold data.",
        ) from None  # fmt: skip
