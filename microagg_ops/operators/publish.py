"""Publish: write the target in one transaction, if every check passed on these bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.operators.columns import MicroaggColumnsOperator
from microagg_ops.operators.links import MicroaggReportLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.alone import Alone


class MicroaggPublishOperator(MicroaggColumnsOperator):
    """Publish a release; alone: a protected table, which is validated first, always.

    Parameters
    ----------
    mode
        Alone: replace or append_interval.
    **kwargs
        As for `MicroaggColumnsOperator`.
    """

    stage = "publish"
    operator_extra_links = (MicroaggReportLink(),)
    option_names = (*MicroaggColumnsOperator.option_names, "mode")

    def __init__(self, *, mode: str = "replace", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mode = mode

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Validate and publish a table."""
        return alone.publish(self.source_place(), self.target_place(), self.options(context))
