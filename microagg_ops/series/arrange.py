"""The next publication of a series: classes that last, and those that are born."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.series.history import Plan, Present, Rules, born, plan, settled, shrunk
from microagg_ops.series.ledger import Ledger
from microagg_ops.series.together import Elsewhere

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    # Places of entities to labels; every cluster has k of them or more.
    Find = Callable[[NDArray[np.int64]], NDArray[np.int32]]


NOWHERE = Elsewhere()


@dataclass(frozen=True)
class Arranged:
    """The next publication.

    Parameters
    ----------
    ledger
        The ledger with it; newborn classes have no rows yet.
    fresh
        Newborn class to the places of its members, in the order of its rows.
    decided
        What became of everybody.
    """

    ledger: Ledger
    fresh: Mapping[str, list[int]]
    decided: Plan

    def counts(self) -> dict[str, int]:
        """Count whom the series keeps from being published as they are."""
        found, number = self.decided, self.ledger.next
        waited = [number - since for since in self.ledger.waiting.values()]
        return {
            "waiting": len(waited),
            "longest_wait": max(waited, default=0),
            "held": len(found.gone),
            "longest_hold": number - min(found.gone.values(), default=number),
            "stale": found.stale,
            "out": found.out,
            "left": found.left,
            "retired": found.retired,
            "born": sum(map(len, self.fresh.values())) - len(found.changed),
            "renewed": len(found.changed),
        }


def arrange(
    ledger: Ledger,
    present: Present,
    points: NDArray[np.float64],
    *,
    rules: Rules,
    find: Find,
    enough: Callable[[Sequence[Any]], bool] = bool,
    elsewhere: Elsewhere = NOWHERE,
) -> Arranged:
    """Decide on the next publication.

    Parameters
    ----------
    ledger, present, rules, enough
        As for `plan`.
    points : (entities, dimensions)
        Where each is that is present.
    find
        Finds clusters of the places that it is given.
    elsewhere
        What other series tell of everybody; blocks must tell their traces apart.
    """
    import numpy as np

    decided = plan(ledger, present, rules, enough)
    blocks: dict[Any, list[int]] = {}
    for place in decided.newcomers:
        blocks.setdefault(present.blocks[place], []).append(place)
    distances = np.zeros(len(points))
    near: list[NDArray[np.int64]] = []
    for those in blocks.values():
        if len(those) >= rules.k:
            for cluster in clusters(np.array(those), find):
                centre = points[cluster].mean(0)
                distances[cluster] = np.square(points[cluster] - centre).sum(1)
                near.append(cluster)
    births = list(born(ledger, present, near, distances, rules))
    births = elsewhere.lets_be_born(births, present.entities)
    first = [place for cluster in births for place in cluster]
    spread = float(distances[first].mean()) if first else None
    for group in decided.moved:
        births += [[int(p) for p in part] for part in clusters(np.array(group), find)]
    following, fresh = settled(ledger, present, decided, births, spread)
    return Arranged(shrunk(following, ledger), fresh, decided)


def clusters(places: NDArray[np.int64], find: Find) -> list[NDArray[np.int64]]:
    """List the clusters of some places."""
    import numpy as np

    labels = find(places)
    order = np.argsort(labels, kind="stable")
    return np.split(places[order], np.flatnonzero(np.diff(labels[order])) + 1)
