"""Probabilistic record linkage: which protected row agrees best with an original one.

The model is Fellegi and Sunter's. What a link is, and who the outsider is, says `linkage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.metrics.linkage import (
    Linkage,
    calls,
    coordinates,
    equal_rows,
    sampled,
    searches,
    stratum_numbers,
    summed,
)
from microagg_ops.metrics.tables import paired

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.metrics.linkage import Within

PATTERNS_UP_TO = 20


def probabilistic_linkage(
    before: Any,
    after: Any,
    columns: Sequence[str] | None = None,
    *,
    within: Within = None,
    tolerance: float = 0.1,
    sample: int = 10_000,
    seed: int = 0,
) -> Linkage:
    """Link by agreement of columns (Fellegi and Sunter), with weights found by EM.

    Parameters
    ----------
    before, after, columns, within, sample, seed
        As for `distance_linkage`.
    tolerance
        Numbers that differ by no more than this many deviations agree (for arrays: by no more
        than this); categories agree where they are equal.
    """
    import numpy as np

    from microagg_ops.kernels.measures import linkage as step

    pairs = coordinates(paired(before, after, columns))
    rows, width = pairs.before.shape
    if width > PATTERNS_UP_TO:
        raise DataError(
            f"Probabilistic linkage takes {PATTERNS_UP_TO} columns at most. Got {width} instead.",
            code="bad_value",
        )
    if not rows:
        return summed(np.zeros(0, np.int64), 0)
    strata = stratum_numbers(after, within)
    chosen = sampled(pairs, strata, sample, seed)
    seen = np.zeros(1 << width, np.int64)
    out, own = np.zeros(len(chosen), np.int64), np.zeros(rows, np.int32)
    kept = []
    for members, first, last in searches(strata, chosen, rows):
        alike = equal_rows(pairs.after[members])
        own[members] = alike.ids
        there = np.ascontiguousarray(pairs.after[members][alike.firsts])
        kept.append((there, np.bincount(alike.ids), calls(first, last, len(there))))
    for there, counts, spans in kept:
        for start, stop in spans:
            step.patterns(
                pairs.before, chosen, start, stop, there, counts, pairs.nominal, tolerance, seen
            )
    weights = pattern_weights(seen, width, int(seen.sum()) / len(chosen))
    for there, counts, spans in kept:
        for start, stop in spans:
            step.weight_ties(
                pairs.before, chosen, start, stop, there, counts, own, pairs.nominal, tolerance,
                weights, out,
            )  # fmt: skip
    return summed(out, rows)


def pattern_weights(
    counts: NDArray[np.int64], width: int, rows: float, rounds: int = 200
) -> NDArray[np.float64]:
    """Weigh each pattern of agreement: the log-likelihood ratio of a true pair to a chance pair.

    One pair in ``rows`` is true, so chance pairs agree as often as all pairs do; how often true
    pairs agree is found by EM, which with both known cannot settle on some other mixture.
    """
    import numpy as np

    agrees = (np.arange(len(counts))[:, None] >> np.arange(width)) & 1
    chance = np.clip(counts @ agrees / max(counts.sum(), 1), 1e-9, 1 - 1e-9)
    true = np.full(width, 0.9)
    share = 1.0 / max(rows, 2)
    weights = np.zeros(len(counts))
    for _ in range(rounds):
        weights = agrees @ (np.log(true) - np.log(chance)) + (1 - agrees) @ (
            np.log1p(-true) - np.log1p(-chance)
        )
        odds = np.exp(np.clip(weights, -700, 700)) * share / (1 - share)
        expected = counts * (odds / (1 + odds))
        found = np.clip(expected @ agrees / max(expected.sum(), 1e-300), 1e-6, 1 - 1e-6)
        if np.abs(found - true).max(initial=0.0) < 1e-9:
            break
        true = found
    return np.round(weights, 9)  # patterns that weigh the same but for rounding do so
