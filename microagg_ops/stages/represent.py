"""Assign each row the representative of its cluster, and tell what that cost and did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.dominance import DOMINANT, parts
from microagg_ops.columns.encoding import Encoded, decode, read
from microagg_ops.columns.representatives import medoids, representable
from microagg_ops.columns.space import losses
from microagg_ops.errors import DataError
from microagg_ops.release.model import Release
from microagg_ops.stages.microdata import Microdata
from microagg_ops.stages.outside import gate_of, outside_figures

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Labels = list[NDArray[np.int32]]


def represent(
    release: Release,
    rows: Microdata,
    groups: list[list[str]],
    hidden: list[NDArray[np.bool_]],
    labels: Labels,
    *,
    shown: Mapping[int, pa.Table] = MappingProxyType({}),
) -> tuple[pa.Table, dict[str, Any], dict[str, Any]]:
    """Make the table to publish, in the order of its source; tell what was lost, and what done.

    What clusters show that were published before is not theirs to choose: ``shown`` has their rows.
    """
    import numpy as np
    import pyarrow as pa

    cells = {name: typed(rows.strata.table[name]) for name in rows.strata.table.column_names}
    after: dict[str, NDArray[np.float64]] = {}
    warnings: list[str] = []
    told: dict[str, Any] = {
        "totals": {},
        "suppressed": [],
        "imputed": {},
        "strata": {"merged": list(rows.strata.merged), "dropped": list(rows.strata.dropped)},
        "dominance": [],
    }
    for names, none, found in zip(groups, hidden, labels, strict=True):
        chosen = medoids_of(rows, names, none, found)
        for j, name in enumerate(names):
            whole = rows.filled[name]
            encoded = replace(whole, codes=np.where(none[:, j], np.nan, whole.codes))
            told["suppressed"] += suppressed(whole, encoded, rows)
            if rows.is_imputed(name):
                behind = rows.backed(name, names, found, release)
                mine, codes, encoded = behind.labels, behind.codes, behind.own
                told["imputed"][name] = int(encoded.missing.sum())
            elif encoded.how.statistic == "medoid":
                mine, codes = found, encoded.codes[chosen]
            else:
                mine, codes = found, representable(encoded, found, rows.weights, rows.entities)
            own = as_shown(pa.chunked_array([decode(encoded, codes)]), name, shown)
            after[name] = read(name, encoded.how, own, encoded.categories).codes[mine]
            cells[name] = own.take(mine)
            if encoded.how.statistic == "mean":
                told["totals"][name] = difference(encoded, after[name], rows.weights)
            told["dominance"] += dominated(release, encoded, mine, rows)
        warnings += heavy(release, found, rows)
    loss, by_column = losses(
        list(rows.before.values()), [after[name] for name in rows.before], rows.scales, rows.weights
    )
    warnings += unseen(release, told["dominance"])
    gate = gate_of(release, rows.entities)
    summary = {
        "information_loss": loss,
        "information_loss_by_column": by_column,
        "suppressed": sum(entry["cells"] for entry in told["suppressed"]),
        "imputed": sum(told["imputed"].values()),
        "warnings": warnings,
        "entities": gate.entities,
        "outside": outside_figures(release, rows, after, gate),
    }
    return pa.table({name: cells[name] for name in rows.published}), summary, told


def medoids_of(
    rows: Microdata, names: list[str], none: NDArray[np.bool_], labels: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Find the row that stands for each cluster, where columns of a group want one."""
    import numpy as np

    if not any(rows.before[name].how.statistic == "medoid" for name in names):
        return np.zeros(0, np.int64)
    there = [np.where(gone[:, None], 0.0, rows.points[name])
             for name, gone in zip(names, none.T, strict=True)]  # fmt: skip
    return medoids(np.hstack(there), labels, rows.weights)


def as_shown(cells: pa.ChunkedArray, name: str, shown: Mapping[int, pa.Table]) -> pa.ChunkedArray:
    """Take the cells of clusters that were published before from what was published."""
    import numpy as np
    import pyarrow as pa

    if not shown:
        return cells
    take = np.arange(len(cells))
    take[list(shown)] = len(cells) + np.arange(len(shown))
    before = [rows[name].slice(0, 1).cast(cells.type) for rows in shown.values()]
    return pa.chunked_array([*cells.chunks, *(c for b in before for c in b.chunks)]).take(take)


def typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast a column that has no type: no warehouse has one without."""
    import pyarrow as pa

    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def suppressed(before: Encoded, after: Encoded, rows: Microdata) -> Iterator[dict[str, Any]]:
    """Count the cells of a column that were suppressed, by stratum; a stratum is a number here."""
    import numpy as np

    counts = np.bincount(rows.strata.codes[after.missing & ~before.missing])
    for stratum in np.flatnonzero(counts):
        yield {"name": before.name, "stratum": int(stratum) + 1, "cells": int(counts[stratum])}


def difference(encoded: Encoded, after: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Compute the relative difference of a column's total after and before."""
    import numpy as np

    size = float(np.nansum(weights * np.abs(encoded.codes)))
    return float(np.nansum(weights * (after - encoded.codes))) / size if size else 0.0


def heavy(release: Release, labels: NDArray[np.int32], rows: Microdata) -> Iterator[str]:
    """Warn of clusters in which one weight outweighs all others."""
    if release.columns.weight is None:
        return
    many = int((parts(rows.weights, labels, rows.entities).share(1) > DOMINANT).sum())
    if many:
        yield (
            f"In {many} of {int(labels.max()) + 1} clusters one entity has more than "
            f"{DOMINANT:.0%} of the weight."
        )


def dominated(
    release: Release, encoded: Encoded, labels: NDArray[np.int32], rows: Microdata
) -> Iterator[dict[str, Any]]:
    """Count the means of a column that few entities make up by themselves.

    Counts alone: with a share and the published mean one could reckon a cell.
    """
    import numpy as np

    how = release.validate.dominance
    if not encoded.how.is_magnitude or (how.columns and encoded.name not in how.columns):
        return
    if np.nanmin(encoded.codes, initial=0.0) < 0:
        if how.columns:
            raise DataError(
                f"Dominance cannot be looked for in {encoded.name!r}: it has negative values.",
                code="negative_magnitude",
                hint="Correct validate.dominance.columns.",
            )
        return
    values = np.nan_to_num(encoded.codes) * encoded.unit * rows.weights
    found = parts(values, labels, rows.entities)
    share, p = how.of_values(release.aggregate.k)
    share = DOMINANT if share is None else share
    yield {
        "name": encoded.name,
        "n": how.n,
        "share": share,
        "dominated": int((found.share(how.n) > share).sum()),
        "p": p,
        "estimable": None if p is None else int((found.remainder() < p).sum()),
    }


def unseen(release: Release, found: list[dict[str, Any]]) -> Iterator[str]:
    """Warn of columns that a limit was set for but that have negative values."""
    how = release.validate.dominance
    if how.columns or (how.share is None and how.p is None):
        return
    seen = [entry["name"] for entry in found]
    for name, column in release.columns.quasi.items():
        if column.is_magnitude and name not in seen:
            yield f"Dominance was not looked for in {name!r}: it has negative values."
