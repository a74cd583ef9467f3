"""What the project says of itself is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from microagg_ops import __version__
from microagg_ops.release.document import check_release

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_imports_point_down_only() -> None:
    tool = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([tool], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_release_file_of_the_readme_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    path = tmp_path / "readme.yaml"
    path.write_text(text)
    assert check_release(path) == []


def test_python_in_the_readme_compiles() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        compile(block, "README.md", "exec")


def test_targets_of_the_readme_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z]+)", README)) - {"sense"} <= targets
    assert {"help", "install", "demo", "test", "lint", "bench"} <= targets


def test_version_is_one() -> None:
    found = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert found
    assert found[1] == __version__


def test_the_lock_names_no_index() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "==" in lock
    assert not re.search(r"--(extra-)?index-url|https?://", lock)


def test_no_module_is_longer_than_400_lines() -> None:
    modules = (ROOT / "microagg_ops").rglob("*.py")
    assert [path.name for path in modules if len(path.read_text().splitlines()) > 400] == []
