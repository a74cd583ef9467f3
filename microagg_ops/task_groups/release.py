"""A whole release as a task group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import TaskGroup, chain

from microagg_ops.operators.aggregate import MicroaggAggregateOperator
from microagg_ops.operators.assets import published_asset
from microagg_ops.operators.cleanup import MicroaggCleanupOperator
from microagg_ops.operators.extract import MicroaggExtractOperator
from microagg_ops.operators.group import MicroaggGroupOperator
from microagg_ops.operators.publish import MicroaggPublishOperator
from microagg_ops.operators.report import MicroaggReportOperator
from microagg_ops.operators.standardize import MicroaggStandardizeOperator
from microagg_ops.operators.validate import MicroaggValidateOperator
from microagg_ops.release import load_release

OPERATORS = (
    MicroaggExtractOperator,
    MicroaggStandardizeOperator,
    MicroaggGroupOperator,
    MicroaggAggregateOperator,
    MicroaggValidateOperator,
    MicroaggReportOperator,
    MicroaggPublishOperator,
)


def build_release(
    path: str | Path,
    *,
    group_id: str | None = None,
    staging: str | None = None,
    staging_conn_id: str | None = None,
    **task_kwargs: Any,
) -> TaskGroup:
    """Build the task group of a release: its stages in order, and clean-up as their teardown.

    Parameters
    ----------
    path
        The release file. It is checked while the DAG is parsed, so that Airflow shows its faults
        as an import error instead of failing the run.
    group_id
        The id of the task group; by default the name of the release.
    staging, staging_conn_id
        Where raw data is kept between the tasks; see `MicroaggOperator`.
    **task_kwargs
        What every task is given: pool, queue, retries, executor_config…
    """
    release = load_release(path)
    common = {
        "release": str(path),
        "staging": staging,
        "staging_conn_id": staging_conn_id,
        **task_kwargs,
    }
    with TaskGroup(group_id or release.release, tooltip=f"Release {release.release}") as group:
        tasks = [operator(task_id=operator.stage, **common) for operator in OPERATORS]
        tasks[-1].add_outlets([published_asset(release)])
        cleanup = MicroaggCleanupOperator(task_id="cleanup", **common)
        chain(*tasks, cleanup.as_teardown(setups=tasks[0]))
    return group
