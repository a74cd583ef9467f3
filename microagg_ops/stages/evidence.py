"""What checks are made on: the bytes to be published, beside what they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.contributors import Backed
from microagg_ops.columns.encoding import Encoded, published_type, read
from microagg_ops.columns.pairs import linked, paired
from microagg_ops.columns.space import losses
from microagg_ops.errors import DisclosureError
from microagg_ops.metrics.linkage import Linkage
from microagg_ops.metrics.tables import Pairs
from microagg_ops.release.model import Release
from microagg_ops.stages.artefacts import (
    ENTITY,
    LABEL,
    ROW,
    WEIGHT,
    Extracted,
    Groups,
    Prepared,
    Protected,
)
from microagg_ops.stages.microdata import Microdata, find_weights
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Evidence:
    """The table to be published, and the source rows as the aggregator had them.

    A table that is merely said to be protected has no source rows.

    Parameters
    ----------
    run
        The run.
    protected
        The very bytes that publish will write.
    """

    run: Run
    protected: pa.Table

    @classmethod
    def of(cls, run: Run) -> Evidence:
        """Read the table that was aggregated."""
        return cls(run, Protected.of(run).rows)

    @property
    def release(self) -> Release:
        """What was asked for."""
        return self.run.release

    @cached_property
    def groups(self) -> list[list[str]]:
        """The columns that were aggregated together."""
        return Groups.of(self.run).names

    @cached_property
    def origin(self) -> pa.Table:
        """Where each protected row came from: its source row, its entity."""
        return Protected.of(self.run).origin

    @property
    def with_entities(self) -> pa.Table:
        """The table to be published, with the key that entities are counted by."""
        key = self.release.columns.entity  # never a published column, so the name is free
        return self.protected.append_column(key, self.origin[ENTITY]) if key else self.protected

    @property
    def treatment(self) -> Mapping[str, Any]:
        """What was done to the rows, in counts."""
        return Protected.of(self.run).treatment

    @cached_property
    def has_source(self) -> bool:
        """Whether the source rows are staged."""
        return Extracted.of(self.run).has_rows

    @cached_property
    def microdata(self) -> Microdata:
        """The source rows as the aggregator had them."""
        return Prepared.rows(self.run)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The protected row of each source row."""
        import numpy as np

        rows = self.origin[ROW].to_numpy()
        order = np.argsort(rows)
        if not np.array_equal(rows[order], self.microdata.strata.rows):
            raise DisclosureError("The protected rows are not those of the source.")
        return order

    @cached_property
    def after(self) -> dict[str, Encoded]:
        """The protected quasi-identifiers as numbers, in the order of the source rows."""
        return {
            name: read(name, old.how, self.protected[name].take(self.order), old.categories)
            for name, old in self.microdata.before.items()
        }

    @cached_property
    def information_loss(self) -> float:
        """SSE/SST in percent, as the report has it, of the bytes to be published."""
        rows, codes = self.microdata, [column.codes for column in self.after.values()]
        return losses(list(rows.before.values()), codes, rows.scales, rows.weights)[0]

    @property
    def declared(self) -> dict[str, str | None]:
        """The columns that must be published, in their order, with what they hold if known."""
        from microagg_ops.expectations.tables import kind_of

        release = self.release
        if not self.has_source:
            there = self.protected.column_names
            return dict.fromkeys([*there, *sorted(release.published_columns - set(there))])
        found: dict[str, str | None] = {}
        for field in Extracted.of(self.run).schema:
            how = release.columns.quasi.get(field.name)
            kind = kind_of(published_type(how.type, field.type) if how else field.type)
            if field.name in release.published_columns:
                found[field.name] = None if kind == "null" else kind
        return found

    @cached_property
    def labels(self) -> list[NDArray[np.int32]]:
        """The cluster of each source row, by group of columns."""
        origin = self.origin.take(self.order)
        return [origin[LABEL.format(i)].to_numpy() for i in range(len(self.groups))]

    @cached_property
    def claimed(self) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
        """The weight, the class and the entity of each row that is said to be protected."""
        import numpy as np

        from microagg_ops.metrics import row_classes

        origin, release = self.origin, self.release
        classes = row_classes(self.protected, [*release.quasi, *release.strata]).ids
        entities = origin[ENTITY if release.columns.entity else ROW].to_numpy()
        weights = find_weights(WEIGHT if release.columns.weight else None, origin)
        return weights, classes, entities.astype(np.int64)

    @cached_property
    def behind(self) -> dict[str, Backed]:
        """What columns with imputed cells should say, and who is behind it: found anew."""
        return {
            name: self.microdata.backed(name, names, labels, self.release)
            for names, labels in zip(self.groups, self.labels, strict=True)
            for name in names
            if self.microdata.is_imputed(name)
        }

    @cached_property
    def kept(self) -> dict[str, Encoded]:
        """The quasi-identifiers with the cells that the published values stand for."""
        return {n: self.behind[n].own if n in self.behind else old
                for n, old in self.microdata.filled.items()}  # fmt: skip

    @cached_property
    def totals(self) -> dict[str, tuple[float, float]]:
        """What columns published as means were in total, and in absolute total."""
        import numpy as np

        found = {}
        for name, old in self.kept.items():
            if old.how.statistic == "mean":
                kept = np.where(self.after[name].missing, np.nan, old.codes)
                parts = kept * old.unit * self.microdata.weights
                found[name] = float(np.nansum(parts)), float(np.nansum(np.abs(parts)))
        return found

    def private(self, what: str, name: str) -> str:
        """Name a column of the evidence that is not published."""
        label = f"{name} ({what})"
        while label in self.protected.column_names:
            label += "'"
        return label

    @property
    def weight(self) -> str | None:
        """The column of the evidence with the weights."""
        name = self.release.columns.weight
        return None if name is None else self.private("weight", name)

    @property
    def counted(self) -> dict[str, str]:
        """The columns of the evidence with the protected values whose totals must be kept."""
        return {name: self.private("counted", name) for name in self.totals}

    @cached_property
    def pairs(self) -> Pairs:
        """The quasi-identifiers before and after, in the order of the source rows."""
        return paired(self.microdata.before, self.after)

    @cached_property
    def linkage(self) -> Linkage:
        """The rows that are linked within their strata, as the report has it, of the bytes."""
        return linked(self.release, self.pairs, self.protected.take(self.order))

    @cached_property
    def attacks(self) -> dict[str, Any] | None:
        """What attacks find out, where the release sets limits to them and they can be tried."""
        from microagg_ops.stages.attack_simulation import find_attacks

        asked = self.release.validate.attacks.asked and self.has_source
        return find_attacks(self) if asked else None

    def frame(self) -> pd.DataFrame:
        """Return the table to be published with the columns that its checks need beside it."""
        import pandas as pd

        counted = self.has_source and self.release.validate.totals is not None
        frame = self.protected_frame(self.order if counted else None)
        if self.release.columns.entity:  # never a published column, so the name is free
            entities = self.origin.take(self.order) if counted else self.origin
            frame[self.release.columns.entity] = entities[ENTITY].to_numpy()
        if not counted:
            return frame
        return pd.concat([frame, pd.DataFrame(self._counted(), index=frame.index)], axis=1)

    def protected_frame(
        self, rows: Sequence[int] | NDArray[np.int64] | None = None
    ) -> pd.DataFrame:
        """Return the table to be published, its types as they are."""
        import pandas as pd

        table = self.protected if rows is None else self.protected.take(rows)
        frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
        return frame

    def _counted(self) -> dict[str, Any]:
        import numpy as np

        found: dict[str, Any] = {}
        if self.weight:
            found[self.weight] = self.microdata.weights
        for name, label in self.counted.items():
            old, new = self.kept[name], self.after[name]
            found[label] = np.where(old.missing, np.nan, new.codes) * old.unit
        return found
