"""A release from file to file, as somebody runs it in a folder with one CSV."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from microagg_ops.metrics import k_anonymity
from tests.unit.cli.test_main import Microagg, microagg

__all__ = ["microagg"]

PEOPLE = """
release: people
source: {file: people.csv, where: "age < 80"}
columns:
  identifiers: [ssn]
  quasi: {age: {type: integer}, height_cm: {type: number}, admitted: {type: date}}
  sensitive: [diagnosis]
aggregate: {k: 4}
publish: {file: FILE}
"""


@pytest.fixture
def people(tmp_path: Path, patients: object) -> Path:
    pa_csv.write_csv(patients, tmp_path / "people.csv")
    path = tmp_path / "people.yaml"
    path.write_text(PEOPLE.replace("FILE", "out.parquet"))
    return path


def test_from_file_to_file(microagg: Microagg, people: Path, tmp_path: Path) -> None:
    done = microagg("run", people)
    assert done.code == 0, done.err
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.column_names == ["age", "height_cm", "admitted", "diagnosis"]
    assert k_anonymity(out, ["age", "height_cm", "admitted"]) >= 4
    assert "to out.parquet." in done.out
    (manifest,) = tmp_path.glob("reports/people/*/manifest.json")
    held = microagg("verify", manifest, "--release", people, "--json").result["findings"]
    assert {f["name"] for f in held if f["holds"]} >= {"output", "k", "input", "claims"}
    # The same input gives the same table, whatever the order of its lines.
    first, *lines = (tmp_path / "people.csv").read_text().splitlines()
    (tmp_path / "people.csv").write_text("\n".join([first, *lines[::-1]]))
    assert microagg("run", people).code == 0
    assert pq.read_table(tmp_path / "out.parquet").equals(out)


def test_paths_begin_where_the_release_file_lies(
    microagg: Microagg, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert microagg("run", people).code == 0
    assert (tmp_path / "out.parquet").is_file()
    (manifest,) = Path("reports").resolve().glob("people/*/manifest.json")
    assert json.loads(manifest.read_text())["output"]["table"] == ["out.parquet"]
    # Another machine has the files elsewhere: whoever verifies may say where.
    shutil.move(tmp_path / "out.parquet", tmp_path / "elsewhere" / "out.parquet")
    folder = f"file={(tmp_path / 'elsewhere').as_uri()}"
    held = microagg("verify", manifest, "--json", "--connection", folder).result["findings"]
    assert {f["name"]: f["holds"] for f in held}["output"] is True


def test_a_failed_check_leaves_the_old_file(
    microagg: Microagg, people: Path, tmp_path: Path
) -> None:
    people.write_text(people.read_text() + "validate: {max_information_loss: 0.0001}\n")
    (tmp_path / "out.parquet").write_bytes(b"")
    assert microagg("run", people).code != 0  # what is there is no Parquet file
    (tmp_path / "out.parquet").unlink()
    assert microagg("run", people).code == 1
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("name", ["people.csv", "./people.csv", "link.csv"])
def test_the_source_is_never_the_target(
    microagg: Microagg, people: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "link.csv").symlink_to("people.csv")
    people.write_text(PEOPLE.replace("FILE", name))
    before = (tmp_path / "people.csv").read_bytes()
    done = microagg("run", people)
    assert done.code == 2
    assert "source" in done.err
    assert (tmp_path / "people.csv").read_bytes() == before


def test_a_file_without_a_header_shows_no_cell(
    microagg: Microagg, people: Path, tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("canary-7f3a,age_\nSmith,north\n")
    done = microagg("run", people)
    assert done.code == 2
    assert "none of the" in done.err
    assert "canary" not in done.err and "age_" not in done.err


def test_what_cannot_be_found_is_not_said_to_be_wrong(
    microagg: Microagg, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert microagg("run", people, "--run-id", "r").code == 0
    manifest = tmp_path / "reports" / "people" / "r" / "manifest.json"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    held = microagg("verify", manifest, "--json").result["findings"]
    (output,) = (finding for finding in held if finding["name"] == "output")
    assert output["holds"] is None and "--release" in output["told"]
    # With the release file it is known where to look, and that it is gone.
    (tmp_path / "out.parquet").unlink()
    held = microagg("verify", manifest, "--release", people, "--json").result["findings"]
    assert {f["name"]: f["holds"] for f in held}["output"] is False
