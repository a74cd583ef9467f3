"""Fixtures that several kinds of tests share."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import settings

from microagg_ops.cli.demo_data import clinic_patients
from tests.browser import Browser, start_browser
from tests.interpreted import install, is_tried
from tests.postgres import Postgres, start_postgres

# Great Expectations must not look for a network, and Airflow's tests have homes of their own.
os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
# The key of an installation is kept in the user's home unless it is given.
os.environ["MICROAGG_KEY"] = "a key of the tests, and of nothing else"
# Airflow makes its home when it is imported: it must not be the user's.
os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="microagg-tests-")
atexit.register(shutil.rmtree, os.environ["AIRFLOW_HOME"], ignore_errors=True)
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
# A machine that is busy fails no test.
settings.register_profile("unhurried", deadline=None)
# What must pass before a change lands draws the same examples each time: a rare one is found while
# developing, or by the longer harnesses, not in the way of somebody else's change.
settings.register_profile("ci", deadline=None, derandomize=True)
# Without a compiler a kernel takes a thousand times as long.
FEW = settings(deadline=None, derandomize=True, max_examples=4)
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
settings.load_profile("ci" if os.environ.get("CI") else "unhurried")
if INTERPRETED:
    install()

# Who asks for one of these needs what it starts.
NEEDS = {"postgres": "server", "browser": "browser", "spark": "server", "warehouse": "slow"}
# What loads Airflow or Great Expectations, searches long, or runs whole releases; of tests/unit,
# the rest takes milliseconds a test.
HERE = Path(__file__).parent
SLOW = [
    *(HERE / kind for kind in ("attack", "dags", "fuzz", "golden", "integration", "property")),
    *(HERE / "unit" / part for part in ("attacks", "cli", "expectations", "grouping")),
    *(HERE / "unit" / part for part in ("methods", "operators", "plugin", "stages")),
    *(HERE / "unit" / f"test_{name}.py" for name in ("compare", "docker", "docs", "frame")),
    HERE / "unit" / "test_pipeline.py",
    HERE / "unit" / "metrics" / "test_linkage.py",
    *(HERE / "unit" / f"test_{name}.py" for name in ("project", "provider", "verify")),
]


def is_slow(path: Path) -> bool:
    return any(path.is_relative_to(slow) for slow in SLOW)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave alone what is not asked for: to import it takes longer than to test the rest."""
    return True if "not slow" in config.getoption("markexpr") and is_slow(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need more than this process and a moment."""
    if INTERPRETED:
        items[:] = [item for item in items if is_tried(item.path.stem, item.name)]
    for item in items:
        for fixture in NEEDS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(NEEDS[fixture])
        # Hundreds of drawn tables beside a slow oracle take their time.
        drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if drawn and INTERPRETED:
            item.obj._hypothesis_internal_use_settings = FEW
        if drawn or is_slow(item.path):
            item.add_marker("slow")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in a line each what was not tested here, and why."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, tests in sorted(reasons.items()):
        terminalreporter.write_line(f"not tested here ({tests}): {reason}")


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
