"""A proven lower bound of the loss of any partition into clusters of at least k rows.

docs/algorithms/bound.md has the derivation. Whatever it computes is at most the true least loss,
rounding included; the more work, the nearer it comes.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.methods.mdav import mdav
from microagg_ops.methods.neighbours import centred, exact_knn
from microagg_ops.methods.partition import Clock, as_points, check_k

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from microagg_ops.kernels.bound.split import Split

# Neighbours of a row whose pairs are split freely: WIDE k, and FEWEST at least; on tables of more
# than MANY rows 2k, which memory allows.
WIDE, FEWEST, MANY = 3, 20, 100_000
# Subgradient steps by default, fewer where a row's share of the work would exceed WORK.
STEPS, FEWEST_STEPS, WORK = 300, 40, 40_000_000
# The part of the old direction that is kept; the target, as a part of a known loss; after PATIENCE
# steps without gain the next ones are SHORTER. It is beyond the bound by a share of LEAST to REACH.
KEPT, TARGET, PATIENCE, SHORTER = 0.9, 0.9, 20, 0.7
LEAST, REACH = 0.01, 0.05
# Pairs in one call of a kernel, by THREADS threads: some hundredths of a second.
STRETCH, THREADS = 500_000, 2
# The share of SST that rounding the centred points may change of any loss.
SHIFTED = 2.0**-50
# Rows up to which clusters are generated, where nothing else is said.
FEW = 5_000
# Rows up to which the neighbour bound compares all pairs, BESIDE rows at a time.
AT_HAND, BESIDE = 2_000, 64


def lower_bound(
    X: ArrayLike,
    k: int,
    *,
    budget: float | str | None = None,
    seed: int = 0,
    weights: ArrayLike | None = None,
) -> float:
    """Find a lower bound of the loss that any partition into clusters of at least k rows has.

    Parameters
    ----------
    X
        Rows by columns, finite, taken as it is.
    k
        The least size of a cluster.
    budget
        The longest time to improve the bound: seconds, or a text such as ``"60s"``; without, a
        fixed amount of work, which finds the same bound on any machine.
    seed
        As for `partition`; no chance is involved.
    weights : (rows,)
        Positive weights of the rows, for the weighted loss; by default all alike.

    Returns
    -------
    percent
        Of SST, as `information_loss` measures it; rounded down.
    """
    import numpy as np

    from microagg_ops.release.model import in_seconds

    points = as_points(X)
    check_k(k, len(points))
    mass = np.empty(0) if weights is None else checked_weights(weights, len(points))
    seconds = in_seconds(budget) if isinstance(budget, str) else budget
    if seconds is not None:
        compile_ahead(len(mass) > 0)
    clock = Clock(seconds)
    spread = scatter(points, mass)
    if spread <= 0.0:
        return 0.0
    least = least_loss(points, int(k), mass, clock=clock, few=FEW)
    return max(0.0, min(100.0, 100.0 * (1 - 1e-12) * least / spread))


@cache
def compile_ahead(weighted: bool) -> None:
    """Bound a few rows: the time that kernels take to compile is no part of a budget."""
    import numpy as np

    few = np.random.default_rng(0).normal(size=(60, 2))
    mass = np.arange(1.0, 61.0) if weighted else np.empty(0)
    least_loss(few, 3, mass, clock=Clock(), few=FEW)


def checked_weights(weights: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Check that weights are positive numbers, one a row."""
    import numpy as np

    mass = np.ascontiguousarray(weights, np.float64)
    if mass.shape != (rows,) or not (np.isfinite(mass) & (mass > 0)).all():
        raise DataError(
            f"The weights must be {rows} positive numbers, one a row.", code="bad_weights"
        )
    return mass


def scatter(points: NDArray[np.float64], mass: NDArray[np.float64]) -> float:
    """Sum the squares around the mean of rows of some mass."""
    import numpy as np

    away = points - np.average(points, axis=0, weights=mass if len(mass) else None)
    squares = (away * away).sum(axis=1)
    return float((squares * mass).sum() if len(mass) else squares.sum())


