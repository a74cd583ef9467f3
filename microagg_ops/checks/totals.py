"""Totals: what is published as means adds up to what it was."""

from __future__ import annotations

from collections.abc import Iterator

from microagg_ops.checks.check import Check, Claim, Finding, without_source
from microagg_ops.checks.evidence import Evidence, Groups
from microagg_ops.release.model import Release


class Totals(Check):
    """The totals of means are kept."""

    titles = {"totals": "Totals"}
    units = {"totals": "{} of the total"}
    key = "`totals`"
    shown = "`totals_<column>`"
    about = "the totals of means, within this relative tolerance"

    def claims(self, evidence: Evidence) -> Iterator[Claim]:
        """Claim that the totals of columns published as means are kept."""
        from microagg_ops.expectations import ExpectColumnTotalToBePreserved

        limit = evidence.release.validate.totals
        if limit is None or not evidence.has_source:
            return
        for name, (total, size) in evidence.totals.items():
            claim = f"the total of {name} differs by at most {limit:g} of itself"
            expectation = ExpectColumnTotalToBePreserved(
                column=evidence.counted[name], total=total, size=size, tolerance=limit,
                weight=evidence.weight,
            )  # fmt: skip
            yield Claim(f"totals_{name}", claim, limit, expectation)

    def findings(self, evidence: Evidence) -> Iterator[Finding]:
        """Fail where there is no source to compare with."""
        if not evidence.has_source:
            yield from without_source("totals", evidence.release.validate.totals)

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Advise means."""
        return (
            "columns.quasi",
            "Let the column be published as its mean (representative: mean), which keeps totals.",
        )
