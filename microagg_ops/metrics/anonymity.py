"""Anonymity: how many entities share each published combination of quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Classes:
    """The equivalence classes of a table, by their sizes."""

    smallest: int
    count: int
    below: int
    rows_below: int
    sizes: dict[int, int]


def class_sizes(frame: pd.DataFrame, quasi: Sequence[str], entity: str | None = None) -> pd.Series:
    """Count the entities (without a key: the rows) of each class. NULL equals NULL."""
    classes = frame.groupby(list(quasi), dropna=False, sort=False, observed=True)
    return classes[entity].nunique(dropna=False) if entity else classes.size()


def classes(
    frame: pd.DataFrame, quasi: Sequence[str], k: int, entity: str | None = None
) -> Classes:
    """Describe the classes of a table by counts alone.

    Parameters
    ----------
    frame
        The table; its index does not matter.
    quasi
        The columns whose combinations make the classes.
    k
        The size that a class must have.
    entity
        A column to count distinct values of, instead of rows.
    """
    sizes = class_sizes(frame, quasi, entity)
    counted = sizes.value_counts().sort_index()
    below = sizes[sizes < k]
    return Classes(
        smallest=int(sizes.min()) if len(sizes) else 0,
        count=len(sizes),
        below=len(below),
        rows_below=int(below.sum()),
        sizes=dict(zip(counted.index.tolist(), counted.tolist(), strict=True)),
    )
