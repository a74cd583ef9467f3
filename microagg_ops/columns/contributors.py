"""Contributors: whose cells a published value comes from, where NULLs were imputed.

An imputed cell contributes nothing. A cluster publishes what its known cells give, where they are
of enough entities; else it shares a value of this column with the clusters nearest to it. Where all
of a stratum is not enough, it publishes what the table gives. What is known in a cluster that
does not publish it stays out of the stratum, and of the table, wherever others are published
there: the difference between the wider value and the narrower ones would be theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.dominance import Rule, parts
from microagg_ops.columns.encoding import Encoded
from microagg_ops.columns.merging import merged_clusters
from microagg_ops.columns.nulls import refuse_few
from microagg_ops.columns.representatives import representatives, whole
from microagg_ops.columns.strata import rows_by

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALL = slice(None)


@dataclass(frozen=True)
class Backed:
    """What clusters publish of a column with imputed cells, and who is behind it.

    Parameters
    ----------
    labels
        Row to cluster: those that share a value of this column are one here.
    codes, entities
        By cluster: what it publishes, and how many entities contribute to that.
    own
        The column with the cells alone that their own cluster publishes.
    """

    labels: NDArray[np.int32]
    codes: NDArray[np.float64]
    entities: NDArray[np.int64]
    own: Encoded


def pooled(
    encoded: Encoded,
    labels: NDArray[np.int32],
    points: NDArray[np.float64],
    strata: NDArray[np.int64],
    entities: NDArray[np.int64],
    *,
    weights: NDArray[np.float64],
    rule: Rule,
) -> NDArray[np.int32]:
    """Join clusters within strata until the known cells of each are of enough entities.

    The parameters are those of `backed`; points say which clusters are near.
    """
    import numpy as np

    found = np.empty(len(labels), np.int64)
    clusters = 0
    for block in rows_by(strata):

        def breaks(
            rows: NDArray[np.int64], mine: NDArray[np.int32], block: NDArray[np.int64] = block
        ) -> NDArray[np.bool_]:
            there = block[rows]
            return ~shared(encoded, mine, entities, weights=weights, rule=rule, rows=there)[1]

        own = np.unique(labels[block], return_inverse=True)[1].astype(np.int32)
        found[block] = clusters + merged_clusters(points[block], own, breaks)
        clusters = int(found[block].max()) + 1
    return found.astype(np.int32)


def shared(
    encoded: Encoded,
    groups: NDArray[Any],
    entities: NDArray[np.int64],
    *,
    weights: NDArray[np.float64],
    rule: Rule,
    rows: NDArray[np.int64] | slice = ALL,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return what groups of rows have of a column, whether enough entities do, and how many do."""
    import numpy as np

    cells = replace(encoded, codes=encoded.codes[rows])
    entities, weights, there = entities[rows], weights[rows], ~cells.missing
    known = parts(weights[there], groups[there], entities[there], int(groups.max()) + 1)
    values = representatives(cells, groups.astype(np.int32), weights, entities)
    shown = values if encoded.how.statistic == "mean" else whole(encoded, values, values)
    enough = rule.holds(known) & ~rule.exposes(cells, shown, groups, entities)
    return values, enough, known.entities()


def backed(
    encoded: Encoded,
    labels: NDArray[np.int32],
    strata: NDArray[np.int64],
    entities: NDArray[np.int64],
    *,
    weights: NDArray[np.float64],
    rule: Rule,
) -> Backed:
    """Find for each cluster the nearest cells of enough entities: its own, or wider ones.

    Parameters
    ----------
    encoded
        The column as it was, NULL where it will be imputed.
    labels, strata, entities
        Row to cluster, to stratum and to entity.
    weights
        The weights of the rows.
    rule
        What makes a value shared.
    """
    import numpy as np

    _, first = np.unique(labels, return_index=True)
    levels = [labels.astype(np.int64), strata, np.zeros(len(labels), np.int64)]
    codes, behind = np.full(len(first), np.nan), np.zeros(len(first), np.int64)
    used, own = ~encoded.missing, encoded
    for i, groups in enumerate(levels):
        cells = replace(encoded, codes=np.where(used, encoded.codes, np.nan))
        values, enough, many = shared(cells, groups, entities, weights=weights, rule=rule)
        mine = groups[first]
        taken = np.isnan(codes) & enough[mine]
        codes[taken], behind[taken] = values[mine][taken], many[mine][taken]
        used &= enough[groups]
        if i == 0:
            own = replace(encoded, codes=np.where(used, encoded.codes, np.nan))
        if i + 1 < len(levels):
            wider = levels[i + 1]
            used |= ~encoded.missing & (np.bincount(wider, used) == 0)[wider]
    if np.isnan(codes).any():
        refuse_few(encoded, int(many[0]), rule.k)
    sizes = np.bincount(labels, weights * ~own.missing, len(first))
    return Backed(labels, whole(encoded, codes, sizes), behind, own)
