"""ICSM: iterative constraint satisfaction, until no migration, exchange or cycle lowers the SSE.

Mortazavi and Jalili, A Novel Local Search Method for Microaggregation, 2015.

In each iteration the clusters are put on a tour that is cut anew, which sets their number; then the
best of a pool of migrations (1-opt) and exchanges (2-opt) are made. Where there are none, records
move on in a cycle over several clusters (n-opt). The search ends when nothing helps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.methods.mhm import tour_to_assignment
from microagg_ops.methods.partition import Clock, at_least, renumbered
from microagg_ops.methods.start import starting_labels
from microagg_ops.methods.tsp_mhm import path_through

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Steps of the inner loop in one call of a kernel: some tenths of a second.
WORK_PER_CALL = 1e8
# A change must gain more than this share of the SSE: less may be rounding.
LEAST_GAIN = 1e-12


def icsm(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    start: Any = "mdav",
    pool: int = 100,
    iterations: int | None = None,
) -> NDArray[np.int32]:
    """Improve a start: a method, or from Python the labels themselves.

    ``pool`` is how many changes are collected before the best of them are made. ``iterations``
    ends the search early; by default it goes on until nothing helps.
    """
    at_least("pool", pool, 1)
    if iterations is not None:
        at_least("iterations", iterations, 0)
    labels = starting_labels(points, k, start, seed, clock.part(0.0, 0.3))
    search = Exchange(points, k, labels, int(pool), clock)
    best, done = labels, 0
    clock.note(done, search.sse)
    try:
        while (iterations is None or done < iterations) and search.improve():
            best, done = search.labels, done + 1
            clock.note(done, search.sse)
            clock.progress(0.3 + 0.7 * (1 - 0.99**done))
    except TimeUpError:
        pass  # What an unfinished iteration did does not count.
    return best


class TimeUpError(Exception):
    """The budget ran out within an iteration."""


class Exchange:
    """A partition under search."""

    def __init__(
        self,
        points: NDArray[np.float64],
        k: int,
        labels: NDArray[np.int32],
        pool: int,
        clock: Clock,
    ) -> None:
        self.points, self.k, self.pool, self.clock = points, k, pool, clock
        self.row = 0
        self.measure(labels)

    def measure(self, labels: NDArray[np.int32]) -> None:
        """Take labels on, with the clusters' centroids and sizes and the SSE."""
        import numpy as np

        from microagg_ops.metrics.loss import centroids, sse

        self.labels = renumbered(labels)
        self.means = centroids(self.points, self.labels)
        self.sizes = np.bincount(self.labels)
        self.sse = sse(self.points, self.means[self.labels])

    def take(self, labels: NDArray[np.int32]) -> bool:
        """Take labels on if they lower the SSE."""
        before, sse = self.labels, self.sse
        self.measure(labels)
        if self.sse < sse * (1 - LEAST_GAIN):
            return True
        self.measure(before)
        return False

    @property
    def clusters(self) -> tuple[Any, ...]:
        """The first arguments of the kernels."""
        return self.points, self.k, self.labels, self.means, self.sizes

    def check(self, done: float) -> None:
        """End an iteration for which there is no time."""
        if self.clock.spent:
            raise TimeUpError

    def improve(self) -> bool:
        """Make one iteration; return whether it lowered the SSE."""
        cut = self.recut()
        return self.exchange() or self.circle() or cut

    def recut(self) -> bool:
        """Put the clusters on a tour and cut it anew."""
        tour = path_through(self.points, self.labels, self.check)
        labels, sse = tour_to_assignment(self.points, self.k, tour, self.check)
        return sse < self.sse and self.take(labels)

    def exchange(self) -> bool:
        """Collect migrations and exchanges and make the best, going on where the last ended."""
        import numpy as np

        from microagg_ops.kernels.search import icsm as kernels

        n = len(self.points)
        changes, gains = np.empty((self.pool, 2), np.int64), np.empty(self.pool)
        step = max(1, int(WORK_PER_CALL / (2 * self.points.size)))
        count = seen = 0
        while seen < n and count < self.pool:
            stop = min(self.row + step, n, self.row + n - seen)
            count, at = kernels.fill(
                *self.clusters, LEAST_GAIN * self.sse, changes, gains, count, self.row, stop
            )
            seen += at - self.row
            self.row = at % n
            self.check(0.0)
        if not count:
            return False
        labels = self.labels.copy()
        order = np.lexsort((changes[:count, 1], changes[:count, 0], gains[:count]))
        kernels.apply(labels, changes, order, len(self.sizes))
        return self.take(labels)

    def circle(self) -> bool:
        """Move records on in a cycle, over clusters in the order of an acyclic graph."""
        import numpy as np

        from microagg_ops.kernels.search import icsm as kernels

        n = len(self.points)
        nodes, first = self.ranked()
        sources = self.sizes[self.labels[nodes[0]]] + 1
        cost = np.full((len(nodes), sources), np.inf)
        cost[np.arange(sources), np.arange(sources)] = 0.0
        back = np.zeros(cost.shape, np.int64)
        step = max(1, int(WORK_PER_CALL / (len(nodes) * (self.points.shape[1] + sources))))
        for start in range(sources, len(nodes), step):
            stop = min(start + step, len(nodes))
            kernels.relax(*self.clusters, nodes, first, cost, back, start, stop)
            self.check(0.0)
        weight, end, source = kernels.close(*self.clusters, nodes, cost)
        if not weight < -LEAST_GAIN * self.sse:
            return False
        labels, following = self.labels.copy(), nodes[source]
        while True:
            node = nodes[end]
            if node < n:
                labels[node] = following - n if following >= n else self.labels[following]
            if end == source:
                return self.take(labels)
            following, end = node, back[end, source]

    def ranked(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Order records and clusters by their cluster's distance to the one of the least score.

        Return the nodes, a cluster's records before itself, and where the rank of each begins.
        """
        import numpy as np

        n, clusters = len(self.points), len(self.sizes)
        chosen = np.argmin(scores(self.points, self.labels, self.means, self.sizes))
        distances = ((self.means - self.means[chosen]) ** 2).sum(axis=1)
        distances[chosen] = -1.0
        rank = np.empty(clusters, np.int64)
        rank[np.argsort(distances, kind="stable")] = np.arange(clusters)
        rank_of = np.append(rank[self.labels], rank)
        nodes = np.lexsort((np.arange(n + clusters), rank_of))
        begins = np.append(0, np.cumsum(np.bincount(rank_of)))
        return nodes, begins[rank_of[nodes]]


def scores(
    points: NDArray[np.float64],
    labels: NDArray[np.int32],
    means: NDArray[np.float64],
    sizes: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Sum, by cluster, the weights of all edges from its records less those of all to them.

    A weight is what it costs that one record replaces another (R1). The sums over pairs follow
    from the clusters' sizes, sums and squares; rounding is least around the centroid.
    """
    import numpy as np

    centre = points.mean(axis=0)
    sums = (means - centre) * sizes[:, None]
    squares = np.bincount(labels, ((points - centre) ** 2).sum(axis=1))
    sse = np.bincount(labels, ((points - means[labels]) ** 2).sum(axis=1))
    part = (sizes - 1) / sizes
    others = len(points) - sizes

    def beyond(values: Any) -> Any:
        """Return, for each cluster, the total over all others."""
        return values.sum(axis=0) - values

    along = (sums * beyond(part[:, None] * sums)).sum(axis=1)
    out = squares * beyond(sizes - 1) + sizes * beyond(part * squares - 2 * sse) - 2 * along
    across = (sums * beyond(sums)).sum(axis=1)
    back = part * (others * squares + sizes * beyond(squares) - 2 * across) - 2 * others * sse
    found: NDArray[np.float64] = out - back
    return found
