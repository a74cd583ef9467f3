"""Several series about the same people: what all of their tables tell together.

Whoever reads the tables of several releases knows of an entity its trace in each of them. So k is
counted over these joint classes; an entity that a release never published has no trace there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from microagg_ops.series.ledger import Ledger, Member
from microagg_ops.series.traces import Trace, traces

Joint = tuple[Trace, ...]


def joint_traces(ledgers: Sequence[Ledger]) -> dict[str, Joint]:
    """Find the traces of everybody whom any of the series published in its epoch."""
    each = [traces(ledger.in_epoch()) for ledger in ledgers]
    everybody = dict.fromkeys(entity for found in each for entity in found)
    return {entity: tuple(found.get(entity, ()) for found in each) for entity in everybody}


def joint_k(ledgers: Sequence[Ledger]) -> int | None:
    """Count the entities of the rarest joint class; ``None`` while nobody was published."""
    return min(Counter(joint_traces(ledgers).values()).values(), default=None)


def told_apart(ledgers: Sequence[Ledger], k: int) -> int:
    """Count the entities that the series together tell from all but fewer than k."""
    found = Counter(joint_traces(ledgers).values())
    return sum(many for many in found.values() if many < k)


def least_k(k: int, others: Sequence[Ledger]) -> int:
    """Find the k of joint classes: no series promises more than its own."""
    return min([k, *(ledger.k for ledger in others if ledger.k)])


@dataclass(frozen=True)
class Elsewhere:
    """What other series tell of everybody, for a series that must not tell more beside them.

    Parameters
    ----------
    traces
        Entity to its traces in the other series, if it has any.
    k
        The least number of entities of a joint class.
    known
        Who was published in the own series.
    """

    traces: Mapping[str, Joint] = field(default_factory=dict)
    k: int = 0
    known: frozenset[str] = frozenset()

    @classmethod
    def of(cls, ledger: Ledger, others: Sequence[Ledger], k: int) -> Elsewhere:
        """Collect what the others tell."""
        known = frozenset(m.entity for m in ledger.in_epoch())
        return cls(joint_traces(others), least_k(k, others), known)

    def of_entity(self, entity: str) -> Joint:
        """Find the traces of an entity."""
        return self.traces.get(entity, ())

    def lets_part(self, members: Sequence[Member]) -> bool:
        """Whether members can be told apart as a group: with k of every trace among them."""
        found = Counter(self.of_entity(m.entity) for m in members)
        return not self.traces or min(found.values(), default=self.k) >= self.k

    def lets_be_born(
        self, clusters: Sequence[list[int]], entities: Sequence[str]
    ) -> list[list[int]]:
        """Take the clusters that leave none or k of those with the same traces unpublished.

        Each cluster is within one trace, and has k entities: one that waits leaves enough.
        """
        left = Counter(
            trace for entity, trace in self.traces.items() if entity not in self.known
        )  # fmt: skip
        whose = [self.of_entity(entities[cluster[0]]) for cluster in clusters]
        for trace, cluster in zip(whose, clusters, strict=True):
            left[trace] -= len(cluster)
        taken = []
        for trace, cluster in zip(whose, clusters, strict=True):
            if trace and 0 < left[trace] < self.k:
                left[trace] += len(cluster)
            else:
                taken.append(cluster)
        return taken
