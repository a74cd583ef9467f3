"""Differencing and intersection: what consecutive published tables tell together.

The attacker holds the tables and nothing else. A class publishes its size, its means and its
sensitive values; so the classes that two tables do not share, as a whole, by stratum or one by
one, are two systems of sums. Where one has a row more than the other, or one row that is another,
their difference is that row (`differences`). Who also knows in which class of each table a person
is intersects the sensitive values of these classes (`intersections`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

ARRIVED, LEFT, CHANGED = "arrived", "left", "changed"


@dataclass(frozen=True)
class PublishedClass:
    """A class as anybody can read it.

    Parameters
    ----------
    stratum, shown
        Its strata, and its representative.
    size
        Its rows.
    sensitive
        How often each combination of sensitive values is in it.
    """

    stratum: tuple[Any, ...]
    shown: tuple[Any, ...]
    size: int
    sensitive: frozenset[tuple[tuple[Any, ...], int]]


@dataclass(frozen=True)
class Guess:
    """What the attacker says of one person.

    Parameters
    ----------
    kind
        arrived, left or changed.
    values
        Of each numeric quasi-identifier the person's value; of one who changed, by how much.
    before, after
        The sensitive values that only the earlier, or only the later table has.
    """

    kind: str
    values: Mapping[str, float]
    before: tuple[Any, ...] | None
    after: tuple[Any, ...] | None


def published_classes(
    table: pa.Table, quasi: Sequence[str], strata: Sequence[str], sensitive: Sequence[str]
) -> list[PublishedClass]:
    """Read the classes of a published table."""
    rows: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in table.select([*strata, *quasi, *sensitive]).to_pylist():
        key = tuple(row[n] for n in strata), tuple(row[n] for n in quasi)
        rows.setdefault(key, []).append(tuple(row[n] for n in sensitive))
    return [
        PublishedClass(stratum, shown, len(values), frozenset(Counter(values).items()))
        for (stratum, shown), values in rows.items()
    ]


def differences(
    earlier: pa.Table,
    later: pa.Table,
    quasi: Sequence[str],
    *,
    strata: Sequence[str] = (),
    sensitive: Sequence[str] = (),
) -> list[Guess]:
    """Recover who was added, removed or changed between two published tables.

    Parameters
    ----------
    earlier, later
        The published rows.
    quasi, strata, sensitive
        Their columns; quasi-identifiers that are no numbers are not reckoned with.

    Returns
    -------
    list of Guess
        Without repetition. A list that is empty says that the attack has nothing to start from.
    """
    old, new = (
        Counter(published_classes(table, quasi, strata, sensitive)) for table in (earlier, later)
    )
    gone, come = list((old - new).elements()), list((new - old).elements())
    found: dict[Guess, None] = {}
    for some, others in comparisons(gone, come):
        guess = subtract(some, others, quasi)
        if guess is not None:
            found[guess] = None
    return list(found)


def comparisons(
    gone: Sequence[PublishedClass], come: Sequence[PublishedClass]
) -> Iterator[tuple[list[PublishedClass], list[PublishedClass]]]:
    """List what may be subtracted: all that differs, each stratum of it, and pair by pair."""
    yield list(gone), list(come)
    for stratum in dict.fromkeys(one.stratum for one in (*gone, *come)):
        within = [[one for one in side if one.stratum == stratum] for side in (gone, come)]
        yield within[0], within[1]
        for one in within[0]:
            for other in within[1]:
                if abs(one.size - other.size) <= 1:
                    yield [one], [other]


def subtract(
    gone: Sequence[PublishedClass], come: Sequence[PublishedClass], quasi: Sequence[str]
) -> Guess | None:
    """Subtract the sums of classes from those of others, if one person is all that they differ by.

    Counts and sensitive values must say so: a row more, a row less, or one row that is another.
    """
    before, after = multiset(gone), multiset(come)
    lost, won = list((before - after).elements()), list((after - before).elements())
    more = sum(one.size for one in come) - sum(one.size for one in gone)
    if not (gone or come) or abs(more) > 1 or len(lost) > 1 or len(won) > 1:
        return None
    kind = {1: ARRIVED, -1: LEFT, 0: CHANGED}[more]
    sign = -1 if kind == LEFT else 1
    values = {
        name: sign * (total(come, j) - total(gone, j))
        for j, name in enumerate(quasi)
        if all(is_number(one.shown[j]) for one in (*gone, *come))
    }
    return Guess(kind, Frozen(values), lost[0] if lost else None, won[0] if won else None)


class Frozen(dict[str, float]):
    """Values by name that can be a key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def multiset(classes: Iterable[PublishedClass]) -> Counter[tuple[Any, ...]]:
    """Count the sensitive values of some classes."""
    found: Counter[tuple[Any, ...]] = Counter()
    for one in classes:
        found.update(dict(one.sensitive))
    return found


def total(classes: Iterable[PublishedClass], column: int) -> float:
    """Sum a column over the rows of some classes, as exactly as doubles are."""
    from fractions import Fraction

    return float(sum((one.size * Fraction(one.shown[column]) for one in classes), Fraction(0)))


def is_number(value: Any) -> bool:
    """Whether a published value can be summed."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def intersections(
    tables: Sequence[pa.Table],
    places: Sequence[Mapping[Any, int]],
    quasi: Sequence[str],
    *,
    strata: Sequence[str] = (),
    sensitive: str,
) -> dict[Any, Any]:
    """Find whose sensitive value is the only one that all of their classes share.

    Parameters
    ----------
    tables
        The published tables, in their order.
    places
        For each table: person to a row of the class that the person is in. The strongest attacker
        knows it; `nearest_places` finds it for who knows the quasi-identifiers.
    quasi, strata
        Columns that make the classes.
    sensitive
        The column to find out.

    Returns
    -------
    dict
        Person to the value that is left.
    """
    left: dict[Any, set[Any]] = {}
    for table, where in zip(tables, places, strict=True):
        keys = list(zip(*(table[name].to_pylist() for name in (*strata, *quasi)), strict=True))
        shared: dict[tuple[Any, ...], set[Any]] = {}
        for key, value in zip(keys, table[sensitive].to_pylist(), strict=True):
            shared.setdefault(key, set()).add(value)
        for person, row in where.items():
            left[person] = left.get(person, shared[keys[row]]) & shared[keys[row]]
    return {person: next(iter(values)) for person, values in left.items() if len(values) == 1}


def nearest_places(
    people: Mapping[Any, tuple[tuple[Any, ...], NDArray[np.float64]]],
    table: pa.Table,
    quasi: Sequence[str],
    strata: Sequence[str] = (),
) -> dict[Any, int]:
    """Find the published row that is nearest to each person, within the stratum.

    Parameters
    ----------
    people
        Person to the stratum and to the quasi-identifiers, which must be numbers.
    table, quasi, strata
        The published rows and their columns.
    """
    import numpy as np

    points = np.column_stack([table[name].cast("double").to_numpy() for name in quasi])
    scale = points.std(0)
    points /= np.where(scale > 0, scale, 1.0)
    stratum = list(zip(*(table[name].to_pylist() for name in strata), strict=True))
    stratum = stratum or [()] * len(points)
    rows: dict[tuple[Any, ...], list[int]] = {}
    for row, where in enumerate(stratum):
        rows.setdefault(where, []).append(row)
    found = {}
    for person, (where, values) in people.items():
        own = rows.get(where, [])
        if own:
            apart = points[own] - values / np.where(scale > 0, scale, 1.0)
            found[person] = own[int((apart**2).sum(1).argmin())]
    return found
