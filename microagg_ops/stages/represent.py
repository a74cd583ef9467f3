"""Give each row the representative of its cluster, and tell what that cost and did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.coded import Coded, decode, read
from microagg_ops.columns.dominance import DOMINANT, parts
from microagg_ops.columns.representatives import published
from microagg_ops.columns.space import losses
from microagg_ops.errors import DataError
from microagg_ops.release import Release
from microagg_ops.stages.prepared import Prepared

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Labels = list[NDArray[np.int32]]


def represent(
    release: Release,
    rows: Prepared,
    groups: list[list[str]],
    hidden: list[NDArray[np.bool_]],
    labels: Labels,
) -> tuple[pa.Table, dict[str, Any], dict[str, Any]]:
    """Make the table to publish, in the order of its source; tell what was lost, and what done."""
    import numpy as np
    import pyarrow as pa

    protected = publishable(release, rows.strata.table)
    after: dict[str, NDArray[np.float64]] = {}
    warnings: list[str] = []
    told: dict[str, Any] = {
        "totals": {},
        "suppressed": [],
        "imputed": {n: int(c.missing.sum()) for n, c in imputed_columns(release, rows)},
        "strata": {"merged": list(rows.strata.merged), "dropped": list(rows.strata.dropped)},
        "dominance": [],
    }
    for names, none, found in zip(groups, hidden, labels, strict=True):
        for j, name in enumerate(names):
            whole = rows.filled[name]
            coded = replace(whole, codes=np.where(none[:, j], np.nan, whole.codes))
            cells = pa.chunked_array([decode(coded, published(coded, found, rows.weights))])
            after[name] = read(name, coded.how, cells, coded.categories).codes[found]
            place = protected.column_names.index(name)
            protected = protected.set_column(place, name, cells.take(found))
            told["suppressed"] += suppressed(whole, coded, rows)
            if coded.how.published == "mean":
                told["totals"][name] = difference(coded, after[name], rows.weights)
            told["dominance"] += dominated(release, coded, found, rows)
        warnings += heavy(release, found, rows)
    loss, by_column = losses(
        list(rows.before.values()), [after[name] for name in rows.before], rows.scales, rows.weights
    )
    warnings += unseen(release, told["dominance"])
    summary = {
        "information_loss": loss,
        "information_loss_by_column": by_column,
        "suppressed": sum(entry["cells"] for entry in told["suppressed"]),
        "imputed": sum(told["imputed"].values()),
        "warnings": warnings,
    }
    return protected, summary, told


def publishable(release: Release, table: pa.Table) -> pa.Table:
    """Take the columns that leave, each with a type."""
    import pyarrow as pa

    found = table.select([name for name in table.column_names if name in release.published])
    for i, column in enumerate(found.schema):
        if pa.types.is_null(column.type):  # no warehouse has a column without a type
            found = found.set_column(i, column.name, found[i].cast(pa.string()))
    return found


def imputed_columns(release: Release, rows: Prepared) -> list[tuple[str, Coded]]:
    """Give the columns with cells that were imputed."""
    if release.nulls != "impute":
        return []
    return [(name, coded) for name, coded in rows.before.items() if coded.missing.any()]


def suppressed(before: Coded, after: Coded, rows: Prepared) -> Iterator[dict[str, Any]]:
    """Count the cells of a column that were suppressed, by stratum; a stratum is a number here."""
    import numpy as np

    counts = np.bincount(rows.strata.codes[after.missing & ~before.missing])
    for stratum in np.flatnonzero(counts):
        yield {"name": before.name, "stratum": int(stratum) + 1, "cells": int(counts[stratum])}


def difference(coded: Coded, after: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Give the relative difference of a column's total after and before."""
    import numpy as np

    size = float(np.nansum(weights * np.abs(coded.codes)))
    return float(np.nansum(weights * (after - coded.codes))) / size if size else 0.0


def heavy(release: Release, labels: NDArray[np.int32], rows: Prepared) -> Iterator[str]:
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
    release: Release, coded: Coded, labels: NDArray[np.int32], rows: Prepared
) -> Iterator[dict[str, Any]]:
    """Count the means of a column that few entities make up by themselves.

    Counts alone: with a share and the published mean one could reckon a cell.
    """
    import numpy as np

    how = release.validate.dominance
    if not coded.how.is_magnitude or (how.columns and coded.name not in how.columns):
        return
    if np.nanmin(coded.codes, initial=0.0) < 0:
        if how.columns:
            raise DataError(
                f"Dominance cannot be looked for in {coded.name!r}: it has negative values.",
                code="negative_magnitude",
                hint="Correct validate.dominance.columns.",
            )
        return
    values = np.nan_to_num(coded.codes) * coded.unit * rows.weights
    found = parts(values, labels, rows.entities)
    limit = DOMINANT if how.share is None else how.share
    yield {
        "name": coded.name,
        "n": how.n,
        "share": limit,
        "dominated": int((found.share(how.n) > limit).sum()),
        "p": how.p,
        "estimable": None if how.p is None else int((found.remainder() < how.p).sum()),
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
