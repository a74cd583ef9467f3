"""Groups of columns by their correlations: alike ones together, or alike ones apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Grouping = list[list[int]]
# Below this a difference of correlations is rounding, and the first column counts.
DIGITS = 9


def correlations(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Measure how strongly columns are correlated, from 0 to 1, whatever their types.

    Parameters
    ----------
    columns
        The coordinates of each, rows by dimensions; NaN, where NULL, counts as the mean.

    Returns
    -------
    strengths
        The root of the RV coefficient: of two columns of numbers the size of their correlation.
        A column that does not vary is correlated with none, not even itself.
    """
    import numpy as np

    centred = [np.nan_to_num(column - mean_of(column)) for column in columns]
    found = np.zeros((len(columns), len(columns)))
    for i, one in enumerate(centred):
        for j, other in enumerate(centred[: i + 1]):
            found[i, j] = found[j, i] = np.square(one.T @ other).sum()
    own = np.sqrt(np.diag(found))
    sizes = np.outer(own, own)
    shares = np.divide(found, sizes, out=np.zeros_like(found), where=sizes > 0)
    strengths: NDArray[np.float64] = np.round(np.sqrt(np.minimum(shares, 1.0)), DIGITS)
    return strengths


def mean_of(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the mean of each dimension where it is there; 0 where it never is."""
    import numpy as np

    there = ~np.isnan(column)
    total = np.where(there, column, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(there.sum(axis=0), 1))


def correlated(strengths: NDArray[np.float64], size: int) -> Grouping:
    """Put columns that are strongly correlated into one group: little is lost.

    A group begins with the two strongest correlated of the columns that are left, and grows by
    the one that is most correlated with its members, up to its size. Of equals the first counts.
    """
    return ordered(by_strength(strengths, size))


def by_strength(strengths: NDArray[np.float64], size: int) -> Grouping:
    """Return the correlated groups as they are found, the strongest first."""
    import numpy as np

    left = list(range(len(strengths)))
    groups: Grouping = []
    while left:
        group = [left[0]]
        if size > 1 and len(left) > 1:
            pairs = np.triu(strengths[np.ix_(left, left)] + 1.0, 1)
            one, other = divmod(int(np.argmax(pairs)), len(left))
            group = [left[one], left[other]]
        left = [column for column in left if column not in group]
        while left and len(group) < size:
            group.append(left.pop(int(np.argmax(strengths[np.ix_(left, group)].sum(axis=1)))))
        groups.append(group)
    return groups


def uncorrelated(strengths: NDArray[np.float64], size: int) -> Grouping:
    """Put columns that are strongly correlated into different groups: rows stay together.

    Columns take their places in turn, those of the strongest correlated group first, each in the
    group that it is least correlated with of those that have room. Of equals the first counts.
    """
    groups: Grouping = [[] for _ in range(-(-len(strengths) // size))]
    for column in chain(*by_strength(strengths, size)):
        open_ones = [group for group in groups if len(group) < size]
        min(open_ones, key=lambda group: strengths[column, group].sum()).append(column)
    return ordered(groups)


def ordered(groups: Sequence[Sequence[int]]) -> Grouping:
    """Return the one way to write a grouping: columns in order, groups by their first column."""
    return sorted(sorted(group) for group in groups)
