"""A release from end to end, with no Airflow."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DisclosureError, MicroaggError, ReleaseError, StagingError
from microagg_ops.interrupts import held
from microagg_ops.outside import told_outside
from microagg_ops.release.document import load_release
from microagg_ops.release.files import FILES
from microagg_ops.release.model import STAGES, Release
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.artefacts import Extracted
from microagg_ops.staging.keys import installation_key
from microagg_ops.staging.owner import sweep
from microagg_ops.staging.store import Staging
from microagg_ops.staging.temporary import temporary_folder
from microagg_ops.warehouse.base import naive_utc

if TYPE_CHECKING:
    from microagg_ops.warehouse import Warehouse

log = logging.getLogger("microagg_ops")


@dataclass(frozen=True)
class Published:
    """What a run of a release left behind.

    Parameters
    ----------
    release
        The name of the release.
    table
        The table that was written.
    rows
        Its rows.
    k
        The smallest class that was counted in it.
    information_loss
        SSE/SST in percent.
    checks
        The verdict of every check, by name.
    reports
        Format to URI.
    k_joint, k_by_group
        With several groups of columns: k over all of them, and in each.
    """

    release: str
    table: str
    rows: int
    k: int
    information_loss: float
    checks: Mapping[str, bool]
    reports: Mapping[str, str]
    k_joint: int | None = None
    k_by_group: tuple[int, ...] = ()

    @property
    def anonymity(self) -> str:
        """What k is, in words."""
        return told_k({"k": self.k, "k_joint": self.k_joint, "k_by_group": self.k_by_group})


def run_release(
    release: str | Path | Release,
    *,
    connections: Mapping[str, str] | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    reports: str | Path = "reports",
    staging: str | Path | None = None,
    run_id: str | None = None,
    progress: Callable[[str, float], None] | None = None,
    approved_by: str | None = None,
) -> Published:
    """Run a release: every stage in order, or nothing published.

    Parameters
    ----------
    release
        A release file, or what `load_release` gave for one.
    connections
        Connection ids to URLs; others are looked up in ``AIRFLOW_CONN_<ID>``.
    start, end
        The data interval, for a ``source.where`` that names ``:start`` and ``:end``.
    reports
        The folder for reports if the release does not name one.
    staging
        A folder for raw data during the run; by default a temporary one, after the removal of
        what runs left there whose process is gone. It is removed.
    run_id
        A name for the run; by default the time.
    progress
        Called with the stage and the share of it that is done.
    approved_by
        Who approves a release that has ``approve: true``; without a name it stops after its report.

    Raises
    ------
    MicroaggError
        Of the kind that says what went wrong; the target is then as it was.
    """
    if not isinstance(release, Release):
        release = load_release(release)
    run = make_run(
        release,
        staging or fresh_folder(),
        connections=connections,
        start=start,
        end=end,
        reports=reports,
        run_id=run_id,
        approved_by=approved_by,
    )
    with run.staging.owned():
        try:
            return published({stage: run_stage(stage, run, progress) for stage in STAGES})
        finally:
            clear(run)


def fresh_folder() -> Path:
    """Name a temporary folder for a run, and remove what killed ones left beside it."""
    folder = temporary_folder()
    for name, fate in sweep(folder).items():
        if fate == "removed":
            log.warning("Removed the staging of a run that had been killed: %s.", folder / name)
    return folder / f"microagg-{uuid.uuid4().hex}"


def clear(run: Run) -> None:
    """Remove the staging of a run; what became of the target is true in any case."""
    with held():
        try:
            run.staging.remove()
        except MicroaggError as error:
            log.warning("%s: %s", run.release.release, error)


def make_run(
    release: Release,
    staging: Any,
    *,
    connections: Mapping[str, str] | None = None,
    warehouse: Callable[[str], Warehouse] | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    reports: Any = "reports",
    run_id: str | None = None,
    approved_by: str | None = None,
    secret: Callable[[str], str] | None = None,
    installation: Callable[[], bytes] = installation_key,
) -> Run:
    """Prepare a run; nothing is opened yet."""
    if (start is None) != (end is None):
        raise ReleaseError("A data interval needs both its start and its end.", code="no_interval")
    if start is not None and end is not None and naive_utc(end) < naive_utc(start):
        raise ReleaseError("The data interval ends before it starts.", code="no_interval")

    def key_of(conn_id: str) -> str:
        from microagg_ops.warehouse.connection import password

        return password(conn_id, connections)

    def by_environment(conn_id: str) -> Warehouse:
        from microagg_ops.warehouse import from_environment

        return from_environment(conn_id, connections)

    def reached(conn_id: str) -> Warehouse:
        if conn_id == FILES:
            return files_of(release, connections)
        return (warehouse or by_environment)(conn_id)

    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    run = Run(
        release=release,
        staging=Staging(staging, key=lambda: run.key),
        warehouse=reached,
        reports=Path(reports).resolve()
        if isinstance(reports, str) and "://" not in reports
        else reports,
        run_id=run_id or f"run_{now}_{uuid.uuid4().hex[:6]}",
        interval=(start, end) if start is not None and end is not None else None,
        approved_by=approved_by,
        secret=secret or key_of,
        installation=installation,
    )
    return run


def files_of(release: Release | None, connections: Mapping[str, str] | None = None) -> Warehouse:
    """Return the files that a release names: from its own folder, unless one is given."""
    from microagg_ops.warehouse import from_environment
    from microagg_ops.warehouse.files import FileWarehouse

    if FILES in (connections or {}):
        return from_environment(FILES, connections)
    if release is None:
        return FileWarehouse(".")
    source = release.source
    return FileWarehouse(release.folder, {str(source.table): source.format})


def run_stage(
    stage: str, run: Run, progress: Callable[[str, float], None] | None = None
) -> dict[str, Any]:
    """Run one stage on what the stages before it left; it may be run again."""
    if stage == "extract":
        log.info("%s: %s", run.release.release, opening(run))
        run.staging.begin()
    else:
        check_unchanged(run)
    if progress is not None:
        run = replace(run, progress=lambda share: progress(stage, share))
    run.progress(0.0)
    try:
        summary = function_of(stage, run)(run)
    except DisclosureError as error:
        if stage == "validate":
            from microagg_ops.stages.report import report_failure

            report_failure(run, error, function_of("report", run))
        raise
    run.progress(1.0)
    # Logs are read by many: what they tell went through the gate.
    log.info("%s %s: %s", run.release.release, stage, told(stage, told_outside(stage, summary)))
    return summary


def function_of(stage: str, run: Run) -> Callable[[Run], dict[str, Any]]:
    """Load the function of a stage for the engine of a run."""
    if not run.release.engine.is_spark:
        return stage_function(stage)
    return stage_function(stage, distributed=True)


def check_unchanged(run: Run) -> None:
    """Refuse to go on with another release file or interval than the run began with."""
    began = Extracted.of(run).summary
    if began["release"] != run.release.digest:
        raise StagingError(
            "The release file changed since this run began.",
            code="release_changed",
            retryable=False,
            hint="Run the release from the start.",
        )
    # Without one, no stage but publish needs it, and publish says so.
    if run.span is not None and run.span != began["interval"]:
        raise StagingError(
            "The data interval is not the one that this run began with.",
            code="interval_changed",
            retryable=False,
            hint="Give every stage the same interval.",
        )


def opening(run: Run) -> str:
    """Tell what a run sets out to do."""
    release, span = run.release, run.span
    return (
        f"version {release.version}, digest {release.digest[:12]}, from {release.source.table} to "
        f"{release.publish.table}, "
        + (f"interval {span[0]} to {span[1]}" if span else "no data interval")
    )


def told(stage: str, summary: Mapping[str, Any]) -> str:
    """Tell a stage's outcome in a line of counts."""
    lines: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "extract": lambda s: f"{s['rows']:,} rows" if "rows" in s else "done",
        "standardize": lambda s: f"{s['columns']} columns by {s['method']}",
        "group": lambda s: f"{len(s['groups'])} group(s) by {s['method']}",
        "aggregate": lambda s: (
            f"{' + '.join(f'{c:,}' for c in s['clusters'])} clusters by {s['method']} in "
            f"{s['seconds']:.1f} s, information loss {told_loss(s['information_loss'])}"
        ),
        "validate": lambda s: " ".join(
            [f"{told_k(s)}, {sum(s['checks'].values())} check(s) passed", *s["warnings"]]
        ),
        "report": lambda s: ", ".join(s["uris"].values()),
        "publish": lambda s: f"{s['rows']:,} rows to {s['table']} ({s['mode']})",
    }
    return lines[stage](summary)


def told_loss(loss: float | None) -> str:
    """Tell a loss that went through the gate."""
    return "not told: too few entities" if loss is None else f"{loss:g} %"


def told_k(summary: Mapping[str, Any]) -> str:
    """Tell k; with several groups of columns that of each, and the joint one beside."""
    if not summary.get("k_by_group"):
        return f"k = {summary['k']}"
    each = ", ".join(map(str, summary["k_by_group"]))
    return f"k = {each} in the groups, {summary['k_joint']} jointly"


def published(told: Mapping[str, Mapping[str, Any]]) -> Published:
    """Collect what the stages of a finished run told."""
    validated, left = told["validate"], told["publish"]
    return Published(
        release=left["release"],
        table=left["table"],
        rows=left["rows"],
        k=validated["k"],
        information_loss=told["aggregate"]["information_loss"],
        checks=validated["checks"],
        reports=left["uris"] or told["report"]["uris"],
        k_joint=validated.get("k_joint"),
        k_by_group=tuple(validated.get("k_by_group", ())),
    )
