"""``microagg init`` and ``microagg profile``: a table, looked at, and a release file of it."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.cli.output import Output, aligned
from microagg_ops.errors import ReleaseError

if TYPE_CHECKING:
    from microagg_ops.proposal import Proposal


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """Describe what both take."""
    verb.add_argument(
        "source", metavar="TABLE_OR_FILE", help="a file, a folder, a pattern, a URI, or a table"
    )
    verb.add_argument(
        "--conn-id", help="the connection of a table (the one of --connection, or warehouse)"
    )


def add_init_arguments(verb: argparse.ArgumentParser) -> None:
    """Describe what init takes."""
    add_arguments(verb)
    verb.add_argument(
        "-o", "--output", default="release.yaml", metavar="FILE", help="the file (%(default)s)"
    )
    verb.add_argument("--force", action="store_true", help="replace the file if it is there")


def add_profile_arguments(verb: argparse.ArgumentParser) -> None:
    """Describe what profile takes."""
    add_arguments(verb)
    verb.add_argument("--html", metavar="FILE", help="write a page too")


def init(arguments: argparse.Namespace, output: Output, connections: dict[str, str]) -> None:
    """Write a release file."""
    from microagg_ops.proposal import drafted

    path = Path(arguments.output)
    if path.exists() and not arguments.force:
        raise ReleaseError(
            f"{path} is there already.",
            code="exists",
            hint="Name another file with -o, or replace it with --force.",
        )
    found = proposed(arguments, output, connections)
    section = found.document["source"]
    if "file" in section and "://" not in section["file"]:
        # Paths begin where the release file lies.
        section["file"] = os.path.relpath(section["file"], path.resolve().parent)
    write(path, drafted(found))
    document = {"file": str(path), "release": found.document}
    output.result(document, [f"{path}: {counted(found)}", *advice(path)])


def profile(arguments: argparse.Namespace, output: Output, connections: dict[str, str]) -> None:
    """Show a table of its columns."""
    found = proposed(arguments, output, connections)
    lines = [*table(found), "", *conclusion(found)]
    if arguments.html:
        from microagg_ops.proposal.page import as_page

        write(Path(arguments.html), as_page(found))
        lines.append(f"The page is in {arguments.html}.")
    output.result(asdict(found) | {"page": arguments.html}, lines)


def proposed(
    arguments: argparse.Namespace, output: Output, connections: dict[str, str]
) -> Proposal:
    """Look at the source."""
    from microagg_ops.proposal import propose

    given = [conn_id for conn_id in connections if conn_id != "file"]
    conn_id = arguments.conn_id or (given[0] if len(given) == 1 else "warehouse")
    output.say(f"Looking at {arguments.source} …")
    return propose(arguments.source, conn_id=conn_id, connections=connections)


def write(path: Path, text: str) -> None:
    """Write a file that the user asked for."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ReleaseError(
            f"{path} cannot be written ({error.strerror}).", code="no_file"
        ) from None


def table(found: Proposal) -> list[str]:
    """Return a line a column."""
    rows = [["column", "role", "holds", "values", "NULL", "bits", "own", "risk", "why"]]
    for column in found.columns:
        fact = column.facts
        rows.append([
            fact.name, column.role.name, fact.kind or "–", f"{fact.values:,}",
            f"{fact.nulls / fact.rows:.0%}", f"{fact.bits:.1f}", f"{fact.alone:.0%}",
            "–" if fact.risk is None else f"{fact.risk:.0%}", column.role.why,
        ])  # fmt: skip
    return aligned(rows, numbers=range(3, 8))


def conclusion(found: Proposal) -> list[str]:
    """Say what the columns are together."""
    from microagg_ops.proposal.draft import told_losses, told_uniques

    return [
        f"{found.source}: {found.rows:,} rows. {told_uniques(found)}",
        *(f"{line}." for line in told_losses(found)),
        "own: the share of rows whose value nobody else has; risk: of what makes rows unique.",
    ]


def counted(found: Proposal) -> str:
    """Say how many columns have which role."""
    roles: dict[str, Any] = {}
    for column in found.columns:
        roles[column.role.name] = roles.get(column.role.name, 0) + 1
    listed = ", ".join(f"{count} {role}" for role, count in roles.items())
    return f"{len(found.columns)} columns ({listed}), k = {found.k}."


def advice(path: Path) -> list[str]:
    """Say what comes next."""
    return [
        "Read it, and move columns to where they belong. Then:",
        f"  microagg check {path}",
        f"  microagg run {path}",
    ]
