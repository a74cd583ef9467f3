"""``microagg series``: what the ledger of a release holds, in counts; and to forget it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from microagg_ops.cli.output import Output
from microagg_ops.errors import ReleaseError

if TYPE_CHECKING:
    from microagg_ops.series.ledger import Ledger
    from microagg_ops.stages import Run

ABOUT = "list the publications of a series, show what its ledger counts, or forget it"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """Describe what series takes."""
    verb.add_argument(
        "what",
        choices=("list", "show", "forget"),
        help="list: its publications; show: history k, and who waits or is held; forget: delete "
        "the ledger, after which only a new epoch can be published",
    )
    verb.add_argument("--yes", action="store_true", help="with forget: do it")


def series(arguments: argparse.Namespace, output: Output, given: dict[str, Any]) -> None:
    """Read the ledger of a release, or delete it."""
    from microagg_ops.pipeline import make_run
    from microagg_ops.release.document import load_release
    from microagg_ops.stages.series_ledger import store_of

    release = load_release(arguments.file)
    if not release.series.is_kept:
        raise ReleaseError(
            "The release keeps no series.", hint="Set series.protect and series.ledger."
        )
    run = make_run(release, "memory", **given)
    if arguments.what == "forget":
        forget(run, output, arguments.yes)
        return
    ledger = store_of(run).read()
    if ledger is None:
        raise ReleaseError("The series has no ledger yet.", code="no_ledger")
    WHAT[arguments.what](run, ledger, output)


def listed(run: Run, ledger: Ledger, output: Output) -> None:
    """List the publications."""
    told = [
        {"number": one.number, "run_id": one.run_id, "at": one.at, "digest": one.digest}
        for one in ledger.publications
    ]
    lines = [f"{one['number']:>5}  {one['at']}  {one['run_id']}  {one['digest']}" for one in told]
    output.result({"publications": told}, lines)


def shown(run: Run, ledger: Ledger, output: Output) -> None:
    """Show what the ledger counts; all of it is for the inside."""
    from microagg_ops.series.together import joint_k, told_apart
    from microagg_ops.series.traces import history_k, singled_out
    from microagg_ops.stages.series_others import joint_least, others_of

    k, others = run.release.k, others_of(run, ledger)

    told: dict[str, Any] = {
        "series": ledger.series,
        "epoch": ledger.epoch or None,
        "publications": len(ledger.publications),
        "classes": len(ledger.classes),
        "entities": sum(map(len, ledger.current().values())),
        "waiting": len(ledger.waiting),
        "held": len(ledger.gone),
        "history_k": history_k(ledger),
        "singled_out_by_epochs": singled_out(ledger, k) if ledger.began > 1 else 0,
    }
    if run.release.series.others:
        everyone = [ledger, *others]
        told["with"] = [other.series for other in others]
        told["history_k_together"] = joint_k(everyone)
        told["singled_out_together"] = told_apart(everyone, joint_least(run, others))
    output.result(told, [f"{name.replace('_', ' ')}: {value}" for name, value in told.items()])


def forget(run: Run, output: Output, agreed: bool) -> None:
    """Delete the ledger; what was published stays, and what it tells together with new tables."""
    from microagg_ops.stages.ledgers import NEXT
    from microagg_ops.stages.series_ledger import store_of

    if not agreed:
        raise ReleaseError(
            "Without its ledger a series cannot go on, and nothing brings it back.",
            code="not_agreed",
            hint="Say --yes if that is meant.",
        )
    store = store_of(run)
    with store.locked():
        for which in ("", NEXT):
            store.write(None, which)
    output.result({"forgotten": True}, ["The ledger was deleted. The published table stays."])


WHAT: dict[str, Callable[[Run, Ledger, Output], None]] = {"list": listed, "show": shown}
