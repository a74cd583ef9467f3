"""Approve: a person's decision between report and publish, written down beside the report."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from microagg_ops.errors import DisclosureError, ReleaseError, StagingError
from microagg_ops.stages.artefacts import Decision, Protected, Reported
from microagg_ops.stages.publication import note
from microagg_ops.stages.run import Run
from microagg_ops.staging.private import write_private

FILE = "approval.json"


def approve(
    run: Run, by: str, *, approved: bool = True, at: datetime | None = None
) -> dict[str, Any]:
    """Write down who decided what, when, and about which bytes.

    Parameters
    ----------
    run
        The run whose report the person has seen.
    by
        The name of the person.
    approved
        The decision.
    at
        When it was made; by default now.
    """
    if not by.strip():
        raise ReleaseError("Whoever approves must be named.", code="not_approved")
    decision = {
        "approved": approved,
        "by": by,
        "at": (at or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds"),
        "release": run.release.release,
        "release_digest": run.release.digest,
        "run_id": run.run_id,
        "file": Protected.of(run).bytes_digest,
    }
    content = json.dumps(decision, indent=2).encode()
    Reported.of(run)  # it must be there: it is what the decision is about
    try:
        write_private(run.report_folder / FILE, content)
    except OSError as error:
        raise StagingError(
            f"{FILE} cannot be written beside the report ({type(error).__name__}).",
            code="no_report",
            hint="Check that the folder is writable and has room.",
        ) from None
    Decision.write(run, content, decision)
    note(run, "pending" if approved else "rejected")
    return decision


def check_approved(run: Run) -> None:
    """Refuse to publish what a person must approve and has not."""
    if not run.release.approve:
        return
    if run.approved_by is not None:
        approve(run, run.approved_by)
    try:
        decision = Decision.of(run).made
    except StagingError:
        raise DisclosureError(
            "The release must be approved, and nobody has approved this run.",
            code="not_approved",
            hint="Read the report, then run again with --approved-by NAME. Nothing was published.",
        ) from None
    if not decision["approved"]:
        raise DisclosureError(
            "This run was rejected.", code="rejected", hint="Nothing was published."
        )
    if decision["file"] != Protected.of(run).bytes_digest:
        raise DisclosureError(
            "The staged table is not the one that was approved.",
            code="not_approved",
            hint="Run the release from the start. Nothing was published.",
        )
