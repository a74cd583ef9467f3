"""The expectation that the total of a column is what it was before protection."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from microagg_ops.expectations.measure import MeasuredExpectation, TableMeasure, Verdict
from microagg_ops.expectations.tables import Table

METRIC = "table.microagg.total"
KEYS = ("column", "weight")


def total(table: Table, column: str, weight: str | None) -> dict[str, Any]:
    """Sum a column up."""
    return asdict(table.total(column, weight))


class TableTotal(TableMeasure):
    """The total of a column."""

    metric_name = METRIC
    value_keys = KEYS
    measure = staticmethod(total)


class ExpectColumnTotalToBePreserved(MeasuredExpectation):
    """Expect the total of a column to be what it was before protection.

    Parameters
    ----------
    column
        A column of numbers, dates or moments (in days since 1970); NULL is left out.
    total
        What the total was.
    tolerance
        The largest difference, as a share of ``size``.
    size
        What the difference is relative to; by default the sum of the absolute values, or the
        total where that is larger.
    weight
        A column to multiply each row by.
    """

    column: str
    total: float
    tolerance: float = 1e-9
    size: float | None = None
    weight: str | None = None

    metric_dependencies = (METRIC,)
    success_keys = (*KEYS, "total", "tolerance", "size")
    args_keys = (*KEYS, "total", "tolerance", "size")

    def _judge(self, found: dict[str, Any]) -> Verdict:
        apart = abs(found["total"] - self.total)
        size = max(abs(self.total), found["size"]) if self.size is None else self.size
        share = apart / size if size else apart
        return share <= self.tolerance, share, {"rows": found["rows"]}
