"""Lineage: what a task read and wrote, and what became of each column, as OpenLineage tells it.

What is known is collected while the task runs; it is put into OpenLineage's classes in the process
that Airflow forks to send it, where no connection can be asked for any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import MicroaggError

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage

    from microagg_ops.options import Place
    from microagg_ops.release.model import Release
    from microagg_ops.stages import Run
    from microagg_ops.warehouse import Warehouse

STAGING = "microagg://staging"
STAGED = ("extract", "standardize", "group", "aggregate")
#: What became of a column: OpenLineage's word for it, and whether single values are hidden by it.
BECAME = {
    "passed": ("IDENTITY", False),
    "standardized": ("TRANSFORMATION", False),
    "aggregated": ("AGGREGATION", True),
}
Dataset = tuple[str, str]


@dataclass(frozen=True)
class Lineage:
    """What a task read and wrote; a dataset is a namespace and a name.

    Parameters
    ----------
    inputs, outputs
        The datasets; columns are those of the first input.
    columns
        Column of the outputs to what became of it: passed, standardized or aggregated.
    dropped
        Columns that went no further.
    checks
        The verdict of every check on the last input, by name.
    promises
        The same, of checks on what was written.
    about
        Names, digests and counts.
    removed
        Whether the outputs were removed.
    """

    inputs: Sequence[Dataset] = ()
    outputs: Sequence[Dataset] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    dropped: Sequence[str] = ()
    checks: Mapping[str, bool] = field(default_factory=dict)
    promises: Mapping[str, bool] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    removed: bool = False


def wanted() -> bool:
    """Tell whether there is anybody to collect lineage for."""
    from importlib.util import find_spec

    return find_spec("airflow.providers.openlineage") is not None


def of_run(stage: str, run: Run) -> Lineage:
    """Collect what a stage did in the run of a release, as far as it came."""
    release = run.release

    def table(section: Any) -> Dataset:
        return run.warehouse(section.conn_id).dataset(section.table)

    extracted, standardized, grouped, aggregated = (
        staged(release.release, name) for name in STAGED
    )
    places: dict[str, Callable[[], tuple[list[Dataset], list[Dataset]]]] = {
        "extract": lambda: ([table(release.source)], [extracted]),
        "standardize": lambda: ([extracted], [standardized]),
        "group": lambda: ([standardized], [grouped]),
        "aggregate": lambda: ([standardized, grouped], [aggregated]),
        "validate": lambda: ([aggregated], []),
        "report": lambda: ([aggregated], [at_uri(uri) for uri in of_stage(run, "report", "uris")]),
        "approve": lambda: ([aggregated], []),
        "publish": lambda: ([table(release.source), aggregated], [table(release.publish)]),
    }  # fmt: skip
    inputs, outputs = places[stage]()
    columns, dropped = fate(stage, release)
    checked = stage in ("validate", "report", "approve", "publish")
    return Lineage(
        inputs, outputs, columns, dropped,
        checks=of_stage(run, "validate", "checks") if checked else {},
        about={
            "release": release.release,
            "version": release.version,
            "digest": release.digest,
            "k": release.k,
        },
    )  # fmt: skip


def staged(release: str, stage: str) -> Dataset:
    """Name what a stage leaves for the next; the same in every run, so that a graph stays small."""
    return STAGING, f"{release}.{stage}"


def of_stage(run: Run, stage: str, key: str) -> Any:
    """Read what a stage said of itself, if it came so far."""
    try:
        found = run.staging.summary(stage).get(key, {})
    except MicroaggError:
        return {}
    return list(found.values()) if key == "uris" else found


def fate(stage: str, release: Release) -> tuple[dict[str, str], list[str]]:
    """Say what becomes of the columns in a stage, and which go no further."""
    given = release.columns
    own = sorted(release.extracted - release.published_columns)
    kept = dict.fromkeys(sorted(release.published_columns), "passed")
    kept |= dict.fromkeys(release.quasi, "aggregated")
    if stage == "extract":
        return dict.fromkeys(sorted(release.extracted), "passed"), list(given.identifiers)
    if stage == "standardize":
        passed = dict.fromkeys(sorted(release.extracted), "passed")
        return passed | dict.fromkeys(release.quasi, "standardized"), []
    if stage == "aggregate":
        return kept, own
    if stage == "publish":
        return kept, [*given.identifiers, *own]
    return {}, []


def of_alone(
    operator: Any, outcome: Mapping[str, Any], warehouse: Callable[[str], Warehouse]
) -> Lineage:
    """Collect what an operator did by itself."""
    uris = outcome.get("uris", {}).values()
    outputs = [at_uri(uri) for uri in uris]
    if not outputs and operator.target is not None:
        outputs = [at_place(operator.target_place(), warehouse)]
    quasi = getattr(operator, "quasi", ())
    named = [*quasi, *getattr(operator, "sensitive", ()), *getattr(operator, "strata", ())]
    columns = dict.fromkeys([*named, *getattr(operator, "columns", ())], "passed")
    became = {"standardize": "standardized", "aggregate": "aggregated"}.get(operator.stage)
    columns |= dict.fromkeys(quasi, became) if became else {}
    entity = getattr(operator, "entity", None)
    return Lineage(
        # What a function returned has no name.
        [] if operator.source is None else [at_place(operator.source_place(), warehouse)],
        outputs,
        columns if outputs and not uris else {},
        [entity] if entity else [],
        checks=outcome.get("checks", {}) if operator.stage == "validate" else {},
        promises=outcome.get("checks", {}) if operator.stage == "aggregate" else {},
        about={"release": operator.task_id, "k": getattr(operator, "k", None)},
    )


def of_cleanup(release: str) -> Lineage:
    """Say that what a run staged is gone."""
    return Lineage(outputs=[staged(release, stage) for stage in STAGED], removed=True)


def at_place(place: Place, warehouse: Callable[[str], Warehouse]) -> Dataset:
    """Name a table or a Parquet file."""
    from microagg_ops.sql import TableName

    if place.is_file:
        return at_uri(str(place.at))
    return warehouse(str(place.conn_id)).dataset(TableName.parse(place.at))


def at_uri(uri: str) -> Dataset:
    """Name a file; a connection in front of a bucket is no part of its name."""
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(uri)
    if parts.scheme in ("", "file"):
        return "file", str(Path(unquote(parts.path)).resolve())
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.lstrip("/")


def facets(lineage: Lineage) -> OperatorLineage[Any, Any]:
    """Put lineage into OpenLineage's classes."""
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from openlineage.client.facet_v2 import (
        RunFacet,
        lifecycle_state_change_dataset,
    )

    inputs = [InputDataset(*dataset) for dataset in lineage.inputs]
    if lineage.checks and inputs:
        inputs[-1].inputFacets = {"dataQualityAssertions": assertions_facet(lineage.checks)}
    of_each: dict[str, Any] = {}
    if lineage.promises:
        of_each["dataQualityAssertions"] = assertions_facet(lineage.promises)
    if lineage.columns and lineage.inputs:
        of_each["columnLineage"] = column_facet(lineage)
        of_each["schema"] = schema_facet(lineage.columns)
    if lineage.removed:
        change = lifecycle_state_change_dataset.LifecycleStateChange.DROP
        of_each["lifecycleStateChange"] = (
            lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(change)
        )
    about = RunFacet().with_additional_properties(**described(lineage))
    return OperatorLineage(
        inputs=inputs,
        outputs=[OutputDataset(*dataset, facets=dict(of_each)) for dataset in lineage.outputs],
        run_facets={"microagg": about},
    )


