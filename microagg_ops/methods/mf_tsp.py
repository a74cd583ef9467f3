"""MF-TSP: multivariate fixed-size microaggregation by tours.

Maya-López, Enhancing Multivariate Microaggregation using Graph Theory (thesis).

A path is found from every row as its start. Rows that are neighbours on many of the paths make
clusters of k; rows that are left over join the cluster of their most frequent neighbour.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from microagg_ops.errors import DataError
from microagg_ops.methods.partition import Clock, no_progress, one_of
from microagg_ops.methods.tours import ASKED, TOURS, constructed, nearest_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Tours whose start matters and that are not searched for without end.
PATHS = tuple(set(TOURS) - {"strong", "repetitive_nearest_neighbour"})
# Neighbours are counted for each pair of rows: the square of this many.
MOST_ROWS = 5_000
WORK_PER_CALL = 1e8


def mf_tsp(
    points: NDArray[np.float64], k: int, *, seed: int, clock: Clock, tour: str = "two_opt"
) -> NDArray[np.int32]:
    """Make clusters of rows that are neighbours on many paths."""
    import numpy as np

    from microagg_ops.kernels.paths import mf_tsp as kernels

    one_of("tour", tour, sorted(PATHS))
    n = len(points)
    if n > MOST_ROWS:
        raise DataError(
            f"The method 'mf_tsp' counts neighbours for each pair of rows and takes {MOST_ROWS} "
            f"rows at most. Got {n} instead.",
            code="too_many",
            hint="Use another method, such as tsp_mhm or compress_tsp_mhm, or strata.",
        )
    matrix = np.zeros((n, n), np.int32)
    quiet = replace(clock, progress=no_progress)
    near = nearest_rows(points, ASKED, quiet)
    for start in range(n):
        path = constructed(points, tour, start, seed + start, quiet, near=near)
        kernels.count(matrix, path)
        clock.tick((start + 1) / n)
    return assigned(points, matrix, *grown(matrix, k, quiet), k)


def grown(matrix: NDArray[np.int32], k: int, clock: Clock) -> tuple[NDArray[np.int32], int]:
    """Form clusters of k; return the labels, -1 for rows left over, and their number."""
    import numpy as np

    from microagg_ops.kernels.paths import mf_tsp as kernels

    n = len(matrix)
    labels, partner = np.full(n, -1, np.int32), np.full(n, -1)
    free = np.ones(n, np.bool_)
    clusters = max(1, int(WORK_PER_CALL / (n * n)))
    label = 0
    while label >= 0:
        label = kernels.grow(matrix, k, free, partner, labels, label, clusters)
        clock.tick(1.0)
    return labels, int(labels.max()) + 1


def assigned(
    points: NDArray[np.float64],
    matrix: NDArray[np.int32],
    labels: NDArray[np.int32],
    clusters: int,
    k: int,
) -> NDArray[np.int32]:
    """Let rows that are left over join: their most frequent neighbour's, or the nearest cluster.

    A cluster takes rows up to 2k - 1 as long as there is another one.
    """
    import numpy as np

    from microagg_ops.metrics.loss import centroids

    if not clusters:
        return np.zeros(len(points), np.int32)
    done = labels >= 0
    members, clusters_of = np.flatnonzero(done), labels[done]
    means = centroids(points[done], clusters_of)
    sizes = np.bincount(clusters_of)
    for row in np.flatnonzero(~done):
        often = np.zeros(clusters, np.int32)
        np.maximum.at(often, clusters_of, matrix[row, members])
        distances = ((means - points[row]) ** 2).sum(axis=1)
        full = sizes >= 2 * k - 1
        chosen = np.lexsort((distances, -often, full))[0]
        labels[row] = chosen
        sizes[chosen] += 1
    return labels
