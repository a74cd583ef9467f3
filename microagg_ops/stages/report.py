"""Report: what auditors read inside, and the evidence that they can recompute.

A run that failed its checks has a report too, for those inside: it says what to change. What
becomes of the table afterwards is written down by `microagg_ops.stages.publication`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from microagg_ops.errors import DisclosureError, scrubbed
from microagg_ops.report.external import external
from microagg_ops.report.figures import find_figures
from microagg_ops.report.manifest import earlier_manifests
from microagg_ops.report.material import Material
from microagg_ops.stages.artefacts import (
    Extracted,
    Groups,
    Prepared,
    Protected,
    Reported,
    Verdict,
    warnings_of,
)
from microagg_ops.stages.baseline import try_others
from microagg_ops.stages.extract import input_digest
from microagg_ops.stages.publication import Told, write_told
from microagg_ops.stages.run import Run

log = logging.getLogger("microagg_ops")


def report(run: Run) -> dict[str, Any]:
    """Write the internal report of this run and its manifest; neither holds a cell value."""
    began = time.monotonic()
    run.key  # noqa: B018 - without its key a run has no report: found out before the work
    material = gather(run)
    figures = find_figures(material)
    figures["timings"]["report"] = round(time.monotonic() - began, 3)
    # Of a table that is not published nobody outside is told.
    outside = external(material, figures) if figures["verdict"] == "passed" else None
    schema = Protected.of(run).rows.schema
    told = Told(figures, outside, {field.name: str(field.type) for field in schema})
    summary = {"verdict": figures["verdict"], "uris": write_told(run, told)}
    Reported.write(run, told.document(), summary)
    return summary


def report_failure(
    run: Run, error: DisclosureError, write: Callable[[Run], dict[str, Any]] = report
) -> None:
    """Write the report of a run whose checks failed; whatever happens here, they failed."""
    try:
        where = next(iter(write(run)["uris"].values()))
    except Exception as fault:  # noqa: BLE001 - its text may hold data
        log.warning("%s: no report of the failure: %s", run.release.release, scrubbed(fault))
        return
    log.info("%s report: %s", run.release.release, where)
    error.hint = f"{error.hint} What to change is said in {where}.".lstrip()


def gather(run: Run) -> Material:
    """Collect what the stages left."""
    extracted, protected, rows = Extracted.of(run), Protected.of(run), Prepared.rows(run)
    order, after, entity = protected.order, protected.rows, run.release.columns.entity
    if entity:
        after = after.append_column(entity, protected.entities)
    tried, notes = try_others(run, rows, order)
    place = rows.places(order)
    return Material(
        release=run.release,
        run_id=run.run_id,
        interval=run.interval,
        extracted=extracted.summary,
        aggregated=protected.summary,
        verdict=Verdict.of(run).found,
        treatment=protected.treatment,
        groups=Groups.of(run).names,
        types=extracted.source["types"],
        before=extracted.rows.take(order),
        old={name: replace(c, codes=c.codes[place]) for name, c in rows.before.items()},
        after=after,
        weights=rows.weights[place],
        input_digest=input_digest(run),
        strata=int(rows.strata.codes.max()) + 1,
        warnings=warnings_of(run),
        tried=tried,
        notes=notes,
        earlier=earlier_manifests(run.report_folder) if run.reports is not None else (),
        seconds={"aggregate": protected.summary["seconds"]},
    )
