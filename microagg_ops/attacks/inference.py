"""Inference: the attacker knows the quasi-identifiers of somebody, and guesses a sensitive value.

He takes the published rows that are nearest, which are a class, and of these the most frequent
value; of numbers the median, which is right within five percent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.attacks.ground import Ground
from microagg_ops.attacks.linkability import TRIED
from microagg_ops.attacks.rates import Risk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOLERANCE = 0.05


def inference(ground: Ground, sensitive: list[str]) -> dict[str, Risk]:
    """Guess sensitive columns of people who are in the release and of people who are not."""
    if not sensitive:
        return {}
    classes = ground.alike(ground.quasi)
    sides = ground.members, ground.others
    tried = [side.people(TRIED, ground.seed) for side in sides]
    near = [
        ground.nearest(side, chosen, ground.quasi)
        for side, chosen in zip(sides, tried, strict=True)
    ]
    found = {}
    for name in sensitive:
        guesses = guess(ground, name, classes)
        slack = 0.0 if name in ground.unordered else TOLERANCE
        right = [
            matches(side.values[name][chosen[rows >= 0]], guesses[rows[rows >= 0]], slack)
            for side, chosen, rows in zip(sides, tried, near, strict=True)
        ]
        found[name] = Risk(len(tried[0]), right[0], len(tried[1]), right[1])
    return found


def guess(ground: Ground, name: str, classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Guess the value of each class, by the number of its first row; ties to the lowest."""
    import numpy as np

    values = ground.published.values[name]
    guesses = np.full(len(values), np.nan)
    order = np.lexsort((values, classes))  # NaN is last
    starts = np.flatnonzero(np.append(True, np.diff(classes[order]) > 0))
    ends = np.append(starts[1:], len(order))
    if name not in ground.unordered:
        known = np.add.reduceat(~np.isnan(values[order]), starts)
        middle = starts + np.maximum(known - 1, 0) // 2
        guesses[classes[order][starts]] = values[order][middle]
        return guesses
    # Runs of one value in one class: of each class the longest, and the first of those.
    sorted_values, sorted_classes = values[order], classes[order]
    new = np.append(True, (np.diff(sorted_values) != 0) | (np.diff(sorted_classes) != 0))
    runs = np.flatnonzero(new)
    lengths = np.diff(np.append(runs, ends[-1]))
    best = np.lexsort((runs, -lengths, sorted_classes[runs]))
    firsts = np.unique(sorted_classes[runs][best], return_index=True)[1]
    chosen = runs[best[firsts]]
    guesses[sorted_classes[chosen]] = sorted_values[chosen]
    return guesses


def matches(true: NDArray[np.float64], guessed: NDArray[np.float64], slack: float) -> int:
    """Count the values that are guessed rightly, within a share of themselves."""
    import numpy as np

    return int((np.abs(guessed - true) <= slack * np.abs(true)).sum())
