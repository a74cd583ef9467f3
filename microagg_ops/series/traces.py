"""History k: how many entities share what all tables of a series say of one of them.

The trace of an entity is the list of the classes that it was published in, each with the
publications from and to which, and with the columns in which its record had changed. To have been
published in none counts as one class more. `history_k` is the least number of entities with one
trace: whatever sums, counts and multisets of classes are added and subtracted, over all tables,
the result is about whole groups of entities with one trace each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from microagg_ops.series.ledger import Ledger, Member

Trace = tuple[tuple[str, int, int | None, int], ...]


def traces(members: Iterable[Member]) -> dict[str, Trace]:
    """Find the trace of each entity."""
    found: dict[str, list[tuple[str, int, int | None, int]]] = {}
    for m in members:
        found.setdefault(m.entity, []).append((m.group, m.since, m.until, m.changed))
    return {entity: tuple(sorted(steps, key=lambda s: s[1])) for entity, steps in found.items()}


def history_k(ledger: Ledger) -> int | None:
    """Count the entities of the rarest trace of this epoch; ``None`` while nobody was published."""
    return min(Counter(traces(ledger.in_epoch()).values()).values(), default=None)


def singled_out(ledger: Ledger, k: int) -> int:
    """Count the entities that all epochs together tell from all but fewer than k."""
    found = Counter(traces(ledger.members).values())
    return sum(many for many in found.values() if many < k)
