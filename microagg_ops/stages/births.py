"""Clusters of those who are published anew, by the method of the release."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from microagg_ops.columns.dominance import Rule
from microagg_ops.columns.encoding import Encoded, read, refuse_null
from microagg_ops.columns.merging import merged_clusters
from microagg_ops.columns.representatives import representable
from microagg_ops.columns.space import NO_SCALE, is_nominal, points
from microagg_ops.columns.strata import distinct_by, numbered
from microagg_ops.methods import partition
from microagg_ops.methods.registry import for_one_column
from microagg_ops.metrics.loss import centroids
from microagg_ops.stages.run import Run
from microagg_ops.stages.standardize import centre_and_scale

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


# Entities of which a table is formed anew to compare with.
MOST = 100_000


@dataclass(frozen=True)
class Births:
    """Rows among which clusters are found.

    Parameters
    ----------
    run
        The run.
    table
        Its rows.
    columns
        Their quasi-identifiers.
    points
        And these as coordinates.
    """

    run: Run
    table: pa.Table
    columns: list[Encoded]
    points: NDArray[np.float64]

    @classmethod
    def of(cls, run: Run, table: pa.Table) -> Births:
        """Standardize the rows."""
        import numpy as np

        columns, coordinates = [], []
        for name, how in run.release.columns.quasi.items():
            encoded = read(name, how, table[name])
            refuse_null(encoded)
            scale = NO_SCALE
            if not is_nominal(encoded):
                codes = encoded.codes * encoded.unit
                scale = centre_and_scale(name, codes, run.release.standardize.method)
            columns.append(encoded)
            coordinates.append(points(encoded, scale))
        return cls(run, table, columns, np.hstack(coordinates))

    def clusters(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        """Find clusters of some rows; none is shown by an entity alone while they can be joined."""
        import numpy as np

        how, there = self.run.release.aggregate, self.points[places]
        labels = np.zeros(len(places), np.int32)
        if len(places) >= 2 * how.k:
            method = for_one_column() if there.shape[1] == 1 else how.method
            share = len(places) / self.table.num_rows
            labels = partition(
                there,
                how.k,
                method,
                seed=how.seed,
                budget=None if how.seconds is None else how.seconds * share,
                **(dict(how.params) if method == how.method else {}),
            )
        return merged_clusters(there, labels, lambda rows, found: self.breaks(places[rows], found))

    def loss_anew(self, strata: Sequence[Hashable]) -> float | None:
        """Measure the loss in percent of a table formed anew; strata of fewer than k are left out.

        It takes another search, so of large tables nobody knows.
        """
        import numpy as np

        if len(strata) > MOST:
            return None
        k, lost = self.run.release.aggregate.k, 0.0
        where: dict[Hashable, list[int]] = {}
        for place, stratum in enumerate(strata):
            where.setdefault(stratum, []).append(place)
        parts = [np.array(those) for those in where.values() if len(those) >= k]
        for part in parts:
            labels = self.clusters(part)
            there = self.points[part]
            lost += float(np.square(there - centroids(there, labels)[labels]).sum())
        there = self.points[np.concatenate(parts)] if parts else self.points[:0]
        spread = float(np.square(there - there.mean(0)).sum()) if len(there) else 0.0
        return 100 * lost / spread if spread else 0.0

    def breaks(self, places: NDArray[np.int64], labels: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Say which clusters show what one entity alone has, or have too few sensitive values."""
        import numpy as np

        rule, ones = Rule.of(self.run.release), np.ones(len(places))
        broken = np.zeros(int(labels.max()) + 1, bool)
        for whole in self.columns:
            coded = replace(whole, codes=whole.codes[places])
            shown = representable(coded, labels, ones, places)
            broken |= rule.exposes(coded, shown, labels, places)
        for name, diverse in self.run.release.validate.l.items():
            codes = self.table[name].take(places).combine_chunks().dictionary_encode("encode")
            values = numbered(len(places), [codes.indices.to_numpy()])
            broken |= distinct_by(labels.astype(np.int64), values) < diverse.l
        return broken
