"""Ways to decide which quasi-identifiers are aggregated together."""

from __future__ import annotations

from collections.abc import Sequence

GROUPINGS = {
    "single": "All quasi-identifiers in one group: k holds over all of them jointly.",
    "fixed": "The groups that the release lists.",
}


def group_columns(
    quasi: Sequence[str], method: str, groups: Sequence[Sequence[str]] = ()
) -> list[list[str]]:
    """Give the groups of columns that a release asks for."""
    return [list(names) for names in groups] if method == "fixed" else [list(quasi)]
