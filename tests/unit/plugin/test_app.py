"""The page, asked by those who may see it and by those who may not."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.conftest import RELEASE
from tests.unit.plugin.reports import PAGE, make_report

Client = Any
RELEASES, RUN = "/microagg/", "/microagg/releases/clinic_patients/runs/run_1"
ADDRESSES = [
    RELEASES,
    "/microagg/releases/clinic_patients",
    RUN,
    f"{RUN}/report.html",
    f"{RUN}/report.json",
    "/microagg/releases/none",
]


@pytest.fixture(scope="module")
def token() -> Iterator[Callable[[str | None], str]]:
    """Airflow's own auth manager, and tokens that it signs for somebody of some role."""
    from airflow import settings
    from airflow.api_fastapi.app import init_auth_manager, purge_cached_app
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from airflow.models.revoked_token import RevokedToken

    # It looks whether a token was revoked; the rest of its database is not asked for.
    RevokedToken.metadata.create_all(settings.get_engine(), [RevokedToken.__table__])
    manager = init_auth_manager()
    yield lambda role: manager.generate_jwt(SimpleAuthManagerUser(username="ann", role=role))
    purge_cached_app()


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of reports and a catalogue with one release."""
    monkeypatch.setenv("AIRFLOW__MICROAGG__REPORTS", str(tmp_path / "reports"))
    monkeypatch.setenv("AIRFLOW__MICROAGG__CATALOGUE", str(tmp_path / "dags"))
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "clinic_patients.yaml").write_text(RELEASE)
    make_report(tmp_path / "reports", "clinic_patients", "run_1")
    return tmp_path / "reports"


@pytest.fixture
def nobody(token: Any) -> Client:
    """A browser without a session."""
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    from microagg_ops.plugin.register import ReleasesPlugin

    outer = FastAPI()
    (mounted,) = ReleasesPlugin.fastapi_apps
    outer.mount(mounted["url_prefix"], mounted["app"])
    return TestClient(outer, follow_redirects=False)


@pytest.fixture
def ann(nobody: Client, token: Callable[[str | None], str]) -> Client:
    """A browser of somebody who may look at everything."""
    nobody.cookies.set("_token", token("viewer"))
    return nobody


@pytest.mark.parametrize("address", ADDRESSES)
def test_nobody_sees_anything(nobody: Client, reports: Path, address: str) -> None:
    answer = nobody.get(address)
    assert answer.status_code == 401
    assert "clinic" not in answer.text and "run_1" not in answer.text
    assert "Sign in first" in answer.text


@pytest.mark.parametrize("address", ADDRESSES)
def test_who_has_no_rights_sees_nothing(
    nobody: Client, reports: Path, token: Callable[[str | None], str], address: str
) -> None:
    nobody.cookies.set("_token", token(None))
    for extra in ("", "?dag_id=clinic_patients"):  # rights to one DAG are not rights to all
        answer = nobody.get(address + extra)
        assert answer.status_code == 403
        assert "run_1" not in answer.text


def test_a_forged_token_is_refused(nobody: Client, reports: Path, token: Any) -> None:
    head, _, end = token("viewer").rpartition(".")
    nobody.cookies.set("_token", f"{head}.{end[::-1]}")
    assert nobody.get(RELEASES).status_code in (401, 403)
    bearer = {"Authorization": "Bearer nonsense"}
    assert nobody.get(RELEASES, headers=bearer).status_code in (401, 403)


def test_a_bearer_token_is_as_good(nobody: Client, reports: Path, token: Any) -> None:
    bearer = {"Authorization": f"Bearer {token('viewer')}"}
    assert nobody.get(RELEASES, headers=bearer).status_code == 200


def links(html: str) -> list[str]:
    return re.findall(r'(?:href|src)="([^"]*)"', html)


def test_from_the_list_to_the_report(ann: Client, reports: Path) -> None:
    first = ann.get(RELEASES)
    assert first.status_code == 200
    assert "clinic.patients" in first.text and "pub.clinic_patients" in first.text
    for figure in ("9.88 %", "50,000", "1.23 %", "asked for 5", "limit 35.0 %"):
        assert figure in first.text, figure
    assert first.text.count('role="img"') == 4
    assert RUN in links(first.text)
    framed = ann.get(RUN)
    assert f"{RUN}/report.html" in links(framed.text)
    report = ann.get(f"{RUN}/report.html")
    assert report.text == PAGE.format("run_1")
    assert report.headers["content-type"] == "text/html; charset=utf-8"
    # A report runs apart from Airflow: without its cookies and its pages.
    assert report.headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in report.headers["content-security-policy"]
    assert ann.get(f"{RUN}/report.json").json()["verdict"] == "passed"


def test_every_link_leads_somewhere(ann: Client, reports: Path) -> None:
    make_report(reports, 'odd "name" <b>&', "run % 1/2".replace("/", "⁄"), day=3)
    make_report(reports, "clinic_patients", "no_page", page=False, day=4)
    seen: set[str] = set()
    waiting = [RELEASES]
    while waiting:
        address = waiting.pop().replace("&#34;", '"')
        if address not in seen:
            seen.add(address)
            answer = ann.get(address)
            assert answer.status_code == 200, address
            assert answer.headers["cache-control"] == "no-store"
            waiting += links(answer.text) if "releases/" in answer.text else []
    assert len(seen) >= 8


def test_pages_ask_for_nothing_from_elsewhere(ann: Client, reports: Path) -> None:
    for address in ADDRESSES[:3]:
        answer = ann.get(address)
        assert not re.findall(r"https?://|@import|url\(", answer.text)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert all(link.startswith("/microagg/") for link in links(answer.text))


def test_below_a_path(token: Any, reports: Path) -> None:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    from microagg_ops.plugin.app import make_app

    outer = FastAPI()
    outer.mount("/microagg", make_app())
    ann = TestClient(outer, root_path="/airflow", cookies={"_token": token("viewer")})
    found = links(ann.get("/airflow/microagg/").text)
    assert found
    assert all(link.startswith("/airflow/microagg/") for link in found)


@pytest.mark.parametrize("told", ['{"dag_id": "my dag"}', "{", "[]", '{"dag_id": 5}'])
def test_the_dag_run_is_one_click_away(ann: Client, reports: Path, told: str) -> None:
    (reports / "clinic_patients" / "run_1" / "airflow.json").write_text(told)
    found = links(ann.get("/microagg/releases/clinic_patients").text)
    assert ("/dags/my%20dag/runs/run_1" in found) == ("my dag" in told)
    assert ann.get(f"{RUN}/airflow.json").status_code == 404


@pytest.fixture
def outsider(ann: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A browser of somebody who may look at runs, and not at internal reports."""
    from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

    def allowed(self: Any, *, method: str, resource_name: str, user: Any) -> bool:
        return resource_name != "Microagg internal reports"

    monkeypatch.setattr(SimpleAuthManager, "is_authorized_custom_view", allowed)
    return ann


