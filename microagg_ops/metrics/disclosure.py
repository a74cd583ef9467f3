"""Interval disclosure, disclosure risk and the score that weighs it against information loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.metrics.linkage import ranked, spread
from microagg_ops.metrics.loss import ByColumn
from microagg_ops.metrics.tables import Pairs, paired

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INTERVALS = ("value", "deviation", "rank")


def interval_disclosure(
    before: Any,
    after: Any,
    columns: Sequence[str] | None = None,
    *,
    width: float = 0.1,
    of: str = "value",
) -> ByColumn:
    """Compute the percentage of protected values that lie in an interval around the original value.

    Parameters
    ----------
    before, after
        Two frames or two arrays with the same rows in the same order.
    columns
        Of frames, the columns to read; by default all.
    width
        Half the width of the interval, as a share of what ``of`` names.
    of
        ``value``: of the original value, as in Balasch i Masoliver (2010), dates in days;
        ``deviation``: of the standard deviation of the original column; ``rank``: of all rows,
        between the places of both values among the original ones. Categories and NULLs are
        disclosed where they are kept.
    """
    import numpy as np

    if of not in INTERVALS:
        raise DataError(f"of must be one of {', '.join(INTERVALS)}. Got {of!r} instead.")
    pairs = paired(before, after, columns)
    if not len(pairs.before):
        return ByColumn(0.0, dict.fromkeys(pairs.names, 0.0))
    hit = inside(pairs, width, of).mean(axis=0) * 100.0
    return ByColumn(float(np.mean(hit)), dict(zip(pairs.names, hit.tolist(), strict=True)))


def inside(pairs: Pairs, width: float, of: str) -> NDArray[np.bool_]:
    """Say of each cell whether the protected value is in the interval."""
    import numpy as np

    if of == "rank":
        pairs = ranked(pairs)
    old, new = pairs.before, pairs.after
    if of == "value":
        half = width * np.abs(old)
    else:
        ranks = of == "rank"
        units = [1.0 if ranks else spread(column[~np.isnan(column)])[1] for column in old.T]
        half = np.broadcast_to(width * np.array(units), old.shape)
    half = np.where(pairs.nominal, 0.0, half)
    return np.asarray((np.abs(new - old) <= half) | (np.isnan(old) & np.isnan(new)))


def disclosure_risk(interval: float, distance: float, probabilistic: float | None = None) -> float:
    """Compute DR of Balasch i Masoliver (2010), in percent.

    0.5 ID + 0.25 DLD + 0.25 PLD; without probabilistic linkage, as in its search for groups,
    0.5 ID + 0.5 DLD.
    """
    if probabilistic is None:
        return 0.5 * interval + 0.5 * distance
    return 0.5 * interval + 0.25 * distance + 0.25 * probabilistic


def score(loss: float, risk: float) -> float:
    """Compute the mean of information loss and disclosure risk in percent, a score of groupings."""
    return (loss + risk) / 2
