"""``microagg init``, ``profile`` and ``check`` with its look at the rows."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.csv as pa_csv
import pytest
import yaml

from tests.unit.cli.test_main import Microagg, connection, microagg

__all__ = ["connection", "microagg"]


@pytest.fixture
def people(tmp_path: Path, patients: object) -> Path:
    path = tmp_path / "people.csv"
    pa_csv.write_csv(patients, path)
    return path


def test_what_init_writes_is_checked_and_run(
    microagg: Microagg, people: Path, tmp_path: Path
) -> None:
    done = microagg("init", "people.csv")
    assert done.code == 0, done.err
    assert "microagg run release.yaml" in done.out
    assert (tmp_path / "release.yaml").read_text().startswith("# Drafted")
    checked = microagg("check", "release.yaml")
    assert checked.code == 0, checked.out
    assert "its source is as it says" in checked.out
    assert microagg("run", "release.yaml").code == 0
    assert (tmp_path / "people_protected.csv").is_file()
    again = microagg("init", "people.csv")
    assert again.code == 2 and "--force" in again.err
    assert microagg("init", "people.csv", "--force").code == 0


def test_paths_in_the_draft_begin_where_it_lies(
    microagg: Microagg, people: Path, tmp_path: Path
) -> None:
    (tmp_path / "releases").mkdir()
    assert microagg("init", "people.csv", "-o", "releases/people.yaml").code == 0
    draft = yaml.safe_load((tmp_path / "releases" / "people.yaml").read_text())
    assert draft["source"]["file"] == "../people.csv"
    assert microagg("check", "releases/people.yaml").code == 0


def test_init_of_a_table(microagg: Microagg, connection: tuple[str, str], tmp_path: Path) -> None:
    assert microagg("init", "clinic.patients", *connection).code == 0
    draft = yaml.safe_load((tmp_path / "release.yaml").read_text())
    assert draft["source"] == {"conn_id": "warehouse", "table": "clinic.patients"}
    assert draft["columns"]["entity"] == "patient_id"
    assert microagg("check", "release.yaml", *connection).code == 0


def test_profile_is_a_table_and_a_page(microagg: Microagg, people: Path, tmp_path: Path) -> None:
    done = microagg("profile", "people.csv", "--html", "page.html")
    assert done.code == 0
    header, *lines = done.out.splitlines()
    assert header.split()[:3] == ["column", "role", "holds"]
    assert any(line.startswith("ssn ") and "identifier" in line for line in lines)
    page = (tmp_path / "page.html").read_text()
    assert "<h1>people.csv</h1>" in page and "height_cm" in page
    assert microagg("profile", "nowhere.csv").code == 2


BAD = """release: people
source: {file: people.csv}
columns:
  identifiers: [ssn]
  quasi:
    age: {type: integer}
    bmi: {type: number}
    admitted: {type: date}
    wait: {type: number}
  sensitive: [diagnosis]
strata: [region]
aggregate: {k: 3}
publish: {file: out.csv}
"""


def test_check_lists_every_fault_of_the_rows_with_its_line(
    microagg: Microagg, people: Path, tmp_path: Path
) -> None:
    rows = list(csv.reader(people.open()))
    place = {name: i for i, name in enumerate(rows[0])}
    rows[4][place["age"]] = "canary-7f3a"
    rows[6][place["age"]] = "canary-7f3a"
    rows[7][place["bmi"]] = ""
    rows[9][place["region"]] = "canary-7f3a"
    with people.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    (tmp_path / "bad.yaml").write_text(BAD)
    good = tmp_path / "good.yaml"
    good.write_text(BAD.replace("    wait: {type: number}\n", ""))
    done = microagg("check", "bad.yaml", "good.yaml")
    assert done.code == 2
    told = [line for line in done.out.splitlines() if line.startswith("bad.yaml")]
    starts = ["bad.yaml:6: /columns/quasi/age/type", "bad.yaml:7: /columns/quasi/bmi",
              "bad.yaml:9: /columns/quasi/wait", "bad.yaml:11: /strata"]  # fmt: skip
    assert [line[: len(start)] for line, start in zip(told, starts, strict=True)] == starts
    assert "2 of 600 rows, first in row 5" in told[0]
    assert "canary" not in done.out + done.err
    assert len([line for line in done.out.splitlines() if line.startswith("good.yaml")]) == 3
    assert microagg("check", "bad.yaml", "--no-source").code == 0
    both = microagg("check", "bad.yaml", "good.yaml", "--json").result["files"]
    assert [len(one["faults"]) for one in both] == [4, 3]
    assert both[0]["faults"][0]["line"] == 6


def test_check_of_a_database_looks_where_it_is_named(
    microagg: Microagg, release_file: Path, connection: tuple[str, str]
) -> None:
    assert "as it says" not in microagg("check", release_file).out
    release_file.write_text(release_file.read_text().replace("bmi", "age_x"))
    assert microagg("check", release_file).code == 0
    done = microagg("check", release_file, *connection)
    assert done.code == 2
    assert "'age_x', which clinic.patients has not" in done.out
