"""Propensity-score utility: whether a model can tell protected rows from original ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from microagg_ops.metrics.linkage import coordinates, sampled
from microagg_ops.metrics.tables import Pairs, paired

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROWS_PER_BLOCK = 1 << 14
CATEGORIES = 20
ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Propensity:
    """How well rows can be told apart.

    Parameters
    ----------
    pmse
        Mean squared distance of the fitted probabilities from 1/2: 0 is alike, 1/4 told apart.
    expected
        What it would be on average for rows drawn from a right model of the original ones
        (Snoke, Raab, Nowok, Dibben and Slavkovic 2018); two samples of one population have twice
        as much.
    ratio
        The one over the other. Protected rows come from the original ones, so it can be near 0.
    parameters
        Of the model, its constant included.
    """

    pmse: float
    expected: float
    ratio: float
    parameters: int


def propensity(
    before: Any,
    after: Any,
    columns: Sequence[str] | None = None,
    *,
    order: int = 2,
    sample: int = 100_000,
    seed: int = 0,
) -> Propensity:
    """Fit a logistic regression that tells protected rows from original ones.

    Parameters
    ----------
    before, after, columns
        As for `standardized_loss`; all types take part.
    order
        1: each column by itself. 2: squares and products of columns too: without them a model
        does not see that spread and correlation were lost while means were kept.
    sample, seed
        As for `distance_linkage`: of larger tables a sample is drawn.
    """
    import numpy as np

    points = coordinates(paired(before, after, columns))
    chosen = sampled(points, None, sample, seed)
    points = replace(points, before=points.before[chosen], after=points.after[chosen])
    rows = 2 * len(chosen)
    terms = _terms(points)
    width = len(next(_blocks(points, terms, order))[0][0]) if rows else 1
    coefficients, likelihood = np.zeros(width), -rows * np.log(2.0)
    rank = 1
    for turn in range(ROUNDS):
        gradient, curvature = _slopes(points, terms, order, coefficients)
        # A column that follows from others, or is constant, has no coefficient of its own.
        step, _, found, _ = np.linalg.lstsq(curvature, gradient, rcond=1e-10)
        rank = int(found) if turn == 0 else rank
        better = _fit(points, terms, order, coefficients + step)[0]
        while better < likelihood and np.abs(step).max() > 1e-10:
            step = step / 2
            better = _fit(points, terms, order, coefficients + step)[0]
        if better <= likelihood:
            break
        gain, coefficients, likelihood = better - likelihood, coefficients + step, better
        if gain <= 1e-13 * rows:
            break
    pmse = _fit(points, terms, order, coefficients)[1] / max(rows, 1)
    expected = (rank - 1) / (8.0 * max(rows, 1))
    return Propensity(pmse, expected, pmse / expected if expected else 0.0, rank)


def _terms(points: Pairs) -> list[tuple[int, NDArray[np.float64]]]:
    """List the nominal columns with their most frequent categories but the first."""
    import numpy as np

    found = []
    for j in np.flatnonzero(points.nominal):
        both = np.concatenate([points.before[:, j], points.after[:, j]])
        categories, counts = np.unique(both, return_counts=True)
        frequent = categories[np.argsort(-counts, kind="stable")]
        found.append((int(j), frequent[1 : CATEGORIES + 1]))
    return found


def _blocks(
    points: Pairs, terms: list[tuple[int, NDArray[np.float64]]], order: int
) -> Iterator[tuple[NDArray[np.float64], float]]:
    """Return the model's columns for some rows at a time, and whether they are protected."""
    import numpy as np

    ordered = ~points.nominal
    first, second = np.triu_indices(int(ordered.sum()))
    for side, protected in ((points.before, 0.0), (points.after, 1.0)):
        for start in range(0, len(side), ROWS_PER_BLOCK):
            block = side[start : start + ROWS_PER_BLOCK]
            values = block[:, ordered]
            parts = [np.ones((len(block), 1)), values]
            if order > 1:
                parts.append(values[:, first] * values[:, second])
            parts += [1.0 * (block[:, [j]] == categories) for j, categories in terms]
            yield np.hstack(parts), protected


def _slopes(
    points: Pairs, terms: Any, order: int, coefficients: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gradient and curvature of the log-likelihood."""
    import numpy as np

    gradient = np.zeros(len(coefficients))
    curvature = np.zeros((len(coefficients), len(coefficients)))
    for block, protected in _blocks(points, terms, order):
        chance = _chance(block @ coefficients)
        gradient += block.T @ (protected - chance)
        curvature += (block.T * (chance * (1 - chance))) @ block
    return gradient, curvature


def _fit(
    points: Pairs, terms: Any, order: int, coefficients: NDArray[np.float64]
) -> tuple[float, float]:
    """Log-likelihood, and sum of squared distances of the probabilities from 1/2."""
    import numpy as np

    likelihood = squares = 0.0
    for block, protected in _blocks(points, terms, order):
        logit = block @ coefficients
        likelihood -= float(np.logaddexp(0.0, logit * (1 - 2 * protected)).sum())
        squares += float(((_chance(logit) - 0.5) ** 2).sum())
    return likelihood, squares


def _chance(logit: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logit, -500, 500))))
