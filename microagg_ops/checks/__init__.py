"""What must hold on the rows to be published: one file for each check, all of it in there.

Another package adds a check by an entry point that leads to an `AddedCheck`.
"""

from __future__ import annotations

from microagg_ops.checks.added import AddedCheck
from microagg_ops.checks.check import Check, Finding
from microagg_ops.checks.evidence import Published
from microagg_ops.checks.registry import CHECKS

__all__ = ["CHECKS", "AddedCheck", "Check", "Finding", "Published"]
