"""Why a check failed, in the words of the release, and what to change there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from microagg_ops.release import Release
from microagg_ops.report.words import as_figure

Change = Callable[[Release, Sequence[Sequence[str]]], tuple[str, str]]


def advice(
    release: Release, checks: Iterable[Mapping[str, Any]], groups: Sequence[Sequence[str]]
) -> list[dict[str, str]]:
    """Give for each failed check the key that it is about, why it failed, and what to change."""
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
    seen, limit = as_figure(check["observed"]), as_figure(check["threshold"])
    return f"{claim}. Found: {seen}; the threshold is {limit}."


def changes(name: str, release: Release, groups: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Find the key of the release that a check is about, and what may be changed."""
    for start, change in CHANGES.items():
        if name == start or name.startswith(f"{start}_"):
            key, text = change(release, groups)
            column = name.removeprefix(start).lstrip("_")
            return key.replace("*", column), text.replace("*", column)
    return "validate", "See the claim of this check, and the key of validate that asks for it."


def _k(release: Release, groups: Sequence[Sequence[str]]) -> tuple[str, str]:
    key = "validate.k" if release.validate.k else "aggregate.k"
    if len(groups) > 1 and release.validate.guarantee == "joint":
        return "validate.guarantee", (
            "Several groups keep k within each group, not jointly. Put all quasi-identifiers into "
            "one group (group: {method: single}), or ask for validate.guarantee: per_group if k "
            "within each group is enough."
        )
    return key, (
        "The table has classes that are too small although clusters are not: check nulls, strata "
        "and columns.quasi, and run the release again from the start."
    )


def _larger(key: str, limit: str) -> Change:
    return lambda release, groups: (
        key,
        f"Raise aggregate.k (now {release.aggregate.k}), or name fewer or coarser columns. If the "
        f"risk was judged acceptable, {limit} {key}.",
    )


def _loss(release: Release, groups: Sequence[Sequence[str]]) -> tuple[str, str]:
    better = (
        "give aggregate.budget more time"
        if release.aggregate.method == "best"
        else "let aggregate.method be best, with a budget"
    )
    return "validate.max_information_loss", (
        f"To lose less, {better}; lower aggregate.k (now {release.aggregate.k}); leave out "
        "extreme rows in source.where; or name fewer quasi-identifiers. If the loss is acceptable, "
        "raise validate.max_information_loss."
    )


CHANGES: dict[str, Change] = {
    "k_anonymous": _k,
    "l_diverse": _larger("validate.l.*", "lower"),
    "t_close": _larger("validate.t.*", "raise"),
    "linkage": _larger("validate.max_linkage", "raise"),
    "information_loss": _loss,
    "dominance": _larger("validate.dominance.share", "raise"),
    "p_percent": _larger("validate.dominance.p", "lower"),
    "totals": lambda release, groups: (
        "columns.quasi",
        "Let the column be published as its mean (representative: mean), which keeps totals.",
    ),
    "schema": lambda release, groups: (
        "columns",
        "The columns to publish are not those that the release names: compare columns and strata "
        "with the source.",
    ),
}