def all_files(folder: Path) -> None:
    for name in ("external.html", "external.json", "manifest.json", "approval.json"):
        (folder / name).write_text("{}" if name.endswith("json") else "<h1>outside</h1>")


def test_every_file_of_a_run_is_one_click_away(ann: Client, reports: Path) -> None:
    all_files(reports / "clinic_patients" / "run_1")
    found = links(ann.get("/microagg/releases/clinic_patients").text)
    names = ("external.html", "manifest.json", "approval.json")
    assert {RUN, *(f"{RUN}/{name}" for name in names)} <= set(found)
    # What is for machines is linked where there is no page.
    assert f"{RUN}/external.json" not in found
    (reports / "clinic_patients" / "run_1" / "external.html").unlink()
    found = links(ann.get("/microagg/releases/clinic_patients").text)
    assert f"{RUN}/external.json" in found
    for name in ("report.json", "external.json", "manifest.json", "approval.json"):
        assert ann.get(f"{RUN}/{name}").status_code == 200


def test_internal_reports_are_a_right_of_their_own(outsider: Client, reports: Path) -> None:
    check = {"name": "k_anonymous", "claim": "k is 5", "threshold": 5, "passed": False}
    make_report(reports, "clinic_patients", "bad", day=2, verdict="failed", checks=[check])
    all_files(reports / "clinic_patients" / "run_1")
    for name in ("report.html", "report.json", "approval.json"):
        answer = outsider.get(f"{RUN}/{name}")
        assert answer.status_code == 403
        assert "Microagg internal reports" in answer.text
    for name in ("external.html", "external.json", "manifest.json"):
        assert outsider.get(f"{RUN}/{name}").status_code == 200
    # Figures and failed claims are of the internal reports; the verdict is not.
    for address in (RELEASES, "/microagg/releases/clinic_patients"):
        text = outsider.get(address).text
        assert "failed" in text
        for told in ("9.88", "50,000", "1.23", "k is 5: not so", "report.json", "approval.json"):
            assert told not in text, (address, told)
    assert f"{RUN}/external.html" in outsider.get(RUN).text
    assert outsider.get("/microagg/releases/clinic_patients/runs/bad").status_code == 404


