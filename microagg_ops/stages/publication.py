"""What became of the table, in the reports: written before, and completed after the commit.

========================  ==========================================================================
state                     what it says
========================  ==========================================================================
``refused``               a check failed; nothing was published
``pending``               every check passed; the table has not been published yet
``awaiting approval``     the same, and a person must agree first
``rejected``              a person said no; nothing was published
``publishing``            the target is being written; the target itself tells whether it was
``failed``                writing failed; the target is as it was
``published``             the table left; only now is there an external report
========================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from microagg_ops.errors import StagingError
from microagg_ops.report.clauses import map_clauses
from microagg_ops.report.figures import check_figures, publication
from microagg_ops.report.manifest import MANIFEST, as_bytes, make_manifest, signed
from microagg_ops.report.render import as_html, as_json
from microagg_ops.stages.artefacts import Decision, Reported
from microagg_ops.stages.run import Run
from microagg_ops.staging.private import write_private

RENDER = {"html": as_html, "json": as_json}
INTERNAL, EXTERNAL = "report", "external"
NAMES = tuple(f"{page}.{kind}" for page in (INTERNAL, EXTERNAL) for kind in RENDER)


@dataclass(frozen=True)
class Told:
    """What reports and manifest are rendered from.

    Parameters
    ----------
    figures
        The figures of the internal report.
    outside
        Those of the external one; ``None`` if there will be none.
    columns
        The published columns and their Arrow types.
    """

    figures: dict[str, Any]
    outside: dict[str, Any] | None
    columns: dict[str, str]

    def document(self) -> dict[str, Any]:
        """Return the fields as JSON keeps them."""
        return asdict(self)


def note(run: Run, state: str, at: str | None = None) -> dict[str, str]:
    """Write down what became of the table, in all reports of the run; give their URIs.

    A table that was protected elsewhere has no report.
    """
    try:
        told = Told(**Reported.of(run).told)
    except StagingError as error:
        if error.code != "staging_missing":
            raise
        return {}
    figures = told.figures | {"publication": publication(state, at, decision(run))}
    outside = told.outside
    if outside is not None:
        outside = outside | {"published": at} if state == "published" else None
    return write_told(run, replace(told, figures=figures, outside=outside), publishing=True)


def decision(run: Run) -> dict[str, Any]:
    """Read what a person decided on the run, if one was asked."""
    try:
        return Decision.of(run).summary
    except StagingError:
        return {}


def write_told(run: Run, told: Told, *, publishing: bool = False) -> dict[str, str]:
    """Render the reports, and write them and their manifest."""
    clauses = map_clauses(told.figures, run.release.profile)  # they ask what became of it, too
    pages = {INTERNAL: told.figures | {"clauses": clauses}}
    if publishing and told.outside is not None:
        pages[EXTERNAL] = told.outside
    files: dict[str, bytes] = {}
    for name, page in pages.items():
        check_figures(page, name)
        for kind in run.release.report.formats:
            files[f"{name}.{kind}"] = RENDER[kind](page, name).encode()
    manifest = make_manifest(run.release, told.figures, told.columns, files, run.key)
    signer = run.release.report.sign_conn_id
    if signer:
        manifest = signed(manifest, signer, run.secret(signer))
    return write_reports(run.report_folder, files | {MANIFEST: as_bytes(manifest)})


def write_reports(folder: Any, files: Mapping[str, bytes]) -> dict[str, str]:
    """Write the files, the manifest last, and take away what an earlier try left; give URIs."""
    uris = {}
    try:
        for name in NAMES:
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
