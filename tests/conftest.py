"""Fixtures that several kinds of tests share."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from microagg_ops.cli.demo_data import clinic_patients
from tests.browser import Browser, start_browser
from tests.postgres import Postgres, start_postgres

# Great Expectations must not look for a network, and Airflow's tests have homes of their own.
os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
# Airflow makes its home when it is imported: it must not be the user's.
os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="microagg-tests-")
atexit.register(shutil.rmtree, os.environ["AIRFLOW_HOME"], ignore_errors=True)
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with the published data sets and figures."""
    folder = os.environ.get("MICROAGG_DATA")
    if not folder or not Path(folder, "published.json").exists():
        pytest.skip("MICROAGG_DATA does not name a folder with published.json and datasets/")
    return Path(folder)


@pytest.fixture(scope="session")
def patients() -> pa.Table:
    """A small table of clinic patients."""
    return clinic_patients(600, seed=3)


@pytest.fixture
def warehouse(tmp_path: Path, patients: pa.Table) -> Path:
    """A DuckDB file with clinic.patients and an empty schema pub."""
    path = tmp_path / "warehouse.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("seed", patients)
        con.execute("create schema clinic")
        con.execute("create schema pub")
        con.execute("create table clinic.patients as from seed")
    return path


@pytest.fixture
def release_file(tmp_path: Path) -> Path:
    """A release of clinic.patients."""
    path = tmp_path / "clinic_patients.yaml"
    path.write_text(RELEASE)
    return path


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server of our own on a loopback port."""
    # Not below pytest's own folder: another pytest would close that to the server's user.
    with (
        tempfile.TemporaryDirectory(prefix="microagg-postgres-") as folder,
        start_postgres(Path(folder)) as server,
    ):
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium of our own; skips where there is none."""
    with start_browser() as running:
        yield running


RELEASE = """
release: clinic_patients
source: {conn_id: warehouse, table: clinic.patients}
columns:
  identifiers: [ssn, full_name]
  entity: patient_id
  quasi:
    age: {type: integer}
    height_cm: {type: number}
    bmi: {type: number}
    admitted: {type: date}
  sensitive: [diagnosis]
strata: [region]
aggregate: {k: 3}
publish: {conn_id: warehouse, table: pub.clinic_patients}
"""
