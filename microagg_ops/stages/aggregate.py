"""Aggregate: find clusters, and give each row the representative of its cluster."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from microagg_ops.artifact import content_digest, to_parquet
from microagg_ops.columns import decode, encode, published_type
from microagg_ops.errors import DataError, ReleaseError
from microagg_ops.methods import partition
from microagg_ops.methods.partition import Point, Progress, check_k, renumbered
from microagg_ops.metrics.loss import centroids, sse, sst
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
    table, matrix = run.table("extract", "table"), run.table("standardize", "matrix")
    groups = run.document("group", "groups")
    began = time.monotonic()
    searches: list[Search] = []
    labels = [find_labels(run, table, matrix.select(names), len(groups), searches)
              for names in groups]  # fmt: skip
    seconds = time.monotonic() - began
    protected = with_representatives(run, table, groups, labels)
    loss, by_column = losses(run, table, protected, run.document("standardize", "scales"))
    protected, rows = without_order(run, table, protected, labels)
    summary = {
        "method": " and ".join(dict.fromkeys(search.method for search in searches)),
        "k": run.release.aggregate.k,
        "rows": protected.num_rows,
        "clusters": [int(found.max()) + 1 for found in labels],
        "information_loss": loss,
        "information_loss_by_column": by_column,
        "seconds": round(seconds, 3),
        "search": describe_searches([search.trajectory for search in searches]),
        "digest": content_digest(protected),
    }
    files = {"protected.parquet": to_parquet(protected), "rows.parquet": to_parquet(rows)}
    run.staging.put("aggregate", files, summary)
    return summary


@dataclass(frozen=True)
class Search:
    """The search for the clusters of one stratum of one group."""

    method: str
    number: int
    share: float
    progress: Progress
    trajectory: list[Point] = field(default_factory=list)


def find_labels(
    run: Run, table: pa.Table, matrix: pa.Table, groups: int, searches: list[Search]
) -> NDArray[np.int32]:
    """Find the clusters of one group of columns: a search a stratum, each with its time."""
    import numpy as np

    release = run.release
    points = np.column_stack([matrix[name].to_numpy() for name in matrix.column_names])
    strata = stratum_codes(table, release.strata)
    entities = None
    if release.columns.entity:
        entities = table[release.columns.entity].to_numpy()
    # No method can better the optimal partition, and for one column it is quick to find.
    method = "optimal" if points.shape[1] == 1 else release.aggregate.method
    labels = np.empty(len(points), np.int64)
    done, clusters = sum(search.share for search in searches), 0
    for stratum in range(strata.max() + 1):
        rows = np.flatnonzero(strata == stratum)
        share = len(rows) / len(points) / groups

        def tell(part: float, done: float = done, share: float = share) -> None:
            run.progress(done + part * share)

        of = None if entities is None else entities[rows]
        number = sum(search.method == method for search in searches)
        searches.append(Search(method, number, share, tell))
        labels[rows] = partition_entities(run, points[rows], of, searches[-1]) + clusters
        clusters = labels[rows].max() + 1
        done += share
    return renumbered(labels)


def partition_entities(
    run: Run, points: NDArray[np.float64], entities: NDArray[Any] | None, search: Search
) -> NDArray[np.int32]:
    """Partition entities, each at the mean of its rows, so that a cluster has k of them."""
    import numpy as np

    how = run.release.aggregate
    codes = np.arange(len(points))
    if entities is not None:
        _, first, codes = np.unique(entities, return_index=True, return_inverse=True)
        # Entities in the order of their first row: keys themselves must not decide a tie.
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        codes = rank[codes]
    centres = points
    if codes.max() + 1 < len(points):
        centres = centroids(points, codes.astype(np.int32))
    what = "entities" if entities is not None else "rows"
    try:
        check_k(how.k, len(centres), what)
    except DataError as error:
        raise DataError(
            f"A stratum of {', '.join(run.release.strata)} has {len(centres)} {what}, "
            f"fewer than k = {how.k}.",
            code="small_stratum",
            hint="Lower k, or merge or exclude small strata in a view.",
        ) from error
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
    return labels[codes]


def params_of(params: Mapping[str, Any], search: int) -> dict[str, Any]:
    """Give the parameters of one search: to replay a run, it may have iterations of its own."""
    own = dict(params)
    iterations = own.get("iterations")
    if isinstance(iterations, list):
        if search >= len(iterations):
            raise ReleaseError(
                "aggregate.params.iterations has fewer entries than there are groups and strata.",
                hint="Give one number, or as many as the report of the run to replay lists.",
            )
        own["iterations"] = iterations[search]
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
        "trajectory": [*trajectory[:-1:step], trajectory[-1]],
    }


def stratum_codes(table: pa.Table, strata: tuple[str, ...]) -> NDArray[np.int64]:
    """Give strata the numbers 0, 1, … in the order in which they first appear."""
    import numpy as np
    import pyarrow.compute as pc

    codes = np.zeros(table.num_rows, np.int64)
    for name in strata:
        column = pc.dictionary_encode(table[name].combine_chunks(), null_encoding="encode")
        _, codes = np.unique(
            codes * (len(column.dictionary) + 1) + column.indices.to_numpy(), return_inverse=True
        )
    return renumbered(codes).astype(np.int64)


def with_representatives(
    run: Run, table: pa.Table, groups: list[list[str]], labels: list[NDArray[np.int32]]
) -> pa.Table:
    """Replace each quasi-identifier by the mean of its cluster, in its own type."""
    import numpy as np
    import pyarrow as pa

    protected = table.select([n for n in table.column_names if n in run.release.published])
    for i, column in enumerate(protected.schema):
        if pa.types.is_null(column.type):  # no warehouse has a column without a type
            protected = protected.set_column(i, column.name, protected[i].cast(pa.string()))
    for names, found in zip(groups, labels, strict=True):
        kinds = [run.release.columns.quasi[name].type for name in names]
        values = [encode(n, kind, table[n]) for n, kind in zip(names, kinds, strict=True)]
        means = centroids(np.column_stack(values), found)
        for j, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            target = published_type(kind, table[name].type)
            column = decode(kind, means[:, j], target).take(found)
            protected = protected.set_column(protected.column_names.index(name), name, column)
    return protected


def losses(
    run: Run, table: pa.Table, protected: pa.Table, scales: dict[str, tuple[float, float]]
) -> tuple[float, dict[str, float]]:
    """Give SSE/SST in percent, of all columns and of each, on what will be published."""
    lost = spread = 0.0
    by_column = {}
    for name, how in run.release.columns.quasi.items():
        _, scale = scales[name]
        before = encode(name, how.type, table[name]) / scale
        error, total = sse(before, encode(name, how.type, protected[name]) / scale), sst(before)
        by_column[name] = 100.0 * error / total if total else 0.0
        lost, spread = lost + error, spread + total
    return (100.0 * lost / spread if spread else 0.0), by_column


def without_order(
    run: Run, table: pa.Table, protected: pa.Table, labels: list[NDArray[np.int32]]
) -> tuple[pa.Table, pa.Table]:
    """Sort the published rows by what is published, so that their order tells nothing else."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    order = pc.sort_indices(protected, [(name, "ascending") for name in protected.column_names])
    rows = {ROW: np.arange(table.num_rows, dtype=np.int64)}
    rows |= {LABEL.format(i): found for i, found in enumerate(labels)}
    if run.release.columns.entity:
        rows[ENTITY] = table[run.release.columns.entity].to_numpy()
    return protected.take(order), pa.table(rows).take(order)
