"""Quasi-identifiers before and after: what an attacker holds, and what he is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from microagg_ops.columns.encoding import Encoded
from microagg_ops.columns.space import is_nominal
from microagg_ops.columns.trees import levels_of, tree_of
from microagg_ops.metrics.linkage import Linkage, distance_linkage
from microagg_ops.metrics.tables import Pairs, sorted_codes
from microagg_ops.release.model import Release

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

DAY = 86_400.0


def paired(before: Mapping[str, Encoded], after: Mapping[str, Encoded]) -> Pairs:
    """Pair the columns before and after as measures read them; rows in the same order."""
    import numpy as np

    names, kinds = list[str](), list[bool]()
    sides: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for name, old in before.items():
        names.append(name)
        if old.how.hierarchy is None:
            sides.append((values(old), values(after[name])))
            kinds.append(is_nominal(old))
            continue
        # Who knows a category knows all that it is one of: each level is a column of its own.
        tree = tree_of(old.how, old.categories)
        both = levels_of(tree, old.codes), levels_of(tree, after[name].codes)
        sides += [(both[0][:, i], both[1][:, i]) for i in range(both[0].shape[1])]
        names += [f"{name}, level {i}" for i in range(1, both[0].shape[1])]
        kinds += [True] * both[0].shape[1]
    return Pairs(
        tuple(names),
        np.column_stack([old for old, _ in sides]),
        np.column_stack([new for _, new in sides]),
        np.array(kinds, bool),
        True,
    )


def published_strata(release: Release, protected: pa.Table) -> NDArray[np.int64] | None:
    """Find the number of each published row's stratum; nothing where the release has none.

    An attacker knows in which stratum a row is published: its own, or that of all which were
    merged because they were too small.
    """
    return sorted_codes(protected, release.strata) if release.strata else None


def linked(release: Release, pairs: Pairs, protected: pa.Table) -> Linkage:
    """Link rows by distance within their strata: the linkage of check, report and compare.

    Parameters
    ----------
    release
        What was asked for.
    pairs
        The quasi-identifiers before and after.
    protected
        The rows to be published, in the same order.
    """
    within = published_strata(release, protected)
    return distance_linkage(pairs, None, within=within, seed=release.aggregate.seed)


def values(encoded: Encoded) -> NDArray[np.float64]:
    """Turn codes into units of people: moments in days since 1970; NULL is NaN, or a category."""
    import numpy as np

    if is_nominal(encoded):
        return np.where(encoded.missing, -1.0, encoded.codes)
    if encoded.how.type == "timestamp":
        return np.asarray(encoded.codes / (DAY * per_second(encoded)))
    return np.asarray(encoded.codes * encoded.unit)


def per_second(encoded: Encoded) -> float:
    """Count the steps of a timestamp in a second."""
    return {"s": 1.0, "ms": 1e3}.get(encoded.source.unit, 1e6)
