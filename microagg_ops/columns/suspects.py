"""Columns that leave although they could name people: roles, judged by the data.

What leaves as it is (sensitive columns, strata, a weight that is published) is suspect where

* nearly every value of it is one entity's alone, as a copy of an identifier or of the entity key
  is. Identifiers themselves are never read, so that this, the form of the values and the name of
  the column are how their copies are found;
* it fixes a quasi-identifier: entities that share its value are nearly alike there, or it ranks
  them as the quasi-identifier does. Strata may do so: k holds within each of their values;

and whatever leaves is suspect where its name or the form of its values is that of an identifier.
Counts and shares are told, never a value. The order of the rows matters only to what is drawn
of a large table, so tables come in their canonical order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from microagg_ops.columns.lookalikes import forms_of, has_forms, is_named_like_one
from microagg_ops.metrics.tables import RowClasses, is_ordered, one_class, refined, row_classes
from microagg_ops.release.model import Release

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

# More than this share of what entities have is nobody else's.
ALONE = 0.5
# Of fewer entities every value must be one's own (few rows share few values by chance); and
# fewer than so few say nothing.
FEW, FEWEST = 20, 5
# A quasi-identifier is fixed where this share of its differences is gone among equals.
FIXED = 0.9
RANKED = 0.95
# What tells people apart has at least as many values; with fewer, one must be the other's copy.
VALUES = 5
# Differences that chance would have shown.
EXPECTED = 10
# Columns are compared, and values looked at, on this many rows at most.
SAMPLE = 50_000


@dataclass(frozen=True, slots=True)
class Suspect:
    """A column that could name people, and why."""

    column: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.column!r} ({'; '.join(self.reasons)})"


@dataclass(frozen=True)
class Judged:
    """A column as numbers that are equal where its values are."""

    name: str
    values: pa.ChunkedArray

    @cached_property
    def ordered(self) -> bool:
        """Whether its values have an order."""
        return is_ordered(self.values.type)

    @cached_property
    def classes(self) -> RowClasses:
        """The rows with equal values."""
        import pyarrow as pa

        return row_classes(pa.table({self.name: self.values}), [self.name])

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """The rows without a value."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        nan = pa.types.is_floating(self.values.type)
        return np.asarray(pc.is_null(self.values, nan_is_null=nan).to_numpy())

    @cached_property
    def different(self) -> pa.Array:
        """Its different values, without NULL."""
        firsts = self.classes.firsts
        return self.values.take(firsts[~self.missing[firsts]]).combine_chunks()

    @cached_property
    def ids(self) -> Ids:
        """A number for each row, in the order of the values where they have one."""
        import pyarrow as pa

        from microagg_ops.metrics.values import value_ranks

        if self.ordered:
            return value_ranks(pa.table({self.name: self.values}), self.name)
        return self.classes.ids.astype(int)


def find_suspects(release: Release, table: pa.Table) -> list[Suspect]:
    """Judge the columns that leave, but for those that the release says a reason of."""
    columns = release.columns
    people, some = entities(table, columns.entity), drawn(table)
    few = entities(some, columns.entity)
    quasi = [Judged(name, some[name]) for name in columns.quasi]
    found = []
    for name in sorted(release.published_columns - set(columns.may_leave)):
        judged = Judged(name, some[name])
        reasons = [*looks(judged)]
        if name not in columns.quasi:
            reasons += alone(Judged(name, table[name]), people)
        if name in columns.sensitive:
            reasons += [why for one in quasi for why in fixes(release, judged, one, few)]
        if reasons:
            found.append(Suspect(name, tuple(reasons)))
    return found


def entities(table: pa.Table, entity: str | None) -> RowClasses | None:
    """Find the rows of each entity; without a key, none are told apart."""
    return None if entity is None else row_classes(table, [entity])


def drawn(table: pa.Table, most: int = SAMPLE) -> pa.Table:
    """Draw rows of a large table, the same ones each time."""
    import numpy as np

    if table.num_rows <= most:
        return table
    chosen = np.random.default_rng(0).choice(table.num_rows, most, replace=False)
    return table.take(np.sort(chosen))


def looks(column: Judged) -> Iterator[str]:
    """Say what a column looks like; one that says yes or no names nobody."""
    named = is_named_like_one(column.name)
    if not (named or has_forms(column.values.type)) or len(column.different) < 3:
        return
    if named:
        yield "its name is that of an identifier"
    for called, share in forms_of(column.different):
        yield f"{share:.0%} of its values look like {called}"


