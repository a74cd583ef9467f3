"""Tables of mixed types with NULLs, as rows of Python values and as frames of every kind."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

NAN = float("nan")
POOLS: dict[str, list[Any]] = {
    "whole": [None, -1, 0, 2**62],
    "number": [None, NAN, -0.0, 0.0, 1.5],
    "truth": [None, True, False],
    "day": [None, date(1969, 12, 31), date(2024, 2, 29)],
    "moment": [None, datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 1, tzinfo=UTC)],
    "text": [None, "", "a", "b"],
    "amount": [None, Decimal("0.10"), Decimal("2.00")],
    "grade": [None, "low", "high"],
}
GRADES = ["low", "high"]
TYPES = {
    "whole": pa.int64(),
    "number": pa.float64(),
    "truth": pa.bool_(),
    "day": pa.date32(),
    "moment": pa.timestamp("us", "UTC"),
    "text": pa.string(),
    "amount": pa.decimal128(10, 2),
    "grade": pa.string(),
}


@dataclass(frozen=True)
class Mixed:
    """Columns of one length."""

    columns: dict[str, list[Any]]

    @property
    def rows(self) -> int:
        return len(self.columns["whole"])

    def plain(self, *names: str) -> list[tuple[Hashable, ...]]:
        """Rows of values that compare as measures must: NaN is NULL, -0.0 is 0.0."""
        return list(zip(*(map(self._value, self.columns[n]) for n in names), strict=True))

    @staticmethod
    def _value(value: Any) -> Hashable:
        return None if isinstance(value, float) and value != value else value

    def order(self, name: str) -> list[Hashable]:
        """The different values in their order, NULL first."""
        found = {self._value(v) for v in self.columns[name]}
        key: Callable[[Any], Any] = GRADES.index if name == "grade" else lambda v: v
        return [v for v in [None] if v in found] + sorted(found - {None}, key=key)

    def arrow(self) -> pa.Table:
        made = {n: pa.array(v, TYPES[n]) for n, v in self.columns.items()}
        if "grade" in made:
            index = pa.array(
                [None if v is None else GRADES.index(v) for v in self.columns["grade"]], pa.int8()
            )
            made["grade"] = pa.DictionaryArray.from_arrays(index, pa.array(GRADES), ordered=True)
        return pa.table(made)

    def frames(self) -> list[Any]:
        """The table as Arrow in several chunks, as polars, and as pandas with a useless index."""
        table = self.arrow()
        half = self.rows // 2
        pandas = table.to_pandas()
        pandas.index = pd.Index([7] * self.rows)
        backed = table.drop_columns("grade").to_pandas(types_mapper=pd.ArrowDtype)
        backed["grade"] = pandas["grade"].array
        backed.index = pd.Index(np.arange(self.rows)[::-1] // 2)
        chunked = pa.concat_tables([table.slice(0, half), table.slice(half)])
        polars = pl.DataFrame(table.drop_columns("grade")).with_columns(
            pl.Series("grade", self.columns["grade"], dtype=pl.Enum(GRADES))
        )
        return [chunked, polars, pandas, backed]

    def shuffled(self, order: list[int]) -> Mixed:
        return Mixed({n: [v[i] for i in order] for n, v in self.columns.items()})


@st.composite
def tables(draw: st.DrawFn, min_size: int = 1, max_size: int = 12) -> Mixed:
    rows = draw(st.integers(min_size, max_size))
    return Mixed(
        {
            name: draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows))
            for name, pool in POOLS.items()
        }
    )
