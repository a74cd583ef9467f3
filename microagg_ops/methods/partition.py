"""The one signature of all methods, and what it checks before any of them runs."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import BudgetError, DataError, ReleaseError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Progress = Callable[[float], None]


def no_progress(done: float) -> None:
    """Report to nobody."""


@dataclass(frozen=True)
class Point:
    """Where a search stood: after so many seconds and iterations, with the least SSE so far.

    ``schedule`` is the number of iterations that were planned, where that changes the search.
    """

    seconds: float
    iterations: int
    sse: float
    schedule: int = 0


@dataclass(frozen=True)
class Clock:
    """What a method reports to between its steps, and which ends it when its time is up."""

    budget: float | None = None
    progress: Progress = no_progress
    trajectory: list[Point] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the method began."""
        return time.monotonic() - self.began

    @property
    def spent(self) -> bool:
        """Whether the budget is used up: a search then gives the best that it has found."""
        return self.budget is not None and self.seconds > self.budget

    def note(self, iterations: int, sse: float, schedule: int = 0) -> None:
        """Put the least SSE so far on the trajectory, which the report plots."""
        self.trajectory.append(Point(self.seconds, int(iterations), float(sse), schedule))

    def part(self, low: float, high: float) -> Clock:
        """Give the clock of a step that is a part of the whole, from one share to another."""
        return replace(self, progress=lambda done: self.progress(low + (high - low) * done))

    def tick(self, done: float) -> None:
        """Report the share that is done; raise when the budget is used up.

        For methods with no result before their end. A search reads ``spent`` instead.
        """
        self.progress(done)
        if self.spent:
            raise BudgetError(
                f"The time budget ran out with {done:.0%} done, and this method has no result "
                "before its end.",
                hint="Give aggregate.budget more time, or none.",
            )


@dataclass(frozen=True)
class Method:
    """A way to find clusters; its function is loaded when it is first used."""

    name: str
    about: str
    where: str = field(repr=False)

    def load(self) -> Callable[..., NDArray[np.int32]]:
        """Import the method's function: ``f(points, k, *, seed, clock, **params)``."""
        module, _, function = self.where.partition(":")
        found: Callable[..., NDArray[np.int32]] = getattr(import_module(module), function)
        return found


METHODS = {
    method.name: method
    for method in (
        Method(
            "mdav",
            "Maximum distance to average vector, exact, by a tree. Fixed size, deterministic.",
            "microagg_ops.methods.mdav:mdav",
        ),
        Method(
            "fmdav",
            "MDAV by brute force with the improvements of F-MDAV, to compare with. Quadratic.",
            "microagg_ops.methods.fmdav:fmdav",
        ),
        Method(
            "vmdav",
            "MDAV whose clusters grow to 2k - 1 rows where rows are close. Quadratic.",
            "microagg_ops.methods.vmdav:vmdav",
        ),
        Method(
            "best",
            "The lowest loss within the budget: annealing and chains, from MDAV's partition on.",
            "microagg_ops.methods.best:best",
        ),
        Method(
            "ls",
            "Local search: rows swap clusters and shift until none helps. Quadratic.",
            "microagg_ops.methods.ls:ls",
        ),
        Method(
            "lsc",
            "Local search that skips pairs of clusters that did not change: ls, but faster.",
            "microagg_ops.methods.ls:lsc",
        ),
        Method(
            "ilsm",
            "Iterated local search: clusters are dissolved and distilled. Anytime, quadratic.",
            "microagg_ops.methods.ilsm:ilsm",
        ),
        Method(
            "ilsmc",
            "Iterated local search that skips pairs that did not change: ilsm, but faster.",
            "microagg_ops.methods.ilsm:ilsmc",
        ),
        Method(
            "optimal",
            "The least possible loss, for one column alone. Fast, deterministic.",
            "microagg_ops.methods.optimal:optimal",
        ),
        Method(
            "mhm",
            "Best clusters along a given path. Variable size, deterministic, linear.",
            "microagg_ops.methods.mhm:mhm",
        ),
        Method(
            "npn_mhm",
            "Best clusters along the path of nearest points. Variable size, deterministic.",
            "microagg_ops.methods.tsp_mhm:npn_mhm",
        ),
        Method(
            "mdav_mhm",
            "Best clusters along the path through those of MDAV; never worse than MDAV.",
            "microagg_ops.methods.tsp_mhm:mdav_mhm",
        ),
        Method(
            "mdav_lk_mhm",
            "Best clusters along the path through those of MDAV, made shorter by a search.",
            "microagg_ops.methods.tsp_mhm:mdav_lk_mhm",
        ),
        Method(
            "tsp_mhm",
            "Best clusters along a short tour of all rows. Variable size, quadratic.",
            "microagg_ops.methods.tsp_mhm:tsp_mhm",
        ),
        Method(
            "compress_tsp_mhm",
            "Best clusters along a tour of small clusters: tours for larger tables.",
            "microagg_ops.methods.tsp_mhm:compress_tsp_mhm",
        ),
        Method(
            "mf_tsp",
            "Clusters of rows that are neighbours on paths from every row. Fixed size, cubic.",
            "microagg_ops.methods.mf_tsp:mf_tsp",
        ),
        Method(
            "rcs",
            "Random cluster shuffling of the partition of another method. Variable size.",
            "microagg_ops.methods.rcs:rcs",
        ),
        Method(
            "icsm",
            "Migrations, exchanges and circles of records until none helps. Anytime, quadratic.",
            "microagg_ops.methods.icsm:icsm",
        ),
    )
}