def test_a_page_of_many_runs_opens_few_of_them(
    ann: Client, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from microagg_ops.plugin import runs

    for i in range(300):
        make_report(reports, "busy", f"run_{i:03}", day=1 + i % 28)
    opened = []
    read = runs.read_run.__wrapped__
    monkeypatch.setattr(runs, "read_run", lambda *given: opened.append(given) or read(*given))
    assert "All 300 runs" in ann.get(RELEASES).text
    assert len(opened) == 31  # those in the charts, and the one of the other release
    opened.clear()
    assert ann.get("/microagg/releases/busy/runs/run_007").status_code == 200
    assert len(opened) == 1


def test_a_file_comes_in_pieces(ann: Client, reports: Path) -> None:
    from microagg_ops.plugin.runs import CHUNK, Reports

    page = reports / "clinic_patients" / "run_1" / "report.html"
    page.write_bytes(b"x" * (2 * CHUNK + 1))
    pieces = Reports(reports).file("clinic_patients", "run_1", "report.html")
    assert [len(piece) for piece in pieces or ()] == [CHUNK, CHUNK, 1]
    assert len(ann.get(f"{RUN}/report.html").content) == 2 * CHUNK + 1


def test_nothing_yet(ann: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__MICROAGG__REPORTS", str(tmp_path / "no reports"))
    monkeypatch.setenv("AIRFLOW__MICROAGG__CATALOGUE", str(tmp_path / "no files"))
    answer = ann.get(RELEASES)
    assert answer.status_code == 200
    assert "No release yet" in answer.text


def test_a_release_without_a_run(ann: Client, reports: Path) -> None:
    text = RELEASE.replace("clinic_patients", "waiting", 1) + "report: {uri: 's3://own/place'}\n"
    (reports.parent / "dags" / "waiting.yaml").write_text(text)
    (reports.parent / "dags" / "faulty.yaml").write_text("release: faulty\nsource: 5\n")
    first = ann.get(RELEASES).text
    assert "no run yet" in first
    assert "s3://own/place" in first
    assert "microagg check faulty.yaml" in first
    assert "No run yet" in ann.get("/microagg/releases/waiting").text


def test_many_runs(ann: Client, reports: Path) -> None:
    for i in range(120):
        make_report(reports, "busy", f"run_{i:03}", day=1 + i % 28)
    assert "All 120 runs" in ann.get(RELEASES).text
    text = ann.get("/microagg/releases/busy").text
    assert "The newest 100 of 120" in text
    assert text.count("<tr>") == 101


def test_failed_and_unreadable_runs(ann: Client, reports: Path) -> None:
    claim = "k is 5 or more <in> every class"
    check = {"name": "k_anonymous", "claim": claim, "threshold": 5, "observed": 3, "passed": False}
    make_report(reports, "clinic_patients", "bad", day=2, verdict="failed", checks=[check])
    broken = make_report(reports, "clinic_patients", "broken", day=3)
    (broken / "report.json").write_text("{")
    text = ann.get("/microagg/releases/clinic_patients").text
    assert "k is 5 or more &lt;in&gt; every class: not so" in text
    assert "cannot be read" in text
    # The page of a run whose figures cannot be read may still be looked at.
    assert ann.get("/microagg/releases/clinic_patients/runs/broken").status_code == 200


@pytest.mark.parametrize("where", ["name", "run"])
def test_odd_names_are_shown_as_they_are(ann: Client, reports: Path, where: str) -> None:
    odd = '"><script>alert(1)<⁄script>{{ 7*7 }}'
    names = (odd, "run") if where == "name" else ("clinic_patients", odd)
    make_report(reports, *names, day=2)
    for address in (RELEASES, f"/microagg/releases/{quote(names[0], safe='')}"):
        assert "<script>alert" not in ann.get(address).text
    # The last is the page of the release, which names both.
    assert "&lt;script&gt;alert(1)&lt;⁄script&gt;{{ 7*7 }}" in ann.get(address).text


@pytest.mark.parametrize(
    "address",
    [
        "/microagg/releases/../../secret/runs/run_1/report.html",
        "/microagg/releases/%2e%2e/runs/secret/report.html",
        "/microagg/releases/..%2fsecret/runs/run_1/report.html",
        "/microagg/releases/clinic_patients/runs/%2e%2e/report.html",
        "/microagg/releases/clinic_patients/runs/run_1/%2e%2e%2f%2e%2e%2freport.html",
        "/microagg/releases/clinic_patients/runs/run_1/notes.txt",
        "/microagg/releases/clinic_patients/runs/run_1%00/report.html",
        "/microagg/%2e%2e%2f%2e%2e%2fetc/passwd",
        "/microagg//etc/passwd",
    ],
)
def test_no_address_leads_out_of_the_folder(ann: Client, reports: Path, address: str) -> None:
    make_report(reports.parent, "secret", "run_1")
    (reports.parent / "secret" / "report.html").write_text("secret")
    (reports / "clinic_patients" / "run_1" / "notes.txt").write_text("secret")
    answer = ann.get(address)
    assert answer.status_code == 404
    assert "root:x:" not in answer.text and "<h1>run_1" not in answer.text


@pytest.mark.parametrize("name", ["docs", "redoc", "openapi.json"])
def test_there_are_no_pages_of_documentation(ann: Client, reports: Path, name: str) -> None:
    assert ann.get(f"/microagg/{name}").status_code == 404


def test_no_cell_value_is_shown(ann: Client, reports: Path) -> None:
    # Whatever else a report may hold, the page takes only what it knows.
    make_report(
        reports, "clinic_patients", "r", day=2, canary="Zebulon", data={"rows": 5, "x": 987}
    )
    for address in (RELEASES, "/microagg/releases/clinic_patients"):
        assert "Zebulon" not in ann.get(address).text and "987" not in ann.get(address).text
    assert os.environ["AIRFLOW_HOME"] not in ann.get(RELEASES).text
