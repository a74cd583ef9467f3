"""How good a grouping is: the mean of information loss and risk (Balasch i Masoliver, 2010).

IL is SSE/SST, ID the cells that are published within ±10 % of what they were, DLD the rows whose
own protected row alone is nearest; risk is the mean of ID and DLD. A part of a grouping, one group
by itself, is aggregated once in whichever groupings it appears; only DLD needs the whole.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from microagg_ops.columns.encoding import Encoded
from microagg_ops.columns.representatives import representatives
from microagg_ops.columns.space import Scale, is_nominal, points, spread, squared
from microagg_ops.grouping.chromosome import Key, columns_of
from microagg_ops.methods.partition import partition
from microagg_ops.metrics.disclosure import disclosure_risk, inside, score
from microagg_ops.metrics.tables import Pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WIDTH = 0.1
# Comparisons of two rows in one call of the kernel: about a fifth of a second.
WORK_PER_CALL = 5_000_000
# Bytes of parts that are kept; the oldest go, and are made again if need be.
MOST_KEPT = 256 << 20


@dataclass(frozen=True)
class Measured:
    """What a grouping loses and discloses, in percent; the lower its score, the better."""

    information_loss: float
    interval_disclosure: float
    linkage: float

    @property
    def score(self) -> float:
        """The mean of loss and risk."""
        return score(self.information_loss, disclosure_risk(self.interval_disclosure, self.linkage))


@dataclass(frozen=True)
class Part:
    """One group, aggregated by itself: its error, its cells that are disclosed, its clusters."""

    sse: float
    disclosed: int
    labels: NDArray[np.int32]
    centres: NDArray[np.float64]


class Fitness:
    """Measures groupings of the columns of one table.

    Parameters
    ----------
    columns, scales
        The columns, without NULL, and what each was standardized by.
    k
        The least size of a cluster.
    weights
        Of the rows.
    """

    def __init__(
        self,
        columns: Sequence[Encoded],
        scales: Sequence[Scale],
        k: int,
        weights: NDArray[np.float64],
    ) -> None:
        import numpy as np

        self.columns, self.scales, self.k, self.weights = columns, scales, k, weights
        self.points = [points(c, s) for c, s in zip(columns, scales, strict=True)]
        self.sst = sum(
            float((weights * spread(c, s, weights)).sum())
            for c, s in zip(columns, scales, strict=True)
        )
        self.rows = len(weights)
        self.parts: OrderedDict[int, Part] = OrderedDict()
        self.known: dict[Key, Measured] = {}
        self._kept = 0
        self.together = np.hstack(self.points)
        # Along the first principal axis rows lie as far apart as they can on a line.
        centred = self.together - self.together.mean(axis=0)
        self.axis = np.ascontiguousarray(np.linalg.eigh(centred.T @ centred)[1][:, -1])
        self.places = self.together @ self.axis

    def aggregate(self, group: int) -> Part:
        """Aggregate one group by itself; several threads may do so at once."""
        import numpy as np

        members = columns_of(group)
        coordinates = np.hstack([self.points[column] for column in members])
        labels = np.zeros(self.rows, np.int32)
        if self.rows >= 2 * self.k:
            # As the stage aggregate does: no method can better the optimal partition.
            labels = partition(coordinates, self.k, self.method(coordinates))
        error, disclosed, centres = 0.0, 0, []
        for column in members:
            encoded, scale = self.columns[column], self.scales[column]
            codes = representatives(encoded, labels, self.weights)
            centres.append(points(replace(encoded, codes=codes), scale))
            moved = squared(encoded, encoded.codes, codes[labels], scale)
            error += float((self.weights * moved).sum())
            disclosed += self.disclosed(encoded, codes[labels])
        return Part(error, disclosed, labels, np.hstack(centres))

    @staticmethod
    def method(coordinates: NDArray[np.float64]) -> str:
        """Name the method for a number of coordinates."""
        return "optimal" if coordinates.shape[1] == 1 else "mdav"

    def disclosed(self, encoded: Encoded, after: NDArray[np.float64]) -> int:
        """Count the cells of a column that are published within the interval."""
        import numpy as np

        before, after = (codes[:, None] * encoded.unit for codes in (encoded.codes, after))
        nominal = np.array([is_nominal(encoded)])
        return int(
            inside(Pairs((encoded.name,), before, after, nominal, True), WIDTH, "value").sum()
        )

    def keep(self, group: int, part: Part) -> None:
        """Remember a part, and forget the oldest when there are too many."""
        self.parts[group] = part
        self._kept += part.labels.nbytes + part.centres.nbytes
        while self._kept > MOST_KEPT and len(self.parts) > len(self.columns):
            _, old = self.parts.popitem(last=False)
            self._kept -= old.labels.nbytes + old.centres.nbytes

    def part(self, group: int) -> Part:
        """Return a part that is known, or aggregate it."""
        return self.parts.get(group) or self.aggregate(group)

    def measure(self, key: Key) -> Measured:
        """Measure a grouping; several threads may do so at once."""
        parts = [self.part(group) for group in key]
        cells = self.rows * len(self.columns)
        lost = sum(part.sse for part in parts)
        return Measured(
            100.0 * lost / self.sst if self.sst else 0.0,
            100.0 * sum(part.disclosed for part in parts) / cells,
            100.0 * self.links(key, parts) / self.rows,
        )

    def links(self, key: Key, parts: Sequence[Part]) -> int:
        """Count the rows that are linked for certain."""
        import numpy as np

        from microagg_ops.kernels.measures import grouping as step

        if len(parts) == 1:
            return 0  # k rows are equal
        ids, firsts = np.empty(self.rows, np.int32), np.empty(self.rows, np.int32)
        slots = np.full(1 << (2 * self.rows).bit_length(), -1, np.int32)
        labels = np.vstack([part.labels for part in parts])
        count = step.joint_classes(labels, slots, ids, firsts)
        alone = np.flatnonzero(np.bincount(ids)[ids] == 1)  # others share their protected row
        after = np.empty((count, self.together.shape[1]))
        for group, part in zip(key, parts, strict=True):
            after[:, self.coordinates_of(group)] = part.centres[part.labels[firsts[:count]]]
        along = after @ self.axis
        order = np.argsort(along, kind="stable")
        rank = np.empty(count, np.int64)
        rank[order] = np.arange(count)
        slack = 1e-9 * (float(np.abs(along).max()) + float(np.abs(self.places).max()))
        after, along, own = after[order], along[order], rank[ids]
        links = at = 0
        while at < len(alone):
            more, at = step.certain_links(
                self.together, after, alone, own, self.places, along, slack, at, len(alone),
                WORK_PER_CALL,
            )  # fmt: skip
            links += more
        return links

    def coordinates_of(self, group: int) -> list[int]:
        """Find where the coordinates of a group are among all."""
        ends = [0]
        for column in self.points:
            ends.append(ends[-1] + column.shape[1])
        return [place for c in columns_of(group) for place in range(ends[c], ends[c + 1])]
