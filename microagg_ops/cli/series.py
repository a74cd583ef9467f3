"""``microagg series``: what the ledger of a release holds, in counts; and what is done to it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.cli.output import Output
from microagg_ops.errors import ReleaseError

if TYPE_CHECKING:
    from microagg_ops.stages import Run

ABOUT = "list the publications of a series, show what its ledger counts, or look after it"
DONE, NOT_DONE = "The ledger was changed.", "Nothing was changed: say --yes to do it."


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """Describe what series takes."""
    verb.add_argument(
        "what",
        choices=tuple(WHAT),
        help="list: its publications; show: history k, and who waits or is held; export: copy the "
        "ledger to a file; erase: take entities out with the next publication; rebase: begin the "
        "epoch with what is published now; rekey: keep the ledger with the key of today; forget: "
        "delete it, after which only a new epoch can be published. What changes the ledger first "
        "tells what that costs",
    )
    verb.add_argument("--yes", action="store_true", help="do it")
    verb.add_argument(
        "--entity-file", metavar="FILE", help="with erase: one entity key a line, as in the source"
    )
    verb.add_argument("--to", metavar="FILE", help="with export: a file that is not there yet")
    verb.add_argument(
        "--old-key-file", metavar="FILE", help="with rekey: the key that the ledger was kept with"
    )


def series(arguments: argparse.Namespace, output: Output, given: dict[str, Any]) -> None:
    """Read the ledger of a release, or change it."""
    from microagg_ops.pipeline import make_run
    from microagg_ops.release.document import load_release

    release = load_release(arguments.file)
    if not release.series.is_kept:
        raise ReleaseError(
            "The release keeps no series.", hint="Set series.protect and series.ledger."
        )
    WHAT[arguments.what](make_run(release, "memory", **given), arguments, output)


def listed(run: Run, arguments: argparse.Namespace, output: Output) -> None:
    """List the publications."""
    from microagg_ops.stages.series_upkeep import ledger_there

    told = [
        {"number": one.number, "run_id": one.run_id, "at": one.at, "digest": one.digest}
        for one in ledger_there(run).publications
    ]
    lines = [f"{one['number']:>5}  {one['at']}  {one['run_id']}  {one['digest']}" for one in told]
    output.result({"publications": told}, lines)


def shown(run: Run, arguments: argparse.Namespace, output: Output) -> None:
    """Show what the ledger counts; all of it is for the inside."""
    from microagg_ops.series.together import joint_k, told_apart
    from microagg_ops.series.traces import history_k, singled_out
    from microagg_ops.stages.series_others import joint_least, others_of
    from microagg_ops.stages.series_upkeep import ledger_there

    ledger = ledger_there(run)
    k, others = run.release.k, others_of(run, ledger)
    told: dict[str, Any] = {
        "series": ledger.series,
        "epoch": ledger.epoch or None,
        "publications": len(ledger.publications),
        "classes": len(ledger.classes),
        "entities": sum(map(len, ledger.current().values())),
        "waiting": len(ledger.waiting),
        "held": len(ledger.gone),
        "to_erase": len(ledger.erase),
        "history_k": history_k(ledger),
        "singled_out_by_epochs": singled_out(ledger, k) if ledger.began > 1 else 0,
    }
    if run.release.series.others:
        everyone = [ledger, *others]
        told["with"] = [other.series for other in others]
        told["history_k_together"] = joint_k(everyone)
        told["singled_out_together"] = told_apart(everyone, joint_least(run, others))
    output.result(told, [f"{name.replace('_', ' ')}: {value}" for name, value in told.items()])


def exported(run: Run, arguments: argparse.Namespace, output: Output) -> None:
    """Copy the ledger to a file."""
    from microagg_ops.stages.series_upkeep import export

    path = Path(needed(arguments.to, "--to"))
    many = export(run, path)
    output.result(
        {"exported": str(path), "publications": many},
        [f"The ledger of {many} publications was copied to {path}, as private as the source."],
    )


def erased(run: Run, arguments: argparse.Namespace, output: Output) -> None:
    """Have entities taken out; tell what it costs."""
    from microagg_ops.stages.series_upkeep import erase

    path = Path(needed(arguments.entity_file, "--entity-file"))
    found = erase(run, path, write=arguments.yes)
    output.result(
        asdict(found) | {"changed": arguments.yes},
        [
            f"{found.entities} of the entities are known to the series, {found.unknown} are not; "
            f"{found.published} are published, {found.waiting} wait to be.",
            f"With the next publication they are taken out, and {found.company} others with them, "
            "who are published no more in this epoch. Delete them from the source as well: while "
            "they are there the ledger must remember not to publish them.",
            DONE if arguments.yes else NOT_DONE,
        ],
    )


def rebased(run: Run, arguments: argparse.Namespace, output: Output) -> None:
    """Begin the epoch with what is published now; tell what it costs."""
    from microagg_ops.stages.series_upkeep import rebase

    many = rebase(run, write=arguments.yes)
    output.result(
        {"may_come_again": many, "changed": arguments.yes},
        [
            f"Classes last, and what was before is forgotten: {many} entities who were taken out "
            "may be published again, and the tables before and after tell them apart together.",
            DONE if arguments.yes else NOT_DONE,
        ],
    )


def rekeyed(run: Run, arguments: argparse.Namespace, output: Output) -> None:
    """Write the ledger with another key; tell who is lost."""
    from microagg_ops.stages.series_upkeep import rekey

    path = Path(needed(arguments.old_key_file, "--old-key-file"))
    many = rekey(run, path, write=arguments.yes)
    output.result(
        {"unrecognized": many, "changed": arguments.yes},
        [
            f"{many} entities of the ledger are not in the source: they keep their place in it, "
            "and should they come back they are taken for others.",
            DONE if arguments.yes else NOT_DONE,
        ],
    )


def forgotten(run: Run, arguments: argparse.Namespace, output: Output) -> None:
    """Delete the ledger."""
    from microagg_ops.stages.series_upkeep import forget

    if not arguments.yes:
        raise ReleaseError(
            "Without its ledger a series cannot go on, and nothing brings it back.",
            code="not_agreed",
            hint="Export it first. Say --yes if that is meant.",
        )
    forget(run)
    output.result({"forgotten": True}, ["The ledger was deleted. The published table stays."])


def needed(given: str | None, option: str) -> str:
    """Refuse to go on without an option."""
    if given is None:
        raise ReleaseError(f"{option} is needed.", code="no_file")
    return given


WHAT: dict[str, Callable[[Run, argparse.Namespace, Output], None]] = {
    "list": listed,
    "show": shown,
    "export": exported,
    "erase": erased,
    "rebase": rebased,
    "rekey": rekeyed,
    "forget": forgotten,
}
