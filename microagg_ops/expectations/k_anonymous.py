"""The expectation that a table is k-anonymous."""

from __future__ import annotations

from typing import Any, Literal

from microagg_ops.expectations.measure import MeasuredExpectation, TableMeasure, Verdict
from microagg_ops.expectations.tables import Table, class_columns

METRIC = "table.microagg.classes"
KEYS = ("quasi", "k", "strata", "entity", "nulls")

Nulls = Literal["own_class", "impute", "reject"]


def classes(
    table: Table,
    *,
    quasi: list[str],
    k: int,
    strata: tuple[str, ...],
    entity: str | None,
    nulls: Nulls,
) -> dict[str, Any]:
    """Count the equivalence classes of a table."""
    sizes = table.sizes(class_columns(quasi, strata), entity)
    return {
        "smallest": min(sizes, default=0),
        "count": sum(sizes.values()),
        "below": sum(many for size, many in sizes.items() if size < k),
        "rows_below": sum(size * many for size, many in sizes.items() if size < k),
        "sizes": sizes,
        "null_rows": refused_rows(table, quasi, nulls),
    }


def refused_rows(table: Table, quasi: list[str], nulls: Nulls) -> int:
    """Count the rows that are NULL in a quasi-identifier where the rule allows none."""
    return 0 if nulls == "own_class" else table.null_rows(quasi)


class TableClasses(TableMeasure):
    """The sizes of a table's classes."""

    metric_name = METRIC
    value_keys = KEYS
    measure = staticmethod(classes)


class ExpectTableToBeKAnonymous(MeasuredExpectation):
    """Expect every combination of quasi-identifiers to be shared by k entities or more.

    Parameters
    ----------
    quasi
        The quasi-identifiers.
    k
        The least number of entities (without a key: of rows) in a class.
    strata
        Columns that classes do not cross.
    entity
        A column to count distinct values of, instead of rows.
    nulls
        What NULL in a quasi-identifier means: a value of its own, or (impute, reject) a failure.
    """

    quasi: list[str]
    k: int
    strata: tuple[str, ...] = ()
    entity: str | None = None
    nulls: Nulls = "own_class"

    metric_dependencies = (METRIC,)
    success_keys = KEYS
    args_keys = KEYS

    def _judge(self, found: dict[str, Any]) -> Verdict:
        enough = found["count"] > 0 and found["smallest"] >= self.k
        return enough and not found["null_rows"], found["smallest"], found
