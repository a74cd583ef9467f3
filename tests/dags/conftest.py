"""One migrated Airflow for all tests of DAGs, and the example DAGs run in a copy of it."""

from __future__ import annotations

import shutil

import pytest

from tests.airflow_home import (
    REPOSITORY,
    AirflowHome,
    Batch,
    patients_with_canary,
    seed_warehouse,
)

# In an order in which each finds what it needs; the years of the third begin and end before 2031.
EXAMPLES = (
    "clinic_patients",
    "one_operator",
    "many_tables",
    "clinic_yearly@2026-01-01",
    "diagnosis_counts",
)
Examples = tuple[AirflowHome, Batch]


@pytest.fixture(scope="session")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    """A home to copy: its database is migrated and empty."""
    return AirflowHome.migrated(tmp_path_factory.mktemp("airflow"))


@pytest.fixture(scope="session")
def examples(airflow_home: AirflowHome, tmp_path_factory: pytest.TempPathFactory) -> Examples:
    """The DAGs of the repository, each run once."""
    home = airflow_home.copy(tmp_path_factory.mktemp("examples") / "home")
    shutil.copytree(REPOSITORY / "dags", home.dags, dirs_exist_ok=True)
    seed_warehouse(home.warehouse, patients_with_canary(3000))
    return home, home.run(*EXAMPLES)
