"""Earlier runs of the same release: what changed since, and what comparing the tables may tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from microagg_ops.outside import Gate
from microagg_ops.release.series import HISTORY, NONE
from microagg_ops.report.material import Material

SHOWN = 10
# Of what a series counts: numbers of publications, and not of people.
NOT_PEOPLE = ("publication", "longest_wait", "longest_hold")


def describe_series(material: Material) -> dict[str, Any]:
    """List the latest earlier runs, and say whether comparing with the last one was looked into."""
    return {
        "protect": material.release.series.protect,
        "counts": counts(material),
        "loss": losses(material),
        "earlier": [entry(material, manifest) for manifest in material.earlier[:SHOWN]],
        "verdict": differencing(material),
    }


def counts(material: Material) -> dict[str, Any] | None:
    """Count whom the series keeps from being published as they are; fewer than k are no number."""
    found = material.aggregated.get("series")
    if found is None:
        return None
    gate = Gate(material.release.k, material.extracted["entities"])
    return {
        name: many if name in NOT_PEOPLE else gate.count(many, many) for name, many in found.items()
    }


def losses(material: Material) -> dict[str, float] | None:
    """Set the loss of this table beside that of one formed anew of who is there today."""
    anew = material.aggregated.get("loss_anew")
    if anew is None:
        return None
    return {"published": material.aggregated["information_loss"], "anew": anew}


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
        "input_changed": manifest["input"]["hmac_sha256"] != material.input_digest,
        "output_changed": manifest["output"]["sha256"] != material.aggregated["digest"],
    }


def differencing(material: Material) -> str:
    """Say what comparing this table with the last one that was published may tell."""
    protect = material.release.series.protect
    if protect != NONE:
        built = "Classes last and change" if protect == HISTORY else "The tables differ"
        return f"{built} only with {material.release.k} entities or more: history k was counted."
    for manifest in material.earlier:
        if manifest["published"]:
            if manifest["output"]["sha256"] == material.aggregated["digest"]:
                return "The table is the same as the last one: comparing them tells nothing."
            return (
                "The table differs from the last one. What their differences tell about people who "
                "are in both was not examined."
            )
    return "There is no earlier table of this release to compare with."
