"""What another package adds by entry points, each in one file, is like what is here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

METHOD = '''
from microagg_ops.methods import Method


def chunks(points, k, *, seed, clock, by=0):
    """Clusters of k rows in the order of one column."""
    import numpy as np

    labels = np.empty(len(points), np.int32)
    labels[np.argsort(points[:, by], kind="stable")] = np.minimum(
        np.arange(len(points)) // k, len(points) // k - 1
    )
    return labels


CHUNKS = Method("chunks", "Rows in the order of one column.", "added_method:chunks")
'''


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment in which another package is installed."""
    (tmp_path / "added_method.py").write_text(METHOD)
    info = tmp_path / "added-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: added\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[microagg_ops.methods]\nchunks = added_method:CHUNKS\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def microagg(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "microagg_ops.cli", *arguments],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_method_of_another_package(
    installed: dict[str, str], release_file: Path, warehouse: Path
) -> None:
    release = release_file.read_text().replace("{k: 3}", "{k: 3, method: chunks, params: {by: 1}}")
    release_file.write_text(release)
    listed = json.loads(microagg(installed, "methods", "--json").stdout)["methods"]
    assert listed["chunks"] == "Rows in the order of one column."
    assert microagg(installed, "check", str(release_file)).returncode == 0
    done = microagg(
        installed, "run", str(release_file), "--json", "--reports", str(release_file.parent / "r"),
        f"--connection=warehouse=duckdb:///{warehouse}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["k"] >= 3
    # Where it is not installed, a release that names it is refused like any slip.
    without = microagg(dict(os.environ), "check", str(release_file))
    assert without.returncode == 2
    assert "chunks" in without.stdout
    wrong = release.replace("by: 1", "bye: 1")
    release_file.write_text(wrong)
    done = microagg(
        installed, "run", str(release_file), f"--connection=warehouse=duckdb:///{warehouse}"
    )
    assert (done.returncode, "has no parameter 'bye'" in done.stderr) == (2, True)


WAREHOUSE = '''
from microagg_ops.warehouse.duckdb import DuckDBWarehouse
from microagg_ops.warehouse.registry import Kind


def at_connection(connection):
    """A DuckDB file under another name."""
    return DuckDBWarehouse(connection.path)


POND = Kind("Pond", ("pond",), "added_warehouse:at_connection", arrow=True)
'''


def test_a_warehouse_of_another_package(
    installed: dict[str, str], tmp_path: Path, release_file: Path, warehouse: Path
) -> None:
    (tmp_path / "added_warehouse.py").write_text(WAREHOUSE)
    points = tmp_path / "added-1.0.dist-info" / "entry_points.txt"
    points.write_text("[microagg_ops.warehouses]\npond = added_warehouse:POND\n")
    connection = json.dumps({"conn_type": "pond", "host": str(warehouse)})
    done = microagg(
        installed, "run", str(release_file), "--json", "--reports", str(tmp_path / "r"),
        f"--connection=warehouse={connection}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 600


CHECK = '''
from microagg_ops.checks import AddedCheck


def crowded(rows, *, least=10):
    """The classes with fewer members."""
    from microagg_ops.metrics import class_sizes

    return class_sizes(rows.table, rows.classes, rows.release.columns.entity) < least


CROWDED = AddedCheck(
    "crowded", "Classes are large.", claim="no class has fewer than {least} members",
    advice="Raise aggregate.k, as the house rules say.", where="added_check:crowded",
)
'''


def test_a_check_of_another_package(
    installed: dict[str, str], tmp_path: Path, release_file: Path, warehouse: Path
) -> None:
    (tmp_path / "added_check.py").write_text(CHECK)
    points = tmp_path / "added-1.0.dist-info" / "entry_points.txt"
    points.write_text("[microagg_ops.checks]\ncrowded = added_check:CROWDED\n")
    release_file.write_text(f"{release_file.read_text()}validate: {{checks: {{crowded: {{}}}}}}\n")
    done = microagg(
        installed, "run", str(release_file), "--json", "--reports", str(tmp_path / "reports"),
        f"--connection=warehouse=duckdb:///{warehouse}",
    )  # fmt: skip
    # One that does not hold stops the release; its report says what it claims, and its advice.
    assert done.returncode == 1, done.stderr
    assert "1 of 5 checks failed: FAILED check_crowded: no class has fewer than 10" in done.stderr
    (page,) = (tmp_path / "reports").rglob("report.html")
    told = page.read_text()
    for words in (
        "Crowded",
        "No class has fewer than 10 members. Found:",
        "validate.checks.crowded",
    ):
        assert words in told
    assert "Raise aggregate.k, as the house rules say." in told
    # Where it is not installed, a release that asks for it is refused like any slip.
    without = microagg(dict(os.environ), "check", str(release_file))
    assert without.returncode == 2
    assert (
        "/validate/checks/crowded: found an unknown key; allowed: The checks of" in without.stdout
    )
