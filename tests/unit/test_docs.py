"""The documentation: it builds without a warning, names all that is public, and its code runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
PUBLIC = ("microagg_ops", *(f"microagg_ops.{name}" for name in (
    "expectations", "metrics", "operators", "task_groups",
)))  # fmt: skip
BLOCK = re.compile(
    r"^```(?:\{code-block\} )?(\w+)\n(?::caption: (\S+)\n\n)?(.*?)^```$", re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built as strictly as `make docs` builds them."""
    folder = tmp_path_factory.mktemp("docs")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html",
         "-d", folder / "doctrees", DOCS, folder / "html"],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_public_name_has_its_place(built: Path) -> None:
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((built / "objects.inv").read_bytes(), uri="").data
    found = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    public = {f"{module}.{name}" for module in PUBLIC for name in import_module(module).__all__}
    assert public - found == set()


def test_every_verb_is_described(built: Path) -> None:
    from microagg_ops.cli.main import parser

    (verbs,) = (action.choices for action in parser()._actions if action.dest == "verb")
    page = (built / "reference" / "cli.html").read_text()
    assert verbs
    assert [verb for verb in verbs if f"microagg {verb}" not in page] == []


@pytest.mark.parametrize(
    ("schema", "page"),
    [
        ("release", "release-file"),
        ("report", "report"),
        ("external", "external-report"),
        ("manifest", "manifest"),
    ],
)
def test_every_key_of_the_schemas_is_described(built: Path, schema: str, page: str) -> None:
    keys = json.loads((ROOT / "schemas" / f"{schema}.schema.json").read_text())["properties"]
    told = (built / "reference" / f"{page}.html").read_text()
    assert [key for key in keys if f">{key}<" not in told] == []


def test_pages_load_nothing_from_elsewhere(built: Path) -> None:
    loaded = re.compile(r"<(?:script|link|img)[^>]+(?:src|href)=\"(https?:)?//")
    assert [path.name for path in built.rglob("*.html") if loaded.search(path.read_text())] == []


def test_the_tutorial_runs(tmp_path: Path) -> None:
    """Write the files that have a caption, run what is meant for a shell, in the page's order."""
    script = ["set -euo pipefail"]
    for language, caption, code in BLOCK.findall((DOCS / "tutorial.md").read_text()):
        if caption:
            (tmp_path / caption).write_text(code)
        elif language == "sh":
            script.append(code)
    assert len(script) >= 7
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "patients.yaml is a release." in done.stdout
    assert "holds          output: pub.patients" in done.stdout
    assert "patients.publish" in done.stdout
    assert "Recommended: " in done.stdout


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in a language."""
    return [code for found, _, code in BLOCK.findall(page.read_text()) if found == language]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_what_pages_say_of_release_files_fits_the_schema(page: Path) -> None:
    """A whole file as it is, a part in the place of its keys in a small release."""
    schema = json.loads((ROOT / "schemas" / "release.schema.json").read_text())
    for block in blocks(page, "yaml"):
        part = yaml.safe_load(block) or {}
        # A check that a page tells how to add is known where its package is installed.
        part.get("validate", {}).pop("checks", None)
        small = {
            "release": "r",
            "source": {"conn_id": "c", "table": "t"},
            "columns": {"quasi": {"age": {"type": "integer"}}},
            "aggregate": {"k": 5},
            "publish": {"conn_id": "c", "table": "p"},
        }
        columns = {"columns": small["columns"] | part.get("columns", {})}
        jsonschema.validate(small | part | columns, schema)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_python_in_the_docs_compiles(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block, str(page), "exec")


def test_history_k_is_counted_as_documented() -> None:
    from tests.naive_series import HISTORY_K

    page = (DOCS / "howto" / "publish-a-series.md").read_text()
    sql = page.partition("```sql\n")[2].partition("```")[0]
    assert sql.split() == HISTORY_K.split()
