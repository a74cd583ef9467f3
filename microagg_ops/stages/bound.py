"""How far the loss of a release can be from the least: a proven bound, for a share of its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.columns.nulls import blocks
from microagg_ops.columns.space import is_measured, spread
from microagg_ops.methods.bound import MANY, STEPS, WIDE, least_loss
from microagg_ops.methods.partition import Clock
from microagg_ops.release.model import Release
from microagg_ops.stages.microdata import Microdata

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The share of a search's budget that improving its bound may take, at about PAIRS pairs a second;
# planned from the budget that the release names, so that a second run finds the same bound.
SHARE, PAIRS = 0.1, 20_000_000
# Rows a second of budget for which neighbours are looked for; MANY rows without a budget.
ROWS = 5_000


def proven_bound(
    release: Release, rows: Microdata, groups: list[list[str]], hidden: list[NDArray[np.bool_]]
) -> float | None:
    """Find a lower bound, in percent, of the information loss of any partition of these rows.

    Clusters lie within strata and patterns of NULLs, and rows of an entity stay together. There is
    none for a release that imputes, whose clusters depend on cells that lose nothing, nor where a
    loss is not the distance of points (ancestors, many categories), nor for a block that is too
    large for the time there is.
    """
    if any(rows.is_imputed(name) for name in rows.before):
        return None
    if not all(is_measured(column) for column in rows.before.values()):
        return None
    total = sum(
        float((rows.weights * spread(encoded, rows.scales[name], rows.weights)).sum())
        for name, encoded in rows.before.items()
    )
    least = 0.0
    for names, none in zip(groups, hidden, strict=True):
        for block in blocks(rows.strata.codes, none):
            there = [name for name, gone in zip(names, none[block[0]], strict=True) if not gone]
            if there:
                found = block_bound(release, rows, there, block, len(groups))
                if found is None:
                    return None
                least += found
    # Less than what rounding the means of entities can change.
    share = (1 - 1e-9) * least / total - 1e-12 if total > 0 else 0.0
    return min(100.0, max(0.0, 100.0 * share))


def block_bound(
    release: Release, rows: Microdata, names: list[str], block: NDArray[np.int64], groups: int
) -> float | None:
    """Bound what the rows of one stratum and pattern of NULLs lose."""
    import numpy as np

    points = np.hstack([rows.points[name][block] for name in names])
    weights, entities = rows.weights[block], rows.entities[block]
    mass: NDArray[np.float64] = np.empty(0)
    if weights.min() <= 0:  # such rows lose nothing, but count towards k
        return 0.0
    who = np.unique(entities, return_inverse=True)[1].reshape(-1)
    many = int(who.max()) + 1
    if many < len(block) or weights.min() < weights.max():
        mass = np.bincount(who, weights).astype(np.float64)
        sums = [np.bincount(who, weights * column) for column in points.T]
        points = np.column_stack(sums) / mass[:, None]
    elif weights[0] != 1.0:
        points = points * np.sqrt(weights[0])
    k, budget = release.aggregate.k, release.aggregate.seconds
    if many > max(MANY, ROWS * (budget or 0.0)):
        return None
    steps = 0
    if budget is not None:
        share = SHARE * budget * len(block) / len(rows.entities) / groups
        steps = min(STEPS, int(share * PAIRS / (2 * WIDE * k * many)))
    return least_loss(np.ascontiguousarray(points), k, mass, clock=Clock(), steps=steps)
