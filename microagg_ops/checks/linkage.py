"""Linkage: few rows are nearest to what became of them."""

from __future__ import annotations

from collections.abc import Iterator

from microagg_ops.checks.check import Check, Finding, larger, without_source
from microagg_ops.checks.evidence import Evidence, Groups
from microagg_ops.release.model import Release


class Linked(Check):
    """Few rows can be linked to their originals."""

    titles = {"linkage": "Record linkage"}
    units = {"linkage": "percent"}
    key = "`max_linkage`"
    shown = "`linkage`"
    about = (
        "at most this share of rows is nearest to its own protected row, within its published "
        "stratum"
    )

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """Ask for it where it has a limit."""
        if release.validate.max_linkage is not None:
            yield "linkage"

    def findings(self, evidence: Evidence) -> Iterator[Finding]:
        """Link rows; of a sample the upper end of the interval counts."""
        share = evidence.release.validate.max_linkage
        if not evidence.has_source:
            yield from without_source("linkage", share)
        elif share is not None:
            limit, found = 100 * share, evidence.linkage
            within = " within their strata" if evidence.release.strata else ""
            claim = f"at most {limit:g} % of the rows are linked to their originals by distance"
            claim += within
            if found.tried < found.rows:
                claim += ", with 95 % confidence"
            details = {
                "low": found.low,
                "high": found.high,
                "tried": found.tried,
                "rows": found.rows,
            }
            passed = found.rows > 0 and found.high <= limit
            yield Finding("linkage", claim, limit, found.percent, passed, details)

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Advise larger clusters."""
        return larger(release, "validate.max_linkage", "raise")
