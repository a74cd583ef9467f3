"""Earlier runs of the same release: what changed since, and what comparing the tables may tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from microagg_ops.report.material import Material

SHOWN = 10


def describe_series(material: Material) -> dict[str, Any]:
    """List the latest earlier runs, and say whether comparing with the last one was looked into."""
    return {
        "earlier": [entry(material, manifest) for manifest in material.earlier[:SHOWN]],
        "verdict": differencing(material),
    }


def entry(material: Material, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Say what changed since an earlier run."""
    return {
        "run_id": manifest["run"]["run_id"],
        "created": manifest["created"],
        "verdict": manifest["verdict"],
        "rows": manifest["output"]["rows"],
        "k": manifest["method"]["k"],
        "information_loss": manifest["information_loss"],
        "release_changed": manifest["release"]["sha256"] != material.release.digest,
        "input_changed": manifest["input"]["sha256"] != material.extracted["digest"],
        "output_changed": manifest["output"]["sha256"] != material.aggregated["digest"],
    }


def differencing(material: Material) -> str:
    """Say what comparing this table with the last one that passed may tell."""
    for manifest in material.earlier:
        if manifest["verdict"] == "passed":
            if manifest["output"]["sha256"] == material.aggregated["digest"]:
                return "The table is the same as the last one: comparing them tells nothing."
            return (
                "The table differs from the last one. What their differences tell about people who "
                "are in both was not examined."
            )
    return "There is no earlier table of this release to compare with."
