"""ILSM and ILSMC: iterated local search from perturbed partitions.

Laszlo and Mukherjee, 2015, doi:10.1016/j.jss.2014.10.012; Bierman, Improvements to Iterated Local
Search for Microaggregation, Nova Southeastern University, 2020.

Each iteration dissolves a cluster or distills one from rows that others can spare, and searches
from there. A worse partition is kept by chance, else the best one so far is gone back to. ILSMC
looks only at pairs of clusters that changed; both find the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.methods.ls import ENDLESS, Descent, labels_of
from microagg_ops.methods.partition import Clock, at_least, one_of
from microagg_ops.methods.start import cluster_range, starting_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# How many clusters are sampled, of which the one with the highest SSE is dissolved.
PERTURB = {"uniform": 1, "biased": 5}
# The chance to keep a worse partition, or the temperature that decides it by how much worse it is.
ACCEPT = {"static": (0.8, 0.0), "dynamic": (0.0, 1e-5)}
# Iterations where neither their number nor a budget is given.
ITERATIONS = 5000


def ilsm(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    start: Any = "mdav",
    perturb: str = "uniform",
    accept: str = "static",
    iterations: int | None = None,
) -> NDArray[np.int32]:
    """Improve a start: a method, ``random``, or from Python the labels themselves.

    Parameters
    ----------
    perturb
        Which cluster is dissolved: any, or of five the one with the highest SSE (``biased``).
    accept
        How a worse partition is kept: with a chance of 0.8, or ``dynamic``, the less the worse.
    iterations
        Their number; by default as many as the budget allows, or 5,000 without one.
    """
    return iterated(
        points, k, seed=seed, clock=clock, start=start, perturb=perturb, accept=accept,
        iterations=iterations, cached=False,
    )  # fmt: skip


def ilsmc(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    start: Any = "mdav",
    perturb: str = "uniform",
    accept: str = "static",
    iterations: int | None = None,
) -> NDArray[np.int32]:
    """Find the result of ``ilsm``, comparing only pairs of clusters that changed."""
    return iterated(
        points, k, seed=seed, clock=clock, start=start, perturb=perturb, accept=accept,
        iterations=iterations, cached=True,
    )  # fmt: skip


def iterated(
    points: NDArray[np.float64],
    k: int,
    *,
    seed: int,
    clock: Clock,
    start: Any,
    perturb: str,
    accept: str,
    iterations: int | None,
    cached: bool,
) -> NDArray[np.int32]:
    """Search, then perturb and search, until time or iterations are up."""
    import numpy as np

    from microagg_ops.kernels.search import iterated_local_search

    one_of("perturb", perturb, list(PERTURB))
    one_of("accept", accept, list(ACCEPT))
    if iterations is not None:
        at_least("iterations", iterations, 1)
    goal = iterations or (ITERATIONS if clock.budget is None else ENDLESS)
    labels = starting_labels(points, k, start, seed, clock.part(0.0, 0.2))
    search = Descent(points, labels, k, seed, cached)
    clock.note(0, search.sse)
    if not search.descend(clock.part(0.2, 0.4), noting=False):
        return search.labels
    clusters, plan = search.clusters, search.plan
    best = iterated_local_search.Best(
        clusters.members.copy(),
        clusters.sizes.copy(),
        clusters.losses.copy(),
        np.array([clusters.losses.sum()]),
    )
    plan.touched_count[0], plan.differs[:] = 0, False
    rules = iterated_local_search.Rules(
        cached, *cluster_range(len(points), k), PERTURB[perturb], *ACCEPT[accept]
    )
    done, going = 0, True
    while going and done < goal and not clock.spent:
        done, going = iterated_local_search.iterate(
            clusters, plan, best, rules, done, goal, search.work, search.random
        )
        # Where nothing can be perturbed, one iteration says so.
        clock.note(max(done, 1 - going), float(best.losses.sum() * search.unit**2))
        share = clock.seconds / clock.budget if clock.budget else 0.0
        clock.progress(0.4 + 0.6 * min(1.0, max(share, done / goal)))
    return labels_of(best.members, clusters.first, best.sizes)
