"""The rows as clusters are found in them: strata settled, NULLs dealt with, weights checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from microagg_ops.columns.coded import Coded, read
from microagg_ops.columns.nulls import imputed, widened
from microagg_ops.columns.space import Scale, as_points, points, spread
from microagg_ops.columns.strata import Strata, settled
from microagg_ops.errors import DataError
from microagg_ops.release import Release
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Prepared:
    """The rows of a release that may be published, before clusters are found.

    Parameters
    ----------
    strata
        Their strata, and the table of them.
    entities
        Row to entity; without a key every row is one.
    weights
        Their weights; 1 without a column of weights.
    before, filled
        The quasi-identifiers as they were, and with NULLs imputed if the release says so.
    points
        Their coordinates.
    scales
        What they were standardized by.
    """

    strata: Strata
    entities: NDArray[np.int64]
    weights: NDArray[np.float64]
    before: dict[str, Coded]
    filled: dict[str, Coded]
    points: dict[str, NDArray[np.float64]]
    scales: dict[str, Scale]

    def hidden(self, names: list[str], release: Release) -> NDArray[np.bool_]:
        """Give the cells of a group that will be NULL, rows by columns."""
        import numpy as np

        missing = np.column_stack([self.filled[name].missing for name in names])
        if not missing.any():
            return missing
        lost = [spread(self.filled[name], self.scales[name], self.weights) for name in names]
        return widened(
            missing, self.strata.codes, self.entities, release.aggregate.k, np.column_stack(lost)
        )


def prepare(run: Run) -> Prepared:
    """Settle the strata of the extracted rows, and impute NULLs where the release says so."""
    import numpy as np

    release, source = run.release, run.table("extract", "table")
    key = release.columns.entity
    entities = source[key].to_numpy() if key else np.arange(source.num_rows)
    entities = entities.astype(np.int64)
    what = "entities" if key else "rows"
    k, rule = release.aggregate.k, release.small_strata
    strata = settled(source, release.strata, entities, k, rule=rule, what=what)
    weights = find_weights(release.columns.weight, strata.table)
    scales = {name: (c, s) for name, (c, s) in run.document("standardize", "scales").items()}
    matrix = run.table("standardize", "matrix").take(strata.rows)
    before = {n: read(n, how, strata.table[n]) for n, how in release.columns.quasi.items()}
    filled, places = dict(before), {name: as_points(matrix[name]) for name in before}
    if release.nulls == "impute":
        for name, coded in before.items():
            filled[name] = imputed(coded, strata.codes, weights)
            if coded.missing.any():
                places[name] = points(filled[name], scales[name])
    return Prepared(strata, entities[strata.rows], weights, before, filled, places, scales)


def find_weights(name: str | None, table: pa.Table) -> NDArray[np.float64]:
    """Read the weights of the rows; they must be positive."""
    import numpy as np
    import pyarrow as pa

    if name is None:
        return np.ones(table.num_rows)
    kind = table[name].type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(f"The weight {name!r} is {kind}, not a number.", code="bad_type")
    weights = table[name].cast(pa.float64(), safe=False).to_numpy()
    bad = int((~(np.isfinite(weights) & (weights > 0))).sum())
    if bad:
        raise DataError(
            f"The weight {name!r} is NULL, infinite or not above 0 in {bad} of {len(weights)} "
            "rows.",
            code="bad_weight",
            hint="Exclude these rows in source.where.",
        )
    return np.asarray(weights)
