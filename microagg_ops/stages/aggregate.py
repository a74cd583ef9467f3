"""Aggregate: find clusters, and give each row the representative of its cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.dominance import Rule
from microagg_ops.columns.nulls import blocks
from microagg_ops.columns.space import NOMINAL
from microagg_ops.compiling import working_time
from microagg_ops.engines.base import Engine
from microagg_ops.engines.blocks import Block, Search
from microagg_ops.errors import ReleaseError
from microagg_ops.methods.limits import Mended
from microagg_ops.methods.partition import Point, Progress, no_progress, renumbered
from microagg_ops.methods.registry import for_one_column
from microagg_ops.release.model import Release
from microagg_ops.stages.artefacts import ENTITY, LABEL, ROW, Groups, Prepared, Protected
from microagg_ops.stages.bound import proven_bound
from microagg_ops.stages.limits import Limited
from microagg_ops.stages.microdata import Microdata
from microagg_ops.stages.price import price
from microagg_ops.stages.represent import represent
from microagg_ops.stages.run import Run
from microagg_ops.stages.series import fixed
from microagg_ops.stages.series_verdict import settle
from microagg_ops.staging.digests import ordered_digest

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    #: The group of a block, and its rows.
    Place = tuple[int, NDArray[np.int64]]

# Points of a trajectory that are kept: as many as a plot can show.
MOST_POINTS = 200


def aggregate(run: Run) -> dict[str, Any]:
    """Make the table that will be published, if it passes."""
    release, rows, groups = run.release, Prepared.rows(run), Groups.of(run).names
    began = working_time()
    limited = Limited.of(release, rows)
    hidden = [rows.hidden(names, release, limited.enough) for names in groups]
    given = fixed(run)
    if given is None:
        limited.refuse_impossible(hidden)
        found = find_labels(run.engine, release, limited, groups, hidden, progress=run.progress)
    else:
        found = Found([given.labels], [], [])
    seconds = working_time() - began
    is_reported = run.reports is not None  # else nobody asked what the release costs
    shown = given.shown if given else {}
    protected, outcome, treatment = represent(
        release, rows, groups, hidden, found.labels, shown=shown
    )
    remembered, counts = settle(run, rows, protected)
    protected, origin = without_order(run, rows, protected, found.labels)
    summary = {
        "method": methods_of(release, groups),
        "k": release.aggregate.k,
        "rows": protected.num_rows,
        "clusters": [int(labels.max()) + 1 for labels in found.labels],
        **outcome,
        "least_loss": proven_bound(release, rows, groups, hidden) if is_reported else None,
        "seconds": round(seconds, 3),
        "price": price(found.mended, release) if is_reported else None,
        "search": describe_searches(found.trajectories),
        "digest": ordered_digest(protected),
        **counts,
    }
    Protected.write(run, protected, origin, treatment, summary, beside=remembered)
    return summary


def methods_of(release: Release, groups: Sequence[Sequence[str]]) -> str:
    """Name the methods by what was asked for: those of blocks would tell how large blocks were."""
    plain = {n for n, how in release.columns.quasi.items() if how.type not in NOMINAL}
    alone = [len(names) == 1 and set(names) <= plain for names in groups]
    named = [for_one_column() if one else release.aggregate.method for one in alone]
    return " and ".join(dict.fromkeys(named))


@dataclass(frozen=True)
class Found:
    """What was found in all blocks.

    Parameters
    ----------
    labels
        Of each group ``int32[rows]``, row to cluster, numbered in order of first appearance.
    trajectories, mended
        Of each block that was searched, and of each that had to meet limits.
    """

    labels: list[NDArray[np.int32]]
    trajectories: list[Sequence[Point]]
    mended: list[Mended]


def find_labels(
    engine: Engine[Any],
    release: Release,
    limited: Limited,
    groups: Sequence[Sequence[str]],
    hidden: Sequence[NDArray[np.bool_]],
    *,
    progress: Progress = no_progress,
) -> Found:
    """Find the clusters of each group of columns: a block a stratum and pattern of NULLs."""
    import numpy as np

    rows = limited.microdata
    places = [(i, there) for i, none in enumerate(hidden)
              for there in blocks(rows.strata.codes, none)]  # fmt: skip
    labels, counts = np.empty((len(groups), len(rows.weights)), np.int64), [0] * len(groups)
    trajectories: list[Sequence[Point]] = []
    mended: list[Mended] = []
    tasks = planned(release, limited, groups, hidden, places)
    for (i, there), found in zip(places, engine.clusters(tasks, progress), strict=True):
        labels[i, there] = found.labels + counts[i]
        counts[i] += int(found.labels.max()) + 1
        if found.method is not None:
            trajectories.append(found.trajectory)
            mended += found.mended
    return Found([renumbered(one) for one in labels], trajectories, mended)


def planned(
    release: Release,
    limited: Limited,
    groups: Sequence[Sequence[str]],
    hidden: Sequence[NDArray[np.bool_]],
    places: Sequence[Place],
) -> Iterator[Block]:
    """Make the task of each block, with all that its search needs."""
    import numpy as np

    rows, how, rule = limited.microdata, release.aggregate, Rule.of(release)
    searches = Counter[str]()
    # A mode is never one entity's alone, and what was imputed is judged where it is published.
    medians = {
        name: column
        for name, column in rows.filled.items()
        if column.how.statistic == "median" and not rows.is_imputed(name)
    }
    for i, there in places:
        none = hidden[i][there[0]]
        names = [name for name, gone in zip(groups[i], none, strict=True) if not gone]
        # Entities in the order of their first row: keys themselves must not decide a tie.
        entities = renumbered(rows.entities[there])
        share = len(there) / len(rows.weights) / len(groups)
        points = np.hstack([np.empty((len(there), 0)), *(rows.points[n][there] for n in names)])
        search = None
        # Fewer than 2k entities, or nothing to tell them by: one cluster, whatever the method.
        if names and entities.max() + 1 >= 2 * how.k:
            # No method can better the optimal partition, and for one column it is quick to find.
            method = for_one_column() if points.shape[1] == 1 else how.method
            params = params_of(how.params, searches[method]) if method == how.method else {}
            seconds = None if how.seconds is None else how.seconds * share
            search = Search(method, how.k, how.seed, seconds, params, how.threads)
            searches[method] += 1
        shown = tuple(replace(medians[n], codes=medians[n].codes[there])
                      for n in names if n in medians)  # fmt: skip
        limits = limited.of_block(there, entities) if search else ()
        yield Block(points, entities, rows.weights[there], shown, rule, search, share, limits)


def params_of(params: Mapping[str, Any], search: int) -> dict[str, Any]:
    """Return the parameters of one search: to replay a run, it may have iterations of its own."""
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


def describe_searches(searches: Sequence[Sequence[Point]]) -> dict[str, Any] | None:
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
        "guarded": [points[-1].guarded for points in searches],
        "trajectory": [*trajectory[:-1:step], trajectory[-1]],
    }


def without_order(
    run: Run, microdata: Microdata, protected: pa.Table, labels: list[NDArray[np.int32]]
) -> tuple[pa.Table, pa.Table]:
    """Sort the published rows by what is published, so that their order tells nothing else."""
    import pyarrow as pa
    import pyarrow.compute as pc

    order = pc.sort_indices(protected, [(name, "ascending") for name in protected.column_names])
    rows: dict[str, NDArray[Any]] = {ROW: microdata.strata.rows}
    rows |= {LABEL.format(i): found for i, found in enumerate(labels)}
    if run.release.columns.entity:
        rows[ENTITY] = microdata.entities
    return protected.take(order), pa.table(rows).take(order)
