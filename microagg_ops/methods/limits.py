"""Sensitive columns as methods see them: who has which value, and what a cluster must have of them.

Clusters that meet the limits still do when they are joined. So a partition exists exactly when all
rows together meet them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError, ReleaseError
from microagg_ops.metrics.anonymity import closeness_of, diversity_of
from microagg_ops.metrics.values import Values, matched, value_ranks
from microagg_ops.release.validate import Close, Diverse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.kernels.search.limits import Limits

# The limits of a check, which allows for rounding as much.
ROUNDING = 1e-9
# Values of a column that is not ordered by which its people are told apart.
FREQUENT = 8
# Of codes without a name.
ALONE = "sensitive"


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column of some people, and its limits.

    Parameters
    ----------
    name
        The column, for messages.
    begin, ranks
        The different values of person i are ``ranks[begin[i]:begin[i + 1]]``, as ranks among all.
    table
        By rank: how many have the value in the whole table, to which closeness is measured.
    diverse, close
        The limits; ``close.ordered`` is known.
    """

    name: str
    begin: NDArray[np.int64]
    ranks: NDArray[np.int64]
    table: NDArray[np.float64]
    diverse: Diverse | None = None
    close: Close | None = None

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(self.begin) - 1

    def of(self, people: NDArray[np.int64]) -> Sensitive:
        """Take some of the people."""
        import numpy as np

        held = np.diff(self.begin)[people]
        begin = np.append(0, np.cumsum(held))
        places = np.repeat(self.begin[people] - begin[:-1], held) + np.arange(begin[-1])
        return replace(self, begin=begin, ranks=self.ranks[places])

    def values(self) -> Values:
        """Count the values of all people as of one class."""
        import numpy as np

        held = np.diff(self.begin)
        who = np.repeat(np.arange(self.people, dtype=np.int32), held)
        there, numbers = np.unique(self.ranks, return_inverse=True)
        counts = np.bincount(numbers, 1 / held[who]).astype(np.float64)
        different = matched(numbers.astype(np.int32), who, held[who]).sum()
        parents = np.zeros(len(there), np.int64)
        return Values(parents, there, counts, np.array([different]), self.table)

    def scores(self) -> Iterator[NDArray[np.float64]]:
        """Yield numbers of all people, standardized, that tell who has which values.

        Of an ordered column the share of the table below a value; of another one whether somebody
        has it, for each of its FREQUENT most frequent values.
        """
        import numpy as np

        held = np.diff(self.begin)
        if self.close is not None and self.close.ordered:
            told = [(np.cumsum(self.table) - self.table / 2) / self.table.sum()]
        else:
            often = np.argsort(-self.table, kind="stable")[:FREQUENT]
            told = [(np.arange(len(self.table)) == one).astype(np.float64) for one in often]
        for one in told:
            score = np.add.reduceat(one[self.ranks], self.begin[:-1]) / held
            away = score - score.mean()
            if (spread := away.std()) > 0:
                yield away / spread

    def faults(self) -> Iterator[str]:
        """Say which limits all people together do not meet, and so no partition can."""
        values, limit = self.values(), self.diverse
        if limit is not None:
            found = diversity_of(values, int(limit.l) if limit.kind == "recursive" else 1)
            if limit.kind == "recursive":
                if not found.recursive < (limit.c or 0.0) * (1 - ROUNDING):
                    yield (
                        f"in {self.name!r} the most frequent value is not rarer than {limit.c:g} "
                        f"times all others from number {limit.l:g} on"
                    )
            elif getattr(found, limit.kind) < limit.l * (1 - ROUNDING):
                seen = getattr(found, limit.kind)
                what = "different values" if limit.kind == "distinct" else "entropy: exponential"
                yield f"{self.name!r} has {seen:.4g} ({what}), fewer than l = {limit.l:g}"
        if self.close is not None:
            away = closeness_of(values, ordered=bool(self.close.ordered))
            if away > self.close.t + ROUNDING:
                yield (
                    f"{self.name!r} is {away:.3g} from its spread in the whole table, "
                    f"farther than t = {self.close.t:g}"
                )


@dataclass(frozen=True)
class Mended:
    """A partition of points before it met limits, and after."""

    points: NDArray[np.float64]
    columns: tuple[Sensitive, ...]
    before: NDArray[np.int32]
    after: NDArray[np.int32]


def refuse_impossible(columns: Sequence[Sensitive], where: str = "") -> None:
    """Refuse limits that no partition of the people can meet."""
    faults = [fault for column in columns for fault in column.faults()]
    if faults:
        raise DataError(
            f"No clusters of {columns[0].people} people{where} can meet the limits: "
            f"{'; '.join(faults)}.",
            code="limits_cannot_be_met",
            hint="Name fewer or coarser strata, merge or drop small ones (small_strata), or "
            "loosen the limit.",
        )


