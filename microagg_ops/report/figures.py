"""Every figure of a report, in one document that follows ``schemas/report.schema.json``."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from microagg_ops.errors import MicroaggError
from microagg_ops.release.condition import parameters
from microagg_ops.report.advice import advice
from microagg_ops.report.material import Material
from microagg_ops.report.risk import describe_risk
from microagg_ops.report.series import describe_series
from microagg_ops.report.utility import consistency, describe_utility, methods_tried, ranges

LIMITS = (
    "This report is evidence about one table, not an expert determination. k-anonymity limits "
    "singling out by the quasi-identifiers that the release names; it does not limit what can be "
    "inferred from sensitive columns, from quasi-identifiers that were not named, or from "
    "comparing this table with other releases."
)
LIBRARIES = ("microagg-ops", "apache-airflow", "great-expectations", "numba", "numpy", "pyarrow")
CHECK = ("name", "claim", "threshold", "observed", "passed", "error")
DROPPED = {
    "identifier": "identifies a person by itself; it was never read",
    "entity": "is the key of whom the release protects; it was counted for k",
    "weight": "weighs the rows; it can single people out",
}


def find_figures(material: Material) -> dict[str, Any]:
    """Collect every figure of the internal report."""
    risk = describe_risk(material)
    linkage = risk["after"]["linkability"]["distance"]["percent"]
    return {
        "schema_version": 3,
        "verdict": "passed" if material.verdict["passed"] else "failed",
        "publication": not_yet(material),
        "identity": identity(material),
        "purpose": {
            n: getattr(material.release.about, n) for n in ("purpose", "recipients", "kind")
        },
        "context": {n: getattr(material.release.about, n) for n in ("context", "threats")},
        "data": describe_data(material),
        "roles": describe_roles(material),
        "scenarios": {
            "scenarios": list(material.release.about.scenarios),
            "thresholds": list(thresholds(asdict(material.release.validate))),
        },
        "method": describe_method(material),
        "search": material.aggregated.get("search"),
        "price": material.aggregated.get("price"),
        "treatment": describe_treatment(material),
        "risk": risk,
        "attacks": material.verdict.get("attacks"),
        "utility": describe_utility(material),
        "outside": dict(material.aggregated["outside"]),
        "tried": methods_tried(material, linkage),
        "consistency": list(consistency(material)),
        "ranges": list(ranges(material)),
        "series": describe_series(material),
        "checks": [{key: c.get(key) for key in CHECK} for c in material.verdict["checks"]],
        "advice": advice(material.release, material.verdict["checks"], material.groups),
        "warnings": list(material.warnings),
        "limits": LIMITS,
        "versions": versions(),
        "environment": {
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "cpus": os.cpu_count() or 1,
        },
        "timings": dict(material.seconds),
    }


def not_yet(material: Material) -> dict[str, Any]:
    """Say how far a table that is not published has come."""
    if not material.verdict["passed"]:
        return publication("refused")
    return publication("awaiting approval" if material.release.approve else "pending")


def publication(
    state: str, at: str | None = None, decision: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Say whether the table left, when, and who agreed."""
    decision = decision or {}
    return {
        "state": state,
        "at": at,
        "decided_by": decision.get("by"),
        "decided_at": decision.get("at"),
    }


def identity(material: Material) -> dict[str, Any]:
    """Say what was run, on what, with what result."""
    release = material.release
    named = parameters(release.source.where or "")
    return {
        "release": release.release,
        "version": release.version,
        "run_id": material.run_id,
        "interval": [m.isoformat() for m in material.interval] if material.interval else None,
        "bound": [name for name in ("start", "end") if name in named],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "release_digest": release.digest,
        "input_digest": material.input_digest,
        "output_digest": material.aggregated["digest"],
        "owner": release.about.owner,
    }


