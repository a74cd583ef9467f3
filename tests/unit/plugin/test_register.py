"""How Airflow finds the page, and what that costs the components that never show it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from tests.airflow_home import REPOSITORY


def python(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_the_entry_point_leads_to_the_plugin() -> None:
    from microagg_ops.plugin.register import ReleasesPlugin

    (found,) = entry_points(group="airflow.plugins", name="microagg")
    assert found.load() is ReleasesPlugin


@pytest.mark.parametrize("manager", ["airflow.plugins_manager", "airflow.sdk.plugins_manager"])
def test_it_loads_nothing_that_airflow_has_not(manager: str) -> None:
    loaded = python(
        f"import json, sys, {manager}, microagg_ops\n"
        "before = set(sys.modules)\n"
        "import microagg_ops.plugin.register\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    assert json.loads(loaded) == ["microagg_ops.plugin", "microagg_ops.plugin.register"]


def test_airflow_takes_it() -> None:
    told = python(
        "from airflow import plugins_manager as m\n"
        "import json\n"
        "(one,) = [p for p in m.get_plugin_info() if p['name'] == 'microagg']\n"
        "views, _ = m._get_ui_plugins()\n"
        "mounted = [a for a in m.get_fastapi_plugins()[0] if a['name'] == 'Releases']\n"
        "print(json.dumps([one['source'].__str__(), one['fastapi_apps'][0]['url_prefix'],\n"
        "                  one['external_views'], len(mounted), m._get_plugins()[1]]))"
    )
    source, prefix, views, mounted, errors = json.loads(told)
    assert "microagg-ops==" in source
    assert (prefix, mounted, errors) == ("/microagg", 1, {})
    assert views == [
        {
            "name": "Releases",
            "href": "/microagg/",
            "destination": "nav",
            "category": "browse",
            "url_route": "releases",
        }
    ]


def test_the_page_is_below_the_path_of_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    from microagg_ops.plugin.register import address

    assert address() == "/microagg/"
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://example.org/airflow/")
    assert address() == "/airflow/microagg/"
