"""The figures of a report, mapped to the clauses that ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from microagg_ops.release.profiles import PROFILES
from microagg_ops.report.regulations import DOCUMENTS, VERSION, Answer, Document

PICK = {"min": min, "max": max}


def map_clauses(figures: Mapping[str, Any], profile: str | None) -> dict[str, Any]:
    """Say which figures answer what a regulator asks, and what they leave open.

    Parameters
    ----------
    figures
        The internal report so far.
    profile
        The profile that the release follows.
    """
    return {
        "version": VERSION,
        "profile": None if profile is None else describe_profile(profile),
        "documents": [describe(document, figures) for document in DOCUMENTS],
    }


def describe(document: Document, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Answer the clauses of a document."""
    return {
        "name": document.name,
        "title": document.title,
        "edition": document.edition,
        "profile": document.profile,
        "clauses": [
            {
                "clause": one.clause,
                "asks": one.asks,
                "answers": [answered(answer, figures) for answer in one.answers],
                "left": one.left,
            }
            for one in document.clauses
        ],
    }


def describe_profile(name: str) -> dict[str, Any]:
    """Name a profile, and each of its thresholds with the clause that it comes from."""
    profile = PROFILES[name]
    return {
        "name": name,
        "version": profile.version,
        "source": profile.source,
        "k": profile.k,
        "thresholds": [
            {
                "key": f"validate.{key}",
                "value": threshold.value,
                "unit": "count" if key == "l" else "share",
                "clause": threshold.clause,
                "convention": threshold.convention,
            }
            for key, threshold in profile.thresholds()
        ],
    }


def answered(answer: Answer, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Look a figure up; one that this report does not have is none."""
    value, unit = look_up(figures, answer.path.split(".")), answer.unit
    if answer.of:
        value = PICK[answer.of](value) if value else None
    if unit == "stated":
        value, unit = "stated" if value else "not stated", "words"
    elif unit == "listed":
        value, unit = None if value is None else len(value), "count"
    return {"label": answer.label, "figure": answer.path, "value": value, "unit": unit}


def look_up(found: Any, path: list[str]) -> Any:
    """Follow a path of keys; ``*`` collects over a list."""
    for i, key in enumerate(path):
        if key == "*":
            return [look_up(one, path[i + 1 :]) for one in found]
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found
