"""``microagg attack``: what an attacker gets from a release, as a table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.cli.output import Output
from microagg_ops.errors import ReleaseError

if TYPE_CHECKING:
    from microagg_ops.attack import Attacked

HEAD = ("attack", "risk", "95 % confidence", "attack rate", "without release", "attempts")


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """Describe what attack takes."""
    verb.add_argument(
        "--series",
        action="store_true",
        help="compare the table that a run would publish now with the one that is published: how "
        "many people their differences tell of",
    )
    verb.add_argument(
        "--external",
        metavar="FILE",
        help="external.json of a run, to reconstruct from it and the table what was not published",
    )


def attack_release(arguments: argparse.Namespace, output: Output, given: dict[str, Any]) -> None:
    """Attack and print."""
    from microagg_ops.attack import attack, attack_series

    if arguments.series:
        told = attack_series(arguments.file, **given)
        output.result(told, [f"{name.replace('_', ' ')}: {many}" for name, many in told.items()])
        return
    external = read_external(arguments.external) if arguments.external else None
    found = attack(arguments.file, external=external, progress=output.progress, **given)
    output.result(asdict(found), [*table(found), "", *conclusion(found)])


def read_external(path: str) -> Any:
    """Read an external report."""
    try:
        return json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise ReleaseError(
            f"The external report {path} cannot be read ({type(error).__name__}).",
            code="no_report",
        ) from None


def table(found: Attacked) -> list[str]:
    """Draw a line an attack."""
    rows = [list(HEAD), *lines_of(found.attacks)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]


def lines_of(attacks: Mapping[str, Any]) -> Iterator[list[str]]:
    """List the cells of each attack."""
    links = attacks["linkage"]
    yield cells("linkage within strata", links)
    yield ["linkage, algorithm known", percent(links["algorithm"]), "", "", "", ""]
    for name in ("singling_out", "linkability"):
        yield cells(name.replace("_", " "), attacks[name])
    for one in attacks["inference"]:
        yield cells(f"inference of {one['name']}", one)
    for one in attacks["homogeneity"]:
        yield [f"homogeneity of {one['name']}", percent(one["share"]), "", "", "", ""]


def cells(name: str, one: Mapping[str, Any] | None) -> list[str]:
    """Write the figures of an attack."""
    if one is None:
        return [name, "–", "", "", "", ""]
    rates = [percent(one[key]) if key in one else "" for key in ("attack", "control")]
    between = f"{percent(one['low'])} to {percent(one['high'])}"
    return [name, percent(one["risk"]), between, *rates, f"{one['attempts']:,}"]


def percent(share: float) -> str:
    """Write a share."""
    return f"{100 * share:.2f} %"


def conclusion(found: Attacked) -> list[str]:
    """Say what was attacked, and what could be reconstructed."""
    held = found.attacks["held_out"]
    lines = [
        f"{found.release}: {found.rows:,} rows, k = {found.k}; {held:,} of {found.entities:,} "
        "entities were held out for comparison; nothing was published."
    ]
    if found.attacks["note"]:
        lines.append(found.attacks["note"])
    if found.reconstruction is not None:
        named = [*found.reconstruction["totals"], *found.reconstruction["counts"]]
        told = ", ".join(named) if named else "nothing was found"
        lines.append(f"Reconstruction from table and external report: {told}.")
    return lines
