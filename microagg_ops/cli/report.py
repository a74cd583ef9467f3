"""``microagg report`` after a run: what its report says, in a few lines, and as PDF."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from microagg_ops.cli.output import Output
from microagg_ops.errors import ReleaseError
from microagg_ops.release.document import load_release
from microagg_ops.staging.store import safe_name

PAGES = ("report.html", "external.html")


def show(arguments: argparse.Namespace, output: Output) -> None:
    """Print what the report of the last run says, or of the run that is named."""
    release = load_release(arguments.file)
    root = Path(release.report.uri or arguments.reports) / release.release
    if "://" in str(release.report.uri or arguments.reports):
        raise ReleaseError(
            f"The reports of {release.release} are at a URI.",
            code="no_report",
            hint="Open it there.",
        )
    folder, figures = _found(root, arguments.run_id)
    pages = [folder / name for name in PAGES if (folder / name).is_file()]
    printed = pdfs(pages) if arguments.pdf else []
    files = [str(path) for path in (*pages, *printed)]
    document = {"run": folder.name, "files": files, "figures": figures}
    output.result(document, [*lines(figures), *(f"Report: {file}" for file in files)])


def pdfs(pages: list[Path]) -> list[Path]:
    """Print pages."""
    from microagg_ops.report.pdf import print_page

    return [print_page(page) for page in pages]


def lines(figures: dict[str, Any]) -> list[str]:
    """Return what a person wants to know first."""
    about, state = figures["identity"], figures["publication"]
    checks = [(check["name"], check["passed"]) for check in figures["checks"]]
    loss, linked = figures["utility"]["information_loss"], None
    distance = figures["risk"]["after"]["linkability"]["distance"]
    if distance is not None:
        linked = f", {distance['percent']:.2f} % of the rows linked by distance"
    return [
        f"{about['release']}, version {about['version']}: {state['state']}"
        + (f" at {state['at']}" if state["at"] else ""),
        f"k = {figures['risk']['k']}, information loss {loss:.2f} %{linked or ''}.",
        *(f"{'passed' if passed else 'FAILED'}  {name}" for name, passed in checks),
        *(f"Advice: {one['key']}: {one['why']}" for one in figures["advice"]),
        *(f"Warning: {words}" for words in figures["warnings"]),
    ]


def _found(root: Path, run_id: str | None) -> tuple[Path, dict[str, Any]]:
    """Find the report of a run, by default the last one that wrote its report."""
    named = root / safe_name(run_id) if run_id else None
    reports = {}
    for path in [named / "report.json"] if named else sorted(root.glob("*/report.json")):
        try:
            reports[path.parent] = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue
    if not reports:
        raise ReleaseError(
            f"There is no report in {named or root}.",
            code="no_report",
            hint="Run the release first, with json among report.formats; --reports says where.",
        )
    return max(reports.items(), key=lambda one: one[1]["identity"]["created"])
