"""What of the figures may leave the house.

Everything that leaves is named here: what is not named stays, so that a new figure is confidential
until somebody says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WHOLE = ("purpose", "roles", "utility", "consistency", "ranges", "treatment", "limits", "versions")
PARTS = {
    "identity": (
        "release", "version", "run_id", "interval", "created", "release_digest", "input_digest",
        "output_digest", "owner", "approval",
    ),
    "data": ("rows", "entities", "published_rows", "strata", "target", "roles", "missing"),
    "method": ("aggregate", "k", "groups"),
    "risk": ("k", "guarantee"),
}  # fmt: skip


def external(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Give the figures of the external report."""
    return {
        "schema_version": figures["schema_version"],
        "audience": "external",
        "verdict": figures["verdict"],
        **{name: figures[name] for name in WHOLE},
        **{name: {k: figures[name][k] for k in keys} for name, keys in PARTS.items()},
        # A claim has its threshold in it.
        "checks": [{"name": c["name"], "passed": c["passed"]} for c in figures["checks"]],
    }
