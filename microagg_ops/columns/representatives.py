"""What stands for a cluster: the mean, median, mode or ancestor of its codes, or a row of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import WHOLE, Encoded
from microagg_ops.columns.strata import distinct_by
from microagg_ops.columns.trees import ancestors, tree_of
from microagg_ops.metrics.loss import centroids
from microagg_ops.release.columns import REPRESENTATIVES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.float64]
    Labels = NDArray[np.int32]


def representatives(
    encoded: Encoded,
    labels: Labels,
    weights: Codes | None = None,
    entities: NDArray[np.int64] | None = None,
) -> Codes:
    """Return the code of each cluster: NaN where all its cells are NULL; means are not rounded.

    A cluster whose cells are NULL in part is represented by the others. Where entities are told, a
    value of one of them alone is no mode while there is one that several have.
    """
    import numpy as np

    clusters = int(labels.max()) + 1
    there = ~encoded.missing
    codes, labels = encoded.codes[there], labels[there]
    weights = np.ones(len(codes)) if weights is None else weights[there]
    entities = None if entities is None else entities[there]
    found = np.full(clusters, np.nan)
    if not len(codes):
        return found
    present, places = np.unique(labels, return_inverse=True)
    labels = places.astype(np.int32)
    statistic = encoded.how.statistic
    if statistic == "medoid":  # which is of a row, not of a column: this is its middle
        statistic = REPRESENTATIVES[encoded.how.type][0]
    if statistic == "mean":
        found[present] = means(codes, labels, weights)
    elif statistic == "median":
        low, high = medians(codes, labels, weights)
        # Between two ranks there may be no category: of two the lower.
        found[present] = low if encoded.how.type == "ordinal" else (low + high) / 2
    elif statistic == "ancestor":
        tree = tree_of(encoded.how, encoded.categories)
        found[present] = ancestors(tree, codes.astype(np.int64), labels)
    else:
        found[present] = modes(codes.astype(np.int64), labels, weights, entities)
    return found


def representable(
    encoded: Encoded,
    labels: Labels,
    weights: Codes | None = None,
    entities: NDArray[np.int64] | None = None,
) -> Codes:
    """Return the code of each cluster as its type can hold it."""
    import numpy as np

    exact = representatives(encoded, labels, weights, entities)
    return whole(encoded, exact, np.bincount(labels, weights, minlength=len(exact)))


def whole(encoded: Encoded, exact: Codes, sizes: NDArray[Any]) -> Codes:
    """Round codes of clusters, each of a weight, to what the type can hold."""
    import numpy as np

    if encoded.how.type not in WHOLE:
        return exact
    if encoded.how.statistic != "mean":
        return np.floor(exact)
    return rounded(exact, sizes.astype(np.float64))


def rounded(exact: Codes, sizes: Codes) -> Codes:
    """Round each mean up or down, so that the total over all clusters is kept.

    All rows of a cluster share its rounding error, so the total cannot be kept exactly: but where
    each cluster takes of its two neighbours the one that mends the error of those before it, what
    is left is at most half the size of the largest cluster.
    """
    import numpy as np

    # What differs from a whole step by the noise of a division is one.
    near = np.rint(exact)
    exact = np.where(np.abs(exact - near) <= 8 * np.spacing(np.abs(exact)), near, exact)
    low, high = np.floor(exact), np.ceil(exact)
    found = low.copy()
    error = 0.0
    for i in np.flatnonzero(low < high):
        down, up = (error + sizes[i] * (end - exact[i]) for end in (low[i], high[i]))
        if abs(up) < abs(down):
            found[i], error = high[i], up
        else:
            error = down
    return found


def medoids(points: NDArray[np.float64], labels: Labels, weights: Codes) -> NDArray[np.int64]:
    """Find the row of each cluster that is nearest to its weighted mean; the first of equals.

    Parameters
    ----------
    points
        Rows by dimensions; 0 where a cluster is NULL.
    labels, weights
        Of the rows.
    """
    import numpy as np

    sums = centroids(np.column_stack([points * weights[:, None], weights]), labels)
    middle = (sums[:, :-1] / sums[:, -1:])[labels]
    order = np.lexsort((np.arange(len(labels)), np.square(points - middle).sum(axis=1), labels))
    _, first = np.unique(labels[order], return_index=True)
    return np.asarray(order[first])


def means(codes: Codes, labels: Labels, weights: Codes) -> Codes:
    """Weighted mean of each cluster, whatever the order of its rows."""
    import numpy as np

    sums = centroids(np.column_stack([codes * weights, weights]), labels)
    found: Codes = sums[:, 0] / sums[:, 1]
    return found


def medians(codes: Codes, labels: Labels, weights: Codes) -> tuple[Codes, Codes]:
    """Return the two ends of each cluster's weighted median; they differ only by a tie."""
    import numpy as np

    order = np.lexsort((codes, labels))
    codes, labels, weights = codes[order], labels[order], weights[order]
    totals = np.bincount(labels, weights)
    before = np.concatenate([[0.0], np.cumsum(totals)[:-1]])
    reached = 2 * (np.cumsum(weights) - before[labels])
    ends = []
    for enough in (reached >= totals[labels], reached > totals[labels]):
        # Sums are rounded: the last row of a cluster reaches its total whatever they say.
        enough[np.flatnonzero(np.diff(labels, append=labels[-1] + 1))] = True
        rows = np.flatnonzero(enough)
        _, first = np.unique(labels[rows], return_index=True)
        ends.append(codes[rows[first]])
    return ends[0], ends[1]


def modes(
    codes: NDArray[np.int64],
    labels: Labels,
    weights: Codes,
    entities: NDArray[np.int64] | None = None,
) -> Codes:
    """Find each cluster's most frequent code; ties to the most frequent overall, then the first."""
    import numpy as np

    overall = np.bincount(codes, weights)
    rank = np.empty(len(overall), np.int64)
    rank[np.lexsort((np.arange(len(overall)), -overall))] = np.arange(len(overall))
    keys, inverse = np.unique(labels * np.int64(len(overall)) + codes, return_inverse=True)
    counts = np.bincount(inverse, weights)
    if entities is not None:  # what one entity has alone, its weight does not make frequent
        counts = np.where(distinct_by(inverse, entities) > 1, counts, 0.0)
    cluster, code = np.divmod(keys, len(overall))
    order = np.lexsort((rank[code], -counts, cluster))
    _, first = np.unique(cluster[order], return_index=True)
    return np.asarray(code[order][first], np.float64)
