"""Extract: read what the release names, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from microagg_ops.operators.base import MicroaggOperator, interval_of, translated
from microagg_ops.release.condition import Condition

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.single_stage import Alone


class MicroaggExtractOperator(MicroaggOperator):
    """Read the source of a release into staging; alone: columns of a table into a Parquet file.

    Parameters
    ----------
    columns
        Alone: the columns to read.
    where
        Alone: a SQL condition; ``:start`` and ``:end`` are bound to the data interval.
    trusted
        Alone: functions that the condition may call besides the plain ones.
    **kwargs
        As for `MicroaggOperator`.
    """

    stage = "extract"
    option_names = ("columns", "where", "trusted")

    def __init__(
        self,
        *,
        columns: Sequence[str] = (),
        where: str | None = None,
        trusted: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.columns = columns
        self.where = where
        self.trusted = trusted

    def execute(self, context: Context) -> Any:
        """Run the stage; an extract that fails leaves nothing behind.

        Clean-up is this task's teardown, and Airflow skips a teardown whose setup failed.
        """
        done = False
        try:
            outcome = super().execute(context)
            done = True
            return outcome
        finally:
            if not done and self.release is not None:
                from microagg_ops.staging.store import Staging

                with translated():
                    Staging(self.staged(context)).remove()

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Copy columns of a table."""
        start, end = interval_of(context) or (None, None)
        values = {"start": start, "end": end} if start and end else {}
        where = None if self.where is None else Condition(self.where, tuple(self.trusted))
        return alone.extract(self.source_place(), self.columns, self.target_place(), where, values)
