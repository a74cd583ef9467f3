"""Make the checks of a release on the bytes to be published."""

from __future__ import annotations

from pathlib import Path

from microagg_ops.checks.check import Finding
from microagg_ops.checks.registry import CHECKS
from microagg_ops.stages.evidence import Evidence


def find_checks(evidence: Evidence, site: Path | None = None) -> list[Finding]:
    """Make the checks that the release asks for; write Data Docs of them where told to."""
    from microagg_ops.expectations.batch import Batch, evaluate

    claims = [claim for check in CHECKS for claim in check.claims(evidence)]
    for one in claims:
        one.expectation.description = one.claim
    beside = {one.name: one.expectation for one in claims if one.beside}
    alone = {one.name: one.expectation for one in claims if not one.beside}
    outcomes = evaluate(
        [
            Batch("rows", evidence.frame(), beside),
            Batch("columns", evidence.protected_frame(), alone),
        ],
        evidence.release.release,
        site,
    )
    judged = [one.judged(outcomes[one.name], evidence.release) for one in claims]
    return [*judged, *(found for check in CHECKS for found in check.findings(evidence))]