def described(lineage: Lineage) -> dict[str, Any]:
    """Return what has no place among the standard facets: above all what was dropped."""
    by_fate: dict[str, list[str]] = {}
    for name, became in lineage.columns.items():
        by_fate.setdefault(became, []).append(name)
    return {**lineage.about, "columns": {**by_fate, "dropped": list(lineage.dropped)}}


def assertions_facet(checks: Mapping[str, bool]) -> Any:
    """List the checks with their verdicts."""
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality

    return quality.DataQualityAssertionsDatasetFacet(
        assertions=[quality.Assertion(name, passed) for name, passed in checks.items()]
    )


def column_facet(lineage: Lineage) -> Any:
    """Say of each column of the output which column it was, and what was done to it."""
    from openlineage.client.facet_v2 import column_lineage_dataset as columns

    namespace, name = lineage.inputs[0]
    fields = {}
    for column, became in lineage.columns.items():
        subtype, masking = BECAME[became]
        done = columns.Transformation("DIRECT", subtype, description=became, masking=masking)
        origin = columns.InputField(namespace, name, column, transformations=[done])
        fields[column] = columns.Fields(inputFields=[origin])
    return columns.ColumnLineageDatasetFacet(fields=fields)


def schema_facet(names: Sequence[str] | Mapping[str, str]) -> Any:
    """List the columns of the output."""
    from openlineage.client.facet_v2 import schema_dataset

    return schema_dataset.SchemaDatasetFacet(
        fields=[schema_dataset.SchemaDatasetFacetFields(name=name) for name in names]
    )
