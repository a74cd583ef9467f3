"""Who has which value of a sensitive column in which class.

Without an entity key rows are counted. With one, people are: an entity is one in each class and
one in the table, whatever the number of its rows, and is split evenly over its different values
there. NULL is a value, the lowest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.metrics.tables import (
    Columns,
    RowClasses,
    column_of,
    one_class,
    refined,
    row_classes,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Values in one call of the kernel: a fraction of a second.
VALUES_PER_CALL = 1 << 18


@dataclass(frozen=True, slots=True)
class Values:
    """Each value of a sensitive column in each class: how many have it.

    Parameters
    ----------
    parents, ranks, counts
        One entry a class and value: the class, the rank of the value among all values, and how
        many have it.
    distinct
        By class: how many different values it has; of entities, how many of them can be given
        different values, one each.
    table
        By rank: how many have the value in the table.
    """

    parents: NDArray[np.int64]
    ranks: NDArray[np.int64]
    counts: NDArray[np.float64]
    distinct: NDArray[np.int64]
    table: NDArray[np.float64]

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.distinct)


def values_of(frame: Any, quasi: Columns, sensitive: str, entity: str | None = None) -> Values:
    """Count who has each value of a sensitive column in each class."""
    import numpy as np

    outer, ranks = row_classes(frame, quasi), value_ranks(frame, sensitive)
    if entity is not None:
        return values_of_entities(outer, ranks, row_classes(frame, [entity]).ids.astype(np.int64))
    inner = refined(outer, ranks)
    counts = np.bincount(inner.ids, minlength=len(inner))
    return values_of_counts(outer.ids[inner.firsts], ranks[inner.firsts], counts)


def values_of_counts(
    parents: NDArray[Any], ranks: NDArray[np.int64], counts: NDArray[Any]
) -> Values:
    """Take values that were counted by rows, one entry a class and value."""
    import numpy as np

    parents, counts = parents.astype(np.int64), counts.astype(np.float64)
    table = np.bincount(ranks, counts).astype(np.float64)
    return Values(parents, ranks, counts, np.bincount(parents), table)


def values_of_entities(
    outer: RowClasses, ranks: NDArray[np.int64], entities: NDArray[np.int64]
) -> Values:
    """Count entities by the class, the value and the entity of each row."""
    import numpy as np

    cells = refined(outer, ranks)
    parents = outer.ids[cells.firsts].astype(np.int64)
    # Each entity of a class with each of its values there, once.
    rows = refined(cells, entities).firsts
    holders, owned = refined(outer, entities).ids[rows], cells.ids[rows]
    held = np.bincount(holders)[holders]
    overall = refined(refined(one_class(len(ranks)), ranks), entities).firsts
    shares = 1 / np.bincount(entities[overall])[entities[overall]]
    return Values(
        parents,
        ranks[cells.firsts],
        np.bincount(owned, 1 / held).astype(np.float64),
        np.bincount(parents[matched(owned, holders, held)], minlength=len(outer)),
        np.bincount(ranks[overall], shares).astype(np.float64),
    )


def matched(
    values: NDArray[np.int32], holders: NDArray[np.int32], held: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Say which values can be given to a holder each, as many as can be at once.

    Parameters
    ----------
    values, holders
        Pairs of a value and one who has it.
    held
        How many values that holder has: who has one only is tried first.
    """
    import numpy as np

    from microagg_ops.kernels.measures.matching import match

    many, people = int(values.max(initial=-1)) + 1, int(holders.max(initial=-1)) + 1
    starts = np.concatenate([[0], np.cumsum(np.bincount(values, minlength=many))])
    whose, queue = np.full(many, -1), np.empty(many + 1, np.int64)
    given, came, seen = np.full(people, -1), np.empty(people, np.int64), np.full(people, -1)
    ordered = holders[np.lexsort((held, values))].astype(np.int64)
    for first in range(0, many, VALUES_PER_CALL):
        last = min(first + VALUES_PER_CALL, many)
        match(starts, ordered, first, last, whose, given, came, seen, queue)
    return np.asarray(whose >= 0)


def value_ranks(frame: Any, name: str) -> NDArray[np.int64]:
    """Return the rank of each row's value among the different values of a column, NULL lowest."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column_of(frame, name)
    found = row_classes(frame, [name])
    values = column.take(pa.array(found.firsts)).combine_chunks()
    if pa.types.is_dictionary(values.type):
        # Categories are in the order of the dictionary, which a frame may not have sorted.
        values = values.indices
    elif pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    missing = pc.is_null(values, nan_is_null=pa.types.is_floating(values.type)).to_numpy(False)
    order = np.roll(pc.sort_indices(values).to_numpy(), missing.sum())  # NULL is sorted last
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return np.asarray(ranks[found.ids])
