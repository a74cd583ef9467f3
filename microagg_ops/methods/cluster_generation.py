"""Generate clusters for a small table until prices of its rows prove a bound near the least loss.

The loss of a partition is the sum over its clusters; of all prices y with y(C) <= SSE(C) for each
cluster C of k to 2k - 1 rows, the greatest sum is the bound (column generation,
as in Aloise, Hansen, Rocha and Santi, 2014). A linear program finds prices for the clusters known;
pricing finds the clusters that these forbid. docs/algorithms/bound.md has the derivation.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from microagg_ops.methods.partition import Clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.kernels.bound.split import Split

# Rounds of the linear program and pricing, without a budget and with one; it ends where EASE rounds
# gain less than the share GAIN.
ROUNDS, MOST_ROUNDS, EASE, GAIN = 12, 200, 8, 1e-4
# Prices may move by a share of BOX / k at first, more after a gain and less without one.
BOX, WIDER, NARROWER, WIDEST = 0.3, 1.4, 0.6, 0.6
# Nodes that are opened from an anchor, and clusters kept of it.
NODES, KEEP = 400, 8
# Anchors in one call of the kernel, by THREADS threads.
AT_ONCE, THREADS = 8, 2
# The reduced cost, as a share of a row's mean price, that is as good as none.
FINE = 1e-3


class Clusters:
    """The clusters known, each once, with their SSE."""

    def __init__(self, points: NDArray[np.float64]) -> None:
        self.points = points
        self.known: dict[tuple[int, ...], float] = {}

    def add(self, members: NDArray[Any]) -> None:
        """Add a cluster."""
        key = tuple(sorted(members.tolist()))
        if key not in self.known:
            rows = self.points[list(key)]
            self.known[key] = float(((rows - rows.mean(axis=0)) ** 2).sum())

    def prices(
        self, low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Find the prices with the greatest sum that no known cluster forbids, within a box."""
        import numpy as np
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        if not self.known:
            return high
        rows = np.concatenate([np.array(key) for key in self.known])
        ends = np.cumsum([0, *map(len, self.known)])
        which = csr_array((np.ones(len(rows)), rows, ends), shape=(len(self.known), len(low)))
        # The tolerances of the solver are absolute: in units of a mean price.
        unit = float((high - low).mean())
        costs = np.fromiter(self.known.values(), np.float64) / unit
        found = linprog(
            -np.ones(len(low)), A_ub=which, b_ub=costs, bounds=np.column_stack([low, high]) / unit,
            method="highs",
        )  # fmt: skip
        return None if found.x is None or found.status else found.x * unit


def generated_bound(
    points: NDArray[np.float64], split: Split, k: int, least: float, clock: Clock
) -> float:
    """Raise a bound by clusters that are generated.

    Parameters
    ----------
    split
        A good split: its shares are the first prices, and it bounds the search for clusters.
    least
        The bound so far.
    clock
        With a budget, it ends this; without, a fixed number of rounds does.
    """
    import numpy as np

    pricing, clusters = Pricing(points, split, k), Clusters(points)
    prices, box, best, gains = split.share.copy(), BOX / k, least, [least]
    # What a row may be worth that has no price of its own: outliers set no scale for others.
    scale = np.maximum(pricing.sums[:, k - 1], 0.0) / k
    for _ in range(ROUNDS if clock.budget is None else MOST_ROUNDS):
        room = box * np.maximum(np.abs(prices), scale) + 1e-9 * np.abs(prices).mean()
        tried = clusters.prices(prices - room, prices + room)
        if tried is None or clock.spent:
            break
        found, excess = pricing.run(tried, FINE * float(np.abs(prices).mean()), clusters, clock)
        best = max(best, found)
        if (tried - excess).sum() > prices.sum():
            prices, box = tried - excess, min(box * WIDER, WIDEST / k)
        else:
            box *= NARROWER
        gains.append(best)
        if len(gains) > EASE and best - gains[-EASE - 1] < GAIN * best:
            break
    return best


class Pricing:
    """Looks for the clusters that prices forbid."""

    def __init__(self, points: NDArray[np.float64], split: Split, k: int) -> None:
        import numpy as np

        from microagg_ops.kernels.bound.split import least_sums

        self.points, self.split, self.k = points, split, k
        self.sums = np.empty((len(points), 2 * k - 1))
        least_sums(split, self.sums, 0, len(points))
        # The dearest first: a row far from all others is soon out of the way.
        self.order = np.argsort(-split.share, kind="stable")

    def run(
        self, prices: NDArray[np.float64], fine: float, clusters: Clusters, clock: Clock
    ) -> tuple[float, NDArray[np.float64]]:
        """Add clusters that prices forbid; return the bound that they prove, and their excess."""
        import numpy as np

        from microagg_ops.kernels.bound import pricing as kernels

        rows, k = len(self.points), self.k
        given = kernels.Prices(
            self.points, prices, self.sums, self.order, self.split.head, self.split.other,
            self.split.half, self.split.shift,
        )  # fmt: skip
        least = np.zeros(rows)

        def work(start: int) -> Any:
            stop = min(start + AT_ONCE, rows)
            found = kernels.Found(
                least, np.empty((KEEP * AT_ONCE, 2 * k - 1), np.int32),
                np.empty(KEEP * AT_ONCE, np.int64), np.zeros(1, np.int64),
            )  # fmt: skip
            if not clock.spent:
                kernels.price_anchors(given, k, -fine, NODES, found, start, stop)
            return found

        with ThreadPoolExecutor(THREADS) as pool:
            for found in pool.map(work, range(0, rows, AT_ONCE)):
                for i in range(int(found.total[0])):
                    clusters.add(found.rows[i, : found.sizes[i]])
        if clock.spent:
            return -np.inf, np.full(rows, np.inf)
        excess = np.zeros(rows)
        excess[self.order] = np.maximum(0.0, -least)
        # A partition has rows / k clusters at most, each with an anchor of its own.
        worst = float(np.sort(excess)[-(rows // k) :].sum())
        largest = np.abs(prices).max() + np.abs(self.sums).max() + self.split.largest.max()
        wrong = 2.0**-50 * (self.points.shape[1] + 8 * k) * rows * float(largest)
        return float(prices.sum()) - worst - wrong, excess