def alone(column: Judged, people: RowClasses | None) -> Iterator[str]:
    """Say whether nearly every value is one entity's alone."""
    there, own = holdings(column, people)
    if there >= FEWEST and own > (ALONE if there >= FEW else 0.999) * there:
        whom = "row" if people is None else "entity"
        yield f"of its {there} values {own / there:.0%} belong to one {whom} alone"


def holdings(column: Judged, people: RowClasses | None) -> tuple[int, int]:
    """Count the values that entities have, each once, and those that nobody else has."""
    import numpy as np

    ids = column.classes.ids
    rows = np.arange(len(ids)) if people is None else refined(people, ids.astype(np.int64)).firsts
    holders = np.bincount(ids[rows[~column.missing[rows]]])
    return int(holders.sum()), int((holders == 1).sum())


def fixes(
    release: Release, column: Judged, quasi: Judged, people: RowClasses | None
) -> Iterator[str]:
    """Say whether a column fixes a quasi-identifier, or ranks entities as it does."""
    nominal = release.columns.quasi[quasi.name].type in ("nominal", "ordinal", "boolean")
    ordered = quasi.ordered and not nominal
    own, other = paired(column, quasi, people)
    many = len(quasi.different) >= VALUES
    share = fixed_share(own, other, ordered=ordered and many)
    if share >= FIXED and (many or fixed_share(other, own, ordered=False) >= FIXED):
        yield f"it fixes the quasi-identifier {quasi.name!r} to {share:.0%}"
    elif ordered and many and column.ordered and len(column.different) >= VALUES:
        alike = rank_correlation(own, other)
        if abs(alike) >= RANKED:
            yield f"its rank correlation with the quasi-identifier {quasi.name!r} is {alike:.2f}"


def paired(column: Judged, quasi: Judged, people: RowClasses | None) -> tuple[Ids, Ids]:
    """Return both columns where both have a value, what an entity has more than once but once."""
    import numpy as np

    own, other = column.ids, quasi.ids
    rows = np.flatnonzero(~(column.missing | quasi.missing))
    if people is not None:
        seen = one_class(len(rows))
        for ids in (people.ids.astype(np.int64), own, other):
            seen = refined(seen, ids[rows])
        rows = rows[seen.firsts]
    return own[rows], other[rows]


def fixed_share(own: Ids, other: Ids, *, ordered: bool) -> float:
    """Compute the share of the differences in one column that is gone among equals in the other.

    A difference is that of two people who are not the same: whether their values differ or, of
    ordered ones, the square of how far their ranks lie apart. So it is 0 on average, for any
    number of values, where the columns have nothing to do with each other, and 1 where one
    follows from the other. It is 0, too, where chance would hardly show a difference.
    """
    import numpy as np

    sizes = np.bincount(own)
    among = sizes > 1
    degrees = int(sizes[among].sum() - among.sum())
    differing = 1.0 - agreeing(np.bincount(other), len(other))
    if degrees * differing < EXPECTED:
        return 0.0
    if ordered:
        ranks = centred_ranks(other)
        sums, squares = np.bincount(own, ranks)[among], np.bincount(own, ranks**2)[among]
        within = (squares - sums**2 / sizes[among]) / (sizes[among] - 1)
        overall = float((ranks**2).sum() / (len(ranks) - 1))
    else:
        both = refined(refined(one_class(len(own)), own), other)
        counts, parents = np.bincount(both.ids), own[both.firsts]
        same = np.bincount(parents, counts * (counts - 1.0), len(sizes))[among]
        within, overall = 1.0 - same / (sizes[among] * (sizes[among] - 1.0)), differing
    left = float((sizes[among] * within).sum() / sizes[among].sum())
    return round(1.0 - left / overall, 9)  # sums depend on the order of rows in their last digits


def agreeing(counts: Ids, rows: int) -> float:
    """Compute the share of pairs of rows with equal values."""
    return float((counts * (counts - 1.0)).sum() / max(rows * (rows - 1.0), 1.0))


def centred_ranks(ids: Ids) -> NDArray[np.float64]:
    """Compute the mean rank of each row's value, from -1 to 1 and 0 in the middle."""
    import numpy as np

    counts = np.bincount(ids)
    return np.asarray((2 * np.cumsum(counts) - counts - len(ids))[ids] / len(ids))


def rank_correlation(own: Ids, other: Ids) -> float:
    """Compute Spearman's rank correlation; 0 where there is too little to say."""
    import numpy as np

    if len(own) < FEW:
        return 0.0
    one, two = centred_ranks(own), centred_ranks(other)
    size = float(np.sqrt((one**2).sum() * (two**2).sum()))
    return round(float((one * two).sum()) / size, 9) if size else 0.0
