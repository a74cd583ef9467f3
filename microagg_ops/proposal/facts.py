"""What can be counted of a column: how well it tells rows apart, alone and with others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from microagg_ops.columns.lookalikes import forms_of, is_named_like_one
from microagg_ops.columns.suspects import Judged, drawn, fixed_share, paired, rank_correlation
from microagg_ops.metrics import suda

if TYPE_CHECKING:
    import pyarrow as pa

# Rows and columns on which all combinations are searched for rows that are unique.
SEARCHED, WIDEST = 2_000, 16
# Rows on which columns are compared with each other, and the least that is worth telling.
COMPARED, ALIKE = 5_000, 0.5
KINDS = {
    "is_boolean": "true or false", "is_integer": "whole numbers", "is_floating": "numbers",
    "is_decimal": "decimals", "is_date": "dates", "is_timestamp": "moments", "is_string": "text",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """What was counted of a column.

    Parameters
    ----------
    name, kind
        The column, and what it holds, in words; empty where that cannot be released.
    rows, nulls, values
        All rows, those that are NULL, and the different values of the others.
    most
        The rows with the most frequent value.
    alone
        The share of the rows with a value whose value nobody else has.
    bits
        The entropy of its values.
    named, forms
        Whether its name is that of an identifier, and what its values look like.
    numbers_rows
        Whether its values are whole numbers one after the other, one a row.
    like, likeness
        The column that it goes along with most, and how closely, from 0 to 1.
    risk
        Its share of the scores of rows that are unique in few columns (SUDA).
    """

    name: str
    kind: str
    rows: int
    nulls: int
    values: int
    most: int
    alone: float
    bits: float
    named: bool
    forms: tuple[str, ...]
    numbers_rows: bool
    like: str = ""
    likeness: float = 0.0
    risk: float | None = None

    @property
    def is_category(self) -> bool:
        """Whether it holds categories."""
        return self.kind in ("text", "true or false")


def facts(table: pa.Table) -> list[Facts]:
    """Count each column by itself, and how it goes along with the others."""
    found = [_alone(name, table[name]) for name in table.column_names]
    few = drawn(table, COMPARED)
    usable = [fact for fact in found if fact.kind and fact.values > 1]
    judged = {fact.name: Judged(fact.name, few[fact.name]) for fact in usable}
    by_name = {fact.name: fact for fact in found}
    for i, one in enumerate(usable):
        for other in usable[i + 1 :]:
            strength = likeness(judged[one.name], judged[other.name])
            for this, that in ((one.name, other.name), (other.name, one.name)):
                if strength > by_name[this].likeness and strength >= ALIKE:
                    by_name[this] = replace(by_name[this], like=that, likeness=strength)
    return [by_name[fact.name] for fact in found]


def likeness(one: Judged, other: Judged) -> float:
    """Compute how closely two columns go along with each other, from 0 to 1."""
    if one.ordered and other.ordered:
        return abs(rank_correlation(*paired(one, other, None)))
    own, theirs = paired(one, other, None)
    if not len(own):
        return 0.0
    # What nobody shares fixes everything, and says nothing.
    return max(
        fixed_share(own, theirs, ordered=False), fixed_share(theirs, own, ordered=False), 0.0
    )


def risks(table: pa.Table, names: Sequence[str]) -> dict[str, float]:
    """Share out the scores of rows that are unique in one, two or three columns."""
    if not names or not table.num_rows:
        return {}
    few = drawn(table, SEARCHED)
    scores = suda(few, list(names)[:WIDEST], 3).contributions
    total = sum(scores.values())
    return {name: score / total if total else 0.0 for name, score in scores.items()}


def _alone(name: str, column: pa.ChunkedArray) -> Facts:
    import numpy as np
    import pyarrow.compute as pc
    import pyarrow.types as t

    kind = next((words for test, words in KINDS.items() if getattr(t, test)(column.type)), "")
    judged = Judged(name, column)
    counts = np.zeros(0, np.int64)
    if kind:
        counts = np.bincount(judged.classes.ids[~judged.missing])
        counts = counts[counts > 0]
    there = int(counts.sum())
    shares = counts / max(there, 1)
    ends = pc.min_max(column) if kind == "whole numbers" and there else None
    return Facts(
        name=name,
        kind=kind,
        rows=len(column),
        nulls=len(column) - there if kind else int(column.null_count),
        values=len(counts),
        most=int(counts.max(initial=0)),
        alone=float((counts == 1).sum() / max(there, 1)),
        bits=float(-(shares * np.log2(shares)).sum()) + 0.0,
        named=is_named_like_one(name),
        forms=tuple(called for called, _ in forms_of(judged.different)) if kind else (),
        numbers_rows=ends is not None
        and len(counts) == len(column) > 1
        and ends["max"].as_py() - ends["min"].as_py() + 1 == len(column),
    )
