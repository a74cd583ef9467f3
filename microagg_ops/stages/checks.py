"""Make the checks of a release on the bytes to be published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from microagg_ops.checks.check import Claim, Finding
from microagg_ops.checks.registry import CHECKS, left_out
from microagg_ops.stages.evidence import Evidence

if TYPE_CHECKING:
    import pyarrow as pa

ASKED = "the release asks for this check"


def find_checks(
    evidence: Evidence, site: Path | None = None, ledger: tuple[pa.Table, Claim] | None = None
) -> list[Finding]:
    """Make the checks that the release asks for; write Data Docs of them where told to.

    Parameters
    ----------
    evidence
        What is judged.
    site
        The folder for Data Docs.
    ledger
        The ledger of a series, and what is claimed of it.
    """
    import pandas as pd

    from microagg_ops.expectations.batch import Batch, evaluate

    claims = [claim for check in CHECKS for claim in check.claims(evidence)]
    for one in claims:
        one.expectation.description = one.claim
    beside = {one.name: one.expectation for one in claims if one.beside}
    alone = {one.name: one.expectation for one in claims if not one.beside}
    batches = [
        Batch("rows", evidence.frame(), beside),
        Batch("columns", evidence.protected_frame(), alone),
    ]
    if ledger is not None:
        rows, claim = ledger
        claims.append(claim)
        frame = rows.to_pandas(types_mapper=pd.ArrowDtype)
        batches.append(Batch("ledger", frame, {claim.name: claim.expectation}))
    outcomes = evaluate(batches, evidence.release.release, site)
    judged = [one.judged(outcomes[one.name], evidence.release) for one in claims]
    found = [*judged, *(one for check in CHECKS for one in check.findings(evidence))]
    # A check that says nothing has not passed.
    lost = left_out({one.name for one in found}, evidence.release, evidence.groups)
    return [*found, *(Finding(n, ASKED, 0, None, False, {}, "it was not made") for n in lost)]
