"""What checks are made on: the bytes to be published, beside what they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.coded import Coded, published_type, read
from microagg_ops.columns.space import losses
from microagg_ops.errors import DisclosureError
from microagg_ops.release import Release
from microagg_ops.stages.aggregate import ENTITY, ROW
from microagg_ops.stages.prepared import Prepared, prepare
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
        return cls(run, run.table("aggregate", "protected"))

    @property
    def release(self) -> Release:
        """What was asked for."""
        return self.run.release

    @cached_property
    def groups(self) -> list[list[str]]:
        """The columns that were aggregated together."""
        return list(self.run.document("group", "groups"))

    @cached_property
    def origin(self) -> pa.Table:
        """Where each protected row came from: its source row, its entity."""
        return self.run.table("aggregate", "rows")

    @cached_property
    def has_source(self) -> bool:
        """Whether the source rows are staged."""
        return "table.parquet" in self.run.staging.manifest("extract")["files"]

    @cached_property
    def prepared(self) -> Prepared:
        """The source rows as the aggregator had them."""
        return prepare(self.run)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The protected row of each source row."""
        import numpy as np

        rows = self.origin[ROW].to_numpy()
        order = np.argsort(rows)
        if not np.array_equal(rows[order], self.prepared.strata.rows):
            raise DisclosureError("The protected rows are not those of the source.")
        return order

    @cached_property
    def after(self) -> dict[str, Coded]:
        """The protected quasi-identifiers as numbers, in the order of the source rows."""
        return {
            name: read(name, old.how, self.protected[name].take(self.order), old.categories)
            for name, old in self.prepared.before.items()
        }

    @cached_property
    def information_loss(self) -> float:
        """SSE/SST in percent, as the report has it, of the bytes to be published."""
        rows, codes = self.prepared, [column.codes for column in self.after.values()]
        return losses(list(rows.before.values()), codes, rows.scales, rows.weights)[0]

    @property
    def declared(self) -> dict[str, str | None]:
        """The columns that must be published, in their order, with what they hold if known."""
        from microagg_ops.expectations.tables import kind_of

        release = self.release
        if not self.has_source:
            there = self.protected.column_names
            return dict.fromkeys([*there, *sorted(release.published - set(there))])
        found: dict[str, str | None] = {}
        for field in self.run.table("extract", "table").schema:
            how = release.columns.quasi.get(field.name)
            kind = kind_of(published_type(how.type, field.type) if how else field.type)
            if field.name in release.published:
                found[field.name] = None if kind == "null" else kind
        return found

    @cached_property
    def totals(self) -> dict[str, tuple[float, float]]:
        """What columns published as means were in total, and in absolute total."""
        import numpy as np

        found = {}
        for name, old in self.prepared.filled.items():
            if old.how.published == "mean":
                kept = np.where(self.after[name].missing, np.nan, old.codes)
                parts = kept * old.unit * self.prepared.weights
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
    def coded(self) -> dict[str, str]:
        """The columns of the evidence with the protected values whose totals must be kept."""
        return {name: self.private("counted", name) for name in self.totals}

    @property
    def pairs(self) -> dict[str, str]:
        """The columns of the evidence with protected values, and those with the originals."""
        known = (*self.release.quasi, *self.release.strata)
        return {self.private("after", name): self.private("before", name) for name in known}

    def frame(self) -> pd.DataFrame:
        """Give the table to be published with the columns that its checks need beside it."""
        import pandas as pd

        limits = self.release.validate
        compared = limits.max_linkage is not None or limits.totals is not None
        if not (self.has_source and compared):
            frame = self.published()
            entities = self.origin
        else:
            frame = self.published(self.order)
            entities = self.origin.take(self.order)
        if self.release.columns.entity:  # never a published column, so the name is free
            frame[self.release.columns.entity] = entities[ENTITY].to_numpy()
        if not (self.has_source and compared):
            return frame
        columns = {**self._counted(), **self._compared()}
        return pd.concat([frame, pd.DataFrame(columns, index=frame.index)], axis=1)

    def published(self, rows: Sequence[int] | NDArray[np.int64] | None = None) -> pd.DataFrame:
        """Give the table to be published, its types as they are."""
        import pandas as pd

        table = self.protected if rows is None else self.protected.take(rows)
        frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
        return frame

    def _counted(self) -> dict[str, Any]:
        import numpy as np

        found: dict[str, Any] = {}
        if self.weight:
            found[self.weight] = self.prepared.weights
        for name, label in self.coded.items():
            old, new = self.prepared.filled[name], self.after[name]
            found[label] = np.where(old.missing, np.nan, new.codes) * old.unit
        return found

    def _compared(self) -> dict[str, Any]:
        """Give what an outsider knows, before and after: strata are published as they are."""
        import numpy as np
        import pandas as pd
        import pyarrow as pa

        found: dict[str, Any] = {}
        for name, old in self.prepared.before.items():
            for what, side in (("after", self.after[name]), ("before", old)):
                values: Any = side.codes * side.unit
                if old.how.type == "nominal":  # codes that are equal or not, and no more
                    codes = np.where(side.missing, -1, side.codes).astype(int)
                    values = pd.Categorical.from_codes(
                        codes, pd.RangeIndex(len(old.categories or ()))
                    )
                found[self.private(what, name)] = values
        source = self.run.table("extract", "table").take(self.prepared.strata.rows)
        sides = (("after", self.protected.take(self.order)), ("before", source))
        for name in self.release.strata:
            for what, table in sides:
                text = table[name].cast(pa.string())
                found[self.private(what, name)] = pd.array(text, pd.ArrowDtype(pa.string()))
        return found
