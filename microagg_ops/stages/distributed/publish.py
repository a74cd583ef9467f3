"""Publish: a copy of the checked rows, digested and counted again, takes the target's place."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from microagg_ops.engines.spark.engine import Frame, SparkEngine
from microagg_ops.engines.spark.tables import SparkWarehouse
from microagg_ops.errors import DisclosureError, ReleaseError
from microagg_ops.expectations.spark import SparkTable
from microagg_ops.interrupts import held
from microagg_ops.sql import TableName
from microagg_ops.stages.approve import check_approved
from microagg_ops.stages.artefacts import Groups, Protected, Publication, Verdict
from microagg_ops.stages.distributed.aggregate import digest_of_folder
from microagg_ops.stages.distributed.plan import (
    BLOCKS,
    PROTECTED,
    Plan,
    Planned,
    engine_of,
    folder,
)
from microagg_ops.stages.distributed.validate import Whole, refuse_other_rows, with_keys
from microagg_ops.stages.publication import note
from microagg_ops.stages.publish import publishing_anyway, write
from microagg_ops.stages.run import Run
from microagg_ops.staging.digests import sha256
from microagg_ops.warehouse.base import Commit, Warehouse, check_target
from microagg_ops.warehouse.parquet import ParquetWarehouse, data_files


@dataclass(frozen=True)
class Target:
    """Where a copy of the staged rows takes its place.

    Parameters
    ----------
    engine, warehouse
        Who writes, and where.
    rows
        The folder with the rows that were checked.
    columns
        Their names.
    digest
        That of the rows that every check passed on.
    """

    engine: SparkEngine
    warehouse: Warehouse
    rows: Path
    columns: list[str]
    digest: str

    tells_commit = True

    def write(self, table: TableName, rows: Writing) -> None:
        """Copy the rows beside the target, and let the copy take its place if it is the same."""
        found = self.warehouse.describe(table)
        if found is not None:
            check_target(table, list(found), self.columns)
        if isinstance(self.warehouse, SparkWarehouse):
            staged = self.engine.stored(self.rows)

            def check(copy: Frame) -> None:
                refuse_unless(self.engine.digest(copy) == self.engine.digest(staged))

            refuse_unless(digest_of_folder(self.rows) == self.digest)
            self.warehouse.replace(table, staged, rows.commit, check)
            return
        if not isinstance(self.warehouse, ParquetWarehouse):
            raise ReleaseError(
                f"Spark cannot publish to a {self.warehouse.kind} warehouse.",
                code="no_spark",
                hint="Name a connection of type parquet or spark, or take engine: local.",
            )
        with self.warehouse.replacing(table, rows) as copy:
            for i, file in enumerate(data_files(self.rows)):
                shutil.copyfile(file, copy / f"part-{i:05}.parquet")
            refuse_unless(digest_of_folder(copy) == self.digest)


def refuse_unless(same: bool) -> None:
    """Refuse a copy of other rows than those that were validated."""
    if not same:
        raise DisclosureError(
            "The copy of the rows is not what was validated.",
            code="not_validated",
            hint="Run the release from the start. Nothing was published.",
        )


@dataclass(frozen=True)
class Writing:
    """A write that enters its commit."""

    commit: Commit


def publish(run: Run) -> dict[str, Any]:
    """Write the protected table."""
    engine, plan = engine_of(run), Planned.plan(run, Groups.of(run).names)
    digest = passed_digest(run)
    recount(run, engine, plan)
    check_approved(run)
    how, aggregated, verdict = run.release.publish, Protected.of(run).summary, Verdict.of(run)
    warehouse, rows = run.warehouse(how.conn_id), folder(run, PROTECTED)
    target = Target(engine, warehouse, rows, plan.published, digest)
    outside = aggregated["outside"]["information_loss"]
    summary: dict[str, Any] = {
        "release": run.release.release,
        "table": str(how.table),
        "mode": how.mode,
        "rows": aggregated["rows"],
        "k": verdict.summary["k"],
        "digest": aggregated["digest"],
        "uris": {},
        "outside": {"information_loss": outside},
    }
    if "outside" in verdict.summary:
        summary["outside"]["k"] = verdict.summary["outside"]["k"]
    note(run, "publishing")
    with ExitStack() as hold:
        commit = Commit(lambda: hold.enter_context(held(to_the_end=True)))
        write(run, cast("Any", target), cast("Any", Writing(commit)))
        with publishing_anyway(run, "its reports do not say so yet"):
            at = datetime.now(UTC).isoformat(timespec="seconds")
            summary["uris"] = note(run, "published", at)
        with publishing_anyway(run, "its staging does not say so"):
            Publication.leave(run, {}, summary)
    return summary


def passed_digest(run: Run) -> str:
    """Return the digest of the rows that every check passed on; refuse anything else."""
    verdict = Verdict.of(run).found
    content = run.staging.get(Protected.stage, "protected.json")
    if not verdict["passed"] or not all(check["passed"] for check in verdict["checks"]):
        raise DisclosureError("A check failed on this table.", hint="Nothing was published.")
    for said, there in (
        (verdict["file"], sha256(content)),
        (verdict["release"], run.release.digest),
    ):
        if said != there:
            raise DisclosureError(
                "The staged table, or the release file, is not that of the validation.",
                code="not_validated",
                hint="Run the release from the start. Nothing was published.",
            )
    return str(json.loads(content)["sha256"])


def recount(run: Run, engine: SparkEngine, plan: Plan) -> None:
    """Refuse rows whose classes are smaller than the release demands: a verdict is but a file."""
    release, blocks = run.release, engine.stored(folder(run, BLOCKS))
    refuse_other_rows(engine, run, plan, blocks)
    groups = Groups.of(run).names
    table = SparkTable(with_keys(engine, Whole(run, plan, groups, []), blocks))
    for names in [release.quasi] if release.validate.guarantee == "joint" else groups:
        sizes = table.sizes([*names, *release.strata], release.columns.entity)
        if min(sizes, default=0) < release.k:
            raise DisclosureError(
                f"Counted again on the rows to be published: k is {min(sizes, default=0)}, and "
                f"{release.k} was asked for.",
                hint="Nothing was published. Run the release from the start.",
            )
