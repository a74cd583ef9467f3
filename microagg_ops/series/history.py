"""History k by construction: who stays in which class, who leaves it, who waits, who is born anew.

A class is published as it was born, row for row, until it ends. Only k or more of its members leave
it, all at once and all for one reason, and either k or more or none remain. Whose values changed
leaves with others who changed in the same columns, and they are born again together; who is no
longer in the source leaves with others who are not, or (`retire`) takes company along that is then
published no more. Newcomers wait until k of them are near each other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from microagg_ops.series.ledger import Ledger, Member

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Enough = Callable[[Sequence[Member]], bool]
DIGITS = 16  # of the digest of a cell


@dataclass(frozen=True)
class Rules:
    """What a series demands.

    Parameters
    ----------
    k
        The least number of entities that leave, stay, or are born together.
    hold
        For how many publications a leaver is held before he takes company along; ``None`` holds
        him until k leave.
    patience
        After how many publications newcomers wait for near ones no longer.
    near
        Newcomers are near if their mean squared distance in a class is at most this many times
        that of the first classes.
    """

    k: int
    hold: int | None = None
    patience: int = 7
    near: float = 2.0


@dataclass(frozen=True)
class Present:
    """Who is in the source now.

    Parameters
    ----------
    entities
        Keyed digests, each once.
    records
        The digests of their cells, joined, in the same order.
    blocks
        Where each would be published: entities of two blocks never share a class.
    """

    entities: Sequence[str]
    records: Sequence[str]
    blocks: Sequence[Hashable]


@dataclass
class Plan:
    """What becomes of everybody at the next publication.

    Parameters
    ----------
    kept
        The classes that last, with the members that stay.
    moved
        Groups of members that are born again together, each as places in `Present`.
    changed
        Of those: the bits of the columns that changed.
    newcomers
        Places in `Present` of who was never published.
    left, retired
        How many left in company of leavers, and how many were taken along.
    """

    kept: dict[str, list[Member]] = field(default_factory=dict)
    moved: list[list[int]] = field(default_factory=list)
    changed: dict[int, int] = field(default_factory=dict)
    newcomers: list[int] = field(default_factory=list)
    gone: dict[str, int] = field(default_factory=dict)
    left: int = 0
    retired: int = 0
    stale: int = 0
    out: int = 0


def plan(ledger: Ledger, present: Present, rules: Rules, enough: Enough = bool) -> Plan:
    """Decide who stays, leaves, moves and arrives.

    Parameters
    ----------
    ledger
        What was published.
    present
        Who is in the source.
    rules
        What must hold.
    enough
        Whether members can be told apart as a group by what else must hold of a class (l).
    """
    found = Plan()
    places = {entity: place for place, entity in enumerate(present.entities)}
    for name, members in ledger.current().items():
        stay = _moved(found, members, present, places, rules=rules, enough=enough)
        stay = _left(found, ledger, stay, places, rules=rules, enough=enough)
        if stay:
            found.kept[name] = stay
        for member in stay:
            place = places.get(member.entity)
            if place is None:
                found.gone[member.entity] = ledger.gone.get(member.entity, ledger.next)
            elif present.records[place] != member.record:
                found.stale += 1
    known = {m.entity for m in ledger.in_epoch()}
    lasting = {m.entity for members in found.kept.values() for m in members}
    lasting |= {present.entities[place] for group in found.moved for place in group}
    found.newcomers = [p for p, entity in enumerate(present.entities) if entity not in known]
    found.out = sum(entity in known and entity not in lasting for entity in present.entities)
    return found


def _moved(
    found: Plan,
    members: list[Member],
    present: Present,
    places: Mapping[str, int],
    *,
    rules: Rules,
    enough: Enough,
) -> list[Member]:
    """Let those leave who changed in the same columns and would be published in one block."""
    groups: dict[Hashable, list[Member]] = {}
    for member in members:
        place = places.get(member.entity)
        if place is not None and present.records[place] != member.record:
            mask = changed_columns(member.record, present.records[place])
            groups.setdefault((mask, present.blocks[place]), []).append(member)
    for (mask, _), group in sorted(groups.items(), key=lambda g: (-len(g[1]), g[1][0].place)):  # type: ignore[misc]
        rest = without(members, group)
        if can_part(group, rest, rules.k, enough):
            members = rest
            found.moved.append([places[m.entity] for m in group])
            found.changed |= {places[m.entity]: mask for m in group}
    return members


def _left(
    found: Plan,
    ledger: Ledger,
    members: list[Member],
    places: Mapping[str, int],
    *,
    rules: Rules,
    enough: Enough,
) -> list[Member]:
    """Let leavers leave, k at once; who was held too long, or is erased, takes company along."""
    left = [m for m in members if m.entity not in places]
    rest = without(members, left)
    if can_part(left, rest, rules.k, enough):
        found.left += len(left)
        return rest
    since = min((ledger.gone.get(m.entity, ledger.next) for m in left), default=ledger.next)
    waits = rules.hold is None or ledger.next - since < rules.hold
    if not left or (waits and not any(m.entity in ledger.erase for m in left)):
        return members
    # Whom it takes along is decided by keyed digests: at random for everybody else.
    company = sorted(rest)[: max(0, rules.k - len(left))]
    together, others = [*left, *company], without(rest, company)
    if not can_part(together, others, rules.k, enough):
        together, others = members, []
    found.left += len(left)
    found.retired += len(together) - len(left)
    return others


def can_part(group: Sequence[Member], rest: Sequence[Member], k: int, enough: Enough) -> bool:
    """Say whether two parts of a class may be told apart from now on."""
    whole = not rest or (len(rest) >= k and enough(rest))
    return len(group) >= k and whole and (not rest or enough(group))


def without(members: Iterable[Member], group: Iterable[Member]) -> list[Member]:
    """Take a group out of others."""
    gone = {m.entity for m in group}
    return [m for m in members if m.entity not in gone]


def changed_columns(before: str, after: str) -> int:
    """Set a bit for each column whose digest differs."""
    return sum(
        1 << j
        for j, at in enumerate(range(0, len(after), DIGITS))
        if before[at : at + DIGITS] != after[at : at + DIGITS]
    )


def born(
    ledger: Ledger,
    present: Present,
    clusters: Iterable[NDArray[np.int64]],
    distances: NDArray[np.float64],
    rules: Rules,
) -> Iterator[list[int]]:
    """Choose the clusters of newcomers that become classes now; the others wait.

    Parameters
    ----------
    clusters
        Places of newcomers, k or more in each.
    distances
        Of each place its squared distance from the centre of its cluster.
    """
    first = ledger.spread is None
    limit = 0.0 if ledger.spread is None else rules.near * ledger.spread
    for cluster in clusters:
        waited = min(ledger.waiting.get(present.entities[p], ledger.next) for p in cluster)
        patient = ledger.next - waited < rules.patience
        if first or not patient or distances[cluster].mean() <= limit:
            yield [int(place) for place in cluster]


def settled(
    ledger: Ledger,
    present: Present,
    decided: Plan,
    births: Sequence[Sequence[int]],
    spread: float | None,
) -> tuple[Ledger, dict[str, list[int]]]:
    """Write the next publication into a ledger; its digests are added when it is published.

    Returns
    -------
    ledger, classes
        The ledger, in which newborn classes have no rows yet; and these, with their members'
        places in `Present` in the order of their rows.
    """
    number = ledger.next
    kept = {m.entity: m._replace(place=i) for those in decided.kept.values()
            for i, m in enumerate(those)}  # fmt: skip
    members = [
        m if m.until is not None else kept.get(m.entity) or m._replace(until=number - 1)
        for m in ledger.members
    ]
    fresh: dict[str, list[int]] = {}
    for i, cluster in enumerate(births):
        name = f"{number}.{i}"
        fresh[name] = list(cluster)
        members += [
            Member(present.entities[p], name, number, None, decided.changed.get(p, 0), j,
                   present.records[p])
            for j, p in enumerate(cluster)
        ]  # fmt: skip
    published = {p for cluster in births for p in cluster}
    waiting = {
        present.entities[p]: ledger.waiting.get(present.entities[p], number)
        for p in decided.newcomers
        if p not in published
    }
    return replace(
        ledger,
        spread=spread if ledger.spread is None else ledger.spread,
        members=tuple(members),
        classes={name: ledger.classes[name] for name in decided.kept},
        waiting=waiting,
        gone=decided.gone,
    ), fresh


def shrunk(ledger: Ledger, earlier: Ledger) -> Ledger:
    """Leave of each class that lasts the rows of the members that stay."""
    there = earlier.current()
    classes = dict(ledger.classes)
    for name, members in ledger.current().items():
        if name in there and len(there[name]) > len(members):
            was = {m.entity: m.place for m in there[name]}
            classes[name] = earlier.classes[name].take([was[m.entity] for m in members])
    return replace(ledger, classes=classes)
