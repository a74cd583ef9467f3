"""``microagg compare``: a table, a plot and a recommendation."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from microagg_ops.cli.output import Output, aligned

if TYPE_CHECKING:
    from microagg_ops.compare import Comparison, Tried

COLUMNS: dict[str, Callable[[Tried], str]] = {
    "loss %": lambda t: f"{t.information_loss:.2f}",
    "least %": lambda t: "–" if t.least_loss is None else f"{t.least_loss:.2f}",
    "linked %": lambda t: f"{t.linkage:.2f}",
    "ID %": lambda t: f"{t.interval_disclosure:.2f}",
    "DLD %": lambda t: f"{t.distance_linkage:.2f}",
    "PLD %": lambda t: "–" if t.probabilistic_linkage is None else f"{t.probabilistic_linkage:.2f}",
    "risk %": lambda t: f"{t.risk:.2f}",
    "score %": lambda t: f"{t.score:.2f}",
    "k": lambda t: str(t.k),
    "clusters": lambda t: f"{t.clusters:,}",
    "seconds": lambda t: f"{t.seconds:.2f}",
}


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """Describe what compare takes."""
    verb.add_argument(
        "--methods", default="", metavar="A,B,C", help="which methods; all by default"
    )
    verb.add_argument("--sample", type=int, metavar="N", help="how many entities; all by default")
    verb.add_argument(
        "--budget",
        metavar="TIME",
        help="the time each method has, such as 10s; by default the release's, or 10s",
    )
    verb.add_argument("--plot", metavar="FILE", help="write the risk–utility map here, as SVG")


def compare_methods(arguments: argparse.Namespace, output: Output, given: dict[str, Any]) -> None:
    """Compare, draw and print."""
    from dataclasses import asdict

    from microagg_ops.compare import compare

    names = [name.strip() for name in arguments.methods.split(",") if name.strip()]
    found = compare(
        arguments.file,
        names,
        sample=arguments.sample,
        budget=arguments.budget,
        progress=output.progress,
        **given,
    )
    lines = [*table(found), "", *conclusion(found)]
    if arguments.plot:
        found.plot().save(arguments.plot)
        lines.append(f"The risk–utility map is in {arguments.plot}.")
    output.result(asdict(found) | {"plot": arguments.plot}, lines)


def table(found: Comparison) -> list[str]:
    """Return a line a method, the best first; those without a result say why."""
    done = sorted((t for t in found.tried if not t.failure), key=lambda t: (t.score, t.method))
    rows = [["method", *COLUMNS]]
    rows += [[tried.method, *(cell(tried) for cell in COLUMNS.values())] for tried in done]
    lines, width = aligned(rows, range(1, len(rows[0]))), max(len(row[0]) for row in rows)
    return lines + [f"{t.method.ljust(width)}  {t.failure}" for t in found.tried if t.failure]


def conclusion(found: Comparison) -> list[str]:
    """Say what was looked at, and what it speaks for."""
    rows = f"{found.rows:,} rows" + (f" of {found.of:,}" if found.rows < found.of else "")
    groups = "" if len(found.groups) == 1 else f", {len(found.groups)} groups of columns"
    late = ", ".join(tried.method for tried in found.tried if tried.overran)
    limited = any(tried.loss_without_limits is not None for tried in found.tried)
    return [
        *(["Clusters meet the limits on sensitive columns (aggregate.aware)."] if limited else []),
        f"{found.release}: {rows}, k = {found.k}{groups}, {found.budget} a method; nothing was "
        "published.",
        *([f"Took longer than {found.budget}: {late}."] if late else []),
        f"Recommended: {found.recommended}, with the least mean of loss and risk.",
    ]