def partition(
    X: ArrayLike,
    k: int,
    method: str = "mdav",
    *,
    seed: int = 0,
    budget: float | str | None = None,
    progress: Progress = no_progress,
    trajectory: list[Point] | None = None,
    **params: Any,
) -> NDArray[np.int32]:
    """Find clusters of at least k rows each.

    Parameters
    ----------
    X
        Rows by columns, finite, taken as it is: standardize first if the columns differ in scale.
    k
        The least size of a cluster.
    method
        One of ``METHODS``.
    seed
        The seed of methods that use chance.
    budget
        The longest time to search: seconds, or a text such as ``"60s"``.
    progress
        Called now and then with the share that is done.
    trajectory
        A list that is given the points of the search: seconds, iterations and the least SSE.
    **params
        Parameters of the method.

    Returns
    -------
    labels
        ``int32[n]``, row to cluster, numbered in order of first appearance.
    """
    from microagg_ops.release import in_seconds

    function = chosen(method, params)
    points = as_points(X)
    check_k(k, len(points))
    seconds = in_seconds(budget) if isinstance(budget, str) else budget
    clock = Clock(seconds, progress, [] if trajectory is None else trajectory)
    labels = function(points, int(k), seed=seed, clock=clock, **params)
    progress(1.0)
    return renumbered(labels)


def chosen(method: str, params: dict[str, Any]) -> Callable[..., NDArray[np.int32]]:
    """Find a method's function, and check that it knows the parameters."""
    if method not in METHODS:
        raise ReleaseError(
            f"The 'method' parameter must be one of {', '.join(sorted(METHODS))}. "
            f"Got {method!r} instead."
        )
    function = METHODS[method].load()
    known = set(inspect.signature(function).parameters) - {"points", "k", "seed", "clock"}
    for name in params:
        if name not in known:
            raise ReleaseError(
                f"The method {method!r} has no parameter {name!r}.",
                hint=f"It has: {', '.join(sorted(known)) or 'none'}.",
            )
    return function


def one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Check a parameter that is one of a few words."""
    if value not in allowed:
        raise ReleaseError(
            f"The {name!r} parameter must be one of {', '.join(allowed)}. Got {value!r} instead."
        )


def at_least(name: str, value: Any, least: float) -> None:
    """Check a parameter that is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
        raise ReleaseError(
            f"The {name!r} parameter must be a number of {least} or more. Got {value!r} instead."
        )


def on_or_off(name: str, value: Any) -> None:
    """Check a parameter that is true or false."""
    if not isinstance(value, bool):
        raise ReleaseError(f"The {name!r} parameter must be true or false. Got {value!r} instead.")


def as_points(X: ArrayLike) -> NDArray[np.float64]:
    """Check that an array is rows by columns and finite."""
    import numpy as np

    points = np.asarray(X, dtype=np.float64, order="C")
    if points.ndim == 1:
        points = points[:, None]
    if points.ndim != 2 or points.shape[1] == 0:
        raise DataError(f"X must be rows by columns. Got {points.ndim} dimensions instead.")
    # A sum that is finite has finite terms; only one that is not says nothing yet.
    with np.errstate(all="ignore"):
        doubtful = not np.isfinite(points.sum())
    bad = np.flatnonzero(~np.isfinite(points).all(axis=0)) if doubtful else np.array([], int)
    if len(bad):
        raise DataError(
            f"X must be finite. Column {bad[0]} holds NaN or an infinite value in "
            f"{int((~np.isfinite(points[:, bad[0]])).sum())} rows.",
            code="not_finite",
        )
    return points


def check_k(k: Any, rows: int, what: str = "rows") -> None:
    """Check that k is a whole number that the rows can bear."""
    import operator

    try:
        whole = operator.index(k)
    except TypeError:
        whole = 0
    if isinstance(k, bool) or whole < 2:
        raise ReleaseError(f"The 'k' parameter must be an integer of 2 or more. Got {k!r} instead.")
    if rows < whole:
        raise DataError(
            f"There are {rows} {what}, fewer than k = {whole}.",
            code="too_few",
            hint="Lower k or release more rows at once.",
        )


def renumbered(labels: NDArray[Any]) -> NDArray[np.int32]:
    """Give clusters the numbers 0, 1, … in the order in which they first appear."""
    import numpy as np

    rows = len(labels)
    if rows and not 0 <= labels.min() <= labels.max() < rows:
        labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
    # Of several values for one place the last one stays: that of the first row.
    first = np.full(rows, rows)
    first[labels[::-1]] = np.arange(rows)[::-1]
    rank: NDArray[np.int32] = np.empty(rows, np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(rows, dtype=np.int32)
    return rank.take(labels)
