"""Singling out: the attacker makes predicates that he thinks are true of one person alone.

He takes values of published rows. Of one column: a value, or at least or at most a number as far
out as it is. Of several columns: categories, and numbers as far out. Of many predicates he keeps
those that match the fewest published rows. One succeeds where it is true of exactly one entity.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING

from microagg_ops.attacks.ground import Ground, Side
from microagg_ops.attacks.rates import Risk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    # Column, comparison and value of each condition.
    Predicate = tuple[tuple[str, str, float], ...]

# Predicates that are drawn, that are kept at most, and that are kept although others match fewer.
DRAWN, KEPT, ENOUGH = 5_000, 2_000, 500
MOST_COLUMNS = 4
COMPARE = {"=": operator.eq, ">=": operator.ge, "<=": operator.le}


def singling_out(ground: Ground) -> Risk:
    """Try predicates on people who are in the release and on people who are not.

    Those of one column and those of several are two attacks; the one that finds out more counts.
    """
    most = min(MOST_COLUMNS, len(ground.published.values))
    tried = [attempt(ground, 1, 1), *([attempt(ground, 2, most)] if most > 1 else [])]
    return max(tried, key=lambda risk: (risk.high, risk.risk))


def attempt(ground: Ground, fewest: int, most: int) -> Risk:
    """Try predicates over a given number of columns."""
    drawn = sorted(set(predicates(ground, fewest, most)))
    counts = [len(matching(ground.published, one)) for one in drawn]
    ranked = sorted(zip(counts, drawn, strict=True))[:KEPT]
    enough = ranked[:ENOUGH][-1][0]
    kept = [one for count, one in ranked if count <= enough]
    found = [sum(isolates(side, one) for one in kept) for side in (ground.members, ground.others)]
    return Risk(len(kept), found[0], len(kept), found[1])


def predicates(ground: Ground, fewest: int, most: int) -> Iterator[Predicate]:
    """Draw predicates over a given number of columns from published rows."""
    import numpy as np

    rng, values = np.random.default_rng(ground.seed), ground.published.values
    names = sorted(values)
    middle = {name: known_median(values[name]) for name in names}
    for row in rng.integers(0, len(ground.published), DRAWN):
        many = int(rng.integers(fewest, most + 1))
        equal = many == 1 and bool(rng.integers(2))
        conditions = []
        for j in sorted(rng.choice(len(names), many, replace=False)):
            name, value = names[j], float(values[names[j]][row])
            if np.isnan(value):
                how, value = "null", 0.0
            elif equal or name in ground.unordered:
                how = "="
            else:
                how = ">=" if value >= middle[name] else "<="
            conditions.append((name, how, value))
        yield tuple(conditions)


def known_median(values: NDArray[np.float64]) -> float:
    """Find the median of what is not NULL."""
    import numpy as np

    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


def matching(side: Side, predicate: Predicate) -> NDArray[np.int64]:
    """List the rows of which a predicate is true, the narrowest condition first."""
    import numpy as np

    spans = [side.span(*condition) for condition in predicate]
    narrowest = min(range(len(spans)), key=lambda i: spans[i][1] - spans[i][0])
    start, stop = spans[narrowest]
    rows = np.sort(side.ordered(predicate[narrowest][0])[0][start:stop])
    for i, (name, how, value) in enumerate(predicate):
        if i != narrowest:
            column = side.values[name][rows]
            rows = rows[np.isnan(column) if how == "null" else COMPARE[how](column, value)]
    return rows


def isolates(side: Side, predicate: Predicate) -> bool:
    """Say whether a predicate is true of exactly one entity."""
    found = side.entities[matching(side, predicate)]
    return bool(len(found)) and bool((found == found[0]).all())
