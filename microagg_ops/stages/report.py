"""Report: what auditors read, inside and outside, and the evidence that they can recompute.

A run that failed its checks has a report too, for those inside: it says what to change.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

from microagg_ops.artifact import write_private
from microagg_ops.errors import DisclosureError, StagingError, scrubbed
from microagg_ops.report.external import external
from microagg_ops.report.figures import check_figures, find_figures
from microagg_ops.report.manifest import (
    MANIFEST,
    as_bytes,
    earlier_manifests,
    make_manifest,
    signed,
)
from microagg_ops.report.material import Material
from microagg_ops.report.render import as_html, as_json
from microagg_ops.stages.aggregate import ENTITY, ROW
from microagg_ops.stages.prepared import find_weights, prepare
from microagg_ops.stages.run import Run
from microagg_ops.stages.tried import try_mdav

log = logging.getLogger("microagg_ops")
RENDER = {"html": as_html, "json": as_json}
INTERNAL, EXTERNAL = "report", "external"


def report(run: Run) -> dict[str, Any]:
    """Write the reports of this run and their manifest; none holds a cell value."""
    began = time.monotonic()
    how = run.release.report
    key = run.secret(how.sign_conn_id) if how.sign_conn_id else ""
    material = gather(run)
    figures = find_figures(material)
    figures["timings"]["report"] = round(time.monotonic() - began, 3)
    pages = {INTERNAL: figures}
    if figures["verdict"] == "passed":  # of a table that is not published nobody outside is told
        pages[EXTERNAL] = external(figures)
    files: dict[str, bytes] = {}
    for name, page in pages.items():
        check_figures(page)
        files |= {f"{name}.{kind}": RENDER[kind](page).encode() for kind in how.formats}
    columns = {f.name: str(f.type) for f in run.table("aggregate", "protected").schema}
    manifest = make_manifest(run.release, figures, columns, files)
    if how.sign_conn_id:
        manifest = signed(manifest, how.sign_conn_id, key)
    uris = write_reports(run.report_folder, files | {MANIFEST: as_bytes(manifest)})
    summary = {"verdict": figures["verdict"], "uris": uris}
    run.staging.put("report", {}, summary)
    return summary


def report_failure(run: Run, error: DisclosureError) -> None:
    """Write the report of a run whose checks failed; whatever happens here, they failed."""
    try:
        where = next(iter(report(run)["uris"].values()))
    except Exception as fault:  # noqa: BLE001 - its text may hold data
        log.warning("%s: no report of the failure: %s", run.release.release, scrubbed(fault))
        return
    log.info("%s report: %s", run.release.release, where)
    error.hint = f"{error.hint} What to change is said in {where}.".lstrip()


def write_reports(folder: Any, files: dict[str, bytes]) -> dict[str, str]:
    """Write the files, the manifest last, and take away what an earlier try left; give URIs."""
    uris = {}
    try:
        for name in (f"{page}.{kind}" for page in (INTERNAL, EXTERNAL) for kind in RENDER):
            if name not in files:
                (folder / name).unlink(missing_ok=True)
        for name, content in files.items():
            path = folder / name
            write_private(path, content)
            page, _, kind = name.partition(".")
            word = {INTERNAL: kind, EXTERNAL: f"external_{kind}"}.get(page, page)
            uris[word] = path.as_uri() if isinstance(path, Path) else str(path)
    except OSError as error:
        raise StagingError(
            f"The report in {folder} cannot be written ({type(error).__name__}).",
            code="no_report",
            hint="Check that the folder exists, is writable and has room.",
        ) from None
    return uris


def gather(run: Run) -> Material:
    """Collect what the stages left."""
    extracted, aggregated = run.staging.summary("extract"), run.staging.summary("aggregate")
    origin, after = run.table("aggregate", "rows"), run.table("aggregate", "protected")
    rows, order = prepare(run), origin[ROW].to_numpy()
    if run.release.columns.entity:
        after = after.append_column(run.release.columns.entity, origin[ENTITY])
    tried, notes = try_mdav(run, rows, order)
    before = run.table("extract", "table").take(origin[ROW])
    return Material(
        release=run.release,
        run_id=run.run_id,
        interval=run.interval,
        extracted=extracted,
        aggregated=aggregated,
        verdict=run.document("validate", "verdict"),
        treatment=run.document("aggregate", "treatment"),
        groups=run.document("group", "groups"),
        types=run.document("extract", "source")["types"],
        before=before,
        after=after,
        weights=find_weights(run.release.columns.weight, before),
        strata=int(rows.strata.codes.max()) + 1,
        warnings=run.warnings(),
        tried=tried,
        notes=notes,
        earlier=earlier_manifests(run.report_folder),
        seconds={"aggregate": aggregated["seconds"]},
    )
