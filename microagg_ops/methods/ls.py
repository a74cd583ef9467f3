"""LS and LSC: local search by swaps and shifts of rows between clusters.

Laszlo and Mukherjee, 2015, doi:10.1016/j.jss.2014.10.012; the cache of LSC is that of Bierman,
Improvements to Iterated Local Search for Microaggregation, Nova Southeastern University, 2020.

The number of clusters stays. Pass after pass all pairs of clusters are gone through in a random
order; LSC leaves out those that cannot have changed their answer, and so finds the same faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.methods.neighbours import centred
from microagg_ops.methods.partition import Clock, at_least
from microagg_ops.methods.start import starting_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Values that are looked at in one call of a kernel: about a tenth of a second.
WORK_PER_CALL = 2e7
ENDLESS = 1 << 62


def ls(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    start: Any = "mdav",
    iterations: int | None = None,
) -> NDArray[np.int32]:
    """Improve a start: a method, ``random``, or from Python the labels themselves.

    In an iteration one cluster is paired with those that are left to it in the pass.
    ``iterations`` ends the search early; by default it goes on until nothing helps.
    """
    return searched(
        points, k, seed=seed, clock=clock, start=start, iterations=iterations, cached=False
    )


def lsc(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    start: Any = "mdav",
    iterations: int | None = None,
) -> NDArray[np.int32]:
    """Find the result of ``ls``, comparing only pairs of clusters that changed."""
    return searched(
        points, k, seed=seed, clock=clock, start=start, iterations=iterations, cached=True
    )


def searched(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    start: Any,
    iterations: int | None,
    cached: bool,
) -> NDArray[np.int32]:
    """Search from a start on, until nothing helps, or time or iterations are up."""
    if iterations is not None:
        at_least("iterations", iterations, 1)
    labels = starting_labels(points, k, start, seed, clock.part(0.0, 0.3))
    search = Descent(points, labels, k, seed, cached)
    clock.note(0, search.sse)
    search.descend(clock.part(0.3, 1.0), ENDLESS if iterations is None else int(iterations))
    return search.labels


class Descent:
    """A partition under local search."""

    def __init__(
        self,
        points: NDArray[np.float64],
        labels: NDArray[np.int32],
        k: int,
        seed: int,
        cached: bool,
    ) -> None:
        import numpy as np

        from microagg_ops.kernels.random import seeded
        from microagg_ops.kernels.search import local_search, swap_shift

        padded, self.unit = centred(points)
        self.cached = cached
        clusters = len(points) // k
        sizes = np.bincount(labels, minlength=clusters)
        # A start may have clusters that are larger than any that the search makes.
        room = np.maximum(sizes, swap_shift.CAPACITY * k - 1)
        first = np.cumsum(room) - room
        members = np.zeros(room.sum(), np.int32)
        rows = np.argsort(labels, kind="stable")
        begins = np.cumsum(sizes) - sizes
        members[np.repeat(first - begins, sizes) + np.arange(len(rows))] = rows
        self.clusters = swap_shift.Clusters(
            k=k,
            points=padded,
            members=members,
            first=first,
            sizes=sizes,
            centres=np.zeros((clusters, padded.shape[1])),
            away=np.zeros(len(members)),
            radius=np.zeros(clusters),
            losses=np.zeros(clusters),
            norms=np.zeros(clusters),
            sums=np.zeros(clusters),
            reaches=np.zeros(clusters),
            along=np.zeros((2, room.max())),
        )
        swap_shift.measure_all(self.clusters)
        self.plan = local_search.make_plan(clusters)
        local_search.list_clusters(self.plan, sizes)
        self.random = seeded(seed, 5)
        self.work = max(1, int(WORK_PER_CALL / padded.shape[1]))

    @property
    def sse(self) -> float:
        """The SSE of the partition as it is now."""
        return float(self.clusters.losses.sum() * self.unit**2)

    @property
    def labels(self) -> NDArray[np.int32]:
        """The labels of the partition as it is now."""
        return labels_of(self.clusters.members, self.clusters.first, self.clusters.sizes)

    def descend(self, clock: Clock, most: int = ENDLESS, *, noting: bool = True) -> bool:
        """Search to a local optimum; return whether it was reached in time.

        ``most`` is how many clusters may be paired with the others; ``noting`` says whether their
        number is the iterations of the trajectory.
        """
        from microagg_ops.kernels.search import local_search

        cursor = self.plan.cursor
        ended = False
        while not ended and not clock.spent and cursor[local_search.SEEN] < most:
            ended, _ = local_search.descend(
                self.clusters, self.plan, self.cached, most, self.work, self.random
            )
            seen = min(int(cursor[local_search.SEEN]), most)
            clock.note(seen if noting else 0, self.sse)
            clock.progress(1 - 0.8 ** (seen / cursor[local_search.COUNT]))
        return ended


def labels_of(
    members: NDArray[np.int32], first: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the labels of clusters that are stretches of one array."""
    import numpy as np

    labels = np.empty(sizes.sum(), np.int32)
    for cluster in range(len(sizes)):
        labels[members[first[cluster] : first[cluster] + sizes[cluster]]] = cluster
    return labels
