"""``microagg conformance``: what holds of a warehouse, as a table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from microagg_ops.cli.output import Output

if TYPE_CHECKING:
    from microagg_ops.warehouse.conformance import Found

ABOUT = "try on tables of its own what a warehouse must hold, and remove them again"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """Describe what conformance takes."""
    verb.add_argument(
        "--connection",
        action="append",
        required=True,
        metavar="ID[=URL]",
        help="which warehouse; without a URL it is looked up in AIRFLOW_CONN_<ID>; may be repeated",
    )
    verb.add_argument("--schema", metavar="NAME", help="where to make the tables")


def conformance(arguments: argparse.Namespace, output: Output) -> bool:
    """Try each warehouse and print what was found; give whether all holds."""
    from microagg_ops.warehouse import from_environment
    from microagg_ops.warehouse.conformance import FAILS, examine

    found = {}
    for text in arguments.connection:
        conn_id, _, url = text.partition("=")
        given = {conn_id: url} if url else None
        warehouse = from_environment(conn_id, given)
        found[conn_id] = examine(warehouse, arguments.schema, output.progress)
    failed = sum(one.verdict == FAILS for each in found.values() for one in each)
    words = f"{failed} claims do not hold." if failed else "Releases can trust this."
    output.result(
        {conn_id: [asdict(one) for one in each] for conn_id, each in found.items()},
        [*table(found), "", words],
    )
    return not failed


def table(found: Mapping[str, Sequence[Found]]) -> list[str]:
    """Return a line a claim and a column a warehouse; below it how, where that says more."""
    claims = [one.claim for one in next(iter(found.values()))]
    rows = [["claim", *found]]
    rows += [
        [claim, *(each[i].verdict for each in found.values())] for i, claim in enumerate(claims)
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    notes = [
        f"{conn_id}: {one.claim}: {one.how}"
        for conn_id, each in found.items()
        for one in each
        if one.how
    ]
    return [*lines, *([""] if notes else []), *notes]
