"""The rows as clusters are found in them: strata settled, NULLs dealt with, weights checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.contributors import Backed, backed, pooled
from microagg_ops.columns.dominance import Rule
from microagg_ops.columns.encoding import Encoded
from microagg_ops.columns.nulls import Enough, always, imputed, widened
from microagg_ops.columns.space import Scale, points, spread
from microagg_ops.columns.strata import Strata, settled
from microagg_ops.engines.base import Engine
from microagg_ops.engines.local import LOCAL
from microagg_ops.errors import DataError
from microagg_ops.release.model import Release

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Microdata:
    """The rows of a release that may be published, before clusters are found.

    Parameters
    ----------
    strata
        Their strata, and the table of what leaves as it is: all but the quasi-identifiers.
    entities
        Row to entity; without a key every row is one.
    weights
        Their weights; 1 without a column of weights.
    before, filled
        The quasi-identifiers as they were, and with NULLs imputed if the release says so.
    scales
        What they are standardized by.
    published
        The names of the columns that leave, in the order of the source.
    """

    strata: Strata
    entities: NDArray[np.int64]
    weights: NDArray[np.float64]
    before: dict[str, Encoded]
    filled: dict[str, Encoded]
    scales: dict[str, Scale]
    published: tuple[str, ...]

    @cached_property
    def points(self) -> dict[str, NDArray[np.float64]]:
        """Their coordinates."""
        return {name: points(column, self.scales[name]) for name, column in self.filled.items()}

    def as_tables(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """Turn it into facts for JSON, and tables: rows, what is kept, types and categories."""
        import pyarrow as pa

        strata = self.strata
        rows = {"row": strata.rows, "stratum": strata.codes, "joined": strata.joined,
                "entity": self.entities, "weight": self.weights}  # fmt: skip
        for i, name in enumerate(self.before):
            rows[f"before {i}"] = self.before[name].codes
            if self.is_imputed(name):
                rows[f"filled {i}"] = self.filled[name].codes
        # Each column as one list: its type is that of the source, its values the categories.
        columns = {
            name: pa.array(
                [None if c.categories is None else c.categories.to_pylist()], pa.list_(c.source)
            )
            for name, c in self.before.items()
        }
        facts = {
            "merged": strata.merged, "dropped": strata.dropped,
            "dropped_entities": strata.dropped_entities,
            "scales": self.scales, "published": self.published,
        }  # fmt: skip
        return facts, {"rows": pa.table(rows), "kept": strata.table, "columns": pa.table(columns)}

    @classmethod
    def of_tables(
        cls, release: Release, facts: Mapping[str, Any], rows: pa.Table, kept: pa.Table,
        columns: pa.Table,
    ) -> Microdata:  # fmt: skip
        """Read what `as_tables` made."""
        before, filled = {}, {}
        for i, (name, how) in enumerate(release.columns.quasi.items()):
            listed = columns[name][0]
            categories = listed.values if listed.is_valid else None
            kind = columns.schema.field(name).type.value_type
            codes = _array(rows[f"before {i}"])
            before[name] = filled[name] = Encoded(name, how, codes, kind, categories)
            if f"filled {i}" in rows.column_names:
                filled[name] = replace(before[name], codes=_array(rows[f"filled {i}"]))
        strata = Strata(
            kept, _array(rows["row"]), _array(rows["stratum"]), tuple(facts["merged"]),
            tuple(facts["dropped"]), facts["dropped_entities"], _array(rows["joined"]),
        )  # fmt: skip
        scales = {name: (centre, scale) for name, (centre, scale) in facts["scales"].items()}
        entities, weights = _array(rows["entity"]), _array(rows["weight"])
        return cls(strata, entities, weights, before, filled, scales, tuple(facts["published"]))

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find rows by their numbers in the source."""
        import numpy as np

        return np.searchsorted(self.strata.rows, numbers)

    def is_imputed(self, name: str) -> bool:
        """Whether cells of a column were imputed."""
        return bool((self.before[name].missing & ~self.filled[name].missing).any())

    def backed(
        self, name: str, names: list[str], labels: NDArray[np.int32], release: Release
    ) -> Backed:
        """Find what clusters of a group publish of a column that was imputed, and who is behind."""
        import numpy as np

        encoded, strata, who = self.before[name], self.strata.codes, self.entities
        how: dict[str, Any] = {"weights": self.weights, "rule": Rule.of(release)}
        points = np.hstack([self.points[other] for other in names])
        return backed(
            encoded, pooled(encoded, labels, points, strata, who, **how), strata, who, **how
        )

    def hidden(
        self, names: list[str], release: Release, enough: Enough = always
    ) -> NDArray[np.bool_]:
        """Return the cells of a group that will be NULL, rows by columns.

        ``enough`` says whether some rows have what a class needs besides k entities.
        """
        import numpy as np

        missing = np.column_stack([self.filled[name].missing for name in names])
        if not missing.any():
            return missing
        lost = [spread(self.filled[name], self.scales[name], self.weights) for name in names]
        k, lost_cells = release.aggregate.k, np.column_stack(lost)
        return widened(missing, self.strata.codes, self.entities, k, lost_cells, enough=enough)


def prepare(
    release: Release,
    source: pa.Table,
    encoded: Mapping[str, Encoded],
    scales: Mapping[str, Scale],
    engine: Engine[Any] = LOCAL,
) -> Microdata:
    """Settle the strata of the extracted rows, and impute NULLs where the release says so.

    Parameters
    ----------
    release
        What was asked for.
    source
        The extracted rows.
    encoded, scales
        Their quasi-identifiers as numbers, and what these are standardized by.
    engine
        Counts the entities of the strata.
    """
    import numpy as np

    key, k = release.columns.entity, release.aggregate.k
    entities = source[key].to_numpy() if key else np.arange(source.num_rows)
    entities = entities.astype(np.int64)
    strata = settled(
        source, release.strata, entities, release.least, rule=release.small_strata,
        what="entities" if key else "rows", count=engine.class_sizes,
    )  # fmt: skip
    published = [name for name in source.column_names if name in release.published_columns]
    weights = find_weights(release.columns.weight, strata.table)
    kept = [name for name in published if name not in encoded]
    strata, entities = replace(strata, table=strata.table.select(kept)), entities[strata.rows]
    before = dict(encoded)
    if len(strata.rows) < source.num_rows:
        before = {name: column.taken(strata.rows) for name, column in encoded.items()}
    filled = dict(before)
    if release.nulls == "impute":
        for name, column in before.items():
            filled[name] = imputed(column, strata.codes, weights, entities, k)
    return Microdata(strata, entities, weights, before, filled, dict(scales), tuple(published))


def _array(column: pa.ChunkedArray) -> NDArray[Any]:
    """Copy a column without NULLs: what Arrow holds is read-only, and compiled anew for that."""
    import numpy as np

    return np.array(column.to_numpy())


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
