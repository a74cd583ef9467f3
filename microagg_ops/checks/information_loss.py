"""Information loss: the table still tells what its source told."""

from __future__ import annotations

from collections.abc import Iterator

from microagg_ops.checks.check import Check, Finding, without_source
from microagg_ops.checks.evidence import Evidence, Groups
from microagg_ops.release.model import Release


class InformationLoss(Check):
    """Little is lost."""

    titles = {"information_loss": "Information loss"}
    units = {"information_loss": "percent"}
    key = "`max_information_loss`"
    shown = "`information_loss`"
    about = "SSE/SST"

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """Ask for it where it has a limit."""
        if release.validate.max_information_loss is not None:
            yield "information_loss"

    def findings(self, evidence: Evidence) -> Iterator[Finding]:
        """Compare the loss of the bytes, as the report has it, with its limit."""
        share = evidence.release.validate.max_information_loss
        if not evidence.has_source:
            yield from without_source("information_loss", share)
        elif share is not None:
            limit, loss = 100 * share, evidence.information_loss
            claim = f"information loss is at most {limit:g} %"
            yield Finding("information_loss", claim, limit, loss, loss <= limit, {})

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Advise a better method, smaller clusters, or fewer columns."""
        better = (
            "give aggregate.budget more time"
            if release.aggregate.method == "best"
            else "let aggregate.method be best, with a budget"
        )
        return "validate.max_information_loss", (
            f"To lose less, {better}; lower aggregate.k (now {release.aggregate.k}); leave out "
            "extreme rows in source.where; or name fewer quasi-identifiers. If the loss is "
            "acceptable, raise validate.max_information_loss."
        )
