"""Browse → Releases, as a person finds it in the Airflow UI."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from microagg_ops import run_release
from microagg_ops.errors import DisclosureError
from tests.airflow_home import CANARY, REPOSITORY, AirflowHome, patients_with_canary, seed_warehouse
from tests.browser import Browser, Page, find_axe
from tests.conftest import RELEASE

# A machine that does other things at the same time takes long to start Airflow.
PATIENCE = 400.0


@dataclass(frozen=True)
class Standalone:
    """An Airflow that answers, and who may sign in."""

    home: AirflowHome
    url: str
    password: str


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def leave_reports(home: AirflowHome) -> None:
    """Run a release some times, once in vain, and break what one run left."""
    seed_warehouse(home.warehouse, patients_with_canary(900))
    url = {"warehouse": f"duckdb://{home.warehouse}"}
    release = home.dags / "clinic_patients.yaml"
    source = "table: clinic.patients, where: 'admitted < :end'"
    good = RELEASE.replace("table: clinic.patients", source)
    for month, k in ((7, 3), (9, 4), (11, 5)):
        release.write_text(good.replace("{k: 3}", f"{{k: {k}}}"))
        run_release(
            release,
            connections=url,
            reports=home.reports,
            run_id=f"scheduled__2026-{month:02}-01T00:00:00+00:00",
            start=datetime(2024, 1, 1),
            end=datetime(2024, 1, 1).replace(year=2024 + month // 10, month=month),
        )
    strict = "validate: {max_information_loss: 0.0001}\n"
    release.write_text(release.read_text() + strict)
    with pytest.raises(DisclosureError):
        run_release(
            release,
            connections=url,
            reports=home.reports,
            run_id="manual__too_strict",
            start=datetime(2024, 1, 1),
            end=datetime(2025, 12, 1),
        )
    release.write_text(good)
    broken = home.reports / "clinic_patients" / "manual__broken"
    broken.mkdir()
    (broken / "report.json").write_text("{")
    os.utime(broken / "report.json", (1_780_000_000,) * 2)
    (home.dags / "not_yet.yaml").write_text(good.replace("clinic_patients", "not_yet", 1))


@contextmanager
def started(home: AirflowHome) -> Iterator[Standalone]:
    """Run `airflow standalone` until the block ends; while it starts, make what it will show."""
    port = free_port()
    environment = home.environment | {
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": port,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        # These two listen on every interface, whatever one says; so at least not where known.
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": free_port(),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": free_port(),
        "AIRFLOW__MICROAGG__CATALOGUE": str(home.dags),
        "AIRFLOW__OPENLINEAGE__DISABLED": "True",
        # It starts its parts by name.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    log = home.folder / "standalone.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow", "standalone"],
            env=environment,
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        leave_reports(home)
        wait_for(url, process, log)
        passwords = home.folder / "airflow" / "simple_auth_manager_passwords.json.generated"
        yield Standalone(home, url, json.loads(passwords.read_text())["admin"])
    finally:
        stop(process)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(f"{url}/api/v2/monitor/health", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    raise AssertionError(f"Airflow did not answer:\n{log.read_text()[-3000:]}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the parent to end its parts; what does not end in time is ended with its group."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    home = AirflowHome(tmp_path_factory.mktemp("releases_page"))
    home.dags.mkdir(parents=True)
    with started(home) as answering:
        yield answering


def wait(page: Page, script: str) -> Any:
    """Evaluate until the value is true, also while one page gives way to another."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return page.wait_for(script)
        except AssertionError as error:
            if not any(word in str(error) for word in ("navigated", "context")):
                raise
    raise AssertionError(f"never true: {script}")


def click(page: Page, element: str) -> None:
    """Click where an element is, as a mouse does; in a frame, ``element`` is within it."""
    where = wait(
        page,
        f"""(() => {{
            const it = {element};
            if (!it) return null;
            it.scrollIntoView({{block: "center"}});
            let {{x, y, width, height}} = it.getBoundingClientRect();
            const frame = it.ownerDocument.defaultView.frameElement;
            if (frame) {{ const f = frame.getBoundingClientRect(); x += f.x; y += f.y; }}
            return width && height ? [x + width / 2, y + height / 2] : null;
        }})()""",
    )
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        page.call(
            "Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left",
            clickCount=1,
        )  # fmt: skip


def type_into(page: Page, selector: str, text: str) -> None:
    click(page, f"document.querySelector({json.dumps(selector)})")
    page.call("Input.insertText", text=text)


def with_text(where: str, tag: str, text: str) -> str:
    """Return the script that finds an element by what it says."""
    return f"[...{where}.querySelectorAll('{tag}')].find(e => e.textContent.trim() === '{text}')"


FRAME = "document.querySelector('iframe[title=Releases]')"
INSIDE = f"{FRAME}?.contentDocument"


def sign_in(page: Page, airflow: Standalone) -> None:
    page.open(f"{airflow.url}/")
    type_into(page, "input[name=username]", "admin")
    type_into(page, "input[name=password]", airflow.password)
    click(page, "document.querySelector('button[type=submit]')")
    wait(page, f"!!{with_text('document', 'button', 'Browse')}")


