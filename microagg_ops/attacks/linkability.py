"""Linkability: the attacker holds two halves of somebody's quasi-identifiers, from two sources.

He looks each half up among the published rows. Where one and the same row is nearest to both, he
takes them to belong to one person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.attacks.ground import Ground, Side
from microagg_ops.attacks.rates import Risk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# People who are attacked at most: enough for an interval of about a percent.
TRIED = 20_000


def linkability(ground: Ground) -> Risk | None:
    """Link halves of the quasi-identifiers; nothing where there is one alone."""
    import numpy as np

    names = ground.quasi
    if len(names) < 2:
        return None
    halves = names[0::2], names[1::2]
    rows = len(ground.published)
    first, second = (ground.alike(half) for half in halves)
    published = np.unique(first * rows + second)

    def linked(people: Side, chosen: NDArray[np.int64]) -> int:
        one, two = (ground.nearest(people, chosen, half) for half in halves)
        return int((np.isin(one * rows + two, published) & (one >= 0)).sum())

    tried = [side.people(TRIED, ground.seed) for side in (ground.members, ground.others)]
    return Risk(
        len(tried[0]), linked(ground.members, tried[0]),
        len(tried[1]), linked(ground.others, tried[1]),
    )  # fmt: skip
