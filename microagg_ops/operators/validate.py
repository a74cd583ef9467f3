"""Validate: check every claim on what is about to be published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.operators.columns import MicroaggColumnsOperator
from microagg_ops.operators.links import MicroaggReportLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.single_stage import Alone


class MicroaggValidateOperator(MicroaggColumnsOperator):
    """Validate a release; alone: a table that is said to be protected.

    A failed check fails the task and is never retried. What it returns names the table that it
    checked, so that publish can take it for its ``source``.
    """

    stage = "validate"
    operator_extra_links = (MicroaggReportLink(),)

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Check the table."""
        return alone.validate(self.source_place(), self.options_of(context))

    def written(self) -> dict[str, Any]:
        """Name what was checked, for the task that publishes it."""
        if self.release is not None:
            return {}
        return {"target": str(self.source), "conn_id": self.conn_id}
