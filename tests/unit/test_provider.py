"""What Airflow is told of this package, and what it makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tests.unit.operators  # noqa: F401 - gives Airflow a home
from microagg_ops import __version__, operators
from microagg_ops.get_provider_info import CONNECTION_TYPES, get_provider_info
from tests.airflow_home import REPOSITORY, AirflowHome

LISTED = get_provider_info()["operators"][0]["python-modules"]  # type: ignore[index]


def test_entry_point_leads_to_the_provider_info() -> None:
    (found,) = entry_points(
        group="apache_airflow_provider", module="microagg_ops.get_provider_info"
    )
    assert found.load() is get_provider_info


def test_provider_info_follows_the_schema_of_airflow() -> None:
    airflow = find_spec("airflow")
    assert airflow is not None and airflow.origin is not None
    schema = json.loads((Path(airflow.origin).parent / "provider_info.schema.json").read_text())
    jsonschema.validate(get_provider_info(), schema)


def test_every_operator_is_listed() -> None:
    assert {getattr(operators, name).__module__ for name in operators.__all__} == set(LISTED)


@pytest.mark.parametrize("module", LISTED)
def test_listed_module_is_imported(module: str) -> None:
    stage = module.rpartition(".")[2].capitalize()
    assert hasattr(import_module(module), f"Microagg{stage}Operator")


def test_provider_info_imports_nothing() -> None:
    script = (
        "import sys, importlib.metadata, microagg_ops; before = set(sys.modules)\n"
        "import microagg_ops.get_provider_info as m; m.get_provider_info()\n"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['microagg_ops.get_provider_info']"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Airflow itself found out about this package."""
    script = (
        "import json\n"
        "from airflow.configuration import conf\n"
        "from airflow.providers_manager import ProvidersManager\n"
        "version = ProvidersManager().providers['microagg-ops'].version\n"
        "options = list(conf.configuration_description['microagg']['options'])\n"
        "manager = ProvidersManager()\n"
        f"hooks = {{name: manager.hooks[name] for name in {list(CONNECTION_TYPES)}}}\n"
        "testable = {n: [h.package_name, h.connection_testable] for n, h in hooks.items()}\n"
        "fields = [name for name in manager.connection_form_widgets]\n"
        "labels = {n: manager.field_behaviours[n]['relabeling'] for n in hooks}\n"
        "print(json.dumps({'version': version, 'options': options, 'testable': testable,"
        " 'fields': fields, 'labels': labels}))"
    )
    home = AirflowHome(tmp_path_factory.mktemp("provider"))
    return dict(json.loads(home.python("-c", script).splitlines()[-1]))


def test_airflow_lists_the_provider(known: dict[str, Any]) -> None:
    assert known["version"] == __version__


def test_airflow_knows_the_options(known: dict[str, Any]) -> None:
    assert known["options"] == ["staging", "reports", "key", "catalogue"]


def test_airflow_has_a_form_and_a_test_for_each_type_of_connection(known: dict[str, Any]) -> None:
    ours = ["microagg-ops", True]
    assert known["testable"] == dict.fromkeys(CONNECTION_TYPES, ours)
    assert {"extra__postgres__sslmode", "extra__postgres__search_path"} <= set(known["fields"])
    assert known["labels"]["postgres"] == {"schema": "Database"}
    assert known["labels"]["duckdb"] == {"host": "Path of the file"}


def test_an_installed_provider_keeps_its_types(tmp_path: Path) -> None:
    """Two hooks for one type would be a warning in every process of Airflow."""
    info = tmp_path / "apache_airflow_providers_postgres-9.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: apache-airflow-providers-postgres\nVersion: 9.0\n"
    )
    script = (
        "from microagg_ops.get_provider_info import get_provider_info as f\n"
        "print([found['connection-type'] for found in f()['connection-types']])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.strip() == str([name for name in CONNECTION_TYPES if name != "postgres"])
