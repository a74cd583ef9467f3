"""What aggregate may tell others of its rows: losses of published cells, and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import Encoded
from microagg_ops.columns.space import NO_SCALE, displaced, is_nominal
from microagg_ops.outside import Count, Gate
from microagg_ops.release.model import Release
from microagg_ops.release.series import HISTORY
from microagg_ops.stages.microdata import Microdata
from microagg_ops.stages.standardize import centre_and_scale

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def gate_of(release: Release, entities: NDArray[np.int64]) -> Gate:
    """Make the gate of a table from its rows' entities.

    Under history k it stays shut: figures about the people of today change with one of them.
    """
    import numpy as np

    if release.series.protect == HISTORY:
        return Gate(release.aggregate.k, 0)
    return Gate(release.aggregate.k, len(np.unique(entities)))


def outside_figures(
    release: Release,
    rows: Microdata,
    after: Mapping[str, NDArray[np.float64]],
    gate: Gate,
) -> dict[str, Any]:
    """Let what may leave of losses and counts through the gate.

    Parameters
    ----------
    release, rows
        What was asked for, and the rows that are published, as they were.
    after
        The published codes of each quasi-identifier, row by row.
    gate
        The gate of these rows.
    """
    overall, by_column = outside_losses(release, rows, after, gate)
    return {
        "information_loss": overall,
        "information_loss_by_column": by_column,
        **outside_counts(release, rows, after, gate),
        "dropped": gate.count(rows.strata.dropped[1], rows.strata.dropped_entities),
    }


def outside_losses(
    release: Release, rows: Microdata, after: Mapping[str, NDArray[np.float64]], gate: Gate
) -> tuple[float | None, dict[str, float | None]]:
    """Measure SSE/SST in percent over published cells alone, and let it through the gate.

    Means and scales are taken over these cells too: those of the whole column know what was
    suppressed and dropped.
    """
    import numpy as np

    owners = np.unique(rows.entities, return_inverse=True)[1]
    moved, whole = np.zeros(len(owners)), np.zeros(len(owners))
    by_column: dict[str, float | None] = {}
    for name, encoded in rows.before.items():
        there = published_cells(encoded, after[name])
        scale = scale_of(there, release.standardize.method)
        lost, most = displaced(there, after[name], scale, rows.weights)
        lost, most = rows.weights * lost, rows.weights * most
        by_column[name] = share(gate, lost, most, owners)
        moved, whole = moved + lost, whole + most
    return share(gate, moved, whole, owners), by_column


def published_cells(encoded: Encoded, after: NDArray[np.float64]) -> Encoded:
    """Take of a column as it was the cells that are published."""
    import numpy as np

    return replace(encoded, codes=np.where(np.isnan(after), np.nan, encoded.codes))


def scale_of(encoded: Encoded, method: str) -> tuple[float, float]:
    """Standardize by the cells that are there."""
    there = encoded.codes[~encoded.missing] * encoded.unit
    if is_nominal(encoded) or not len(there):
        return NO_SCALE
    return centre_and_scale(encoded.name, there, method)


def share(
    gate: Gate,
    lost: NDArray[np.float64],
    whole: NDArray[np.float64],
    owners: NDArray[np.int64],
) -> float | None:
    """Tell what was lost of the whole in percent, unless few entities make up either."""
    import numpy as np

    total = float(whole.sum())
    by_entity = (np.bincount(owners, part).astype(float) for part in (lost, whole))
    if any(gate.is_few(part) for part in by_entity):
        return None
    return gate.figure(100.0 * float(lost.sum()) / total if total else 0.0, 100.0)


def outside_counts(
    release: Release, rows: Microdata, after: Mapping[str, NDArray[np.float64]], gate: Gate
) -> dict[str, Count]:
    """Count suppressed, imputed and merged cells or rows, as far as that may be told.

    NULLs are seen in the published table, column by column: who knows how many were suppressed
    knows how many were there before, so both must have k entities in every column.
    """
    import numpy as np

    def few(cells: NDArray[np.bool_]) -> int:
        return entities_of(rows, cells)

    def told(cells: list[NDArray[np.bool_]], others: list[NDArray[np.bool_]] | None) -> Count:
        behind: list[int | None] = [None] * len(cells) if others is None else [*map(few, others)]
        anywhere = np.any(cells, axis=0)
        parts = list(zip(map(few, cells), behind, strict=True))
        return gate.count(sum(int(one.sum()) for one in cells), few(anywhere), parts)

    gone = [np.isnan(after[name]) for name in rows.before]
    missing = [encoded.missing for encoded in rows.before.values()]
    pairs = list(zip(gone, missing, strict=True))
    merged = rows.strata.joined.astype(bool)
    return {
        "suppressed": told([g & ~m for g, m in pairs], [g & m for g, m in pairs]),
        "imputed": told([~g & m for g, m in pairs], None),
        "merged": told([merged], [null_strata(release, rows) & ~merged]),
    }


def entities_of(rows: Microdata, cells: NDArray[np.bool_]) -> int:
    """Count the entities that have any of the cells."""
    import numpy as np

    return len(np.unique(rows.entities[cells]))


def null_strata(release: Release, rows: Microdata) -> NDArray[np.bool_]:
    """Find the rows whose strata are published as NULL, for whichever reason."""
    import numpy as np

    names: Sequence[str] = release.strata
    found = np.ones(len(rows.entities), bool) if names else np.zeros(len(rows.entities), bool)
    for name in names:
        found &= rows.strata.table[name].is_null().to_numpy()
    return found
