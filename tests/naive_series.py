"""The slow, obvious oracle of history k: from what was published, with nothing but dictionaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

# The same by plain SQL, from a table or frame `ledger`.
HISTORY_K = """
    with steps as (
        select entity, class, since, until, changed from ledger
        where part = 'member' and since >= (select since from ledger where part = 'series')
    ), traces as (
        select entity, string_agg(
            concat_ws('/', class, since, coalesce(until, 0), changed), ';' order by since
        ) as trace from steps group by entity
    )
    select min(many) from (select count(*) as many from traces group by trace) as counted
"""
# One publication: entity to (class, record of the entity as published).
Publication = Mapping[str, tuple[Any, tuple[Any, ...]]]


def history_k(publications: Sequence[Publication]) -> int | None:
    """Group entities by their whole sequence of classes; absence is one, a change tells apart."""
    return joint_k([publications])


def joint_k(series: Sequence[Sequence[Publication]]) -> int | None:
    """Group entities by their sequences in all series, absence from a whole series too."""
    everybody = {entity for publications in series for one in publications for entity in one}
    told = [sequences(publications, everybody) for publications in series]
    return min(Counter(zip(*told, strict=True)).values(), default=None)


def sequences(publications: Sequence[Publication], everybody: set[Any]) -> list[Any]:
    """Write down of each entity what the tables of a series say of it."""
    found = []
    for entity in sorted(everybody):
        sequence: list[Any] = []
        last: tuple[Any, ...] | None = None
        for one in publications:
            if entity not in one:
                sequence.append(None)
                continue
            group, record = one[entity]
            other = () if last is None else tuple(a != b for a, b in zip(last, record, strict=True))
            sequence.append((group, other if any(other) else ()))
            last = record
        found.append(tuple(sequence))
    return found


def changed_parts(earlier: Publication, later: Publication) -> list[int]:
    """Count who is behind each change of a class: who came to it, and who left it."""
    found = []
    for group in {g for one in (earlier, later) for g, _ in one.values()}:
        before, after = ({e for e, (g, _) in one.items() if g == group} for one in (earlier, later))
        found += [len(part) for part in (before - after, after - before) if part]
    return found
