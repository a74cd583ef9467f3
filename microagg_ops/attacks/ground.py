"""What an attacker has before him: published rows, and people of whom he knows something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from microagg_ops.metrics.linkage import calls, equal_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ordered = tuple[NDArray[np.int64], NDArray[np.float64], int]


@dataclass(frozen=True)
class Side:
    """Rows, either published or of people who are attacked.

    Parameters
    ----------
    points
        The quasi-identifiers as coordinates.
    strata
        The number of the stratum in which a row is, or would be, published; -1 for none.
    entities
        Row to entity.
    values
        Every published column as numbers, for predicates: NULL is NaN.
    """

    points: NDArray[np.float64]
    strata: NDArray[np.int64]
    entities: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]
    _ordered: dict[str, Ordered] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __len__(self) -> int:
        return len(self.strata)

    def ordered(self, name: str) -> Ordered:
        """Sort a column: its rows, its values, and how many are not NULL, which is last."""
        import numpy as np

        if name not in self._ordered:
            values = self.values[name]
            order = np.argsort(values, kind="stable")
            self._ordered[name] = order, values[order], int((~np.isnan(values)).sum())
        return self._ordered[name]

    def span(self, name: str, how: str, value: float) -> tuple[int, int]:
        """Find from where to where, in sorted order, a column is so; NULL is nothing else."""
        import numpy as np

        _, values, known = self.ordered(name)
        if how == "null":
            return known, len(values)
        start = 0 if how == "<=" else int(np.searchsorted(values[:known], value, "left"))
        stop = known if how == ">=" else int(np.searchsorted(values[:known], value, "right"))
        return start, stop

    def people(self, most: int, seed: int) -> NDArray[np.int64]:
        """Choose whom to attack: one row of each entity, up to a number."""
        import numpy as np

        firsts = np.unique(self.entities, return_index=True)[1]
        if len(firsts) > most:
            firsts = np.sort(np.random.default_rng(seed).choice(firsts, most, replace=False))
        return firsts


@dataclass(frozen=True)
class Ground:
    """A release as it is attacked.

    Parameters
    ----------
    names, nominal
        Of each coordinate its quasi-identifier, and whether its values are equal or not and mean
        nothing else.
    published
        The published rows.
    members, others
        The people in them as they were, and people who were held out.
    unordered
        The columns whose values have no order.
    seed
        Of what is drawn.
    """

    names: tuple[str, ...]
    nominal: NDArray[np.bool_]
    published: Side
    members: Side
    others: Side
    unordered: frozenset[str]
    seed: int = 0

    @property
    def quasi(self) -> list[str]:
        """The quasi-identifiers."""
        return list(dict.fromkeys(self.names))

    def alike(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Find of each published row the first that equals it in some columns and the stratum."""
        import numpy as np

        points = self.published.points[:, self.places(columns)]
        there = np.column_stack([points, self.published.strata])
        found = equal_rows(np.ascontiguousarray(there))
        return found.firsts[found.ids].astype(np.int64)

    def nearest(
        self, people: Side, chosen: NDArray[np.int64], columns: Sequence[str]
    ) -> NDArray[np.int64]:
        """Find of each chosen row the first published row that is nearest in some columns.

        Only rows of its stratum are looked at; -1 where there are none.
        """
        import numpy as np

        from microagg_ops.kernels.measures import linkage as step

        places, published = self.places(columns), self.published
        nominal = self.nominal[places]
        rows = np.argsort(published.strata, kind="stable")
        order = np.argsort(people.strata[chosen], kind="stable")
        there, sought = published.strata[rows], people.strata[chosen][order]
        points = np.ascontiguousarray(people.points[chosen[order]][:, places])
        nearest = np.full(len(chosen), -1, np.int64)
        for stratum in np.intersect1d(there, sought):
            members = rows[slice(*np.searchsorted(there, [stratum, stratum + 1]))]
            first, last = np.searchsorted(sought, [stratum, stratum + 1]).tolist()
            targets = np.ascontiguousarray(published.points[members][:, places])
            firsts = equal_rows(targets).firsts
            tree = step.build(targets[firsts], members[firsts], nominal)
            for start, stop in calls(first, last, len(firsts) ** 0.5 + 100):
                step.closest(points, start, stop, *tree, nominal, nearest)
        found = np.empty_like(nearest)
        found[order] = nearest
        return found

    def places(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Find the coordinates of some columns."""
        import numpy as np

        return np.array([j for j, name in enumerate(self.names) if name in columns], np.int64)
