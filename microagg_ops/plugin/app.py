"""The page: which releases there are, how their runs went, and the report of each run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from microagg_ops.operators.places import reports_folder, setting
from microagg_ops.plugin.catalogue import Entry, find_entries
from microagg_ops.plugin.charts import Chart, charts_of, percent, whole
from microagg_ops.plugin.runs import FILES, INTERNAL, Reports, Run

TEMPLATES = Path(__file__).parent.parent / "templates" / "plugin"
# Runs in a chart and in a list; and in all charts of a page, so that many releases are quick too.
CHARTED, LISTED, TICKED, READ = 30, 100, 12, 1500
#: What a role must be allowed to read to see internal reports, and their figures.
INTERNAL_REPORTS = "Microagg internal reports"
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
    403: (
        "Not for you",
        "Releases are shown to those who may read the runs of all DAGs; internal reports to those "
        f"who may read “{INTERNAL_REPORTS}” too.",
    ),
    404: ("Not found", "There is no such release, run or report: it may have been removed."),
}


@dataclass(frozen=True)
class Shown:
    """A release as the page shows it."""

    name: str
    entry: Entry | None
    runs: list[Run]
    total: int
    internal: bool = True

    @property
    def charts(self) -> list[Chart]:
        """Its figures over time; they are of the internal reports."""
        return charts_of(self.runs[:CHARTED]) if self.internal else []

    @property
    def latest(self) -> Run | None:
        """The newest run that left a page for whoever looks."""
        return next((run for run in self.runs if self.page_of(run)), None)

    def page_of(self, run: Run) -> str:
        """Name the page of a run that may be shown; empty if there is none."""
        pages = ("report.html", "external.html") if self.internal else ("external.html",)
        return next((name for name in pages if name in run.files), "")

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


def may_read_internal(user: GetUserDep) -> bool:
    """Tell whether somebody may see internal reports: a permission of its own."""
    return bool(
        get_auth_manager().is_authorized_custom_view(
            method="GET", resource_name=INTERNAL_REPORTS, user=user
        )
    )


Internal = Annotated[bool, Depends(may_read_internal)]


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
    def show_releases(request: Request, internal: Internal) -> Response:
        return page(request, "releases.html.j2", releases=all_releases(internal), ticked=TICKED)

    @app.get("/releases/{release}")
    def show_release(request: Request, release: str, internal: Internal) -> Response:
        shown = one_release(release, internal)
        # The page lies below Airflow's own.
        airflow = str(request.scope.get("root_path", "")).rpartition("/")[0]
        return page(request, "release.html.j2", release=shown, listed=LISTED, airflow=airflow)

    @app.get("/releases/{release}/runs/{run}")
    def show_report(request: Request, release: str, run: str, internal: Internal) -> Response:
        found = reports().run(release, run)
        name = Shown(release, None, [], 0, internal).page_of(found) if found else ""
        if not name:
            raise HTTPException(404, "Not Found")
        return page(request, "report.html.j2", name=release, run=found, file=name)

    @app.get("/releases/{release}/runs/{run}/{name}")
    def give_file(release: str, run: str, name: str, internal: Internal) -> Response:
        if name in INTERNAL and not internal:
            raise HTTPException(403, "Forbidden")
        content = reports().file(release, run, name)
        if content is None:
            raise HTTPException(404, "Not Found")
        headers = {**HEADERS, "Content-Security-Policy": REPORT_POLICY}
        return StreamingResponse(content, media_type=FILES[name], headers=headers)

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


def all_releases(internal: bool) -> list[Shown]:
    """Return every release that is described or has left a report, by name."""
    described, left = entries(), reports()
    names = sorted({*described, *left.releases()}, key=str.casefold)
    most = max(TICKED // 4, min(CHARTED, READ // max(len(names), 1)))
    return [Shown(name, described.get(name), *left.runs(name, most), internal) for name in names]


def one_release(name: str, internal: bool) -> Shown:
    """Return one release, if it is there."""
    described, left = entries(), reports()
    if name not in described and name not in left.releases():
        raise HTTPException(404, "Not Found")
    return Shown(name, described.get(name), *left.runs(name, LISTED), internal)


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
