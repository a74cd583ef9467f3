"""Reconstruction: what follows from the published table and the external report together.

A first, simple attacker. By sums: a mean of all rows times their number, less what the table
shows, is what it does not show. By whole numbers: counts below k, told or left when one count is
taken from another. The report is read as any JSON document, whatever its keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    # Where a number stands, and the number.
    Figure = tuple[tuple[str, ...], float]

# Words in the key of a figure that counts people, rows or cells.
COUNTED = ("rows", "entities", "cells", "suppressed", "missing", "imputed", "dropped", "merged")
# What rounding explains, as a share of a total.
ROUNDING = 1e-9


def reconstruct(table: pa.Table, external: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Try to find out what was not published.

    Parameters
    ----------
    table
        The published rows.
    external
        The figures that were published beside them.
    k
        The least number of entities that a count may tell of.

    Returns
    -------
    dict
        ``totals``: columns of which the total of fewer than k hidden cells follows. ``counts``:
        where a count below k is told, or follows from two others. Names of columns and keys, no
        value.
    """
    figures = list(numbers_of(external))
    totals = [name for name in table.column_names if hidden_total(table[name], name, figures, k)]
    return {"totals": totals, "counts": list(small_counts(figures, k))}


def numbers_of(document: Any, path: tuple[str, ...] = ()) -> Iterator[Figure]:
    """List the numbers of a JSON document; an entry of a list is known by its name."""
    if isinstance(document, Mapping):
        name = document.get("name")
        inside = (*path, name) if isinstance(name, str) else path
        for key, value in document.items():
            yield from numbers_of(value, (*inside, str(key)))
    elif isinstance(document, Sequence) and not isinstance(document, str):
        for value in document:
            yield from numbers_of(value, path)
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield path, float(document)


def hidden_total(column: pa.ChunkedArray, name: str, figures: Sequence[Figure], k: int) -> bool:
    """Say whether the total of a column's hidden cells follows, and they are fewer than k."""
    import pyarrow as pa
    import pyarrow.compute as pc

    hidden = column.null_count
    number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if not number or not 0 < hidden < k or hidden == len(column):
        return False
    known = column.drop_null().cast(pa.float64(), safe=False)
    total, size = float(pc.sum(known).as_py()), float(pc.sum(pc.abs(known)).as_py())
    low, high = float(pc.min(known).as_py()), float(pc.max(known).as_py())
    own = [(path, value) for path, value in figures if name in path]
    means = [value for path, value in own if "mean" in path[-1] and "after" not in path[-1]]
    off = [value for path, value in own if "difference" in path[-1]] or [0.0]
    reach = max(high - low, abs(low), abs(high))
    for mean in means:
        for part in off:
            rest = mean * len(column) - total / (1 + part)
            # A mean of the cells that are shown leaves just their own mean for each other cell.
            follows = abs(rest / hidden - total / len(known)) > ROUNDING * (
                size / len(known) + reach
            )
            if follows and low - reach <= rest / hidden <= high + reach:
                return True
    return False


def small_counts(figures: Sequence[Figure], k: int) -> Iterator[str]:
    """Name the counts that tell of fewer than k, by themselves or taken from each other."""
    counts = [
        (path, value)
        for path, value in figures
        if path and value == int(value) and any(word in COUNTED for word in path[-2:])
    ]
    for path, value in counts:
        if 0 < value < k:
            yield ".".join(path)
    large = sorted({(value, ".".join(path)) for path, value in counts if value >= k})
    for (less, one), (more, other) in combinations(large, 2):
        if 0 < more - less < k and one.rpartition(".")[0] == other.rpartition(".")[0]:
            yield f"{other} - {one}"
