"""What is done to a ledger between publications: erasures, retention, another base, another key."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from microagg_ops.series.history import DIGITS, Enough, Present, Rules, plan
from microagg_ops.series.ledger import Ledger, Member

ERASED = "erased "


@dataclass(frozen=True)
class Erasure:
    """What an erasure costs.

    Parameters
    ----------
    entities
        How many of those who are to be erased the series knows.
    published, waiting
        How many of them are published, and how many wait to be.
    unknown
        How many it does not know.
    company
        How many others are taken out with them, and published no more in this epoch.
    """

    entities: int
    published: int
    waiting: int
    unknown: int
    company: int


def erased(
    ledger: Ledger, entities: Sequence[str], rules: Rules, enough: Enough = bool
) -> tuple[Ledger, Erasure]:
    """Have entities taken out with the next publication, and tell what that costs."""
    asked = set(entities)
    known = asked & {m.entity for m in ledger.members}
    waiting = asked & set(ledger.waiting)
    marked = replace(
        ledger,
        erase=dict(ledger.erase) | dict.fromkeys(sorted(asked), ledger.next),
        waiting={e: since for e, since in ledger.waiting.items() if e not in asked},
        revision=ledger.revision + 1,
    )
    lasting = [m for those in ledger.current().values() for m in those]
    still = [m for m in lasting if m.entity not in marked.erase and m.entity not in ledger.gone]
    present = Present([m.entity for m in still], [m.record for m in still], [()] * len(still))
    company = plan(marked, present, rules, enough).retired
    published = sum(m.entity in asked for m in lasting)
    found = Erasure(
        len(known | waiting), published, len(waiting), len(asked - known - waiting), company
    )
    return marked, found


def forgotten(ledger: Ledger, there: Collection[str]) -> Ledger:
    """Make those who were erased, and are published no more, unrecognizable.

    Parameters
    ----------
    ledger
        The next ledger: their steps are counted on, under names that mean nobody.
    there
        Who of them is still in the source: they are remembered, and not published again.
    """
    lasting = {m.entity for m in ledger.members if m.until is None}
    over = [entity for entity in ledger.erase if entity not in lasting]
    names = {entity: ERASED + secrets.token_hex(8) for entity in over}
    return replace(
        ledger,
        members=tuple(m._replace(entity=names[m.entity], record="") if m.entity in names else m
                      for m in ledger.members),
        gone={e: since for e, since in ledger.gone.items() if e not in names},
        erase={e: n for e, n in ledger.erase.items() if e in lasting or e in there},
    )  # fmt: skip


def remembering(ledger: Ledger, publications: int | None) -> Ledger:
    """Forget the steps that ended a given number of publications ago.

    Who had one trace has one trace still, so history k never falls; but whoever was taken out is a
    newcomer from then on.
    """
    if publications is None:
        return ledger
    first = ledger.next - publications
    members = tuple(m for m in ledger.members if m.until is None or m.until >= first)
    return replace(ledger, members=members)


def rebased(ledger: Ledger) -> tuple[Ledger, int]:
    """Let what is published now be the beginning of the epoch; give who may come again.

    Classes last. What was before is forgotten, so that those who were taken out are newcomers: the
    tables before and after single them out together.
    """
    began = len(ledger.publications)
    lasting = [m for m in ledger.members if m.until is None]
    again = {m.entity for m in ledger.members} - {m.entity for m in lasting}
    members = tuple(m._replace(since=began, changed=0) for m in lasting)
    found = replace(ledger, began=began, members=members, revision=ledger.revision + 1)
    return found, len(again)


def rekeyed(
    ledger: Ledger, key: str, now: Mapping[str, tuple[str, str, str]]
) -> tuple[Ledger, int]:
    """Write the digests of a ledger with another key; give how many could not be.

    Parameters
    ----------
    ledger
        A ledger.
    key
        The digest of its name with the new key.
    now
        Of who is in the source: the old digest of the entity to the new one, and to the old and the
        new digests of its record. Nobody else can be recognized any more.
    """

    def renamed(entity: str) -> str:
        return now[entity][0] if entity in now else entity

    def again(m: Member) -> Member:
        if m.entity not in now:
            return m
        name, old, new = now[m.entity]
        # A value that has changed since is like none with the new key, as it was with the old one.
        cells = range(0, len(m.record), DIGITS)
        record = "".join(
            new[at : at + DIGITS]
            if m.record[at : at + DIGITS] == old[at : at + DIGITS]
            else m.record[at : at + DIGITS]
            for at in cells
        )
        return m._replace(entity=name, record=record)

    known = {m.entity for m in ledger.members} | set(ledger.waiting)
    found = replace(
        ledger,
        key=key,
        members=tuple(map(again, ledger.members)),
        waiting={renamed(e): since for e, since in ledger.waiting.items()},
        gone={renamed(e): since for e, since in ledger.gone.items()},
        erase={renamed(e): since for e, since in ledger.erase.items()},
        revision=ledger.revision + 1,
    )
    return found, len(known - set(now))
