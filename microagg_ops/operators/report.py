"""Report: what an auditor reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from microagg_ops.operators.aggregate import MicroaggProtectOperator
from microagg_ops.operators.links import MicroaggReportLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.single_stage import Alone


class MicroaggReportOperator(MicroaggProtectOperator):
    """Write the report of a release; alone: of protecting a table in this way, publishing nothing.

    Parameters
    ----------
    formats
        Alone: html, json or both.
    compare
        Alone: whether other methods are tried, for the map of loss and risk.
    **kwargs
        As for `MicroaggProtectOperator`; alone, ``target`` is the folder for the report.
    """

    stage = "report"
    operator_extra_links = (MicroaggReportLink(),)
    option_names = (*MicroaggProtectOperator.option_names, "formats", "compare")

    def __init__(
        self, *, formats: Sequence[str] = ("html", "json"), compare: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.formats = formats
        self.compare = compare

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Write the report."""
        from dataclasses import replace

        from microagg_ops.operators.places import place_of

        options = self.options_of(context)
        if self.target is not None:
            options = replace(options, reports=place_of(str(self.target), self.target_conn_id))
        return alone.report(self.source_place(), options)
