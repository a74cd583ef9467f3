"""Microaggregation of a pandas or polars frame in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.frames import as_arrow, kind_of_frame, names_of
from microagg_ops.errors import DataError
from microagg_ops.options import Options, Place
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.artefacts import Protected, warnings_of
from microagg_ops.stages.extract import check_columns, keep, nan_as_null, normalized
from microagg_ops.staging.store import MemoryStaging

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Microaggregated:
    """A protected frame.

    Parameters
    ----------
    frame
        The frame that was given, with its quasi-identifiers replaced by representatives; without
        the rows of strata that were dropped.
    labels
        ``int32[n]``, row to cluster; with several groups ``int32[n, groups]``.
    information_loss
        SSE/SST in percent, on the standardized columns.
    clusters
        The number of clusters; with several groups one number each.
    treatment
        How many cells were suppressed and imputed, and how many strata were merged and dropped.
    warnings
        What a reader should know.
    """

    frame: Any
    labels: NDArray[np.int32]
    information_loss: float
    clusters: int | tuple[int, ...]
    treatment: Mapping[str, Any]
    warnings: tuple[str, ...]


def microaggregate(
    frame: Any,
    *,
    quasi: Sequence[str] | Mapping[str, str | Mapping[str, Any]],
    k: int,
    method: str = "mdav",
    standardize: str = "zscore",
    groups: Sequence[Sequence[str]] | Mapping[str, Any] = (),
    entity: str | None = None,
    strata: Sequence[str] = (),
    small_strata: str = "error",
    nulls: str = "reject",
    weight: str | None = None,
    seed: int = 0,
    budget: str | None = None,
    threads: int | None = None,
    method_params: Mapping[str, Any] | None = None,
    l: Mapping[str, Any] | None = None,  # noqa: E741
    t: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Microaggregated:
    """Make the quasi-identifiers of a frame k-anonymous.

    Parameters
    ----------
    frame
        A pandas or polars frame; the same kind comes back, and this one is not changed.
    quasi
        The columns to protect, or a mapping of them to a type (number, integer, decimal, boolean,
        date, timestamp, ordinal, nominal), or to what a release file says of one: type, order,
        weight, representative.
    k
        The least number of rows (with ``entity``: of entities) that share a representative.
    method
        One of the names that ``microagg methods`` lists. A group of one column is given its
        optimal partition in any case.
    standardize
        zscore, minmax, robust or none.
    groups
        Groups of columns, each aggregated by itself: k then holds in each group, not jointly. Or
        what a release file says under group, such as ``{"method": "dgomm", "budget": "10s"}``.
    entity
        A column whose distinct values are counted for k.
    strata
        Columns whose values clusters do not cross.
    small_strata
        What becomes of a stratum with fewer than k entities: error, merge or drop.
    nulls
        What a NULL in a quasi-identifier means: reject, own_class or impute.
    weight
        A column of weights, for weighted representatives and a weighted loss.
    seed, budget, threads
        As for `partition`.
    method_params
        Parameters of the method.
    l, t
        What every cluster must have of sensitive columns, by column, as a release file says it
        under validate: ``l={"diagnosis": 3}``, ``t={"income": 0.2}``. People are counted: rows, or
        entities. With several groups each meets them by itself.
    progress
        Called with the share that is done.
    """
    import numpy as np
    import pyarrow.compute as pc

    options = Options(
        quasi=quasi, k=k, method=method, standardize=standardize, groups=groups, entity=entity,
        strata=strata, small_strata=small_strata, nulls=nulls, weight=weight, seed=seed,
        budget=budget, threads=threads, method_params=method_params or {}, l=l or {}, t=t or {},
        sensitive=list(dict.fromkeys((*(l or {}), *(t or {})))),
    )  # fmt: skip
    table = nan_as_null(normalized(of_frame(frame, options.columns)), quasi)
    release = options.release(table, Place("frame"), None)
    order = pc.sort_indices(table, [(name, "ascending") for name in table.column_names])
    run = Run(
        release=release,
        staging=MemoryStaging(),
        warehouse=_no_warehouse,
        reports=None,
        run_id="frame",
        progress=progress or (lambda share: None),
    )
    keep(run, table.take(order), {}, "")
    for stage in ("standardize", "group", "aggregate"):
        stage_function(stage)(run)
    found = Protected.of(run)
    rows, summary, treatment = found.origin, found.summary, found.treatment
    # From the published order through the canonical one back to the frame's own.
    own = order.to_numpy()[found.order]
    back = np.argsort(own)
    protected = found.rows.take(back)
    names = [name for name in rows.column_names if name.startswith("label_")]
    labels = np.column_stack([_numbered(rows[name].to_numpy()[back]) for name in names])
    clusters = tuple(summary["clusters"])
    return Microaggregated(
        frame=replaced(taken(frame, own[back]), protected.select([*quasi, *strata])),
        labels=labels if len(clusters) > 1 else labels[:, 0],
        information_loss=summary["information_loss"],
        clusters=clusters if len(clusters) > 1 else clusters[0],
        treatment={name: treatment[name] for name in ("suppressed", "imputed", "strata")},
        warnings=tuple(warnings_of(run)),
    )


def of_frame(frame: Any, columns: Sequence[str]) -> pa.Table:
    """Take columns of a frame of which the same kind can be given back."""
    if kind_of_frame(frame) not in ("pandas", "polars"):
        raise DataError(
            f"The frame must be a pandas or polars DataFrame. Got {type(frame).__name__} instead.",
            code="bad_type",
        )
    check_columns("The frame", names_of(frame), columns)
    return as_arrow(frame, columns)


def taken(frame: Any, rows: NDArray[np.int64]) -> Any:
    """Take rows of a frame by their places."""
    if len(rows) == len(frame):
        return frame
    return frame[rows] if type(frame).__module__.startswith("polars") else frame.iloc[rows]


def replaced(frame: Any, columns: pa.Table) -> Any:
    """Put columns into a copy of a frame; categories stay categories."""
    if type(frame).__module__.startswith("polars"):
        import polars as pl

        found = pl.DataFrame(columns)
        kinds = {n: k for n, k in frame.schema.items() if isinstance(k, pl.Categorical | pl.Enum)}
        return frame.with_columns(
            [c.cast(kinds[c.name]) if c.name in kinds else c for c in found.get_columns()]
        )
    copy = frame.copy()
    for name in columns.column_names:
        values = columns[name].to_pandas()
        values.index = copy.index
        if copy[name].dtype == "category":
            values = values.astype(copy[name].dtype)
        copy[name] = values
    return copy


def _numbered(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    from microagg_ops.methods.partition import renumbered

    return renumbered(labels)


def _no_warehouse(conn_id: str) -> Any:
    raise DataError("A frame has no warehouse.")
