"""How likely a person is found, by what the attacker knows and wants.

===========  ===================================================================================
prosecutor   knows that the target is in the table, and looks for that one person
journalist   knows only that the target is in the population, and looks for anybody
marketer     links all rows to a register of the population, and wants many right links
===========  ===================================================================================

El Emam, Guide to the De-Identification of Personal Health Information, CRC Press 2013; Dankar and
El Emam, A method for evaluating marketer re-identification risk, EDBT/ICDT Workshops 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.metrics.tables import Columns, row_classes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# From this class size on, or from this chance on, as many terms of the series are exact.
LARGE, LIKELY, TERMS = 32, 0.5, 64


@dataclass(frozen=True, slots=True)
class Attackers:
    """The chances of three attackers, from 0 to 1.

    Parameters
    ----------
    classes, entities
        All classes, and their entities; an entity counts in each class that it has rows in.
    prosecutor, prosecutor_average
        The highest chance to find an entity that is in the table, and the mean over entities.
    journalist, journalist_average
        The same where only the population is known: an entity of the table in the population, or
        one of the population in the table, whichever is likelier.
    marketer
        The share of right links that is expected when all are linked.
    """

    classes: int
    entities: int
    prosecutor: float
    prosecutor_average: float
    journalist: float
    journalist_average: float
    marketer: float


def attackers(
    frame: Any,
    quasi: Columns,
    entity: str | None = None,
    *,
    weights: float | NDArray[np.float64] | None = None,
) -> Attackers:
    """Measure the chances to find an entity by its class.

    Parameters
    ----------
    frame, quasi, entity
        As for `classes`; strata are columns like any other.
    weights
        For how many of the population each row stands, one number or one a row: the sampling
        weights, or one over the sampling fraction. Of an entity's rows in a class the lightest
        counts. Without weights everybody is in the table, and all attackers know the same.
    """
    import numpy as np

    found = row_classes(frame, quasi)
    if not len(found):
        return Attackers(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    each = np.broadcast_to(1.0 if weights is None else weights, len(found.ids))
    owner = found.ids
    if entity is not None:
        pairs = row_classes(frame, [entity], found)
        lightest = np.full(len(pairs), np.inf)
        np.minimum.at(lightest, pairs.ids, each)
        owner, each = found.ids[pairs.firsts], lightest
    sizes = np.bincount(owner, minlength=len(found))
    return attackers_of_classes(sizes, np.bincount(owner, each, minlength=len(found)))


def attackers_of_classes(sizes: NDArray[np.int64], behind: NDArray[Any]) -> Attackers:
    """Measure the same from the entities of each class, and from those of the population."""
    import numpy as np

    # Weights may be scaled to a mean of 1; a class of the population is never the smaller one.
    behind = np.maximum(behind, sizes)
    risks, people = population_risk(sizes, sizes / behind), int(sizes.sum())
    linked = float(sizes @ risks / people)
    return Attackers(
        classes=len(sizes),
        entities=people,
        prosecutor=float(1 / sizes.min()),
        prosecutor_average=len(sizes) / people,
        journalist=float(risks.max()),
        journalist_average=max(linked, float(len(sizes) / behind.sum())),
        marketer=linked,
    )


def population_risk(sizes: NDArray[np.int64], chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate the individual risk of classes of a sample: the mean of 1/F, given f.

    Parameters
    ----------
    sizes
        f, the entities of each class in the sample.
    chances
        p, how likely an entity of the class was drawn: f over the sum of its weights.

    Notes
    -----
    F, the size of the class in the population, is taken to be negative binomial, f successes of
    chance p (Benedetti and Franconi 1998; Franconi and Polettini, Individual risk estimation in
    µ-Argus: a review, LNCS 3050, 262–272, 2004), as in sdcMicro and µ-Argus. The mean is::

        (p/f) ₂F₁(1, 1; f + 1; q) = p ∫₀¹ (1 - t)^(f-1) / (1 - qt) dt,   q = 1 - p

    Its series has positive terms 1/binomial(f + n, n) qⁿ alone: nothing cancels, and for a large
    class or a likely draw few terms are exact, where sdcMicro approximates from f = 3 on. Else
    the integral follows from f to f + 1 by parts, which shrinks errors by p/q a step.
    """
    import numpy as np

    p = np.asarray(chances, np.float64)
    f, q = np.asarray(sizes, np.float64), 1 - p
    total, term = np.ones_like(p), np.ones_like(p)
    for n in range(1, TERMS):
        term = term * q * (n / (f + n))
        total += term
    risks: NDArray[np.float64] = p / f * total
    for size in np.unique(f[(f < LARGE) & (p < LIKELY)]):
        rows = (f == size) & (p < LIKELY)
        integral = -np.log(p[rows]) / q[rows]
        for step in range(1, int(size)):
            integral = (1 / step - p[rows] * integral) / q[rows]
        risks[rows] = p[rows] * integral
    return risks
