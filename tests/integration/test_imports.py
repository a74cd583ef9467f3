"""What an import loads, and whether compiled steps run where Airflow runs them."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import microagg_ops
from tests.airflow_home import REPOSITORY

HEAVY = {"numba", "pandas", "polars", "great_expectations", "duckdb", "pyspark"}
DAG_FILES = sorted(path.name for path in (REPOSITORY / "dags").glob("*.py"))


def python(script: str, **options: Any) -> str:
    """Run a script in a fresh interpreter; give what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        **{"cwd": REPOSITORY, **options},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(script: str, home: Path) -> set[str]:
    """Return the packages and modules that a script loads, in an Airflow home of its own."""
    environment = {**os.environ, "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    show = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    return set(json.loads(python(script + show, env=environment).splitlines()[-1]))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("airflow_home")


@pytest.fixture(scope="module")
def airflow_alone(home: Path) -> set[str]:
    """What Airflow loads for a DAG file that uses nothing of this package."""
    names = "DAG, BaseOperator, TaskGroup, chain, task"
    return loaded_by(f"import datetime, os, pathlib\nfrom airflow.sdk import {names}", home)


def test_package_loads_nothing_heavy(home: Path) -> None:
    loaded = loaded_by("import microagg_ops", home)
    ours = {name for name in loaded if name.startswith("microagg_ops")}
    assert ours == {"microagg_ops", "microagg_ops.lazily"}
    python_alone = loaded_by("import importlib, typing", home)
    assert loaded - ours - python_alone == {"__future__"}


def test_operators_load_nothing_heavy(home: Path, airflow_alone: set[str]) -> None:
    loaded = loaded_by(
        "import microagg_ops.task_groups, microagg_ops.operators as operators\n"
        "[getattr(operators, name) for name in operators.__all__]",
        home,
    )
    assert "microagg_ops.operators.publish" in loaded
    assert (loaded - airflow_alone) & (HEAVY | {"numpy", "pyarrow", "scipy", "sqlglot"}) == set()


@pytest.mark.parametrize("where", [None, "admitted < :end"])
def test_parser_is_loaded_only_for_a_condition(
    tmp_path: Path, home: Path, where: str | None
) -> None:
    source = {"conn_id": "house", "table": "t", **({"where": where} if where else {})}
    release = {
        "release": "r",
        "source": source,
        "columns": {"quasi": {"age": {"type": "integer"}}},
        "aggregate": {"k": 3},
        "publish": {"conn_id": "house", "table": "p"},
    }
    file = tmp_path / "r.yaml"
    file.write_text(json.dumps(release))
    loaded = loaded_by(f"from microagg_ops import load_release\nload_release({str(file)!r})", home)
    assert ("sqlglot" in loaded) == (where is not None)
    assert loaded & (HEAVY | {"numpy", "pyarrow"}) == set()


@pytest.mark.parametrize("file", DAG_FILES)
def test_dag_file_loads_nothing_heavy(home: Path, airflow_alone: set[str], file: str) -> None:
    loaded = loaded_by(f"import runpy; runpy.run_path('dags/{file}')", home)
    assert "microagg_ops.operators.base" in loaded
    assert (loaded - airflow_alone) & (HEAVY | {"numpy", "pyarrow", "scipy"}) == set()


@pytest.mark.parametrize("name", microagg_ops.__all__)
def test_public_name_is_there(name: str) -> None:
    assert getattr(microagg_ops, name).__name__ == name
    assert name in dir(microagg_ops)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = microagg_ops.magic


PARTITION = """
import numpy as np
from microagg_ops import partition

points = np.random.default_rng(5).normal(size=(2000, 3))
"""


def test_kernels_run_in_a_forked_child() -> None:
    # The parent has compiled and run them: what it leaves behind must not stop the child.
    told = python(
        PARTITION
        + """
import os
expected = partition(points, 3)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(partition(points, 3), expected) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
        timeout=120,
    )
    assert told.strip() == "0"


def without_override() -> None:
    """Make root obey the modes of files: take CAP_DAC_OVERRIDE from what we become next."""
    if ctypes.CDLL(None, use_errno=True).prctl(24, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_CAPBSET_DROP")


@pytest.fixture
def read_only(tmp_path: Path) -> Any:
    """A copy of the package that nobody may write to, and that has no cache of compiled steps."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "microagg_ops", tmp_path / "lib" / "microagg_ops", ignore=ignored)
    folders = [tmp_path / "lib", *(p for p in (tmp_path / "lib").rglob("*") if p.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield tmp_path / "lib"
    for folder in folders:
        folder.chmod(0o755)


def test_kernels_run_where_nothing_can_be_cached(read_only: Path) -> None:
    drop: Callable[[], None] | None = without_override if os.getuid() == 0 else None
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("NUMBA", "XDG")) and key != "PYTHONPYCACHEPREFIX"
    }
    environment |= {"PYTHONPATH": str(read_only), "HOME": str(read_only / "home")}
    told = python(
        PARTITION
        + """
import os, microagg_ops
from microagg_ops.kernels import sums
print(os.path.dirname(os.path.dirname(microagg_ops.__file__)))
print(type(sums.add._cache).__name__, len(np.bincount(partition(points, 3))))
""",
        cwd=read_only,
        env=environment,
        preexec_fn=drop,
        timeout=300,
    )
    assert told.split() == [str(read_only), "NullCache", "666"]
