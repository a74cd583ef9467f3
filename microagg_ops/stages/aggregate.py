"""Aggregate: find clusters, and give each row the representative of its cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from microagg_ops.artifact import content_digest, to_parquet
from microagg_ops.columns.nulls import blocks
from microagg_ops.errors import ReleaseError
from microagg_ops.methods import partition
from microagg_ops.methods.partition import Point, Progress, renumbered
from microagg_ops.metrics.loss import centroids
from microagg_ops.stages.prepared import Prepared, prepare
from microagg_ops.stages.represent import represent
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

# Points of a trajectory that are kept: as many as a plot can show.
MOST_POINTS = 200
ROW, LABEL, ENTITY = "row", "label_{}", "entity"


def aggregate(run: Run) -> dict[str, Any]:
    """Make the table that will be published, if it passes."""
    rows = prepare(run)
    groups = run.document("group", "groups")
    began = time.monotonic()
    searches: list[Search] = []
    hidden = [rows.hidden(names, run.release) for names in groups]
    labels = [
        find_labels(
            run, rows, names, none, part=(i / len(groups), 1 / len(groups)), searches=searches
        )
        for i, (names, none) in enumerate(zip(groups, hidden, strict=True))
    ]
    seconds = time.monotonic() - began
    protected, outcome, treatment = represent(run.release, rows, groups, hidden, labels)
    protected, origin = without_order(run, rows, protected, labels)
    summary = {
        "method": " and ".join(dict.fromkeys(search.method for search in searches))
        or run.release.aggregate.method,
        "k": run.release.aggregate.k,
        "rows": protected.num_rows,
        "clusters": [int(found.max()) + 1 for found in labels],
        **outcome,
        "seconds": round(seconds, 3),
        "search": describe_searches([search.trajectory for search in searches]),
        "digest": content_digest(protected),
    }
    files = {
        "protected.parquet": to_parquet(protected),
        "rows.parquet": to_parquet(origin),
        "treatment.json": json.dumps(treatment).encode(),
    }
    run.staging.put("aggregate", files, summary)
    return summary


@dataclass(frozen=True)
class Search:
    """The search for the clusters of one stratum and pattern of NULLs of one group."""

    method: str
    number: int
    share: float
    progress: Progress
    trajectory: list[Point] = field(default_factory=list)


def find_labels(
    run: Run,
    prepared: Prepared,
    names: list[str],
    hidden: NDArray[np.bool_],
    *,
    part: tuple[float, float],
    searches: list[Search],
) -> NDArray[np.int32]:
    """Find the clusters of one group of columns: a search a stratum and pattern of NULLs."""
    import numpy as np

    labels = np.empty(len(hidden), np.int64)
    (done, all_of_it), clusters = part, 0
    for rows in blocks(prepared.strata.codes, hidden):
        share = len(rows) / len(hidden) * all_of_it

        def tell(part: float, done: float = done, share: float = share) -> None:
            run.progress(done + part * share)

        there = [prepared.points[n][rows] for n in np.array(names)[~hidden[rows[0]]]]
        # Entities in the order of their first row: keys themselves must not decide a tie.
        entities = renumbered(prepared.entities[rows])
        found = np.zeros(len(rows), np.int32)
        # Fewer than 2k entities, or nothing to tell them by: one cluster, whatever the method.
        if there and entities.max() + 1 >= 2 * run.release.aggregate.k:
            points = np.hstack(there)
            # No method can better the optimal partition, and for one column it is quick to find.
            method = "optimal" if points.shape[1] == 1 else run.release.aggregate.method
            number = sum(search.method == method for search in searches)
            searches.append(Search(method, number, share, tell))
            found = partition_entities(run, points, entities, searches[-1])
        labels[rows] = found + clusters
        clusters += int(found.max()) + 1
        done += share
    return renumbered(labels)


def partition_entities(
    run: Run, points: NDArray[np.float64], entities: NDArray[np.int32], search: Search
) -> NDArray[np.int32]:
    """Partition entities, each at the mean of its rows, so that a cluster has k of them.

    All rows of an entity that are NULL in the same columns share a cluster: were they spread over
    several, each would tell of the others.
    """
    how = run.release.aggregate
    centres = points
    if entities.max() + 1 < len(points):
        centres = centroids(points, entities)
    labels = partition(
        centres,
        how.k,
        search.method,
        seed=how.seed,
        budget=None if how.seconds is None else how.seconds * search.share,
        progress=search.progress,
        trajectory=search.trajectory,
        **(params_of(how.params, search.number) if search.method == how.method else {}),
    )
    return labels[entities]


def params_of(params: Mapping[str, Any], search: int) -> dict[str, Any]:
    """Give the parameters of one search: to replay a run, it may have iterations of its own."""
    own = dict(params)
    for name, value in params.items():
        if isinstance(value, list):
            if search >= len(value):
                raise ReleaseError(
                    f"aggregate.params.{name} has fewer entries than there are groups and strata.",
                    hint="Give one number, or as many as the summary of the run to replay lists.",
                )
            own[name] = value[search]
    return own


def describe_searches(searches: list[list[Point]]) -> dict[str, Any] | None:
    """Join the trajectories of searches that ran one after the other: seconds, iterations, SSE."""
    searches = [points for points in searches if points]
    if not searches:
        return None
    # A search that has not begun counts with the SSE that it will begin with.
    others = sum(points[0].sse for points in searches)
    trajectory, seconds, iterations = [], 0.0, 0
    for points in searches:
        others -= points[0].sse
        trajectory += [
            [round(seconds + p.seconds, 3), iterations + p.iterations, others + p.sse]
            for p in points
        ]
        others += points[-1].sse
        seconds, iterations = seconds + points[-1].seconds, iterations + points[-1].iterations
    step = -(-len(trajectory) // MOST_POINTS)
    return {
        "iterations": [points[-1].iterations for points in searches],
        "schedule": [points[-1].schedule for points in searches],
        "trajectory": [*trajectory[:-1:step], trajectory[-1]],
    }


def without_order(
    run: Run, prepared: Prepared, protected: pa.Table, labels: list[NDArray[np.int32]]
) -> tuple[pa.Table, pa.Table]:
    """Sort the published rows by what is published, so that their order tells nothing else."""
    import pyarrow as pa
    import pyarrow.compute as pc

    order = pc.sort_indices(protected, [(name, "ascending") for name in protected.column_names])
    rows: dict[str, NDArray[Any]] = {ROW: prepared.strata.rows}
    rows |= {LABEL.format(i): found for i, found in enumerate(labels)}
    if run.release.columns.entity:
        rows[ENTITY] = prepared.entities
    return protected.take(order), pa.table(rows).take(order)
