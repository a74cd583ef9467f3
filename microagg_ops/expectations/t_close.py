"""The expectation that a table is t-close."""

from __future__ import annotations

from typing import Any

from microagg_ops.errors import DataError
from microagg_ops.expectations.k_anonymous import Nulls, refused_rows
from microagg_ops.expectations.measure import MeasuredExpectation, TableMeasure, Verdict
from microagg_ops.expectations.tables import ORDERED, Table, class_columns
from microagg_ops.metrics.anonymity import closeness_of, is_close

METRIC = "table.microagg.closeness"
KEYS = ("quasi", "sensitive", "ordered", "strata", "entity", "nulls")


def closeness(
    table: Table,
    *,
    quasi: list[str],
    sensitive: str,
    ordered: bool | None,
    strata: tuple[str, ...],
    entity: str | None,
    nulls: Nulls,
) -> dict[str, Any]:
    """Measure how far the farthest class is from the table."""
    if ordered is None:
        kinds = table.kinds()
        if sensitive not in kinds:
            raise DataError(f"The table has no column {sensitive!r}.", code="no_column")
        ordered = kinds[sensitive] in ORDERED
    values = table.values(class_columns(quasi, strata), sensitive, entity)
    return {
        "t": closeness_of(values, ordered=ordered),
        "ordered": ordered,
        "count": values.classes,
        "null_rows": refused_rows(table, quasi, nulls),
    }


class TableCloseness(TableMeasure):
    """The largest distance of a class from the table."""

    metric_name = METRIC
    value_keys = KEYS
    measure = staticmethod(closeness)


class ExpectTableToBeTClose(MeasuredExpectation):
    """Expect the values of a sensitive column to be spread in every class as in the table.

    Parameters
    ----------
    quasi, strata, entity, nulls
        As for `ExpectTableToBeLDiverse`; in the table too an entity counts once.
    sensitive
        The column; NULL is a value, the lowest.
    t
        The largest distance, from 0 to 1.
    ordered
        Whether the distance is that of the earth mover along the order of the values, or the
        total variation; by default what the type of the column has: text has no order.
    """

    quasi: list[str]
    sensitive: str
    t: float
    ordered: bool | None = None
    strata: tuple[str, ...] = ()
    entity: str | None = None
    nulls: Nulls = "own_class"

    metric_dependencies = (METRIC,)
    success_keys = (*KEYS, "t")
    args_keys = (*KEYS, "t")

    def _judge(self, found: dict[str, Any]) -> Verdict:
        near = found["count"] > 0 and is_close(found["t"], self.t)
        return near and not found["null_rows"], found["t"], found
