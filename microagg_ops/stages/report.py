"""Report: what an auditor reads, as JSON for machines and as a page that stands alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.artifact import local, safe_name, write_private
from microagg_ops.columns.coded import WHOLE, Coded, read
from microagg_ops.errors import MicroaggError, StagingError
from microagg_ops.stages.prepared import find_weights
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

LIMITS = (
    "This report is evidence about one table, not an expert determination. k-anonymity limits "
    "singling out by the quasi-identifiers that the release names; it does not limit what can be "
    "inferred from sensitive columns, from quasi-identifiers that were not named, or from "
    "comparing this table with other releases."
)
LIBRARIES = ("microagg-ops", "apache-airflow", "great-expectations", "numba", "numpy", "pyarrow")


def report(run: Run) -> dict[str, Any]:
    """Write the report of this run; it never holds a cell value."""
    figures = find_figures(run)
    check_figures(figures)
    folder = (
        local(run.release.report.uri or run.reports) / run.release.release / safe_name(run.run_id)
    )
    written = {}
    for name in run.release.report.formats:
        render = {"json": as_json, "html": as_html}[name]
        path = folder / f"report.{name}"
        write_report(path, render(figures))
        written[name] = path.as_uri() if isinstance(path, Path) else str(path)
    summary = {"verdict": figures["verdict"], "uris": written}
    run.staging.put("report", {}, summary)
    return summary


def write_report(path: Any, text: str) -> None:
    """Write one file of the report."""
    try:
        write_private(path, text.encode())
    except OSError as error:
        raise StagingError(
            f"The report {path} cannot be written ({type(error).__name__}).",
            code="no_report",
            hint="Check that the folder exists, is writable and has room.",
        ) from None


def find_figures(run: Run) -> dict[str, Any]:
    """Collect every figure of the report."""
    verdict = run.document("validate", "verdict")
    extracted, aggregated = run.staging.summary("extract"), run.staging.summary("aggregate")
    after, rows = run.table("aggregate", "protected"), run.table("aggregate", "rows")
    before = run.table("extract", "table").take(rows["row"])
    loss = aggregated["information_loss_by_column"]
    treatment = run.document("aggregate", "treatment")
    return {
        "schema_version": 1,
        "verdict": "passed" if verdict["passed"] else "failed",
        "identity": {
            "release": run.release.release,
            "version": run.release.version,
            "run_id": run.run_id,
            "interval": [moment.isoformat() for moment in run.interval] if run.interval else None,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "release_digest": run.release.digest,
            "input_digest": extracted["digest"],
            "output_digest": aggregated["digest"],
        },
        "data": {
            "rows": extracted["rows"],
            "entities": extracted["entities"],
            "target": str(run.release.publish.table),
            "columns": list_columns(run, run.document("extract", "source")["types"]),
        },
        "method": describe_method(run, aggregated["method"]),
        "treatment": describe_treatment(run, treatment),
        "risk": {
            **describe_risk(run, verdict["checks"], aggregated["clusters"]),
            "dominance": treatment["dominance"],
        },
        "utility": {
            "information_loss": aggregated["information_loss"],
            "by_column": list(compare(run, before, after, loss)),
        },
        "consistency": list(consistency(run, treatment["totals"])),
        "checks": [{k: v for k, v in c.items() if k != "details"} for c in verdict["checks"]],
        "warnings": run.warnings(),
        "limits": LIMITS,
        "versions": versions(),
        "timings": {"aggregate": aggregated["seconds"]},
    }


def list_columns(run: Run, types: Mapping[str, str]) -> list[dict[str, Any]]:
    """List every declared column with its role."""
    columns = run.release.columns
    roles = [
        ("identifier", columns.identifiers),
        ("entity", (columns.entity,) if columns.entity else ()),
        ("quasi-identifier", run.release.quasi),
        ("sensitive", [name for name in columns.sensitive if name != columns.weight]),
        ("stratum", run.release.strata),
        ("weight", (columns.weight,) if columns.weight else ()),
    ]
    return [
        {
            "name": name,
            "role": role,
            "type": columns.quasi[name].type
            if name in columns.quasi
            else shown(types.get(name, "")),
            "published": name in run.release.published,
        }
        for role, names in roles
        for name in names
    ]


def shown(sql_type: str) -> str:
    """Give a SQL type without the labels of an enumeration, which are cell values."""
    return sql_type.partition("('")[0]


def describe_method(run: Run, method: str) -> dict[str, Any]:
    """Say how the clusters were found."""
    release = run.release
    return {
        "standardize": release.standardize.method,
        "group": release.group.method,
        "groups": run.document("group", "groups"),
        "aggregate": method,
        "k": release.aggregate.k,
        "seed": release.aggregate.seed,
        "budget": release.aggregate.budget,
        "nulls": release.nulls,
        "strata": list(release.strata),
    }


def describe_risk(run: Run, checks: list[dict[str, Any]], clusters: list[int]) -> dict[str, Any]:
    """Give the smallest class, and how many classes there are of each size."""
    counted = [check for check in checks if check["name"].startswith("k_anonymous")]
    sizes: dict[int, int] = {}
    for check in counted:
        for size, many in check["details"].get("sizes", {}).items():
            sizes[int(size)] = sizes.get(int(size), 0) + many
    return {
        "k": min(int(check["observed"] or 0) for check in counted),
        "guarantee": run.release.validate.guarantee,
        "clusters": clusters,
        "class_sizes": [{"size": s, "classes": sizes[s]} for s in sorted(sizes)],
    }


def describe_treatment(run: Run, found: Mapping[str, Any]) -> dict[str, Any]:
    """Count the cells and strata that were not published as they were; strata are numbers here."""
    merged, dropped = (found["strata"][what] for what in ("merged", "dropped"))
    return {
        "suppressed": found["suppressed"],
        "imputed": [{"name": n, "cells": cells} for n, cells in found["imputed"].items()],
        "small_strata": run.release.small_strata,
        "merged": {"strata": merged[0], "rows": merged[1]},
        "dropped": {"strata": dropped[0], "rows": dropped[1]},
    }


def compare(
    run: Run, before: pa.Table, after: pa.Table, loss: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    """Compare moments of each quasi-identifier; sums of thousands of rows, no cell."""
    weights = find_weights(run.release.columns.weight, before)
    for name, how in run.release.columns.quasi.items():
        old = read(name, how, before[name])
        mean_before, deviation_before = moments(old, weights)
        mean_after, deviation_after = moments(read(name, how, after[name], old.categories), weights)
        yield {
            "name": name,
            "information_loss": loss[name],
            "mean_before": mean_before,
            "mean_after": mean_after,
            "deviation_before": deviation_before,
            "deviation_after": deviation_after,
        }


def moments(coded: Coded, weights: NDArray[np.float64]) -> tuple[Any, float | None]:
    """Give mean and standard deviation for people; categories have none."""
    import numpy as np

    there = ~coded.missing
    if coded.categories is not None or not there.any():
        return None, None
    values, weights = coded.codes[there] * coded.unit, weights[there]
    mean = float(np.average(values, weights=weights))
    deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    if coded.how.type == "date":
        return (date(1970, 1, 1) + timedelta(days=round(mean))).isoformat(), deviation
    if coded.how.type == "timestamp":
        second = {"s": 1, "ms": 10**3}.get(coded.source.unit, 10**6)
        moment = datetime(1970, 1, 1) + timedelta(seconds=round(mean / second))
        return f"{moment.isoformat()}{'Z' if coded.source.tz else ''}", deviation / second
    return mean, deviation


def consistency(run: Run, totals: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    """Say by how much totals differ, of the columns that are published as means."""
    for name, relative in totals.items():
        whole = run.release.columns.quasi[name].type in WHOLE
        yield {
            "name": name,
            "relative_difference": relative,
            "explained_by": "rounding to the steps of its type" if whole else "floating point",
        }


def versions() -> dict[str, str]:
    """Give the versions of the code and of the libraries that made the table."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def check_figures(figures: dict[str, Any]) -> None:
    """Refuse to write a report that does not follow its own schema."""
    from microagg_ops.schema_faults import shape_faults

    faults = [
        f"{pointer or '/'}: {allowed}" for pointer, _, allowed, _ in shape_faults(figures, "report")
    ]
    if faults:
        raise MicroaggError(f"The report does not follow its schema: {'; '.join(faults)}.")


def as_json(figures: dict[str, Any]) -> str:
    """Render the report for machines."""
    return json.dumps(figures, indent=2, allow_nan=False) + "\n"


def as_html(figures: dict[str, Any]) -> str:
    """Render the report as one page that needs nothing else."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = Path(__file__).parent.parent / "templates"
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"figure": as_figure, "count": "{:,}".format, "moment": as_moment}
    return environment.get_template("report.html.j2").render(figures)


def as_figure(value: Any) -> str:
    """Format a figure for people."""
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"


def as_moment(text: str) -> str:
    """Format a moment for people."""
    return f"{datetime.fromisoformat(text):%-d %B %Y, %H:%M} UTC"
