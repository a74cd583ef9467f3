"""The expectation that a table is l-diverse."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Literal

from great_expectations.execution_engine import ExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation

from microagg_ops.expectations.k_anonymous import Nulls, refused_rows
from microagg_ops.expectations.measure import TableMeasure
from microagg_ops.expectations.tables import Table, class_columns
from microagg_ops.metrics.anonymity import diversity_of

METRIC = "table.microagg.diversity"
KEYS = ("quasi", "sensitive", "l", "strata", "entity", "nulls")
# Of two values that are equally frequent the exponential of the entropy is 2, but for rounding.
ROUNDING = 1e-9


def diversity(
    table: Table,
    *,
    quasi: list[str],
    sensitive: str,
    l: float,  # noqa: E741
    strata: tuple[str, ...],
    entity: str | None,
    nulls: Nulls,
) -> dict[str, Any]:
    """Measure how diverse the least diverse class is."""
    values = table.cells(class_columns(quasi, strata), sensitive, entity).values
    found = asdict(diversity_of(values, math.ceil(l)))
    if math.isinf(found["recursive"]):  # JSON has no word for it
        found["recursive"] = None
    return {**found, "count": values.classes, "null_rows": refused_rows(table, quasi, nulls)}


class TableDiversity(TableMeasure):
    """The least diversity of a sensitive column in any class."""

    metric_name = METRIC
    value_keys = KEYS
    measure = staticmethod(diversity)


class ExpectTableToBeLDiverse(BatchExpectation):
    """Expect a sensitive column to be diverse in every class of quasi-identifiers.

    Parameters
    ----------
    quasi, strata, entity, nulls
        As for `ExpectTableToBeKAnonymous`; an entity counts once for each value in a class.
    sensitive
        The column; NULL is a value.
    l
        The least diversity.
    kind
        distinct: l different values. entropy: the exponential of the entropy is l or more.
        recursive: the most frequent value is rarer than c times all from the l-th most frequent
        on.
    c
        Of the recursive kind.
    """

    quasi: list[str]
    sensitive: str
    l: float  # noqa: E741
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = None
    strata: tuple[str, ...] = ()
    entity: str | None = None
    nulls: Nulls = "own_class"

    metric_dependencies = (METRIC,)
    success_keys = (*KEYS, "kind", "c")
    args_keys = (*KEYS, "kind", "c")

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: ExecutionEngine | None = None,
    ) -> dict[str, Any]:
        found = metrics[METRIC]
        observed = found[self.kind]
        if self.kind == "recursive":
            enough = observed is not None and self.c is not None and observed < self.c
        else:
            enough = observed >= self.l * (1 - ROUNDING)
        return {
            "success": found["count"] > 0 and enough and not found["null_rows"],
            "result": {"observed_value": observed, "details": found},
        }
