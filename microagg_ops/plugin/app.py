"""The page: which releases there are, how their runs went, and the report of each run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from starlette.exceptions import HTTPException as StarletteHTTPException

from microagg_ops.operators.places import reports_folder, setting
from microagg_ops.plugin.catalogue import Entry, find_entries
from microagg_ops.plugin.charts import Chart, charts_of, percent, whole
from microagg_ops.plugin.runs import FILES, Reports, Run

TEMPLATES = Path(__file__).parent.parent / "templates" / "plugin"
# Runs in a chart and in a list.
CHARTED, LISTED, TICKED = 30, 100, 12
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
# A report may sort its tables; it may not reach Airflow with the rights of who reads it.
REPORT_POLICY = (
    "sandbox allow-scripts allow-modals; default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)
WORDS = {
    401: ("Sign in first", "Your session has ended: sign in to Airflow and come back."),
    403: ("Not for you", "Reports are shown to those who may read the runs of all DAGs."),
    404: ("Not found", "There is no such release, run or report: it may have been removed."),
}


@dataclass(frozen=True)
class Shown:
    """A release as the page shows it."""

    name: str
    entry: Entry | None
    runs: list[Run]
    total: int

    @property
    def charts(self) -> list[Chart]:
        """Its figures over time."""
        return charts_of(self.runs[:CHARTED])

    @property
    def latest(self) -> Run | None:
        """The newest run that left a page."""
        return next((run for run in self.runs if "report.html" in run.files), None)

    @property
    def elsewhere(self) -> str | None:
        """Where its reports are, if the release says so itself: these are not read from here."""
        return self.entry.release.report.uri if self.entry and self.entry.release else None


def may_read(user: GetUserDep) -> None:
    """Let those in who may read the runs of all DAGs, as Airflow's auth manager says."""
    if not get_auth_manager().is_authorized_dag(
        method="GET", access_entity=DagAccessEntity.RUN, user=user
    ):
        raise HTTPException(403, "Forbidden")


def make_app() -> FastAPI:
    """Make the app; what it shows is read when it is asked for."""
    # Pages of documentation would be open to everybody, and load scripts from elsewhere.
    app = FastAPI(
        title="Releases",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(may_read)],
    )

    @app.get("/")
    def show_releases(request: Request) -> Response:
        return page(request, "releases.html.j2", releases=all_releases(), ticked=TICKED)

    @app.get("/releases/{release}")
    def show_release(request: Request, release: str) -> Response:
        return page(request, "release.html.j2", release=one_release(release), listed=LISTED)

    @app.get("/releases/{release}/runs/{run}")
    def show_report(request: Request, release: str, run: str) -> Response:
        found = [one for one in one_release(release).runs if one.key == run]
        if not found or "report.html" not in found[0].files:
            raise HTTPException(404, "Not Found")
        return page(request, "report.html.j2", name=release, run=found[0])

    @app.get("/releases/{release}/runs/{run}/{name}")
    def give_file(release: str, run: str, name: str) -> Response:
        content = reports().file(release, run, name)
        if content is None:
            raise HTTPException(404, "Not Found")
        headers = {**HEADERS, "Content-Security-Policy": REPORT_POLICY}
        return Response(content, media_type=FILES[name], headers=headers)

    # Those of FastAPI are of this class too, and so are those of paths that no route knows.
    @app.exception_handler(StarletteHTTPException)
    def tell(request: Request, error: StarletteHTTPException) -> Response:
        title, words = WORDS.get(error.status_code, ("It did not work", "Try again."))
        return page(request, "told.html.j2", error.status_code, title=title, words=words)

    return app


def reports() -> Reports:
    """Return the reports of this installation."""
    return Reports(reports_folder())


def entries() -> dict[str, Entry]:
    """Return the release files of this installation."""
    from airflow.sdk.configuration import conf

    return find_entries(Path(setting("catalogue") or conf.get("core", "dags_folder")).expanduser())


def all_releases() -> list[Shown]:
    """Yield every release that is described or has left a report, by name."""
    described, left = entries(), reports()
    names = sorted({*described, *left.releases()}, key=str.casefold)
    return [Shown(name, described.get(name), *left.runs(name, CHARTED)) for name in names]


def one_release(name: str) -> Shown:
    """Return one release, if it is there."""
    described, left = entries(), reports()
    if name not in described and name not in left.releases():
        raise HTTPException(404, "Not Found")
    return Shown(name, described.get(name), *left.runs(name, LISTED))


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Render a page that needs nothing from elsewhere."""
    base = request.scope.get("root_path", "")
    html = environment().get_template(template).render(base=base, script=script(), **values)
    headers = {**HEADERS, "Content-Security-Policy": page_policy()}
    return Response(html, status, headers, "text/html; charset=utf-8")


@cache
def script() -> str:
    """Return the one script of the page: it follows the colours of Airflow."""
    return (TEMPLATES / "colours.js").read_text().strip()


@cache
def page_policy() -> str:
    """Allow the page its own styles and its one script, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
    )


@cache
def environment() -> Any:
    """Return the templates."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[[Any], str]] = {
        "path": lambda name: quote(name, safe=""),
        "percent": lambda value: "–" if value is None else percent(value),
        "whole": lambda value: "–" if value is None else whole(value),
        "moment": moment,
        "span": span,
    }
    made.filters |= filters
    return made


def moment(when: datetime | None) -> str:
    """Write a moment for people."""
    return f"{when:%-d %b %Y, %H:%M} UTC" if when else "unknown"


def span(interval: tuple[datetime, datetime] | None) -> str:
    """Write a data interval for people: days where it begins and ends at midnight."""
    if interval is None:
        return "–"
    whole_days = all((one.hour, one.minute, one.second) == (0, 0, 0) for one in interval)
    form = "%-d %b %Y" if whole_days else "%-d %b %Y, %H:%M"
    return " – ".join(dict.fromkeys(f"{one:{form}}" for one in interval))
