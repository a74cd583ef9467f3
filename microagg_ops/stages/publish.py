"""Publish: write the target in one transaction, if and only if the verdict is about these bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.artifact import from_parquet
from microagg_ops.columns.coded import published_type
from microagg_ops.errors import DataError, DisclosureError
from microagg_ops.stages.approve import check_approved
from microagg_ops.stages.run import Run
from microagg_ops.warehouse import Rows

if TYPE_CHECKING:
    import pyarrow as pa


def publish(run: Run) -> dict[str, Any]:
    """Write the protected table."""
    protected = passed_table(run)
    check_approved(run)
    how = run.release.publish
    warehouse = run.warehouse(how.conn_id)
    interval = None
    if how.mode == "append_interval":
        protected, interval = with_interval(run, protected)
    types = target_types(run, warehouse.kind)
    warehouse.write(how.table, Rows(protected, types, interval))
    aggregated = run.staging.summary("aggregate")
    summary = {
        "release": run.release.release,
        "table": str(how.table),
        "mode": how.mode,
        "rows": protected.num_rows,
        "k": run.staging.summary("validate")["k"],
        # Of a table that was protected elsewhere nobody knows.
        "information_loss": aggregated.get("information_loss"),
        "digest": aggregated["digest"],
    }
    run.staging.put("publish", {}, summary)
    return summary


def passed_table(run: Run) -> pa.Table:
    """Read the table that every check passed on; refuse anything else."""
    verdict = run.document("validate", "verdict")
    content = run.staging.get("aggregate", "protected.parquet")
    if not verdict["passed"] or not all(check["passed"] for check in verdict["checks"]):
        raise DisclosureError("A check failed on this table.", hint="Nothing was published.")
    if verdict["file"] != run.staging.digest("aggregate", "protected.parquet"):
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
    return from_parquet(content)


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
    """Give the SQL types of the source to a new target, where both are of one kind.

    Means do not fit every numeric type, so a quasi-identifier declared number keeps Arrow's.
    """
    source = run.document("extract", "source")
    if source["kind"] != kind:
        return {}
    table = run.table("extract", "table")
    quasi = run.release.columns.quasi
    return {
        name: sql_type
        for name, sql_type in source["types"].items()
        if name in run.release.published
        and (
            name not in quasi
            or (
                quasi[name].type != "number"
                and published_type(quasi[name].type, table[name].type) == table[name].type
            )
        )
    }
