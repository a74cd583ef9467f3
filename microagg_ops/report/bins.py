"""The distribution of a column before and after, without a cell of it.

An extreme is a cell value, and so is the name of a category: the outer bins are open, edges are
round numbers, categories are numbered, and every bin holds k entities of the source or more.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import Encoded
from microagg_ops.columns.pairs import values
from microagg_ops.columns.space import is_nominal
from microagg_ops.outside import nice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_BINS = 10
MINUTE, HOUR, MONTH, YEAR = 1 / 1440, 1 / 24, 30.44, 365.25
STEPS = (
    *(MINUTE * n for n in (1, 5, 15, 30)),
    *(HOUR * n for n in (1, 2, 6, 12)),
    *(1.0, 2.0, 7.0, 14.0),
)  # fmt: skip


def distribution(
    before: Encoded, after: Encoded, entities: NDArray[np.int64], k: int
) -> dict[str, Any]:
    """Compute the shares of rows in bins, in percent of those that are not NULL.

    Parameters
    ----------
    before, after
        A quasi-identifier, row by row.
    entities
        Row to entity.
    k
        The least number of entities in a bin before.
    """
    there = ~before.missing
    if not there.any():
        return _told(before, after, [], [[], []], "ordered")
    if before.categories is not None:
        return by_category(before, after, entities, k)
    old, new = values(before), values(after)
    edges, labels = edges_of(before, old[there])
    places = _places(old, edges)
    keep = merged(places[there], entities[there], len(edges) + 1, k)
    edges, labels = [edges[i] for i in keep], [labels[i] for i in keep]
    names = _between(labels)
    shares = [_shares(_places(side, edges), len(names)) for side in (old, new)]
    return _told(before, after, names, shares, "ordered") | {"edges": labels}


def by_category(
    before: Encoded, after: Encoded, entities: NDArray[np.int64], k: int
) -> dict[str, Any]:
    """Compute the shares of categories: ranks of ordinals, others by how frequent they are."""
    import numpy as np

    there = ~before.missing
    size = len(before.categories or ())
    codes, owners = before.codes[there].astype(np.int64), entities[there]
    place = np.arange(size)
    if is_nominal(before):
        place[np.argsort(-np.bincount(codes, minlength=size), kind="stable")] = np.arange(size)
        # Beyond the most frequent ones the rest is one bin.
        keep = [i for i in merged(place[codes], owners, size, k) if i < MOST_BINS - 1]
        names = [*(str(i + 1) for i in range(len(keep))), "others"]
        if len(keep) == size - 1:
            names[-1] = str(size)
    else:
        keep = merged(codes, owners, size, k)
        ends = [*(i + 1 for i in keep), size]
        starts = [0, *ends[:-1]]
        names = [
            str(end) if end - start == 1 else f"{start + 1}–{end}"
            for start, end in zip(starts, ends, strict=True)
        ]
    bins = np.searchsorted(np.array(keep, float), np.arange(size), "left")[place]
    shares = []
    for side in (before, after):
        codes = np.where(side.missing, 0, side.codes).astype(np.int64)
        shares.append(_shares(np.where(side.missing, -1, bins[codes]), len(names)))
    kind = "frequency" if is_nominal(before) else "rank"
    return _told(before, after, names, shares, kind)


def counts(places: NDArray[np.int64], entities: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Count the entities in each bin."""
    import numpy as np

    span = int(entities.max(initial=0)) + 1
    pairs = np.unique(places * span + entities)
    return np.bincount(pairs // span, minlength=size)


def merged(places: NDArray[np.int64], entities: NDArray[np.int64], size: int, k: int) -> list[int]:
    """Return the bins after which an edge stays, so that between edges there are k or more."""
    import numpy as np

    found = counts(places, entities, size).tolist()

    def enough(start: int, end: int) -> bool:
        part = found[start:end]
        if max(part) >= k or sum(part) < k:
            return bool(max(part) >= k)
        # An entity may be in several bins and must be counted once.
        return bool(np.unique(entities[(places >= start) & (places < end)]).size >= k)

    keep: list[int] = []
    for i in range(size - 1):
        if enough(keep[-1] + 1 if keep else 0, i + 1):
            keep.append(i)
    while keep and not enough(keep[-1] + 1, size):
        keep.pop()
    return keep


def edges_of(encoded: Encoded, found: NDArray[np.float64]) -> tuple[list[float], list[str]]:
    """Choose round inner edges and their names; the outer bins are open."""
    import numpy as np

    low, high = np.quantile(found, [0.05, 0.95], method="inverted_cdf").tolist()
    if encoded.how.type in ("date", "timestamp"):
        return date_edges(low, high, coarsest=1.0 if encoded.how.type == "date" else 0.0)
    step = nice((high - low) / MOST_BINS)
    if encoded.how.type in ("integer", "ordinal"):
        step = max(step, 1.0)
    if not step:
        return [], []
    digits = max(0, -math.floor(math.log10(step)))
    edges = [round(i * step, digits) for i in range(math.ceil(low / step), int(high // step) + 1)]
    return edges, [f"{edge:,.{digits}f}" for edge in edges]


def date_edges(low: float, high: float, *, coarsest: float) -> tuple[list[float], list[str]]:
    """Choose edges that a calendar has: minutes, hours, days, months or years."""
    want = (high - low) / MOST_BINS
    if want <= 0:
        return [], []
    step = next((s for s in STEPS if s >= max(want, coarsest) * (1 - 1e-9)), None)
    if step is not None:
        first = math.ceil(low / step)
        moments = [
            datetime(1970, 1, 1) + timedelta(days=i * step)
            for i in range(first, int(high // step) + 1)
        ]
        shape = "%-d %b %Y" if step >= 1 else "%-d %b %Y %H:%M"
    else:
        months = next((m for m in (1, 3, 6) if m * MONTH >= want), 0)
        months = months or 12 * int(max(nice(want / YEAR), 1.0))
        shape = "%Y" if months >= 12 else "%b %Y"
        start, end = (date(1970, 1, 1) + timedelta(days=day) for day in (low, high))
        first, last = (d.year * 12 + d.month - 1 for d in (start, end))
        numbers = range(-(-first // months) * months, last + 1, months)
        moments = [datetime(n // 12, n % 12 + 1, 1) for n in numbers]
        moments = [m for m in moments if low < (m - datetime(1970, 1, 1)).days <= high]
    edges = [(moment - datetime(1970, 1, 1)) / timedelta(days=1) for moment in moments]
    return edges, [f"{moment:{shape}}" for moment in moments]


def _places(side: NDArray[np.float64], edges: list[float]) -> NDArray[np.int64]:
    """Return the bin of each value, -1 for NULL; an edge belongs to the bin above it."""
    import numpy as np

    return np.where(np.isnan(side), -1, np.searchsorted(np.array(edges, float), side, "right"))


def _between(labels: list[str]) -> list[str]:
    if not labels:
        return ["all"]
    inner = [f"{a} to {b}" for a, b in pairwise(labels)]
    return [f"below {labels[0]}", *inner, f"{labels[-1]} and above"]


def _shares(places: NDArray[np.int64], size: int) -> list[float]:
    import numpy as np

    found = np.bincount(places[places >= 0], minlength=size)
    return [round(100.0 * int(n) / max(int(found.sum()), 1), 3) for n in found]


def _told(
    before: Encoded, after: Encoded, names: list[str], shares: list[list[float]], kind: str
) -> dict[str, Any]:
    return {
        "name": before.name,
        "kind": kind,
        "bins": names,
        "edges": [],
        "before": shares[0],
        "after": shares[1],
        "missing_before": int(before.missing.sum()),
        "missing_after": int(after.missing.sum()),
    }