def describe_data(material: Material) -> dict[str, Any]:
    """Count rows and entities, and list every declared column with its role."""
    columns = list(list_columns(material))
    counts: dict[str, int] = {}
    for column in columns:
        counts[column["role"]] = counts.get(column["role"], 0) + 1
    return {
        "rows": material.extracted["rows"],
        "entities": material.extracted["entities"],
        "published_rows": material.after.num_rows,
        "strata": material.strata,
        "target": str(material.release.publish.table),
        "roles": counts,
        "missing": sum(column["missing"] or 0 for column in columns),
        "columns": columns,
    }


def list_columns(material: Material) -> Iterator[dict[str, Any]]:
    """List every declared column: role, type, NULLs among the rows that are published."""
    release, columns = material.release, material.release.columns
    roles: list[tuple[str, Sequence[str]]] = [
        ("identifier", columns.identifiers),
        ("entity", (columns.entity,) if columns.entity else ()),
        ("quasi-identifier", release.quasi),
        ("sensitive", [name for name in columns.sensitive if name != columns.weight]),
        ("stratum", release.strata),
        ("weight", (columns.weight,) if columns.weight else ()),
    ]
    there = set(material.before.column_names)
    for role, names in roles:
        for name in names:
            known = columns.quasi[name].type if name in columns.quasi else ""
            yield {
                "name": name,
                "role": role,
                "type": known or shown(material.types.get(name, "")),
                "published": name in release.published_columns,
                "missing": material.before[name].null_count if name in there else None,
            }


def shown(sql_type: str) -> str:
    """Return a SQL type without the labels of an enumeration, which are cell values."""
    return sql_type.partition("('")[0]


def describe_roles(material: Material) -> dict[str, Any]:
    """Say why each quasi-identifier is one, why others leave, and which columns do not."""
    columns = material.release.columns
    return {
        "quasi": [{"name": name, "reason": how.reason} for name, how in columns.quasi.items()],
        "kept": [
            {"name": name, "reason": columns.may_leave.get(name)}
            for name in dict.fromkeys(
                (*columns.sensitive, *material.release.strata, *columns.may_leave)
            )
        ],
        "dropped": [
            {"name": column["name"], "reason": DROPPED[column["role"]]}
            for column in list_columns(material)
            if not column["published"]
        ],
    }


def thresholds(section: Mapping[str, Any], at: str = "validate") -> Iterator[dict[str, Any]]:
    """List the thresholds that were set, each by its key in the release file."""
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from thresholds(value, f"{at}.{key}")
        elif isinstance(value, int | float | str) and not isinstance(value, bool):
            yield {"key": f"{at}.{key}", "value": value}


def describe_method(material: Material) -> dict[str, Any]:
    """Say how the clusters were found."""
    release = material.release
    return {
        "standardize": release.standardize.method,
        "group": release.group.method,
        "groups": [list(names) for names in material.groups],
        "aggregate": material.aggregated["method"],
        "k": release.aggregate.k,
        "seed": release.aggregate.seed,
        "budget": release.aggregate.budget,
        "params": dict(release.aggregate.params),
        "nulls": release.nulls,
        "strata": list(release.strata),
    }


def describe_treatment(material: Material) -> dict[str, Any]:
    """Count the cells and strata that were not published as they were; strata are numbers here."""
    found = material.treatment
    merged, dropped = (found["strata"][what] for what in ("merged", "dropped"))
    return {
        "suppressed": found["suppressed"],
        "imputed": [{"name": n, "cells": cells} for n, cells in found["imputed"].items()],
        "small_strata": material.release.small_strata,
        "merged": {"strata": merged[0], "rows": merged[1]},
        "dropped": {"strata": dropped[0], "rows": dropped[1]},
    }


def versions() -> dict[str, str]:
    """Return the versions of the code and of the libraries that made the table."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def check_figures(figures: Mapping[str, Any], schema: str = "report") -> None:
    """Refuse to write a report that does not follow its own schema."""
    from microagg_ops.release.faults import shape_faults

    faults = [
        f"{pointer or '/'}: {allowed}" for pointer, _, allowed, _ in shape_faults(figures, schema)
    ]
    if faults:
        raise MicroaggError(f"The report does not follow its schema: {'; '.join(faults)}.")
