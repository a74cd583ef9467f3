"""Anonymity: how many entities share each combination of quasi-identifiers, and what they share.

Every measure takes a pandas or polars frame or an Arrow table and gives counts and figures, never
a value of a row. Strata are columns like any other here: name them beside the quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.metrics.tables import Columns, RowClasses, column_of, is_ordered, row_classes
from microagg_ops.metrics.values import Values, values_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Entropies and distances are sums of quotients, and may miss what they are by their rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Classes:
    """The equivalence classes of a table, by their sizes."""

    smallest: int
    count: int
    below: int
    rows_below: int
    sizes: dict[int, int]


@dataclass(frozen=True, slots=True)
class Diversity:
    """How diverse a sensitive column is in the least diverse class.

    Parameters
    ----------
    distinct
        The least number of different values: the table is distinct l-diverse for this l. With an
        entity key, the most entities that can be given different values, one each, of those that
        they have: one entity with many values adds no more than one.
    entropy
        The least exponential of the entropy: the table is entropy l-diverse for this l.
    recursive
        The table is recursive (c, l)-diverse for every c above this number, and for no other.
    """

    distinct: int
    entropy: float
    recursive: float


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """Classes in which all have the same sensitive value.

    Parameters
    ----------
    classes, entities
        How many such classes there are, and the entities in them.
    share_of_classes, share_of_entities
        Their shares of all.
    values
        The different values that the column has in the table.
    """

    classes: int
    entities: int
    share_of_classes: float
    share_of_entities: float
    values: int


def class_sizes(frame: Any, quasi: Columns, entity: str | None = None) -> NDArray[np.int64]:
    """Count the entities (without a key: the rows) of each class. NULL equals NULL."""
    return _members(frame, row_classes(frame, quasi), entity)


def classes(frame: Any, quasi: Columns, k: int, entity: str | None = None) -> Classes:
    """Describe the classes of a table by counts alone.

    Parameters
    ----------
    frame
        The table; its index does not matter.
    quasi
        The columns whose combinations make the classes, or the classes (`row_classes`).
    k
        The size that a class must have.
    entity
        A column to count distinct values of, instead of rows.
    """
    import numpy as np

    sizes = class_sizes(frame, quasi, entity)
    different, counted = np.unique(sizes, return_counts=True)
    below = sizes[sizes < k]
    return Classes(
        smallest=int(different[0]) if len(sizes) else 0,
        count=len(sizes),
        below=len(below),
        rows_below=int(below.sum()),
        sizes=dict(zip(different.tolist(), counted.tolist(), strict=True)),
    )


def k_anonymity(frame: Any, quasi: Columns, entity: str | None = None) -> int:
    """Count k: the entities (without a key: the rows) of the smallest class; 0 without rows."""
    sizes = class_sizes(frame, quasi, entity)
    return int(sizes.min()) if len(sizes) else 0


def k_by_group(
    frame: Any,
    groups: Sequence[Sequence[str]],
    strata: Sequence[str] = (),
    entity: str | None = None,
) -> tuple[int, ...]:
    """Return the k of each group of columns by itself, within strata."""
    return tuple(k_anonymity(frame, [*strata, *names], entity) for names in groups)


def k_by_stratum(
    frame: Any, quasi: Sequence[str], strata: Sequence[str], entity: str | None = None
) -> tuple[int, ...]:
    """Return the k of each stratum, smallest first; which stratum it is stays unsaid."""
    import numpy as np

    outer = row_classes(frame, strata)
    inner = row_classes(frame, quasi, outer)
    smallest = np.full(len(outer), np.iinfo(np.int64).max)
    np.minimum.at(smallest, outer.ids[inner.firsts], _members(frame, inner, entity))
    return tuple(sorted(smallest.tolist()))


def diversity(
    frame: Any,
    quasi: Columns,
    sensitive: str,
    entity: str | None = None,
    *,
    l: int = 2,  # noqa: E741
) -> Diversity:
    """Measure l-diversity: distinct, entropy and recursive.

    Parameters
    ----------
    frame, quasi
        As for `classes`.
    sensitive
        The column whose values should differ within a class; NULL is a value.
    entity
        With a key, an entity counts once in each class, whatever the number of its rows, split
        evenly over its different values there.
    l
        For the recursive kind: the most frequent value of a class must be rarer than c times all
        values from the l-th most frequent on.
    """
    return diversity_of(values_of(frame, quasi, sensitive, entity), l)


def diversity_of(values: Values, l: int) -> Diversity:  # noqa: E741
    """Measure l-diversity on counts."""
    import numpy as np

    if not values.classes:
        return Diversity(0, 0.0, float("inf"))
    return Diversity(
        distinct=int(values.distinct.min()),
        entropy=float(np.exp(entropies(values).min())),
        recursive=float(recursive_ratios(values, l).max()),
    )


def is_diverse(observed: float | None, kind: str, l: float, c: float | None) -> bool:  # noqa: E741
    """Judge the diversity of a kind: at least l, or for the recursive kind a ratio below c."""
    if kind == "recursive":
        return observed is not None and c is not None and observed < c * (1 - ROUNDING)
    return observed is not None and observed >= l * (1 - ROUNDING)


def homogeneity(
    frame: Any, quasi: Columns, sensitive: str, entity: str | None = None, *, k: int = 1
) -> Homogeneity:
    """Count the classes of k entities or more in which all have the same sensitive value.

    Parameters
    ----------
    frame, quasi, sensitive, entity
        As for `diversity`; an entity counts once in each class that it is in.
    k
        The least size of a class that is looked at.
    """
    import numpy as np

    found = row_classes(frame, quasi)
    sizes = _members(frame, found, entity)
    inner = row_classes(frame, [sensitive], found)
    large = sizes >= k
    same = large & (np.bincount(found.ids[inner.firsts], minlength=len(found)) == 1)
    return Homogeneity(
        classes=int(same.sum()),
        entities=int(sizes[same].sum()),
        share_of_classes=float(same.sum() / max(large.sum(), 1)),
        share_of_entities=float(sizes[same].sum() / max(sizes[large].sum(), 1)),
        values=len(row_classes(frame, [sensitive])),
    )


def p_sensitivity(
    frame: Any, quasi: Columns, sensitive: Sequence[str], entity: str | None = None
) -> int:
    """Find p of p-sensitive k-anonymity: every class is distinct p-diverse in every column."""
    found = row_classes(frame, quasi)
    return min(diversity(frame, found, name, entity).distinct for name in sensitive)


def t_closeness(
    frame: Any,
    quasi: Columns,
    sensitive: str,
    entity: str | None = None,
    *,
    ordered: bool | None = None,
) -> float:
    """Measure t: how far the values of any class are from those of the table, from 0 to 1.

    Parameters
    ----------
    frame, quasi, entity
        As for `diversity`; in the table too an entity counts once.
    sensitive
        The column whose distribution should be that of the table; NULL is a value, the lowest.
    ordered
        Whether to move probability along the order of the values that occur (earth mover's
        distance, one step of m values costing 1/(m - 1)) or to count what differs (total
        variation). By default text and unordered categories are nominal, all else is ordered.
    """
    if ordered is None:
        ordered = is_ordered(column_of(frame, sensitive).type)
    return closeness_of(values_of(frame, quasi, sensitive, entity), ordered=ordered)


def closeness_of(values: Values, *, ordered: bool) -> float:
    """Measure t-closeness on counts."""
    if not values.classes:
        return 0.0
    distances = earth_movers if ordered else total_variations
    return float(distances(values).max())


def is_close(t: float, limit: float) -> bool:
    """Judge a distance from the table."""
    return t <= limit + ROUNDING


def entropies(values: Values) -> NDArray[np.float64]:
    """Entropy of each class, in nats."""
    import numpy as np

    sizes = np.bincount(values.parents, values.counts, values.classes)
    terms = values.counts * np.log(values.counts)
    return np.asarray(np.log(sizes) - np.bincount(values.parents, terms, values.classes) / sizes)


def recursive_ratios(values: Values, l: int) -> NDArray[np.float64]:  # noqa: E741
    """Most frequent value over all from the l-th most frequent on; infinite where none is."""
    import numpy as np

    _, falling = np.unique(-values.counts, return_inverse=True)
    parents, counts, starts = _sorted(values, falling)[:3]
    tail = np.arange(len(parents)) - starts[parents] >= l - 1
    rest = np.bincount(parents[tail], counts[tail], values.classes)
    with np.errstate(divide="ignore"):
        return np.asarray(counts[starts] / rest)


def total_variations(values: Values) -> NDArray[np.float64]:
    """Total variation of each class from the table: only values that a class has can exceed."""
    import numpy as np

    sizes = np.bincount(values.parents, values.counts, values.classes)
    overall = values.table / values.table.sum()
    excess = values.counts / sizes[values.parents] - overall[values.ranks]
    return np.bincount(values.parents, np.maximum(excess, 0.0), values.classes).astype(float)


def earth_movers(values: Values) -> NDArray[np.float64]:
    """Earth mover's distance of each class from the table along m ordered values.

    It is the area between two cumulative distributions. That of a class is flat between its
    values, and that of the table only rises: so each flat stretch is two sums, left and right of
    where they cross.
    """
    import numpy as np

    overall = np.cumsum(values.table)
    steps = len(overall) - 1
    if not steps:
        return np.zeros(values.classes)
    table = overall / overall[-1]
    area = np.concatenate([[0.0], np.cumsum(table)])
    parents, counts, starts, ranks = _sorted(values, values.ranks)
    running = np.cumsum(counts)
    before = (running[starts] - counts[starts])[parents]
    sizes = np.bincount(parents, counts, values.classes)[parents]
    level = (running - before) / sizes
    stop = np.append(ranks[1:], steps)
    stop[np.append(starts[1:], len(stop)) - 1] = steps
    cross = np.clip(np.searchsorted(table, level), ranks, stop)
    above = level * (cross - ranks) - (area[cross] - area[ranks])
    below = (area[stop] - area[cross]) - level * (stop - cross)
    # Up to its first value a class has nothing, and the table's share is all there is.
    areas = np.bincount(parents, above + below, values.classes) + area[ranks[starts]]
    return np.asarray(areas / steps)


def _sorted(values: Values, within: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
    """Sort values by class and then as told: parents, counts, starts of classes, and the latter."""
    import numpy as np

    # One sort of one key is many times faster than a sort by two.
    order = np.argsort(values.parents * (int(within.max()) + 1) + within)
    sizes = np.bincount(values.parents, minlength=values.classes)
    return values.parents[order], values.counts[order], np.cumsum(sizes) - sizes, within[order]


def _members(frame: Any, found: RowClasses, entity: str | None) -> NDArray[np.int64]:
    """Count the rows of each class, or its entities."""
    import numpy as np

    if entity is None:
        return np.bincount(found.ids, minlength=len(found))
    pairs = row_classes(frame, [entity], found)
    return np.bincount(found.ids[pairs.firsts], minlength=len(found))
