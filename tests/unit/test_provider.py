"""What Airflow is told of this package, and what it makes of it."""

from __future__ import annotations

import json
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
from microagg_ops.get_provider_info import get_provider_info
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
        "import sys, microagg_ops; before = set(sys.modules)\n"
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
        "print(json.dumps({'version': version, 'options': options}))"
    )
    home = AirflowHome(tmp_path_factory.mktemp("provider"))
    return dict(json.loads(home.python("-c", script).splitlines()[-1]))


def test_airflow_lists_the_provider(known: dict[str, Any]) -> None:
    assert known["version"] == __version__


def test_airflow_knows_the_options(known: dict[str, Any]) -> None:
    assert known["options"] == ["staging", "reports", "key", "catalogue"]
