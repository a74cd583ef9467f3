"""The wheel, installed into an empty environment outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).parents[2]


def call(*command: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = call(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder, ROOT, cwd=folder
    )
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


def test_schemas_templates_and_example_dags_are_inside(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "microagg_ops/schemas/release.schema.json",
        "microagg_ops/schemas/report.schema.json",
        "microagg_ops/templates/report.html.j2",
        "microagg_ops/example_dags/clinic_patients.py",
        "microagg_ops/example_dags/clinic_patients.yaml",
        "microagg_ops/py.typed",
    } <= inside
    assert not any(name.startswith("tests") for name in inside)


def test_check_and_run_outside_the_checkout(
    wheel: Path, tmp_path: Path, warehouse: Path, release_file: Path
) -> None:
    uv = Path(sys.executable).with_name("uv")
    home = tmp_path / "elsewhere"
    home.mkdir()
    made = call(uv, "venv", "--python", sys.executable, home / "env", cwd=home)
    assert made.returncode == 0, made.stderr
    # Everything it needs lies in uv's cache since the tests' own environment was installed.
    installed = call(
        uv, "pip", "install", "--constraint", ROOT / "requirements.lock", wheel,
        cwd=home, VIRTUAL_ENV=str(home / "env"),
    )  # fmt: skip
    assert installed.returncode == 0, installed.stderr
    microagg = home / "env" / "bin" / "microagg"

    checked = call(microagg, "check", release_file, cwd=home)
    assert checked.returncode == 0, checked.stderr

    ran = call(
        microagg, "run", release_file, "--connection", f"warehouse=duckdb://{warehouse}", "--json",
        cwd=home,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["k"] >= 3
    with duckdb.connect(str(warehouse)) as con:
        assert con.execute("select count(*) from pub.clinic_patients").fetchone() == (600,)
