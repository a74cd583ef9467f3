"""The expectation that a table is l-diverse."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Literal

from microagg_ops.expectations.k_anonymous import Nulls, refused_rows
from microagg_ops.expectations.measure import MeasuredExpectation, TableMeasure, Verdict
from microagg_ops.expectations.tables import Table, class_columns
from microagg_ops.metrics.anonymity import diversity_of, is_diverse

METRIC = "table.microagg.diversity"
KEYS = ("quasi", "sensitive", "l", "strata", "entity", "nulls")


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
    values = table.values(class_columns(quasi, strata), sensitive, entity)
    found = asdict(diversity_of(values, math.ceil(l)))
    if math.isinf(found["recursive"]):  # JSON has no word for it
        found["recursive"] = None
    return {**found, "count": values.classes, "null_rows": refused_rows(table, quasi, nulls)}


class TableDiversity(TableMeasure):
    """The least diversity of a sensitive column in any class."""

    metric_name = METRIC
    value_keys = KEYS
    measure = staticmethod(diversity)


class ExpectTableToBeLDiverse(MeasuredExpectation):
    """Expect a sensitive column to be diverse in every class of quasi-identifiers.

    Parameters
    ----------
    quasi, strata, entity, nulls
        As for `ExpectTableToBeKAnonymous`; with a key an entity counts once in each class, split
        evenly over its different values there.
    sensitive
        The column; NULL is a value.
    l
        The least diversity.
    kind
        distinct: l different values, and with a key l entities that can be given one each of their
        own. entropy: the exponential of the entropy is l or more.
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

    def _judge(self, found: dict[str, Any]) -> Verdict:
        observed = found[self.kind]
        enough = found["count"] > 0 and is_diverse(observed, self.kind, self.l, self.c)
        return enough and not found["null_rows"], observed, found
