"""A whole release as a task group, and several releases as one mapped group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import AssetAlias, TaskGroup, chain, task_group

from microagg_ops.errors import ReleaseError
from microagg_ops.operators.aggregate import MicroaggAggregateOperator
from microagg_ops.operators.assets import published_asset
from microagg_ops.operators.cleanup import MicroaggCleanupOperator
from microagg_ops.operators.extract import MicroaggExtractOperator
from microagg_ops.operators.group import MicroaggGroupOperator
from microagg_ops.operators.publish import MicroaggPublishOperator
from microagg_ops.operators.report import MicroaggReportOperator
from microagg_ops.operators.standardize import MicroaggStandardizeOperator
from microagg_ops.operators.validate import MicroaggValidateOperator
from microagg_ops.release.document import load_release

OPERATORS = (
    MicroaggExtractOperator,
    MicroaggStandardizeOperator,
    MicroaggGroupOperator,
    MicroaggAggregateOperator,
    MicroaggValidateOperator,
    MicroaggReportOperator,
    MicroaggPublishOperator,
)
#: Through it mapped releases announce their tables, which differ by map index.
PUBLISHED = AssetAlias("microagg")


def build_release(
    path: str | Path,
    *,
    group_id: str | None = None,
    staging: str | None = None,
    staging_conn_id: str | None = None,
    approval: Mapping[str, Any] | None = None,
    notify: Callable[[Any], Any] | None = None,
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
    approval
        What the approval of a release with ``approve: true`` is given besides: assigned_users,
        notifiers, response_timeout…
    notify
        Whom Airflow calls back when the release is published, held back or has failed, such as a
        `MicroaggNotifier`.
    **task_kwargs
        What every task is given: pool, queue, retries, executor_config…
    """
    release = load_release(path)
    common = {"staging": staging, "staging_conn_id": staging_conn_id, **task_kwargs}
    with TaskGroup(group_id or release.release, tooltip=f"Release {release.release}") as group:
        build_stages(
            {"release": str(path), **common},
            approval={**(approval or {})} if release.approve else None,
            outlet=published_asset(release),
            notify=notify,
        )
    return group


def build_releases(
    paths: Sequence[str | Path],
    *,
    group_id: str = "releases",
    staging: str | None = None,
    staging_conn_id: str | None = None,
    approval: Mapping[str, Any] | None = None,
    notify: Callable[[Any], Any] | None = None,
    **task_kwargs: Any,
) -> Any:
    """Build one task group and map it over several releases: they run side by side.

    One that fails, or has no rows in an interval, holds up no other.

    Parameters
    ----------
    paths
        The release files, each to a table of its own.
    group_id
        The id of the task group.
    staging, staging_conn_id, approval, notify, **task_kwargs
        As for `build_release`; where one release has ``approve: true``, the others pass.
    """
    releases = [load_release(path) for path in paths]
    for what, names in (
        ("the name", [release.release for release in releases]),
        ("the table", [published_asset(release).uri for release in releases]),
    ):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ReleaseError(f"Two releases of {group_id!r} have {what} {twice!r}.")
    common = {
        "staging": staging,
        "staging_conn_id": staging_conn_id,
        # The name of the file instead of a number.
        "map_index_template": "{{ task.release.rpartition('/')[2] }}",
        **task_kwargs,
    }

    @task_group(group_id=group_id)
    def each(release: str) -> None:
        build_stages(
            {"release": release, **common},
            approval={**(approval or {})} if any(r.approve for r in releases) else None,
            outlet=PUBLISHED,
            notify=notify,
        )

    return each.expand(release=[str(path) for path in paths])


def build_stages(
    common: dict[str, Any],
    *,
    approval: dict[str, Any] | None,
    outlet: Any,
    notify: Callable[[Any], Any] | None = None,
) -> None:
    """Make the tasks of a release, in order; whatever happens to them, staging is removed."""
    common = common | told_of(common, notify, "on_failure_callback", "on_skipped_callback")
    tasks: list[Any] = [operator(task_id=operator.stage, **common) for operator in OPERATORS[:-1]]
    publish = common | told_of(common, notify, "on_success_callback")
    tasks.append(OPERATORS[-1](task_id=OPERATORS[-1].stage, **publish))
    tasks[-1].add_outlets([outlet])
    if approval is not None:
        from microagg_ops.operators.approve import MicroaggApproveOperator

        # How long a task may run is not how long a person may think.
        given = {key: value for key, value in common.items() if key != "execution_timeout"}
        given |= told_of(common, notify, "on_success_callback")
        tasks.insert(-1, MicroaggApproveOperator(task_id="approve", **given | approval))
    cleanup = MicroaggCleanupOperator(task_id="cleanup", **common)
    # Raw rows that nobody removed make the run red. A run is judged by its last tasks, and such a
    # teardown is one: without another beside it, it would make every other failure green.
    chain(*tasks, cleanup.as_teardown(setups=tasks[0], on_failure_fail_dagrun=True))
    chain(tasks[-1], EmptyOperator(task_id="published"))


def told_of(
    common: Mapping[str, Any], notify: Callable[[Any], Any] | None, *events: str
) -> dict[str, Any]:
    """Add a callback to those that tasks are given for some events."""
    if notify is None:
        return {}
    return {event: [*listed(common.get(event)), notify] for event in events}


def listed(callbacks: Any) -> list[Any]:
    """Return callbacks as a list; Airflow takes one alone too."""
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]
