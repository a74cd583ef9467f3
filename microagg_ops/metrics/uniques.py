"""Risk before protection: who is unique, and by how little.

A minimal sample unique is a set of columns in which a row is unique while it is not in any part
of the set. The fewer columns it takes, the higher the risk (Elliot, Manning and Ford 2002).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.metrics.anonymity import class_sizes
from microagg_ops.metrics.tables import Columns, RowClasses, row_classes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Reidentification:
    """What an outsider who knows all quasi-identifiers could do.

    Parameters
    ----------
    rows, uniques
        All rows, and those whose class has one entity.
    expected
        Rows that are found by picking one entity of each row's class by chance.
    highest
        The chance of the row most at risk.
    """

    rows: int
    uniques: int
    expected: float
    highest: float


@dataclass(frozen=True, slots=True)
class Suda:
    """Scores of a table, summed up.

    Parameters
    ----------
    rows, uniques
        All rows, and those that are unique in all columns together.
    special
        Rows with a minimal sample unique of the sizes that were searched.
    minimal
        How many minimal sample uniques there are of size 1, 2, …
    highest, mean
        Of the scores of all rows.
    dis
        The chance that a match with a unique row is right, for a sample of that fraction.
    highest_dis
        The same chance for the row most at risk (its DIS-SUDA score).
    contributions
        By column, the percentage of all scores that comes from uniques with this column.
    """

    rows: int
    uniques: int
    special: int
    minimal: tuple[int, ...]
    highest: float
    mean: float
    dis: float
    highest_dis: float
    contributions: dict[str, float]


def reidentification(frame: Any, quasi: Columns, entity: str | None = None) -> Reidentification:
    """Measure the risk of rows by the sizes of their classes."""
    found = row_classes(frame, quasi)
    sizes, rows = class_sizes(frame, found, entity), class_sizes(frame, found)
    return Reidentification(
        rows=int(rows.sum()),
        uniques=int(rows[sizes == 1].sum()),
        expected=float((rows / sizes).sum()),
        highest=float(1 / sizes.min()) if len(sizes) else 0.0,
    )


def suda_scores(frame: Any, quasi: Sequence[str], max_size: int = 3) -> NDArray[np.float64]:
    """Score each row: for every minimal sample unique of s columns, the product of d - i.

    Parameters
    ----------
    frame, quasi
        As for `classes`; d is the number of quasi-identifiers.
    max_size
        The largest set of columns to search, M; i runs from s to M, and at most to d - 1.
    """
    import numpy as np

    scores = None
    for names, rows in minimal_uniques(frame, quasi, max_size):
        if scores is None:
            scores = np.zeros(len(rows))
        scores[rows] += _worth(len(names), max_size, len(quasi))
    if scores is None:
        raise DataError("SUDA needs one column or more.", code="no_column")
    return scores


def suda(frame: Any, quasi: Sequence[str], max_size: int = 3, *, fraction: float = 0.01) -> Suda:
    """Sum up the scores of a table.

    Parameters
    ----------
    frame, quasi, max_size
        As for `suda_scores`.
    fraction
        The share of the population that is in the table.
    """
    import numpy as np

    scores, minimal = None, [0] * min(max_size, len(quasi))
    shares = dict.fromkeys(quasi, 0.0)
    for names, rows in minimal_uniques(frame, quasi, max_size):
        scores = np.zeros(len(rows)) if scores is None else scores
        worth, count = _worth(len(names), max_size, len(quasi)), int(rows.sum())
        scores[rows] += worth
        minimal[len(names) - 1] += count
        for name in names:
            shares[name] += worth * count
    if scores is None:
        raise DataError("SUDA needs one column or more.", code="no_column")
    sizes = class_sizes(frame, quasi)
    uniques, total = int((sizes == 1).sum()), float(scores.sum())
    dis = file_risk(uniques, 2 * int((sizes == 2).sum()), fraction)
    return Suda(
        rows=len(scores),
        uniques=uniques,
        special=int((scores > 0).sum()),
        minimal=tuple(minimal),
        highest=float(scores.max(initial=0.0)),
        mean=float(scores.mean()) if len(scores) else 0.0,
        dis=dis,
        highest_dis=float(dis_scores(scores, dis, uniques, len(quasi)).max(initial=0.0)),
        contributions={name: 100 * s / total if total else 0.0 for name, s in shares.items()},
    )


def file_risk(uniques: int, paired: int, fraction: float) -> float:
    """Chance that a match with a unique row is right (Skinner and Elliot 2002).

    ``paired`` counts the rows in classes of two: removing one row of a pair leaves a unique row
    that would be matched wrongly.
    """
    right = uniques * fraction
    return right / (right + paired * (1 - fraction)) if right else 0.0


def dis_scores(
    scores: NDArray[np.float64], dis: float, uniques: int, columns: int
) -> NDArray[np.float64]:
    """Spread the risk of the file over its rows by their scores, as sdcMicro does."""
    import numpy as np

    result = np.zeros(len(scores))
    at_risk = scores > 0
    if not at_risk.any() or not dis:
        return result
    weights = scores[at_risk] ** (1 + (8 - columns) / 20)
    result[at_risk] = 1 / (1 + (uniques / dis - uniques) / (weights * (1 / weights).sum()))
    return result


def minimal_uniques(
    frame: Any, quasi: Sequence[str], max_size: int
) -> Iterator[tuple[tuple[str, ...], NDArray[np.bool_]]]:
    """Yield every set of columns, small ones first, with the rows that are minimally unique."""
    import numpy as np

    if max_size < 1:
        raise DataError(f"max_size must be 1 or more. Got {max_size} instead.", code="bad_value")
    unique = dict(_uniques(frame, tuple(quasi), min(max_size, len(quasi))))
    for size in range(1, min(max_size, len(quasi)) + 1):
        for names in combinations(quasi, size):
            rows, packed = unique[names]
            # Whatever is unique in a part is unique in the whole: the largest parts suffice.
            for part in combinations(names, size - 1) if size > 1 else ():
                packed = packed & ~unique[part][1]
            yield names, np.unpackbits(packed, count=rows).astype(bool)


def _uniques(
    frame: Any, quasi: tuple[str, ...], depth: int, names: tuple[str, ...] = (),
    within: RowClasses | None = None,
) -> Iterator[tuple[tuple[str, ...], tuple[int, NDArray[np.uint8]]]]:  # fmt: skip
    """Find the rows that are unique in each set of columns, as bits."""
    import numpy as np

    for i, name in enumerate(quasi):
        found = row_classes(frame, [name], within)
        alone = np.bincount(found.ids, minlength=len(found)) == 1
        here = (*names, name)
        yield here, (len(found.ids), np.packbits(alone[found.ids]))
        if depth > 1:
            yield from _uniques(frame, quasi[i + 1 :], depth - 1, here, found)


def _worth(size: int, largest: int, columns: int) -> float:
    """Score of one minimal sample unique."""
    return float(prod(columns - i for i in range(size, min(largest, columns - 1) + 1)))
