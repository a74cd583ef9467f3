"""Publish: write the target in one transaction, if every check passed on these bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from microagg_ops.operators.assets import announce, file_at, published_asset, table_asset
from microagg_ops.operators.columns import MicroaggColumnsOperator
from microagg_ops.operators.links import MicroaggReportLink
from microagg_ops.release.files import FILES
from microagg_ops.sql import TableName

if TYPE_CHECKING:
    from airflow.sdk import Asset, Context

    from microagg_ops.single_stage import Alone


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

    def execute(self, context: Context) -> dict[str, Any]:
        """Publish, and say so to whoever is scheduled on the table's asset."""
        outcome: dict[str, Any] = super().execute(context)
        announce(context, self.outlets, self.asset(), outcome)
        return outcome

    def asset(self) -> Asset:
        """Return the asset of the table that is published."""
        if self.release is not None:
            return published_asset(str(self.release))
        place = self.target_place()
        return table_asset(str(place.conn_id), TableName.parse(place.at))

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Validate and publish a table."""
        return alone.publish(self.source_place(), self.target_place(), self.options_of(context))

    def written(self) -> dict[str, Any]:
        """Name the table that was published."""
        if self.release is None:
            return super().written()
        from microagg_ops.release.document import load_release

        release = load_release(str(self.release))
        how = release.publish
        if how.conn_id == FILES:
            return {"target": file_at(release.folder, str(how.table)), "conn_id": None}
        return {"target": str(how.table), "conn_id": how.conn_id}
