"""The one signature of all methods, and what it checks before any of them runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from microagg_ops.compiling import working_time
from microagg_ops.errors import BudgetError, DataError, ReleaseError
from microagg_ops.methods.magnitude import within_range
from microagg_ops.methods.registry import METHODS
from microagg_ops.threads import at_most

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from microagg_ops.methods.limits import Mended

Progress = Callable[[float], None]


def no_progress(done: float) -> None:
    """Report to nobody."""


@dataclass(frozen=True)
class Point:
    """A point of a search's trajectory: seconds, iterations, and the least SSE so far.

    ``schedule`` is the number of iterations that were planned, where that changes the search;
    ``guarded`` tells that the clock ended them before.
    """

    seconds: float
    iterations: int
    sse: float
    schedule: int = 0
    guarded: bool = False


@dataclass(frozen=True)
class Clock:
    """What a method reports to between its steps, and which ends it when its time is up.

    It stands still while kernels are compiled: that is no part of a search.
    """

    budget: float | None = None
    progress: Progress = no_progress
    trajectory: list[Point] = field(default_factory=list)
    began: float = field(default_factory=working_time)
    now: Callable[[], float] = working_time

    @property
    def seconds(self) -> float:
        """Seconds since the method began."""
        return self.now() - self.began

    @property
    def spent(self) -> bool:
        """Whether the budget is used up: a search then returns the best that it has found."""
        return self.budget is not None and self.seconds > self.budget

    def note(self, iterations: int, sse: float, schedule: int = 0) -> None:
        """Put the least SSE so far on the trajectory, which the report plots."""
        self.trajectory.append(Point(self.seconds, int(iterations), float(sse), schedule))

    def ended_by_guard(self) -> None:
        """Mark the last point: on a faster machine the search would have gone on."""
        self.trajectory[-1] = replace(self.trajectory[-1], guarded=True)

    def part(self, low: float, high: float) -> Clock:
        """Return the clock of a step that is a part of the whole, from one share to another."""
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


def partition(
    X: ArrayLike,
    k: int,
    method: str = "mdav",
    *,
    seed: int = 0,
    budget: float | str | None = None,
    progress: Progress = no_progress,
    trajectory: list[Point] | None = None,
    sensitive: Any = None,
    l: Any = None,  # noqa: E741
    t: Any = None,
    mended: list[Mended] | None = None,
    threads: int | None = None,
    **params: Any,
) -> NDArray[np.int32]:
    """Find clusters of at least k rows each, that meet limits on sensitive columns if asked to.

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
    sensitive
        The values of a sensitive column, one a row; or a mapping of names to such columns.
    l, t
        What every cluster must have of them, as under ``validate`` in a release file: ``l=3``,
        ``l={"l": 2, "kind": "entropy"}``, ``t=0.2``; by column with a mapping of names.
    mended
        A list that is given the partition before it met the limits, and after.
    threads
        How many threads to use, at most as many as there are processors; by default the number in
        the environment variable MICROAGG_THREADS, or all processors. The labels do not depend on
        it.
    **params
        Parameters of the method.

    Returns
    -------
    labels
        ``int32[n]``, row to cluster, numbered in order of first appearance.
    """
    from microagg_ops.release.model import in_seconds

    function = chosen(method, params)
    points = as_points(X)
    check_k(k, len(points))
    seconds = in_seconds(budget) if isinstance(budget, str) else budget
    clock = Clock(seconds, progress, [] if trajectory is None else trajectory)
    points = within_range(points)
    if threads is not None:
        at_least("threads", threads, 1)
    with at_most(threads):
        if sensitive is None and l is None and t is None:
            labels = function(points, int(k), seed=seed, clock=clock, **params)
        else:
            from microagg_ops.methods.aware import aware

            limits, how = (sensitive, l, t), METHODS[method]
            both = aware(points, int(k), how, limits, seed=seed, clock=clock, **params)
            labels = both.after
            if mended is not None:
                mended.append(both)
    progress(1.0)
    return renumbered(labels)


def chosen(method: str, params: dict[str, Any]) -> Callable[..., NDArray[np.int32]]:
    """Find a method's function, and check that it knows the parameters."""
    if method not in METHODS:
        raise ReleaseError(
            f"The 'method' parameter must be one of {', '.join(sorted(METHODS))}. "
            f"Got {method!r} instead."
        )
    known = METHODS[method].params
    for name in params:
        if name not in known:
            raise ReleaseError(
                f"The method {method!r} has no parameter {name!r}.",
                hint=f"It has: {', '.join(sorted(known)) or 'none'}.",
            )
    return METHODS[method].load()


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

    if np.ma.isMaskedArray(X):
        # What stands behind a mask is no value.
        X = np.ma.filled(np.ma.asarray(X).astype(np.float64), np.nan)
    points = _numbers(X)
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


def _numbers(X: ArrayLike) -> NDArray[np.float64]:
    """Take real numbers as float64, and nothing that would only become one: no cell is told."""
    import numpy as np

    try:
        given = np.asarray(X)
        if given.dtype.kind in "biuf":
            # A kernel would be compiled anew for an array that may not be written to.
            return np.require(given, np.float64, ("C", "W"))
        if given.dtype.kind == "O":
            return np.require([[float(x) for x in row] for row in np.atleast_2d(given)], np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(
        "X must be rows by columns of real numbers.",
        code="bad_type",
        hint="Encode text and categories first, or use microaggregate, which does.",
    )


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
    """Renumber clusters 0, 1, … in the order of first appearance."""
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