def test_a_person_finds_a_report(airflow: Standalone, browser: Browser, tmp_path: Path) -> None:
    # Whoever wants to look at the pictures says where to keep them.
    shots = Path(os.environ.get("MICROAGG_SCREENSHOTS") or tmp_path)
    runs = len(list((airflow.home.reports / "clinic_patients").iterdir()))
    with browser.page() as page:
        sign_in(page, airflow)
        click(page, with_text("document", "button", "Browse"))
        click(page, with_text("document", "[role=menuitem], a", "Releases"))
        page.wait_for(f"{INSIDE}?.querySelectorAll('section.card').length === 2")
        page.screenshot(shots / "releases.png", whole=False)
        told = page.evaluate(f"{INSIDE}.body.innerText")
        assert "clinic.patients → pub.clinic_patients" in told
        assert "no run yet" in told
        assert page.evaluate(f"{INSIDE}.querySelectorAll('svg[role=img]').length") == 4
        assert page.evaluate(f"{INSIDE}.querySelectorAll('.ticks li').length") == runs
        # As light or dark as Airflow is.
        assert page.evaluate(f"{INSIDE}.documentElement.dataset.theme") == "light"
        for old, new in (("light", "dark"), ("dark", "light")):
            page.evaluate(f"void document.documentElement.classList.replace('{old}', '{new}')")
            page.wait_for(f"{INSIDE}.documentElement.dataset.theme === '{new}'")

        click(page, with_text(INSIDE, "a", f"All {runs} runs of clinic_patients"))
        page.wait_for(f"{INSIDE}?.querySelectorAll('tbody tr').length === {runs}")
        page.screenshot(shots / "release.png", whole=False)
        told += page.evaluate(f"{INSIDE}.body.innerText")
        assert "unreadable" in told
        assert [value for value in CANARY.values() if str(value) in told] == []

        # Every report is one click away.
        click(page, f"{INSIDE}.querySelector('td a[href$=\"11-01T00_00_00_00_00\"]')")
        page.wait_for(f"!!{INSIDE}?.querySelector('main.over iframe')")
        report = page.evaluate(f"{INSIDE}.querySelector('iframe').src")
        page.wait_for(f"{INSIDE}.querySelector('iframe').contentDocument === null")
        time.sleep(1)  # a frame of its own process is drawn a moment later
        page.screenshot(shots / "report.png", whole=False)
        assert report in page.requests
        click(page, with_text(INSIDE, "a", "Releases"))
        page.wait_for(f"{INSIDE}?.querySelectorAll('section.card').length === 2")
        # The page of the report is kept apart from Airflow, so we look at it alone.
        page.open(report)
        assert "scheduled__2026-11-01" in page.evaluate("document.body.innerText")
        assert page.evaluate("window.origin") == "null"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_by_everybody(
    airflow: Standalone, browser: Browser, scheme: str, tmp_path: Path
) -> None:
    axe = find_axe()
    shots = Path(os.environ.get("MICROAGG_SCREENSHOTS") or tmp_path)
    release = "/releases/clinic_patients"
    run = f"{release}/runs/scheduled__2026-11-01T00_00_00_00_00"
    with browser.page(scheme=scheme) as page:
        sign_in(page, airflow)
        page.errors.clear()
        page.requests.clear()
        for i, path in enumerate(("/", release, run)):
            page.open(f"{airflow.url}/microagg{path}")
            for width in (1280, 390):
                page.viewport(width)
                assert not page.scrolls_sideways(), (path, width)
                page.screenshot(shots / f"{scheme}_{width}_{i}.png")
            # The report within a frame has tests of its own.
            page.evaluate("document.querySelector('iframe')?.remove()")
            assert page.faults_of_access(axe) == []
        assert page.errors == []
        asked = {address.partition("/microagg/")[0] for address in page.requests}
        assert asked == {airflow.url}


@pytest.mark.parametrize("path", ["", "releases/clinic_patients", "releases/none"])
def test_without_a_session_nothing_is_shown(airflow: Standalone, path: str) -> None:
    with pytest.raises(HTTPError) as refused:
        urlopen(f"{airflow.url}/microagg/{path}")
    assert refused.value.code == 401
    assert b"clinic" not in refused.value.read()


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("PostgreSQL", {"Database", "TLS (sslmode)", "Schemas of names without one (search_path)"}),
        ("DuckDB", {"Path of the file", "Threads"}),
    ],
)
def test_connections_have_a_form(
    airflow: Standalone, browser: Browser, tmp_path: Path, kind: str, fields: set[str]
) -> None:
    shots = Path(os.environ.get("MICROAGG_SCREENSHOTS") or tmp_path)
    with browser.page() as page:
        sign_in(page, airflow)
        page.open(f"{airflow.url}/connections")
        click(page, with_text("document", "button", "Add Connection"))
        click(page, "document.querySelector('[role=dialog] input[role=combobox]')")
        # What is typed before the types are there is not looked for among them.
        wait(page, "document.querySelectorAll('[role=option]').length > 3")
        page.call("Input.insertText", text=kind)
        click(page, with_text("document", "[role=option]", kind))
        labels = "[...document.querySelectorAll('[role=dialog] label')].map(e => e.textContent)"
        wait(page, f"{labels}.length > 3")
        assert fields <= {label.strip() for label in page.evaluate(labels)}
        page.screenshot(shots / f"connection_{kind}.png", whole=False)
