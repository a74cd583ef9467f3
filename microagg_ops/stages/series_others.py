"""The other releases about the same people that a series is counted together with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from microagg_ops.errors import DataError, DisclosureError, StagingError
from microagg_ops.series.ledger import Ledger
from microagg_ops.series.together import joint_k, least_k
from microagg_ops.stages.ledgers import NEXT, LedgerStore
from microagg_ops.stages.run import Run
from microagg_ops.stages.series_ledger import KEEP, ledger_key, place_store, store_of


def others_of(run: Run, ledger: Ledger | None = None) -> list[Ledger]:
    """Read the ledgers of the other releases; one that was never published has none.

    Parameters
    ----------
    run
        The run.
    ledger
        The own one: whom it knows of the others must not be gone.
    """
    found = []
    for name, store in stores(run):
        with store.locked():
            other = settled(name, store)
        check_other(run, name, other, ledger)
        if other is not None:
            found.append(other)
    return found


def stores(run: Run) -> Iterator[tuple[str, LedgerStore]]:
    """Find the place of each ledger."""
    for other in run.release.series.others:
        yield other.release, place_store(run, other.ledger)


def settled(name: str, store: LedgerStore) -> Ledger | None:
    """Read the ledger of another release, unless a run of it has not ended."""
    if store.read(NEXT) is not None:
        raise StagingError(
            f"A run of {name!r} publishes now, or died while it did.",
            code="other_unsettled",
            hint=f"Run {name!r} first, which settles its ledger; then run this release. {KEEP}",
        )
    return store.read()


def check_other(run: Run, name: str, other: Ledger | None, ledger: Ledger | None) -> None:
    """Refuse a ledger that is gone, older than it was, of another release or of another key."""
    seen = 0 if ledger is None else ledger.seen.get(name, 0)
    if len(other.publications if other else ()) < seen:
        raise DataError(
            f"The ledger of {name!r} is gone, or older than it was.",
            code="lost_ledger",
            hint=f"Restore it: what its tables tell of people cannot be counted without it. {KEEP}",
        )
    if other is None:
        return
    if (other.series, other.key) != (name, ledger_key(run, name)):
        raise DataError(
            f"The ledger that series.with has for {name!r} is of another release, or was kept "
            "with another key.",
            code="other_ledger",
            hint=f"Name its place (series.with: [{{release: {name}, ledger: …}}]), and sign both "
            f"releases with one key. {KEEP}",
        )


def check_shared(other: Ledger, entities: Sequence[str]) -> None:
    """Refuse another release whose people are all others: keys are then written otherwise."""
    name = other.series
    if other.in_epoch() and {m.entity for m in other.in_epoch()}.isdisjoint(entities):
        raise DataError(
            f"None of the entities of {name!r} is an entity here.",
            code="no_shared_entities",
            hint="columns.entity must be the same key, of the same type, in both. If they are "
            f"really about other people, take {name!r} out of series.with. {KEEP}",
        )


def noted(ledger: Ledger, others: Sequence[Ledger]) -> Ledger:
    """Write down how far the others were."""
    seen = {other.series: len(other.publications) for other in others}
    return replace(ledger, seen=dict(ledger.seen) | seen)


def joint_least(run: Run, others: Sequence[Ledger]) -> int:
    """Find the least number of entities that a joint class may have."""
    return least_k(run.release.k, others)


@contextmanager
def alone(run: Run, ledger: Ledger | None) -> Iterator[None]:
    """Hold the ledger and those of the others while a table is published; count k beside them.

    They are taken in an order that all releases share: so no two runs wait for each other.
    """
    with ExitStack() as held:
        if ledger is not None:
            others = list(stores(run))
            everyone = [store_of(run), *(store for _, store in others)]
            for store in sorted(everyone, key=lambda one: one.name):
                held.enter_context(store.locked())
            recount_together(run, ledger, [(name, settled(name, store)) for name, store in others])
        yield


def recount_together(run: Run, ledger: Ledger, found: Sequence[tuple[str, Ledger | None]]) -> None:
    """Count k of joint classes once more, on what the others have published by now."""
    for name, other in found:
        check_other(run, name, other, ledger)
    others = [other for _, other in found if other is not None]
    k = joint_k([ledger, *others])
    if others and (k is None or k < joint_least(run, others)):
        raise DisclosureError(
            f"Counted again: over the tables of this series and of {named(others)} fewer than "
            f"k = {joint_least(run, others)} entities share their classes.",
            hint=f"Run the release again from the start. {KEEP}",
        )


def named(others: Sequence[Ledger]) -> str:
    """Name other releases in a sentence."""
    return " and ".join(repr(other.series) for other in others)
