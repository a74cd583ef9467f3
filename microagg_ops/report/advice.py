"""Why a check failed, in the words of the release, and what to change there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from microagg_ops.checks.evidence import Groups
from microagg_ops.checks.registry import check_of
from microagg_ops.release.model import Release
from microagg_ops.report.words import as_limit, as_measured


def advice(
    release: Release, checks: Iterable[Mapping[str, Any]], groups: Groups
) -> list[dict[str, str]]:
    """Yield for each failed check the key that it is about, why it failed, and what to change."""
    found = []
    for check in checks:
        if check["passed"]:
            continue
        key, change = changes(check["name"], release, groups)
        found.append({"check": check["name"], "key": key, "why": why(check), "change": change})
    return found


def why(check: Mapping[str, Any]) -> str:
    """Say what was claimed, and what was found instead."""
    claim = check["claim"][:1].upper() + check["claim"][1:]
    if check.get("error"):
        return f"{claim}: this could not be shown, because {check['error']}."
    name = check.get("name", "")
    seen, limit = as_measured(check["observed"], name), as_limit(check["threshold"], name)
    return f"{claim}. Found: {seen}; the threshold is {limit}."


def changes(name: str, release: Release, groups: Groups) -> tuple[str, str]:
    """Find the key of the release that a check is about, and what may be changed."""
    found = check_of(name)
    if found is None:
        return "validate", "See the claim of this check, and the key of validate that asks for it."
    check, own, rest = found
    return check.advice(own, rest, release, groups)
