"""A short path through all rows, cut into its optimal clusters: (HM)²-Micro and its kin.

Maya-López, Casino and Solanas, 2021, doi:10.3390/sym13060916; compression: Maya-López, Casino and
Martínez-Ballesté, 2022, doi:10.1016/j.eswa.2022.118980; NPN, MDAV-MHM: Domingo-Ferrer et al., 2006,
doi:10.1007/s00778-006-0007-0; MDAV-LK-MHM: Heaton and Mukherjee, 2011.

The methods differ in their path: a tour, the nearest point next, or the clusters of MDAV one after
the other. The cut is that of ``mhm``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from microagg_ops.methods.mhm import cut_path
from microagg_ops.methods.partition import Clock, Progress, at_least, no_progress, one_of
from microagg_ops.methods.start import starting_labels
from microagg_ops.methods.tours import (
    ASKED,
    NEIGHBOURS,
    TOURS,
    nearest_neighbour,
    nearest_rows,
    strong,
    tour_paths,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORK_PER_CALL = 1e8


def tsp_mhm(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    tour: str = "strong",
    kicks: float = 10,
) -> NDArray[np.int32]:
    """Cut the path of a tour that begins at a random row.

    The strong tour is searched for by ``kicks`` kicks a row; of the paths on its way, the one
    with the least SSE counts.
    """
    one_of("tour", tour, TOURS)
    at_least("kicks", kicks, 0)
    return best_cut(points, k, tour_paths(points, tour, seed, clock, kicks), clock)


def npn_mhm(points: NDArray[np.float64], k: int, *, seed: int, clock: Clock) -> NDArray[np.int32]:
    """Cut the path from the row farthest from the centroid to its nearest, and so on.

    The seed is not used.
    """
    near = nearest_rows(points, ASKED, clock.part(0.0, 0.6))
    path = nearest_neighbour(points, near, farthest_row(points), clock.part(0.6, 1.0))
    return cut_path(points, k, path, no_progress)[0]


def mdav_mhm(points: NDArray[np.float64], k: int, *, seed: int, clock: Clock) -> NDArray[np.int32]:
    """Cut the path through the clusters of MDAV; the seed is not used."""
    return cut_path(points, k, mdav_path(points, k, clock), no_progress)[0]


def mdav_lk_mhm(
    points: NDArray[np.float64], k: int, *, seed: int, clock: Clock, kicks: float = 10
) -> NDArray[np.int32]:
    """Cut the path through the clusters of MDAV after a strong search made it shorter."""
    at_least("kicks", kicks, 0)
    path = mdav_path(points, k, clock.part(0.0, 0.2))
    near = nearest_rows(points, NEIGHBOURS, clock.part(0.2, 0.3))
    paths = strong(points, near, path, seed=seed, clock=clock, kicks=kicks)
    return best_cut(points, k, paths, clock)


def compress_tsp_mhm(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    compression: int = 2,
    tour: str = "strong",
    kicks: float = 5,
) -> NDArray[np.int32]:
    """Cut a path that goes through small clusters of MDAV by a tour of their centroids.

    ``compression`` is the size of these clusters. Each is passed in the direction from the one
    before it to the one behind it.
    """
    import numpy as np

    from microagg_ops.metrics.loss import centroids

    one_of("tour", tour, TOURS)
    at_least("compression", compression, 2)
    at_least("kicks", kicks, 0)
    small = starting_labels(points, min(compression, k), "mdav", seed, clock.part(0.0, 0.3))
    centres = centroids(points, small)
    place = np.empty(len(centres), np.int64)
    direction = np.empty_like(centres)

    def paths() -> Iterator[tuple[int, NDArray[np.int64]]]:
        rest = clock.part(0.3, 1.0)
        for done, short in tour_paths(centres, tour, seed, rest, kicks):
            place[short] = np.arange(len(short))
            stops = centres[short[[0, *range(len(short)), -1]]]
            direction[short] = stops[2:] - stops[:-2]
            yield done, np.lexsort(((points * direction[small]).sum(axis=1), place[small]))

    return best_cut(points, k, paths(), clock)


def best_cut(
    points: NDArray[np.float64],
    k: int,
    paths: Iterator[tuple[int, NDArray[np.int64]]],
    clock: Clock,
) -> NDArray[np.int32]:
    """Cut each of some paths, which come with the kicks so far; keep the least SSE."""
    import numpy as np

    least, best = np.inf, np.zeros(len(points), np.int32)
    for kicks, path in paths:
        labels, sse = cut_path(points, k, path, no_progress)
        if sse < least:
            least, best = sse, labels
        clock.note(kicks, least)
    return best


def mdav_path(points: NDArray[np.float64], k: int, clock: Clock) -> NDArray[np.int64]:
    """Return the path through the clusters of MDAV."""
    labels = starting_labels(points, k, "mdav", 0, clock.part(0.0, 0.6))
    return path_through(points, labels, clock.part(0.6, 1.0).tick)


def path_through(
    points: NDArray[np.float64], labels: NDArray[np.int32], tell: Progress
) -> NDArray[np.int64]:
    """Return a path through clusters, one after the other, always on to the nearest row.

    It begins at the row farthest from the centroid.
    """
    import numpy as np

    from microagg_ops.kernels.paths import tours

    n, columns = points.shape
    members = np.argsort(labels, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(labels)))
    path = np.empty(n, np.int64)
    state = np.array([0, farthest_row(points)])
    left, place = np.arange(n), np.arange(n)
    clusters = max(1, int(WORK_PER_CALL / (n * columns)))
    while state[0] < n:
        tours.stitch(points, labels, members, bounds, path, state, left, place, clusters)
        tell(state[0] / n)
    return path


def farthest_row(points: NDArray[np.float64]) -> int:
    """Return the row farthest from the centroid; ties go to the lowest."""
    return int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())
