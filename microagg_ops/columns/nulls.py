"""NULLs: rows that are NULL in the same columns make a class of their own, or NULLs are filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from microagg_ops.columns.encoding import Encoded, refuse_null
from microagg_ops.columns.representatives import representatives
from microagg_ops.columns.strata import distinct_by, numbered, rows_by
from microagg_ops.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]


Enough = Callable[[Any], bool]


def always(rows: Rows) -> bool:
    """Say that rows have what a class needs."""
    return True


def imputed(
    encoded: Encoded,
    strata: NDArray[np.int64],
    weights: NDArray[np.float64],
    entities: Rows | None = None,
    k: int = 1,
) -> Encoded:
    """Fill NULL by the mean, median or mode of its stratum, if k entities are known there.

    Else by that of the table, where k are known in the table.
    """
    import numpy as np

    missing = encoded.missing
    if not missing.any():
        return encoded
    if missing.all():
        refuse_null(encoded)
    entities = np.arange(len(missing)) if entities is None else entities
    whole = np.zeros(len(strata), np.int64)
    by_stratum = np.zeros(int(strata.max()) + 1, np.int64)
    counts = distinct_by(strata[~missing], entities[~missing])
    by_stratum[: len(counts)] = counts
    in_table = int(distinct_by(whole[~missing], entities[~missing])[0])
    if in_table < k:
        refuse_few(encoded, in_table, k)
    standing = encoded
    if encoded.how.statistic == "ancestor":  # which is no category to be near to
        standing = replace(encoded, how=replace(encoded.how, representative="mode"))
    of_stratum = representatives(standing, strata.astype(np.int32), weights, entities)[strata]
    of_table = representatives(standing, whole.astype(np.int32), weights, entities)[0]
    filled = np.where(by_stratum[strata] >= k, of_stratum, of_table)
    return replace(encoded, codes=np.where(missing, filled, encoded.codes))


def refuse_few(encoded: Encoded, known: int, k: int) -> None:
    """Refuse to impute from fewer than k entities."""
    raise DataError(
        f"Quasi-identifier {encoded.name!r} cannot be imputed: {known} entities have a value that "
        f"may be shared, fewer than k = {k}.",
        code="few_known",
        hint="Leave the column out, exclude rows in source.where, or let nulls be own_class.",
    )


class Widening(NamedTuple):
    """A way to give a small pattern more entities; the least is the one to take.

    Of two that suppress as many cells, that with another small pattern helps both.
    """

    cells: int
    is_large: bool
    target: int
    other: int
    rows: Rows


@dataclass(frozen=True)
class Patterns:
    """The patterns of NULLs in one stratum: which columns, as bits, to which rows.

    Parameters
    ----------
    rows
        Pattern to rows.
    entities
        Row to entity.
    k
        The least number of entities of a pattern.
    spread
        What each cell would lose if it were suppressed, rows by columns.
    enough
        Whether some rows have what a class needs besides k entities.
    """

    rows: dict[int, Rows]
    entities: Rows
    k: int
    spread: NDArray[np.float64]
    enough: Enough = always

    def count(self, pattern: int) -> int:
        """Count the entities of a pattern; one that lacks something else is too small as well."""
        import numpy as np

        rows = self.rows[pattern]
        found = len(np.unique(self.entities[rows]))
        return found if found < self.k or self.enough(rows) else self.k - 1

    def widen(self) -> None:
        """Suppress cells until every pattern has k entities.

        The smallest pattern goes first, each time by the way that suppresses the fewest cells. A
        step leaves one small pattern fewer, and the pattern that is NULL everywhere takes all, so
        this ends for a stratum that has k entities.
        """
        counts = {pattern: self.count(pattern) for pattern in self.rows}
        while small := [pattern for pattern, count in counts.items() if count < self.k]:
            pattern = min(small, key=lambda p: (counts[p], p))
            way = self.best(pattern, counts)
            self.move(pattern, way)
            for changed in (pattern, way.other, way.target):
                counts.pop(changed, None)
                if changed in self.rows:
                    counts[changed] = self.count(changed)

    def best(self, pattern: int, counts: dict[int, int]) -> Widening:
        """Find the way that suppresses the fewest cells."""
        found = min(self.joins(pattern, counts), key=lambda way: way[:4])
        for least, other, needed in sorted(self.lenders(pattern, counts)):
            if least >= found.cells:
                break
            borrowed = self.borrow(pattern, other, needed)
            if borrowed is not None:
                found = min(found, borrowed, key=lambda way: way[:4])
        return found

    def joins(self, pattern: int, counts: dict[int, int]) -> Iterator[Widening]:
        """Return the ways to join all rows of another pattern where both are NULL."""
        for other, rows in self.rows.items():
            if other != pattern:
                target = pattern | other
                cells = len(self.rows[pattern]) * (target ^ pattern).bit_count()
                cells += len(rows) * (target ^ other).bit_count()
                yield Widening(cells, counts[other] >= self.k, target, other, rows)

    def lenders(self, pattern: int, counts: dict[int, int]) -> Iterator[tuple[int, int, int]]:
        """Yield large patterns with entities to spare: least cells, which, how many entities."""
        for other, count in counts.items():
            target = pattern | other
            if other in (pattern, target) or counts.get(target, 0) >= self.k:
                continue  # to join is cheaper
            needed = self.k - len(self.present(pattern, target))
            if needed > 0 and count - needed >= self.k:
                own = len(self.rows[pattern]) * (target ^ pattern).bit_count()
                yield own + needed * (target ^ other).bit_count(), other, needed

    def present(self, pattern: int, target: int) -> Rows:
        """Return the entities of a small pattern and of where it is to go."""
        import numpy as np

        rows = [self.rows[p] for p in {pattern, target} if p in self.rows]
        return np.unique(self.entities[np.concatenate(rows)])

    def borrow(self, pattern: int, other: int, needed: int) -> Widening | None:
        """Take from a large pattern as many entities as the small one lacks."""
        import numpy as np

        target, rows = pattern | other, self.rows[other]
        rows = rows[~np.isin(self.entities[rows], self.present(pattern, target))]
        taken = self.cheapest(rows, target ^ other, needed)
        if taken is None:
            return None
        cells = len(self.rows[pattern]) * (target ^ pattern).bit_count()
        cells += len(taken) * (target ^ other).bit_count()
        return Widening(cells, True, target, other, taken)

    def cheapest(self, rows: Rows, columns: int, needed: int) -> Rows | None:
        """Choose the entities with the fewest rows, then those that have the least to lose."""
        import numpy as np

        keys, first, inverse = np.unique(
            self.entities[rows], return_index=True, return_inverse=True
        )
        if len(keys) < needed:
            return None
        bits = [j for j in range(self.spread.shape[1]) if columns >> j & 1]
        lost = np.bincount(inverse, self.spread[rows][:, bits].sum(axis=1))
        order = np.lexsort((first, lost, np.bincount(inverse)))[:needed]
        return rows[np.isin(inverse, order)]

    def move(self, pattern: int, way: Widening) -> None:
        """Put the rows of a pattern, and those that join them, where both are NULL."""
        import numpy as np

        moved = np.concatenate([self.rows.pop(pattern), way.rows])
        if way.other != way.target:
            moved = np.concatenate([moved, self.rows.pop(way.target, moved[:0])])
        left = np.setdiff1d(self.rows.pop(way.other), way.rows)
        if len(left):
            self.rows[way.other] = left
        self.rows[way.target] = np.unique(moved)


def widened(
    missing: NDArray[np.bool_],
    strata: NDArray[np.int64],
    entities: Rows,
    k: int,
    spread: NDArray[np.float64],
    *,
    enough: Enough = always,
) -> NDArray[np.bool_]:
    """Suppress cells until in every stratum each pattern of NULLs has k entities.

    Parameters
    ----------
    missing
        The cells that are NULL, rows by columns.
    strata, entities
        Row to stratum, and to entity; every stratum has k entities or more.
    k
        The least number of entities.
    spread
        What each cell would lose if it were suppressed.
    enough
        Whether some rows have what a class needs besides k entities; rows that have it have it
        with any others. Of a stratum that has not, nothing more is suppressed for it.

    Returns
    -------
    missing
        The cells that are NULL then: those that were, and those that are suppressed.
    """
    import numpy as np

    found = missing.copy()
    for rows in rows_by(strata):
        alike = rows_by(numbered(len(rows), missing[rows].T))
        masks = [sum(1 << int(j) for j in np.flatnonzero(missing[rows[m[0]]])) for m in alike]
        able = len(alike) > 1 and enough is not always and enough(rows)
        own = partial(_of_these, enough, rows) if able else always
        there = dict(zip(masks, alike, strict=True))
        patterns = Patterns(there, entities[rows], k, spread[rows], own)
        patterns.widen()
        for mask, members in patterns.rows.items():
            found[rows[members]] = [mask >> j & 1 for j in range(missing.shape[1])]
    return found


def _of_these(enough: Enough, these: Rows, rows: Rows) -> bool:
    return enough(these[rows])


def blocks(strata: NDArray[np.int64], missing: NDArray[np.bool_]) -> list[Rows]:
    """Return the rows that may share a cluster: of one stratum, and NULL in the same columns."""
    found = rows_by(numbered(len(strata), [strata, *missing.T]))
    return sorted(found, key=lambda rows: (strata[rows[0]], rows[0]))
