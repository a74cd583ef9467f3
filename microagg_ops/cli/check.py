"""``microagg check``: every fault of release files, and of the rows that they name."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import Any

from microagg_ops.cli.output import Output
from microagg_ops.release.document import Fault, check_release, load_release, with_lines
from microagg_ops.release.files import FILES
from microagg_ops.release.model import Release
from microagg_ops.release.series_faults import series_warnings


@dataclass(frozen=True)
class Checked:
    """What was found of one file."""

    file: str
    faults: list[Fault]
    warnings: list[str]
    source: bool

    def lines(self) -> list[str]:
        """Return what a person reads."""
        if self.faults:
            return [f"{self.file}:{fault.line}: {fault}" for fault in self.faults]
        about = ", and its source is as it says" if self.source else ""
        return [f"{self.file} is a release{about}.", *(f"Warning: {w}" for w in self.warnings)]


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """Describe what check takes."""
    verb.add_argument("files", metavar="FILE", nargs="+", help="release files")
    verb.add_argument(
        "--source",
        action="store_true",
        help="look at the rows too (as it does for files, and with --connection)",
    )
    verb.add_argument("--no-source", action="store_true", help="look at no rows")


def check(arguments: argparse.Namespace, output: Output, given: dict[str, Any]) -> bool:
    """Check files, and tell whether there was a fault."""
    found = [_checked(file, arguments, given) for file in arguments.files]
    documents = [
        {
            "file": one.file,
            "faults": [asdict(fault) for fault in one.faults],
            "warnings": one.warnings,
            "source": one.source,
        }
        for one in found
    ]
    document = documents[0] if len(documents) == 1 else {"files": documents}
    output.result(document, [line for one in found for line in one.lines()])
    return any(one.faults for one in found)


def _checked(file: str, arguments: argparse.Namespace, given: dict[str, Any]) -> Checked:
    faults, warnings, looked = check_release(file), [], False
    if not faults:
        release = load_release(file)
        warnings, looked = list(series_warnings(release)), _looks(release, arguments)
        if looked:
            from microagg_ops.source_faults import source_faults

            faults = source_faults(release, **given)
    return Checked(file, with_lines(faults, file), warnings, looked)


def _looks(release: Release, arguments: argparse.Namespace) -> bool:
    """Whether to look at the rows: not at a database that was not named here."""
    if arguments.no_source or (release.source.by_interval and arguments.start is None):
        return False
    return bool(arguments.source or arguments.connection or release.source.conn_id == FILES)
