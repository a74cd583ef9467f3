"""Microaggregation of a frame of pandas, polars or Arrow in memory."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.frames import (
    as_arrow,
    is_lazy,
    kind_of_frame,
    names_of,
    replaced,
    selected,
    taken,
)
from microagg_ops.errors import DataError, ReleaseError
from microagg_ops.methods.partition import no_progress
from microagg_ops.metrics import k_by_group
from microagg_ops.options import Options, Place, told_of_arguments
from microagg_ops.result import Microaggregated
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.artefacts import Protected, warnings_of
from microagg_ops.stages.evidence import Evidence
from microagg_ops.stages.extract import check_columns, check_rows, readable, staged
from microagg_ops.staging.digests import one_zero
from microagg_ops.staging.store import MemoryStaging

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


BAR = 30


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
    sensitive: Sequence[str] = (),
    keep: Sequence[str] | bool = False,
    small_strata: str = "error",
    nulls: str = "reject",
    weight: str | None = None,
    seed: int = 0,
    budget: str | float | None = None,
    threads: int | None = None,
    method_params: Mapping[str, Any] | None = None,
    l: Mapping[str, Any] | None = None,  # noqa: E741
    t: Mapping[str, Any] | None = None,
    progress: Callable[[float], None] | bool = False,
) -> Microaggregated:
    """Make the quasi-identifiers of a frame k-anonymous.

    Parameters
    ----------
    frame
        A frame of pandas, a frame or lazy frame of polars, a table or record batch of Arrow. The
        same kind comes back, its columns in the types that they had, and this one is not changed.
    quasi
        The columns to protect, or a mapping of them to a type (number, integer, decimal, boolean,
        date, timestamp, ordinal, nominal), or to what a release file says of one: type, order,
        weight, representative, cast, hierarchy and so on. Without a type it is that of the column;
        an ordered category is ordinal.
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
    sensitive
        Columns to publish as they are, besides those that ``l`` and ``t`` name.
    keep
        Further columns to give back as they are, although no release would publish them: those
        named, or all (``True``).
    small_strata
        What becomes of a stratum with fewer than k entities: error, merge or drop.
    nulls
        What a NULL in a quasi-identifier means: reject, own_class or impute.
    weight
        A column of weights, for weighted representatives and a weighted loss.
    seed, threads
        As for `partition`.
    budget
        The longest time to search: a number of seconds, or a text such as ``"500ms"`` or ``"2m"``.
    method_params
        Parameters of the method.
    l, t
        What every cluster must have of sensitive columns, by column, as a release file says it
        under validate: ``l={"diagnosis": 3}``, ``t={"income": 0.2}``. People are counted: rows, or
        entities. With several groups each meets them by itself.
    progress
        ``True`` draws a bar on standard error; a function is called with the share that is done.
    """
    limited = (*(l or {}), *(t or {}))
    options = Options(
        quasi=quasi, k=k, method=method, standardize=standardize, groups=groups, entity=entity,
        strata=strata, small_strata=small_strata, nulls=nulls, weight=weight, seed=seed,
        budget=budget, threads=threads, method_params=method_params or {}, l=l or {}, t=t or {},
        guarantee="per_group" if groups else "joint",
        sensitive=sensitive if isinstance(sensitive, str)
        else list(dict.fromkeys((*sensitive, *limited))),
    )  # fmt: skip
    with told_of_arguments():
        given = opened(frame, options, keep)
        return protected(given, options, told_to(progress))


def told_to(progress: Callable[[float], None] | bool) -> Callable[[float], None]:
    """Return what is told of progress: nobody, whoever was named, or a bar."""
    if not isinstance(progress, bool):
        return progress
    return Bar() if progress else no_progress


class Bar:
    """A bar on standard error, drawn over what was drawn before."""

    def __init__(self) -> None:
        self.drawn = 0.0

    def __call__(self, share: float) -> None:
        """Draw the share that is done; once all is, later ones are of what follows it."""
        if share == self.drawn:
            return
        self.drawn, filled = share, int(share * BAR)
        end = "\n" if share >= 1 else ""
        sys.stderr.write(f"\r{'█' * filled}{'░' * (BAR - filled)} {share:4.0%}{end}")
        sys.stderr.flush()


@dataclass(frozen=True)
class Given:
    """A frame that was given: the columns that are needed, and which of them to give back."""

    frame: Any
    names: list[Any]
    is_lazy: bool


def opened(frame: Any, options: Options, keep: Sequence[str] | bool) -> Given:
    """Take what is needed of a frame of which the same kind can be given back."""
    if not kind_of_frame(frame):
        raise DataError(
            "The frame must be a frame of pandas, polars or Arrow. "
            f"Got {type(frame).__name__} instead.",
            code="bad_type",
        )
    if isinstance(keep, str):
        raise ReleaseError("The 'keep' parameter must be a list of columns, not a text.")
    there = names_of(frame)
    others = [] if isinstance(keep, bool) else list(keep)
    check_names({*options.columns, *others})
    check_columns("The frame", there, {*options.columns, *others})
    back = {*options.quasi, *options.sensitive, *options.strata, *others}
    needed = [name for name in there if keep is True or name in {*options.columns, *others}]
    names = [name for name in needed if keep is True or name in back]
    return Given(selected(frame, needed), names, is_lazy(frame))


def is_text(name: Any) -> bool:
    """Whether a name is a text."""
    return isinstance(name, str)


def check_names(names: Iterable[Any]) -> None:
    """Refuse names of columns that are no texts."""
    for name in names:
        if not is_text(name):
            raise ReleaseError(
                f"A column is named by a text. Got {type(name).__name__} instead.",
                hint="Rename the columns (frame.columns = frame.columns.astype(str)).",
            )


def protected(given: Given, options: Options, progress: Callable[[float], None]) -> Microaggregated:
    """Protect what was given, and give the same kind back."""
    import numpy as np
    import pyarrow.compute as pc

    table = as_arrow(given.frame, options.columns)
    release = replace(options.release(table, Place("frame"), None), release="frame")
    table = one_zero(readable(release, table))
    order = pc.sort_indices(table, [(name, "ascending") for name in table.column_names])
    run = Run(
        release=release,
        staging=MemoryStaging(),
        warehouse=_no_warehouse,
        reports=None,
        run_id="frame",
        progress=progress,
        installation=lambda: secrets.token_bytes(32),  # nothing here is compared with other runs
    )
    check_rows(run, table)
    staged(run, table.take(order), {}, "")
    for stage in ("standardize", "group", "aggregate"):
        stage_function(stage)(run)
    found = Protected.of(run)
    rows, summary, treatment = found.origin, found.summary, found.treatment
    # From the published order through the canonical one back to the frame's own.
    own = order.to_numpy()[found.order]
    back = np.argsort(own)
    names = [name for name in rows.column_names if name.startswith("label_")]
    labels = np.column_stack([_numbered(rows[name].to_numpy()[back]) for name in names])
    clusters = tuple(summary["clusters"])
    new = found.rows.take(back).select([*options.quasi, *options.strata])
    frame = replaced(taken(selected(given.frame, given.names), own[back]), new)
    return Microaggregated(
        frame=frame.lazy() if given.is_lazy else frame,
        labels=labels if len(clusters) > 1 else labels[:, 0],
        information_loss=summary["information_loss"],
        clusters=clusters if len(clusters) > 1 else clusters[0],
        treatment={name: treatment[name] for name in ("suppressed", "imputed", "strata")},
        warnings=tuple(warnings_of(run)),
        k=counted(run),
        _run=run,
    )


def counted(run: Run) -> int:
    """Count k as it was asked for: over all quasi-identifiers, or in each group."""
    evidence, release = Evidence.of(run), run.release
    per_group = release.validate.guarantee == "per_group"
    sets = evidence.groups if per_group else [release.quasi]
    return min(k_by_group(evidence.with_entities, sets, release.strata, release.columns.entity))


def _numbered(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    from microagg_ops.methods.partition import renumbered

    return renumbered(labels)


def _no_warehouse(conn_id: str) -> Any:
    raise DataError("A frame has no warehouse.")
