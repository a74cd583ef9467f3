"""Publish: write the target in one transaction, if and only if the verdict is about these bytes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import published_type
from microagg_ops.errors import DataError, DisclosureError, WarehouseError, scrubbed
from microagg_ops.interrupts import held
from microagg_ops.stages.approve import check_approved
from microagg_ops.stages.artefacts import Extracted, Groups, Protected, Publication, Verdict
from microagg_ops.stages.publication import note
from microagg_ops.stages.recount import recount
from microagg_ops.stages.run import Run
from microagg_ops.stages.series_ledger import recorded
from microagg_ops.stages.series_others import alone
from microagg_ops.stages.series_verdict import recounted
from microagg_ops.staging.digests import from_parquet, sha256
from microagg_ops.warehouse import Rows, Warehouse
from microagg_ops.warehouse.base import Commit

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("microagg_ops")


def publish(run: Run) -> dict[str, Any]:
    """Write the protected table."""
    protected = passed_table(run)
    ledger = recounted(run, protected)
    check_approved(run)
    how = run.release.publish
    warehouse = run.warehouse(how.conn_id)
    interval = None
    if how.mode == "append_interval":
        protected, interval = with_interval(run, protected)
    types = target_types(run, warehouse.kind)
    # All that can fail is read before the commit.
    aggregated, counted = Protected.of(run).summary, Verdict.of(run).summary
    # Of a table that was protected elsewhere nobody knows what was lost.
    loss = aggregated.get("outside", {}).get("information_loss")
    summary: dict[str, Any] = {
        "release": run.release.release,
        "table": str(how.table),
        "mode": how.mode,
        "rows": protected.num_rows,
        "k": counted["k"],
        "digest": aggregated["digest"],
        "uris": {},
        "outside": {} if loss is None else {"information_loss": loss},
    }
    if "outside" in counted:
        summary["outside"]["k"] = counted["outside"]["k"]
    note(run, "publishing")
    with ExitStack() as hold:
        commit = Commit(lambda: hold.enter_context(held(to_the_end=True)))
        if not warehouse.tells_commit:
            commit.__enter__()
        with alone(run, ledger), recorded(run, ledger) as remember:
            write(run, warehouse, Rows(protected, types, interval, commit))
            with publishing_anyway(run, "its ledger says so only with the next run"):
                remember()
        with publishing_anyway(run, "its reports do not say so yet"):
            at = datetime.now(UTC).isoformat(timespec="seconds")
            summary["uris"] = note(run, "published", at)
        with publishing_anyway(run, "its staging does not say so"):
            Publication.leave(run, {}, summary)
    return summary


def write(run: Run, warehouse: Warehouse, rows: Rows) -> None:
    """Write the target; say of a failure what it did to the target, and nothing else."""
    commit, target = rows.commit, run.release.publish.table
    try:
        warehouse.write(target, rows)
    except BaseException as error:
        with held():
            if commit.done:
                log.warning("%s: published, but then: %s", run.release.release, scrubbed(error))
                return
            if warehouse.tells_commit and commit.began and was_lost(error):
                raise unknown(str(target)) from None
            # Its reports cannot hide what happened.
            with suppress(Exception):
                note(run, "failed")
        raise


def was_lost(error: BaseException) -> bool:
    """Whether a commit may have been made although it failed: its answer was lost."""
    return isinstance(error, WarehouseError) and error.code in ("unreachable", "commit_unknown")


def unknown(target: str) -> WarehouseError:
    """Say that nobody knows: neither that the target is as it was, nor that it is not."""
    return WarehouseError(
        f"The connection was lost at the commit: {target!r} holds either the rows that it held "
        "before or the new ones, whole.",
        code="commit_unknown",
        hint="Run publish again: it replaces the rows in either case.",
    )


@contextmanager
def publishing_anyway(run: Run, but: str) -> Iterator[None]:
    """Go on whatever happens: the table has left, whether or not that can be written down."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - its text may hold data
        log.warning("%s: published, but %s: %s", run.release.release, but, scrubbed(error))


def passed_table(run: Run) -> pa.Table:
    """Read the table that every check passed on; refuse anything else."""
    verdict = Verdict.of(run).found
    # Whoever wrote them, this process too: what leaves is what is there now.
    content = run.staging.get(Protected.stage, "protected.parquet")
    if not verdict["passed"] or not all(check["passed"] for check in verdict["checks"]):
        raise DisclosureError("A check failed on this table.", hint="Nothing was published.")
    if verdict["file"] != sha256(content):
        raise DisclosureError(
            "The staged table is not the one that was validated.",
            code="not_validated",
            hint="Run validate again. Nothing was published.",
        )
    if verdict["release"] != run.release.digest:
        raise DisclosureError(
            "The release file changed after the table was validated.",
            code="not_validated",
            hint="Run the release from the start. Nothing was published.",
        )
    protected, key = from_parquet(content), run.release.columns.entity
    entities = None if key is None else Protected.of(run).entities
    recount(run.release, protected, entities, Groups.of(run).names)
    return protected


def with_interval(run: Run, protected: pa.Table) -> tuple[pa.Table, tuple[str, Any]]:
    """Add the column that says which interval the rows belong to."""
    import pyarrow as pa

    from microagg_ops.warehouse.base import naive_utc

    if run.interval is None:
        raise DataError(
            "publish.mode is append_interval, but this run has no data interval.",
            code="no_interval",
            hint="Run the DAG with a logical date, or publish with mode replace.",
        )
    name, start = run.release.publish.interval_column, naive_utc(run.interval[0])
    column = pa.repeat(pa.scalar(start, pa.timestamp("us")), protected.num_rows)
    return protected.append_column(name, column), (name, start)


def target_types(run: Run, kind: str) -> dict[str, str]:
    """Take the SQL types of the source for a new target, where both are of one kind.

    Means do not fit every numeric type, so a quasi-identifier declared number keeps Arrow's.
    """
    extracted = Extracted.of(run)
    if extracted.source["kind"] != kind:
        return {}
    quasi = run.release.columns.quasi

    def fits(name: str) -> bool:
        if name not in quasi:
            return True
        declared, kind = quasi[name].type, extracted.schema.field(name).type
        return declared != "number" and bool(published_type(declared, kind) == kind)

    return {
        name: sql_type
        for name, sql_type in extracted.source["types"].items()
        if name in run.release.published_columns and fits(name)
    }
