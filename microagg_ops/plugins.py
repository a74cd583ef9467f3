"""What other packages add, by entry points of the groups ``microagg_ops.<kind>``."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def plugins(kind: str) -> dict[str, Any]:
    """Find the entry points of a kind by name, without loading them; of two the first counts."""
    from importlib.metadata import entry_points

    found: dict[str, Any] = {}
    for entry in sorted(entry_points(group=f"microagg_ops.{kind}"), key=lambda one: one.value):
        found.setdefault(entry.name, entry)
    return found
