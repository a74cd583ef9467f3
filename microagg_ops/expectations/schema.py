"""The expectation that a published table has the columns that were declared."""

from __future__ import annotations

from great_expectations.compatibility.pydantic import Field

from microagg_ops.expectations.measure import MeasuredExpectation, TableMeasure, Verdict
from microagg_ops.expectations.tables import Table

METRIC = "table.microagg.kinds"


def kinds(table: Table) -> dict[str, str]:
    """Return the columns of a table in their order, each with what it holds."""
    return table.kinds()


class TableKinds(TableMeasure):
    """The columns of a table."""

    metric_name = METRIC
    value_keys = ()
    measure = staticmethod(kinds)


class ExpectTableSchemaToBeAsDeclared(MeasuredExpectation):
    """Expect a table to have these columns in this order, and no other.

    Parameters
    ----------
    columns
        Their names.
    types
        What they hold: number (floating point), integer, decimal, boolean, date, timestamp or
        text; one that is not named may hold anything. A column without any value holds what it
        should.
    """

    columns: list[str]
    types: dict[str, str] = Field(default_factory=dict)

    metric_dependencies = (METRIC,)
    success_keys = ("columns", "types")
    args_keys = ("columns", "types")

    def _judge(self, found: dict[str, str]) -> Verdict:
        faults = {
            "missing": [name for name in self.columns if name not in found],
            "undeclared": [name for name in found if name not in self.columns],
            "of another type": [
                name
                for name, kind in self.types.items()
                if name in found and found[name] not in (kind, "null")
            ],
        }
        kept = [name for name in found if name in self.columns]
        ordered = [name for name in self.columns if name in found]
        faults["out of order"] = [a for a, b in zip(kept, ordered, strict=True) if a != b]
        many = len({name for names in faults.values() for name in names})
        return many == 0, many, {what: names for what, names in faults.items() if names}
