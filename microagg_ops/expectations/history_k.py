"""The expectation that the ledger of a series keeps history k."""

from __future__ import annotations

from typing import Any

from microagg_ops.expectations.measure import MeasuredExpectation, TableMeasure, Verdict
from microagg_ops.expectations.tables import Table

METRIC = "table.microagg.traces"
KEYS = ("k",)


def traces(table: Table, *, k: int) -> dict[str, Any]:
    """Count the entities that share a trace; who shares it with fewer than k is below."""
    sizes = table.traces()
    return {
        "smallest": min(sizes, default=0),
        "count": sum(sizes.values()),
        "below": sum(many for size, many in sizes.items() if size < k),
        "entities_below": sum(size * many for size, many in sizes.items() if size < k),
    }


class TableTraces(TableMeasure):
    """The traces of a ledger."""

    metric_name = METRIC
    value_keys = KEYS
    measure = staticmethod(traces)


class ExpectLedgerToKeepHistoryK(MeasuredExpectation):
    """Expect every trace of a ledger's epoch to be shared by k entities or more.

    The table is the ledger of a series as it is kept: over all its publications, entities with the
    same classes, changed in the same columns, have one trace.

    Parameters
    ----------
    k
        The least number of entities with one trace.
    """

    k: int

    metric_dependencies = (METRIC,)
    success_keys = KEYS
    args_keys = KEYS

    def _judge(self, found: dict[str, Any]) -> Verdict:
        return found["smallest"] >= self.k, found["smallest"], found