def least_loss(
    points: NDArray[np.float64],
    k: int,
    mass: NDArray[np.float64],
    *,
    clock: Clock,
    known: float | None = None,
    few: int = 0,
    steps: int | None = None,
) -> float:
    """Bound the SSE of any partition from below.

    Parameters
    ----------
    mass : (rows,) or (0,)
        The weights of the rows; empty where all are 1.
    known
        The SSE of some partition, to aim at.
    few
        Rows up to which clusters are generated, which takes longer and leaves a smaller gap.
    steps
        How often to improve the split; 0 is the neighbour bound.
    """
    import numpy as np

    rows = len(points)
    if rows < 2 * k:
        return scatter(points, mass) * (1 - 1e-12)
    padded, unit = centred(points)
    scaled = np.ascontiguousarray(padded[:, : points.shape[1]])
    if steps == 0 and rows <= AT_HAND and not len(mass):
        return max(0.0, unit**2 * neighbour_bound(scaled, k) - SHIFTED * scatter(points, mass))
    if known is None and steps != 0:
        labels = mdav(scaled, k, seed=0, clock=Clock())
        known = unit**2 * loss_of(scaled, labels, mass)
    if known is not None and known <= 0.0:
        return 0.0
    weight = float(mass.max()) if len(mass) else 1.0
    split = neighbour_split(scaled, k, mass / weight)
    if steps is None:
        steps = max(FEWEST_STEPS, min(STEPS, 100 * WORK // max(1, len(split.other))))
    least = ascend(split, k, (known or 0.0) / unit**2 / weight, steps, clock)
    if rows <= few and not len(mass):
        from microagg_ops.methods.cluster_generation import generated_bound

        least = max(least, generated_bound(scaled, split, k, least, clock))
    return max(0.0, least * unit**2 * weight - SHIFTED * scatter(points, mass))


def neighbour_bound(points: NDArray[np.float64], k: int) -> float:
    """Bound the SSE by the distances of each row to its nearest ones, with nothing to compile."""
    import numpy as np

    sizes = np.arange(k, min(2 * k - 1, len(points)) + 1)
    total = 0.0
    for start in range(0, len(points), BESIDE):
        gaps = points[start : start + BESIDE, None, :] - points
        away = np.partition((gaps * gaps).sum(axis=2), sizes - 1, axis=1)[:, : sizes[-1]]
        sums = np.sort(away, axis=1).cumsum(axis=1)
        total += float((sums[:, sizes - 1] / (2 * sizes)).min(axis=1).sum())
    return total * (1 - 1e-12)


def loss_of(
    points: NDArray[np.float64], labels: NDArray[np.int32], mass: NDArray[np.float64]
) -> float:
    """Sum the squares of rows around the centroids of their clusters."""
    import numpy as np

    weights = mass if len(mass) else np.ones(len(points))
    many = np.bincount(labels, weights)
    sums = np.column_stack([np.bincount(labels, weights * column) for column in points.T])
    away = points - (sums / many[:, None])[labels]
    return float((weights * (away * away).sum(axis=1)).sum())


def neighbour_split(points: NDArray[np.float64], k: int, mass: NDArray[np.float64]) -> Split:
    """Halve the distances of all pairs of neighbours."""
    import numpy as np

    from microagg_ops.kernels.bound import split as kernels

    rows, columns = points.shape
    wide = 2 * k if rows > MANY else max(WIDE * k, FEWEST)
    near = exact_knn(points, min(rows - 1, wide), Clock())
    many = np.zeros(rows, np.int64)
    ranges = stretches(np.full(rows, near.shape[1] ** 2).cumsum())
    for start, stop in ranges:
        kernels.count_pairs(near, many, start, stop)
    head = np.concatenate([np.zeros(1, np.int64), many.cumsum()])
    pairs = int(head[-1])
    split = kernels.Split(
        head=head,
        other=np.empty(pairs, np.int32),
        twin=np.empty(pairs, np.int32),
        half=np.empty(pairs, np.float32),
        shift=np.zeros(pairs, np.float32),
        way=np.zeros(pairs, np.float32),
        drawn=np.zeros(pairs, np.float32),
        beyond=np.empty(rows),
        mass=mass,
        share=np.empty(rows),
        largest=np.empty(rows),
    )
    end = head[:-1].copy()
    for start, stop in ranges:
        kernels.link_pairs(near, end, split.other, split.twin, start, stop)
    # Rounding to float32 and of the sum over the columns, twice over.
    safe = 1.0 - 2.0**-22 - (columns + 8) * 2.0**-51
    each(partial(kernels.measure_pairs, points, near, split, safe), stretches(many.cumsum()))
    return split


def ascend(split: Split, k: int, known: float, steps: int, clock: Clock) -> float:
    """Improve a split by deflected subgradients; leave the best one in it; return its bound."""
    import numpy as np

    from microagg_ops.kernels.bound import split as kernels

    mass = split.mass
    ends = split.head[1:]
    by_row = stretches(ends)
    by_pair = [(int(split.head[a]), int(split.head[b])) for a, b in by_row]
    draw: Any = partial(kernels.draw_alike, split, k)
    if len(mass):
        draw = partial(kernels.draw, split, k, float(mass.min()), float(mass.max()))
    each(partial(draw, np.float32(0.0)), by_row)
    best, kept, patience, length = rounded_down(split, k), split.shift.copy(), 0, 1.0
    for _ in range(steps):
        if clock.spent:
            break
        square = sum(each(partial(kernels.turn, split, KEPT), by_pair)) / 2
        target = best + min(max(TARGET * known - best, LEAST * abs(best)), REACH * abs(best))
        if square <= 0.0:
            break
        step = np.float32(min(length * (target - best) / square, 1e30))
        each(partial(draw, step), by_row)
        now = rounded_down(split, k)
        patience += 1
        if now > best:
            best, patience = now, 0
            kept[:] = split.shift
        elif patience >= PATIENCE:
            length, patience = length * SHORTER, 0
    split.shift[:] = kept
    split.way[:] = 0.0
    each(partial(draw, np.float32(0.0)), by_row)
    return best


def rounded_down(split: Split, k: int) -> float:
    """Sum the shares of the rows, less what rounding may have added to them."""
    import numpy as np

    if not (np.isfinite(split.share).all() and np.isfinite(split.largest).all()):
        return -math.inf
    wrong = (4 * k + 8) * 2.0**-52 * math.fsum(split.largest) * k
    total = math.fsum(split.share)
    return total - wrong - 2.0**-50 * abs(total)


def stretches(ends: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Divide rows, with the ends of their work, into ranges of about equal work."""
    import numpy as np

    cuts = np.arange(STRETCH, int(ends[-1]), STRETCH)
    places = np.unique(np.concatenate([[0], np.searchsorted(ends, cuts), [len(ends)]]))
    return [(int(a), int(b)) for a, b in pairwise(places)]


def each(work: Any, ranges: list[tuple[int, int]]) -> list[Any]:
    """Run a kernel for all ranges, side by side; return the results in their order."""
    if len(ranges) == 1:
        return [work(*ranges[0])]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda part: work(*part), ranges))
