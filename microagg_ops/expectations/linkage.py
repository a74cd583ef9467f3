"""The expectation that few protected rows can be linked to their originals."""

from __future__ import annotations

from typing import Any

from microagg_ops.expectations.measure import MeasuredExpectation, TableMeasure, Verdict
from microagg_ops.expectations.tables import Table
from microagg_ops.metrics.linkage import distance_linkage
from microagg_ops.metrics.tables import sorted_codes

METRIC = "table.microagg.linkage"
KEYS = ("columns", "within", "sample", "seed")


def linkage(
    table: Table, columns: dict[str, str], within: list[str], sample: int, seed: int
) -> dict[str, Any]:
    """Link rows by distance; no engine has a search for the nearest row, so columns are fetched."""
    both = table.fetch(list(dict.fromkeys([*columns, *columns.values(), *within])))
    after = both.select(list(columns))
    before = both.select(list(columns.values())).rename_columns(list(columns))
    strata = sorted_codes(both, within) if within else None
    found = distance_linkage(before, after, within=strata, sample=sample, seed=seed)
    return {
        "rows": found.rows,
        "tried": found.tried,
        "linked": found.percent / 100,
        "low": found.low / 100,
        "high": found.high / 100,
    }


class TableLinkage(TableMeasure):
    """The share of rows that are linked rightly by distance."""

    metric_name = METRIC
    value_keys = KEYS
    measure = staticmethod(linkage)


class ExpectLinkageToBeAtMost(MeasuredExpectation):
    """Expect an outsider who holds the originals to link few rows rightly.

    The batch holds each protected column beside its original, row by row, as for
    `ExpectInformationLossToBeAtMost`. Each original row is linked to the nearest protected row;
    of ties one is drawn. The columns are taken out of a database or out of Spark for that.

    Parameters
    ----------
    columns
        Protected column to original column: what the outsider knows.
    max_linkage
        The largest share of rows linked rightly: 0.05 is five percent.
    within
        Protected columns with the strata of the rows: the outsider knows them, and searches the
        stratum of a row alone.
    sample
        Beyond this number of rows a sample of it is drawn, and the upper end of the 95 % confidence
        interval must be below the limit.
    seed
        Of the sample.
    """

    columns: dict[str, str]
    max_linkage: float
    within: list[str] = []  # noqa: RUF012 - pydantic copies it
    sample: int = 100_000
    seed: int = 0

    metric_dependencies = (METRIC,)
    success_keys = (*KEYS, "max_linkage")
    args_keys = (*KEYS, "max_linkage")

    def _judge(self, found: dict[str, Any]) -> Verdict:
        return found["rows"] > 0 and found["high"] <= self.max_linkage, found["high"], found
