"""Random cluster shuffling: improve the partition of another method.

Maya-López, Enhancing Multivariate Microaggregation using Graph Theory (thesis), algorithm 4.

Pass after pass, a row of a cluster of more than k moves to the nearest other cluster, and a cluster
of k is broken up among its neighbours, where this lowers the SSE. Now and then a cluster is merged
with its nearest and both are drawn anew, to leave a local optimum. The best partition counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.methods.partition import Clock, at_least
from microagg_ops.methods.start import starting_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Steps of the inner loop in one call of the kernel: some tenths of a second.
WORK_PER_CALL = 1e8
# A pass that gains less than this share of the SSE is the last.
LEAST_GAIN = 1e-7


def rcs(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    start: Any = "mdav",
    probability: float = 0.001,
    events: int = 10,
) -> NDArray[np.int32]:
    """Shuffle the clusters of a start: a method, or from Python the labels themselves.

    After each row a shuffling event happens with the probability, ``events`` times at most.
    """
    at_least("probability", probability, 0)
    at_least("events", events, 0)
    labels = starting_labels(points, k, start, seed, clock.part(0.0, 0.3))
    state = Shuffling(points, k, labels, seed, clock)
    before = state.look()
    while not clock.spent:
        had = events
        events = state.pass_over(probability, events)
        now = state.look()
        if had == events and before - now <= LEAST_GAIN * before:
            break
        before = now
    return state.best


class Shuffling:
    """A partition that is being shuffled, and the best one so far."""

    def __init__(
        self,
        points: NDArray[np.float64],
        k: int,
        labels: NDArray[np.int32],
        seed: int,
        clock: Clock,
    ) -> None:
        import numpy as np

        from microagg_ops.kernels import random

        # There are never more clusters than rows for them.
        most = len(points) // k
        # Around the centroid sums lose least to rounding.
        self.points, self.k, self.clock = points - points.mean(axis=0), k, clock
        self.labels = labels.astype(np.int64)
        self.sizes = np.bincount(labels, minlength=most)
        self.sums = np.zeros((most, points.shape[1]))
        np.add.at(self.sums, labels, self.points)
        self.random = random.seeded(seed, 3)
        self.least, self.best, self.passes = np.inf, labels, 0

    def look(self) -> float:
        """Return the SSE, and keep the partition if it is the best."""
        import numpy as np

        from microagg_ops.metrics.loss import sse

        means = self.sums / np.maximum(self.sizes, 1)[:, None]
        found = sse(self.points, means[self.labels])
        if found < self.least:
            self.least, self.best = found, self.labels.astype(np.int32)
        self.clock.note(self.passes, self.least)
        return found

    def pass_over(self, probability: float, events: int) -> int:
        """Visit every row once, or until time is up; return the events left."""
        from microagg_ops.kernels.search import rcs as kernels

        n, row = len(self.points), 0
        step = max(1, int(WORK_PER_CALL / self.points.size))
        while row < n and not self.clock.spent:
            row, event = kernels.visit(
                self.points,
                self.k,
                self.labels,
                self.sums,
                self.sizes,
                self.random,
                probability if events else 0.0,
                row,
                min(row + step, n),
            )
            if event:
                self.look()
                self.redraw()
                events -= 1
            self.clock.progress(0.3 + 0.7 * (1 - 0.9 ** (self.passes + row / n)))
        self.passes += 1
        return events

    def redraw(self) -> None:
        """Merge a random cluster with its nearest and cut both anew, into clusters of about k.

        The rows are taken by their distance from the joint centroid.
        """
        import numpy as np

        from microagg_ops.kernels import random

        clusters = np.flatnonzero(self.sizes)
        if len(clusters) < 2:
            return
        means = self.sums[clusters] / self.sizes[clusters, None]
        at = random.below(self.random, len(clusters))
        distances = ((means - means[at]) ** 2).sum(axis=1)
        distances[at] = np.inf
        pair = clusters[[at, distances.argmin()]]
        rows = np.flatnonzero(np.isin(self.labels, pair))
        centre = self.points[rows].mean(axis=0)
        rows = rows[np.argsort(((self.points[rows] - centre) ** 2).sum(axis=1), kind="stable")]
        self.sizes[pair] = 0
        pieces = np.array_split(rows, len(rows) // self.k)
        for g, piece in zip(np.flatnonzero(self.sizes == 0), pieces, strict=False):
            self.labels[piece] = g
            self.sizes[g] = len(piece)
            self.sums[g] = self.points[piece].sum(axis=0)
