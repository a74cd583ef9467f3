"""What Airflow sees of the package: that it is there, what it has, and what it costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from microagg_ops import operators
from microagg_ops.get_provider_info import get_provider_info
from tests.airflow_home import REPOSITORY, AirflowHome

DAG_FILES = sorted(path.name for path in (REPOSITORY / "dags").glob("*.py"))
CODE = ("microagg_ops", "dags")

# The command line of Airflow takes seconds to load, so one process answers all that is asked.
COMMANDS = """
import contextlib, io, json, sys
from airflow.cli import cli_parser

parser = cli_parser.get_parser()
told = {}
for command in (["list"], ["links"], ["get", "microagg-ops", "--full"]):
    out = io.StringIO()
    arguments = parser.parse_args(["providers", *command, "--output", "json"])
    with contextlib.redirect_stdout(out):
        arguments.func(arguments)
    told[command[0]] = json.loads(out.getvalue())
print()
print(json.dumps(told))
"""
INSTALLED = """
import json, sys
from airflow.providers_manager import ProvidersManager

found = sorted(ProvidersManager().providers)
ours = sorted(name for name in sys.modules if name.startswith("microagg_ops"))
print()
print(json.dumps({"found": found, "ours": ours}))
"""
# What Airflow loads for any DAG is loaded first; then each file in a child that has seen nothing.
PARSED = """
import json, os, runpy, sys, time
import airflow.providers.standard.operators.hitl
from airflow.sdk import DAG, Asset, AssetAlias, BaseOperator, BaseOperatorLink, TaskGroup
from airflow.sdk import chain, task, task_group
from airflow.sdk.timezone import datetime

with DAG("warm", schedule="@daily", start_date=datetime(2026, 1, 1)):
    with TaskGroup("group"):
        BaseOperator(task_id="first") >> BaseOperator(task_id="second")

loaded = time.process_time()
shares = {}
for path in sys.argv[1:]:
    read, write = os.pipe()
    if os.fork() == 0:
        began = time.process_time()
        runpy.run_path(path)
        os.write(write, str(time.process_time() - began).encode())
        os._exit(0)
    os.close(write)
    shares[os.path.basename(path)] = float(os.read(read, 100)) / loaded
    os.wait()
print()
print(json.dumps(shares))
"""
# Whatever is imported from Airflow by us, and only by us, may not warn.
WARNED = """
import runpy, sys, warnings
import airflow.sdk, airflow.sdk.exceptions, airflow.providers.standard.operators.hitl
from airflow.sdk import DAG, Asset, BaseOperator

warnings.simplefilter("error")
from microagg_ops import operators, task_groups

for name in operators.__all__:
    getattr(operators, name)
for path in sys.argv[1:]:
    runpy.run_path(path)
"""


def last_line(home: AirflowHome, script: str, *arguments: str) -> dict:
    return json.loads(home.python("-c", script, *arguments).splitlines()[-1])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    """A home without a database: none of this needs one."""
    home = AirflowHome(tmp_path_factory.mktemp("provider"))
    home.dags.mkdir()
    return home


@pytest.fixture(scope="module")
def told(home: AirflowHome) -> dict:
    """What ``airflow providers`` says."""
    return last_line(home, COMMANDS)


def test_airflow_lists_the_provider(told: dict) -> None:
    assert "microagg-ops" in {entry["package_name"] for entry in told["list"]}


def test_airflow_lists_the_links(told: dict) -> None:
    assert "microagg_ops.operators.links.MicroaggReportLink" in str(told["links"])


def test_airflow_lists_the_operators(told: dict) -> None:
    for name in operators.__all__:
        assert getattr(operators, name).__module__ in str(told["get"])


def test_every_module_that_the_provider_names_is_there() -> None:
    info = get_provider_info()
    modules = [name for entry in info["operators"] for name in entry["python-modules"]]
    folder = REPOSITORY / "microagg_ops" / "operators"
    there = {path.stem for path in folder.glob("*.py") if '\n    stage = "' in path.read_text()}
    assert {name.rpartition(".")[2] for name in modules} == there


def test_merely_installed_it_loads_nothing(home: AirflowHome) -> None:
    seen = last_line(home, INSTALLED)
    assert "microagg-ops" in seen["found"]
    light = ["microagg_ops", "microagg_ops.get_provider_info", "microagg_ops.lazily"]
    assert seen["ours"] == light


def test_every_dag_is_parsed_in_a_fraction_of_what_airflow_takes_to_load(
    home: AirflowHome,
) -> None:
    shares = last_line(home, PARSED, *(str(REPOSITORY / "dags" / name) for name in DAG_FILES))
    print({name: f"{share:.0%}" for name, share in shares.items()})
    assert shares.keys() == set(DAG_FILES)
    assert max(shares.values()) < 0.25


def test_no_import_is_deprecated(home: AirflowHome) -> None:
    home.python("-c", WARNED, *(str(REPOSITORY / "dags" / name) for name in DAG_FILES))


def test_ruff_finds_nothing_that_airflow_3_dropped(tmp_path: Path) -> None:
    def faults(*paths: str) -> str:
        ruff = [sys.executable, "-m", "ruff", "check", "--preview", "--select", "AIR", "--no-cache"]
        done = subprocess.run(
            [*ruff, *paths], cwd=REPOSITORY, capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode else ""

    old = tmp_path / "old.py"
    old.write_text("from airflow.operators.bash_operator import BashOperator\n\nBashOperator()\n")
    assert "airflow3" in faults(str(old)), "Ruff finds what there is to find"
    assert faults(*CODE) == ""
