"""What a manifest claims is recomputed; what was changed since is found."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from microagg_ops import run_release
from microagg_ops.cli import main
from microagg_ops.errors import DisclosureError, ReleaseError
from microagg_ops.verify import Finding, verify

KEY = "a key that nobody guesses"
Verify = Callable[..., dict[str, bool | None]]


class Evidence:
    """A finished run, and what can be done to it."""

    def __init__(self, release: Path, warehouse: Path) -> None:
        self.release, self.warehouse = release, warehouse
        self.connections = {"warehouse": f"duckdb:///{warehouse}", "signer": f"x://u:{KEY}@h"}
        self.folder = release.parent / "reports" / "clinic_patients" / "r"
        self.manifest = self.folder / "manifest.json"

    def run(self, **interval: datetime) -> None:
        run_release(
            self.release,
            connections=self.connections,
            reports=self.release.parent / "reports",
            run_id="r",
            **interval,
        )

    def sql(self, statement: str) -> None:
        with duckdb.connect(str(self.warehouse)) as con:
            con.execute(statement)

    def findings(self, **given: object) -> dict[str, bool | None]:
        given = {"release": self.release, "connections": self.connections} | given
        return {one.name: one.holds for one in verify(self.manifest, **given)}

    def wrong(self, **given: object) -> set[str]:
        return {name for name, holds in self.findings(**given).items() if holds is False}


@pytest.fixture
def evidence(release_file: Path, warehouse: Path) -> Evidence:
    release_file.write_text(f"{release_file.read_text()}report: {{sign_conn_id: signer}}\n")
    made = Evidence(release_file, warehouse)
    made.run()
    return made


def test_all_of_it_holds(evidence: Evidence) -> None:
    names = {"report.html", "report.json", "external.html", "external.json"}
    told = {"signature", "release", "claims", "output", "k", "input"}
    wanted = dict.fromkeys(told | names, True)
    assert evidence.findings() == wanted
    # Whatever the order of the rows.
    evidence.sql(
        "create or replace table clinic.patients as from clinic.patients order by bmi desc"
    )
    evidence.sql(
        "create or replace table pub.clinic_patients as from pub.clinic_patients order by bmi desc"
    )
    assert evidence.findings() == wanted


def test_without_more_only_the_external_reports_can_be_checked(evidence: Evidence) -> None:
    found = evidence.findings(release=None, connections={})
    assert {name for name, holds in found.items() if holds} == {"external.html", "external.json"}
    assert {name for name, holds in found.items() if holds is None} == {
        "signature", "release", "output", "k", "input", "report.html", "report.json",
    }  # fmt: skip


def test_without_a_signer_the_key_of_the_installation_is_needed(
    release_file: Path, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = Evidence(release_file, warehouse)
    evidence.run()
    found = evidence.findings()
    assert found["input"] and found["report.json"]
    monkeypatch.setenv("MICROAGG_KEY", "the key of some other installation")
    found = evidence.findings()
    assert (found["input"], found["report.json"], found["external.json"]) == (None, None, True)


@pytest.mark.parametrize("name", ["report.html", "external.json"])
def test_a_changed_report_is_found(evidence: Evidence, name: str) -> None:
    path = evidence.folder / name
    path.write_text(path.read_text().replace("passed", "Passed", 1))
    assert evidence.wrong() == {name}
    path.unlink()
    assert evidence.wrong() == {name}


def test_a_changed_release_file_is_found(evidence: Evidence) -> None:
    evidence.release.write_text(evidence.release.read_text().replace("k: 3", "k: 4"))
    found = evidence.findings()
    assert (found["release"], found["input"]) == (False, None)


def test_a_changed_table_is_found(evidence: Evidence) -> None:
    evidence.sql("update pub.clinic_patients set age = age + 1 where rowid = 7")
    assert evidence.wrong() == {"output", "k"}
    evidence.sql("drop table pub.clinic_patients")
    assert evidence.wrong() == {"output"}


def test_a_changed_source_is_found_or_left_out(evidence: Evidence) -> None:
    evidence.sql("delete from clinic.patients where rowid = 3")
    assert evidence.wrong() == {"input"}
    assert evidence.wrong(skip=["input"]) == set()
    evidence.sql("delete from clinic.patients")
    assert evidence.wrong() == {"input"}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda m: m["method"].update(k=2), "k"),
        (lambda m: m["method"]["groups"][0].pop(), "the quasi-identifiers"),
        (lambda m: m["method"].update(guarantee="per_group"), "the guarantee"),
        (lambda m: m["reports"].pop("external.json"), "the reports"),
        (lambda m: m["checks"].update(k_anonymous=False), "the verdict"),
        (lambda m: m["output"]["columns"].pop("diagnosis"), "the columns"),
        (lambda m: m["release"].update(version=9), "the version"),
        (lambda m: m["input"].update(conn_id="other"), "the connections"),
        (lambda m: m["output"].update(interval_column="region"), "the interval"),
        (lambda m: m["method"].update(params={"gamma": 9}), "the parameters"),
        (lambda m: m["method"].update(aggregate="best"), "the method"),
        (lambda m: m["checks"].pop("k_anonymous"), "the checks"),
        (lambda m: m["checks"].pop("schema"), "the checks"),
    ],
)
def test_an_unsigned_manifest_cannot_claim_otherwise(
    release_file: Path, warehouse: Path, change: Callable[[Any], Any], word: str
) -> None:
    evidence = Evidence(release_file, warehouse)
    evidence.run()
    manifest = json.loads(evidence.manifest.read_text())
    change(manifest)
    evidence.manifest.write_text(json.dumps(manifest))
    found = verify(evidence.manifest, release=release_file, connections=evidence.connections)
    (claims,) = [finding for finding in found if finding.name == "claims"]
    assert (claims.holds, word in claims.told) == (False, True)


def test_rows_that_are_claimed_are_counted(release_file: Path, warehouse: Path) -> None:
    evidence = Evidence(release_file, warehouse)
    evidence.run()
    manifest = json.loads(evidence.manifest.read_text())
    manifest["output"]["rows"] = 6_000
    evidence.manifest.write_text(json.dumps(manifest))
    assert evidence.wrong() == {"output"}


def test_a_changed_manifest_is_found(evidence: Evidence) -> None:
    manifest = json.loads(evidence.manifest.read_text())
    manifest["run"]["run_id"] = "another"
    evidence.manifest.write_text(json.dumps(manifest))
    assert evidence.wrong() == {"signature"}


def test_another_key_and_another_signer_are_found(evidence: Evidence) -> None:
    other = evidence.connections | {"signer": "x://u:another@h"}
    assert evidence.wrong(connections=other) == {"signature"}
    manifest = json.loads(evidence.manifest.read_text())
    manifest["signature"]["conn_id"] = "warehouse"
    evidence.manifest.write_text(json.dumps(manifest))
    assert evidence.wrong() == {"signature"}


def test_a_signature_that_was_taken_off_is_missed(evidence: Evidence) -> None:
    manifest = json.loads(evidence.manifest.read_text())
    manifest["signature"] = None
    evidence.manifest.write_text(json.dumps(manifest))
    assert evidence.wrong() == {"signature"}
    assert evidence.findings(release=None)["signature"] is None


def test_the_key_is_in_no_file(evidence: Evidence) -> None:
    for path in evidence.folder.iterdir():
        assert KEY not in path.read_text()


def test_a_connection_without_a_key_signs_nothing(evidence: Evidence) -> None:
    evidence.connections["signer"] = "x://h"
    with pytest.raises(ReleaseError, match="no password"):
        evidence.run()


def test_intervals_are_verified_one_by_one(release_file: Path, warehouse: Path) -> None:
    text = release_file.read_text().replace(
        "table: clinic.patients}",
        'table: clinic.patients, where: "admitted >= :start and admitted < :end"}',
    )
    text = text.replace("pub.clinic_patients}", "pub.clinic_patients, mode: append_interval}")
    release_file.write_text(text.replace("strata: [region]", ""))
    evidence = Evidence(release_file, warehouse)
    evidence.run(start=datetime(2024, 1, 1), end=datetime(2025, 1, 1))
    first = evidence.manifest.read_text()
    evidence.run(start=datetime(2025, 1, 1), end=datetime(2026, 1, 1))
    assert evidence.wrong() == set()
    assert evidence.findings()["output"] is True
    assert (
        json.loads(first)["output"]["sha256"]
        != json.loads(evidence.manifest.read_text())["output"]["sha256"]
    )
    evidence.sql("update pub.clinic_patients set bmi = 1 where interval_start = '2024-01-01'")
    assert evidence.wrong() == set()
    evidence.sql("update pub.clinic_patients set bmi = 1 where interval_start = '2025-01-01'")
    assert evidence.wrong() == {"output"}


def test_of_a_failed_run_no_table_is_looked_for(release_file: Path, warehouse: Path) -> None:
    release_file.write_text(
        f"{release_file.read_text()}validate: {{max_information_loss: 0.0001}}\n"
    )
    evidence = Evidence(release_file, warehouse)
    with pytest.raises(DisclosureError):
        evidence.run()
    found = evidence.findings()
    assert (found["output"], found["k"]) == (None, None)
    assert found["report.html"] and found["input"]


def test_an_approval_is_about_this_run(evidence: Evidence) -> None:
    manifest = json.loads(evidence.manifest.read_text())
    decision = {
        "approved": True, "by": "Ada", "run_id": "r",
        "release_digest": manifest["release"]["sha256"],
    }  # fmt: skip
    path = evidence.folder / "approval.json"
    for change, holds in (
        ({}, True),
        ({"approved": False}, False),
        ({"run_id": "another"}, False),
        ({"release_digest": "0" * 64}, False),
    ):
        path.write_text(json.dumps(decision | change))
        assert evidence.findings()["approval"] is holds
    path.write_text("{}")
    assert evidence.wrong() == {"approval"}


def test_an_approval_that_is_asked_for_must_be_there(release_file: Path, warehouse: Path) -> None:
    release_file.write_text(f"{release_file.read_text()}approve: true\n")
    evidence = Evidence(release_file, warehouse)
    run_release(
        release_file,
        connections=evidence.connections,
        reports=release_file.parent / "reports",
        run_id="r",
        approved_by="Ada",
    )
    assert evidence.findings()["approval"] is True
    told = json.loads((evidence.folder / "report.json").read_text())["publication"]
    assert (told["state"], told["decided_by"]) == ("published", "Ada")
    assert json.loads(evidence.manifest.read_text())["published"]["approved_by"] == "Ada"
    (evidence.folder / "approval.json").unlink()
    assert evidence.wrong() == {"approval"}


@pytest.mark.parametrize("content", ["", "{}", '{"schema_version": 1}', "[1]"])
def test_what_is_no_manifest_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(content)
    with pytest.raises(ReleaseError):
        verify(path)
    with pytest.raises(ReleaseError, match="cannot be read"):
        verify(tmp_path / "nowhere.json")


def test_a_manifest_names_no_file_elsewhere(evidence: Evidence) -> None:
    manifest = json.loads(evidence.manifest.read_text())
    manifest["reports"] = {"../../../secret.json": {"sha256": "0" * 64}}
    evidence.manifest.write_text(json.dumps(manifest))
    with pytest.raises(ReleaseError, match="is no manifest"):
        verify(evidence.manifest)


def test_only_what_there_is_can_be_skipped(evidence: Evidence) -> None:
    with pytest.raises(ReleaseError, match="nothing called 'inputs'"):
        verify(evidence.manifest, skip=["inputs"])


def test_on_the_command_line(evidence: Evidence, capsys: pytest.CaptureFixture[str]) -> None:
    connections = [f"--connection={name}={url}" for name, url in evidence.connections.items()]
    call = ["verify", str(evidence.manifest), "--release", str(evidence.release), *connections]
    assert main(call) == 0
    told = capsys.readouterr().out
    assert told.count("holds") >= 9
    assert KEY not in told
    (evidence.folder / "report.json").write_text("{}")
    assert main([*call, "--skip=input"]) == 1
    told = capsys.readouterr().out
    assert "DOES NOT HOLD  report.json: it was changed" in told
    assert "not checked    input: skipped" in told
    assert main(["verify", "--json", str(evidence.manifest), *connections]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {"name": "report.json", "holds": False, "told": "it was changed"} in findings
    assert main(["verify", "nowhere.json"]) == 2


def test_a_finding_reads_well() -> None:
    assert str(Finding("k", None, "why")) == "not checked    k: why"


def test_a_database_with_fewer_types_is_verified(release_file: Path, patients: pa.Table) -> None:
    path = release_file.parent / "house.sqlite"
    with sqlite3.connect(path) as con:
        frame = patients.to_pandas()
        frame.to_sql("patients", con, index=False)
    text = release_file.read_text().replace("clinic.patients", "patients")
    text = text.replace("pub.clinic_patients", "published").replace(
        "bmi: {type: number}", "smoker: {type: nominal}"
    )
    release_file.write_text(text.replace("    admitted: {type: date}\n", "") + "nulls: own_class\n")
    evidence = Evidence(release_file, path)
    evidence.connections = {"warehouse": f"sqlite:///{path}"}
    evidence.run()
    assert evidence.wrong() == set()
    assert evidence.findings()["output"] is True
