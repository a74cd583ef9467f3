"""The checks there are, in the order in which a report tells of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from microagg_ops.checks.added import Added
from microagg_ops.checks.attacks import Attacked
from microagg_ops.checks.check import Check
from microagg_ops.checks.contributors import Contributors
from microagg_ops.checks.dominance import Dominance
from microagg_ops.checks.information_loss import InformationLoss
from microagg_ops.checks.k_anonymous import KAnonymous
from microagg_ops.checks.k_of import KOf
from microagg_ops.checks.l_diverse import LDiverse
from microagg_ops.checks.linkage import Linked
from microagg_ops.checks.risk import Risk
from microagg_ops.checks.schema import Schema
from microagg_ops.checks.t_close import TClose
from microagg_ops.checks.totals import Totals
from microagg_ops.release.model import Release

# Those of other packages come last: what they do to the evidence changes no other finding.
CHECKS: tuple[Check, ...] = (
    KAnonymous(), KOf(), LDiverse(), TClose(), Linked(), Totals(), InformationLoss(), Schema(),
    Risk(), Contributors(), Dominance(), Attacked(), Added(),
)  # fmt: skip


def left_out(
    found: Collection[str], release: Release, groups: Sequence[Sequence[str]]
) -> list[str]:
    """List the findings that a release asks for and a verdict does without."""
    asked = (name for check in CHECKS for name in check.asked(release, groups))
    return [name for name in asked if name not in found]


def check_of(finding: str) -> tuple[Check, str, str] | None:
    """Find the check that a finding is of, which of its names it has, and what follows that."""
    split = ((check, check.split(finding)) for check in CHECKS)
    return next(((check, *found) for check, found in split if found is not None), None)
