"""Report: what an auditor reads, as JSON for machines and as a page that stands alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.artifact import local, safe_name, write_private
from microagg_ops.columns import encode
from microagg_ops.errors import MicroaggError, StagingError
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import pyarrow as pa

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
    before, after = run.table("extract", "table"), run.table("aggregate", "protected")
    utility, consistency = compare(run, before, after, aggregated["information_loss_by_column"])
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
        "risk": describe_risk(run, verdict["checks"], aggregated["clusters"]),
        "utility": {"information_loss": aggregated["information_loss"], "by_column": utility},
        "consistency": consistency,
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
        ("sensitive", columns.sensitive),
        ("stratum", run.release.strata),
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


def compare(
    run: Run, before: pa.Table, after: pa.Table, loss: Mapping[str, float]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Compare moments and totals of each quasi-identifier; sums of thousands of rows, no cell."""
    utility, consistency = [], []
    for name, how in run.release.columns.quasi.items():
        old, new = encode(name, how.type, before[name]), encode(name, how.type, after[name])
        show = as_day if how.type == "date" else float
        utility.append(
            {
                "name": name,
                "information_loss": loss[name],
                "mean_before": show(old.mean()),
                "mean_after": show(new.mean()),
                "deviation_before": float(old.std()),
                "deviation_after": float(new.std()),
            }
        )
        size = float(abs(old).sum()) or 1.0
        whole = how.type in ("integer", "date")
        consistency.append(
            {
                "name": name,
                "relative_difference": float(new.sum() - old.sum()) / size,
                "explained_by": "rounding to whole values" if whole else "floating point",
            }
        )
    return utility, consistency


def as_day(days: float) -> str:
    """Give the date of a number of days since 1970."""
    return (date(1970, 1, 1) + timedelta(days=round(days))).isoformat()


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
