"""Approve: a person reads the report, and says whether the table may leave."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator

from microagg_ops.errors import ReleaseError, StagingError
from microagg_ops.operators.base import MicroaggOperator, reports_of, translated
from microagg_ops.operators.lineage import of_run
from microagg_ops.operators.links import MicroaggReportLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.stages import Run

log = logging.getLogger("microagg_ops")


class MicroaggApproveOperator(MicroaggOperator, ApprovalOperator):
    """Wait for a person's decision on a release that has ``approve: true``.

    After a rejection publish is skipped, and would refuse if it ran. A release without
    ``approve: true`` passes: among mapped releases some may need a person and others not.

    Parameters
    ----------
    **kwargs
        As for `MicroaggOperator` and Airflow's ``ApprovalOperator``: assigned_users, notifiers,
        response_timeout…
    """

    stage = "approve"
    template_fields = (*MicroaggOperator.template_fields, *ApprovalOperator.template_fields)
    operator_extra_links = (MicroaggReportLink(),)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"subject": "Publish this release?", **kwargs})

    def execute(self, context: Context) -> Any:
        """Ask; Airflow comes back with the answer."""
        with self.remembering(), translated():
            if self.release is None:
                raise ReleaseError("MicroaggApproveOperator needs a 'release'.")
            run = self.run_of(context)
            self.reports = reports_of(run)
            if not run.release.approve:
                return {"approved": None}
            try:
                self.subject, self.body = question(run, self.reports)
            except StagingError as error:
                raise self.healed_by(error, run) from None
        return ApprovalOperator.execute(self, context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Write the decision down, then let publish run or skip it."""
        from microagg_ops.stages.approve import approve

        decision: dict[str, Any] = {}
        if "error" not in event:
            with translated():
                run = self.run_of(context)
                self.reports = reports_of(run)
                who = event.get("responded_by_user") or {}
                decision = approve(
                    run,
                    who.get("name") or who.get("id") or "nobody: the default after a timeout",
                    approved=event["chosen_options"] == [self.APPROVE],
                    at=event["responded_at"],
                )
                word = "approved" if decision["approved"] else "rejected"
                log.info("%s approve: %s by %s", run.release.release, word, decision["by"])
                self.note_lineage(lambda: of_run(self.stage, run))
        self.outcome = decision
        ApprovalOperator.execute_complete(self, context, event)
        return decision


def question(run: Run, reports: dict[str, str]) -> tuple[str, str]:
    """Ask with the figures that a decision needs; they are kept in clear text, so no cell."""
    from microagg_ops.pipeline import told_loss

    validated, aggregated = (run.staging.summary(stage) for stage in ("validate", "aggregate"))
    passed = ", ".join(name for name, good in validated["checks"].items() if good)
    lines = [
        f"{aggregated['rows']:,} rows to `{run.release.publish.table}`, k = {validated['k']}, "
        f"information loss {told_loss(aggregated['outside']['information_loss'])}.",
        f"Checks that passed: {passed}.",
        *(f"Report ({kind}): {uri}" for kind, uri in reports.items()),
    ]
    return f"Publish the release {run.release.release}?", "\n\n".join(lines)
