"""The expectation that protected columns have kept what their originals told."""

from __future__ import annotations

from typing import Any

from microagg_ops.expectations.measure import MeasuredExpectation, TableMeasure, Verdict
from microagg_ops.expectations.tables import Table

METRIC = "table.microagg.information_loss"
KEYS = ("columns",)


def information_loss(table: Table, columns: dict[str, str]) -> dict[str, Any]:
    """Measure SSE/SST of each column, as shares."""
    found = table.loss(columns)
    by_column = {name: percent / 100 for name, percent in found.columns.items()}
    return {"loss": found.overall / 100, "by_column": by_column, "rows": table.rows()}


class TableInformationLoss(TableMeasure):
    """SSE/SST of protected columns from their originals."""

    metric_name = METRIC
    value_keys = KEYS
    measure = staticmethod(information_loss)


class ExpectInformationLossToBeAtMost(MeasuredExpectation):
    """Expect SSE/SST of standardized columns to be at most a share.

    The batch holds each protected column beside its original, row by row: within the walls, such
    as a query that joins both tables. NULL stands at the mean of the originals.

    Parameters
    ----------
    columns
        Protected column to original column: numbers, dates or moments.
    max_loss
        The largest share: 0.3 is thirty percent. A column without spread has nothing to lose.
    """

    columns: dict[str, str]
    max_loss: float

    metric_dependencies = (METRIC,)
    success_keys = (*KEYS, "max_loss")
    args_keys = (*KEYS, "max_loss")

    def _judge(self, found: dict[str, Any]) -> Verdict:
        return found["rows"] > 0 and found["loss"] <= self.max_loss, found["loss"], found