def sensitive_of(codes: Any, l: Any, t: Any, people: int) -> tuple[Sensitive, ...]:  # noqa: E741
    """Read the arguments of `partition`: codes and limits, or columns that are ready."""
    if isinstance(codes, tuple) and codes and isinstance(codes[0], Sensitive):
        return codes
    if codes is None:
        if l is not None or t is not None:
            raise ReleaseError("A limit 'l' or 't' needs the 'sensitive' parameter.")
        return ()
    named = dict(codes) if isinstance(codes, Mapping) else {ALONE: codes}
    diverse, close = by_column("l", l, named, Diverse), by_column("t", t, named, Close)
    if not diverse and not close:
        raise ReleaseError("The 'sensitive' parameter needs a limit: 'l' or 't'.")
    return tuple(
        read(name, named[name], diverse.get(name), close.get(name), people)
        for name in named
        if name in diverse or name in close
    )


def by_column(key: str, given: Any, named: Mapping[str, Any], make: type[Any]) -> dict[str, Any]:
    """Read a limit: one for all columns, or a mapping of columns to limits."""
    if given is None:
        return {}
    fields = {"l", "kind", "c"} if key == "l" else {"t", "ordered"}
    if not isinstance(given, Mapping) or (key in given and set(given) <= fields):
        given = dict.fromkeys(named, given)
    found = {}
    for name, how in given.items():
        if name not in named:
            raise ReleaseError(f"The {key!r} parameter names {name!r}, which is not in sensitive.")
        made = how if isinstance(how, make) else None
        if made is None:
            made = make(**how) if isinstance(how, Mapping) else make(how)
        found[name] = checked(key, made)
    return found


def checked(key: str, how: Any) -> Any:
    """Check a limit."""
    value = getattr(how, key)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if key == "t":
        good = number and 0 <= value <= 1
        allowed = "a number from 0 to 1"
    else:
        whole = how.kind == "entropy" or (number and value == int(value))
        right = how.kind in ("distinct", "entropy", "recursive")
        good = number and value >= 1 and whole and right
        good = good and (how.kind == "recursive") == (how.c is not None and how.c > 0)
        allowed = (
            "a number of 1 or more, whole but for kind entropy; c, above 0, goes with recursive"
        )
    if not good:
        raise ReleaseError(f"The {key!r} parameter must be {allowed}. Got {how} instead.")
    return how


def read(
    name: str, codes: Any, diverse: Diverse | None, close: Close | None, people: int
) -> Sensitive:
    """Read the codes of a column, one a person; NULL is a value, the lowest."""
    import numpy as np
    import pyarrow as pa

    from microagg_ops.metrics.tables import is_ordered

    try:
        table = pa.table({name: pa.array(codes, from_pandas=True)})
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        raise DataError(f"The codes of {name!r} mix types.", code="bad_type") from None
    if table.num_rows != people:
        raise DataError(f"The codes of {name!r} are {table.num_rows}, not one for each row.")
    if close is not None and close.ordered is None:
        close = replace(close, ordered=is_ordered(table.schema.field(name).type))
    ranks = value_ranks(table, name)
    counts = np.bincount(ranks).astype(np.float64)
    return Sensitive(name, np.arange(people + 1), ranks, counts, diverse, close)


def held_values(
    people: NDArray[Any], ranks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Collect the different values of people 0, 1, … from rows: where each begins, and ranks."""
    import numpy as np

    several = int(ranks.max(initial=0)) + 1
    pairs = np.unique(people.astype(np.int64) * several + ranks)
    begin = np.searchsorted(pairs // several, np.arange(int(people.max()) + 2))
    return begin, pairs % several


def spread_of(people: NDArray[Any], ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Count who has each value, an entity being one, split evenly over its values."""
    import numpy as np

    begin, held = held_values(people, ranks)
    shares = np.repeat(1 / np.maximum(np.diff(begin), 1), np.diff(begin))
    return np.bincount(held, shares, int(ranks.max(initial=-1)) + 1).astype(np.float64)


def compiled(columns: Sequence[Sensitive]) -> Limits:
    """Lay columns and their limits out for kernels."""
    import numpy as np

    from microagg_ops.kernels.search import limits

    kinds, which, bounds = [], [], []
    words = {"distinct": limits.DISTINCT, "entropy": limits.ENTROPY, "recursive": limits.RECURSIVE}
    for i, column in enumerate(columns):
        if column.close is not None:
            kinds.append(limits.ORDERED if column.close.ordered else limits.NOMINAL)
            which.append(i)
            bounds.append((float(column.close.t), 0.0))
        if column.diverse is not None:
            kinds.append(words[column.diverse.kind])
            which.append(i)
            bounds.append((float(column.diverse.l), float(column.diverse.c or 0.0)))
    levels = [np.cumsum(column.table) / column.table.sum() for column in columns]
    offsets = np.cumsum([0, *(len(column.ranks) for column in columns)])
    return limits.Limits(
        begin=np.stack([c.begin + off for c, off in zip(columns, offsets[:-1], strict=True)]),
        ranks=np.concatenate([column.ranks for column in columns]),
        kinds=np.array(kinds),
        columns=np.array(which),
        bounds=np.array(bounds),
        first=np.cumsum([0, *(len(level) for level in levels)]),
        level=np.concatenate(levels),
        area=np.concatenate([np.append(0.0, np.cumsum(level)[:-1]) for level in levels]),
    )
