"""A table that was formed anew, written into a ledger: history k then counts what it tells.

A class that has the same members, records and rows as before is the same class; any other is new.
Whose record changed is told apart by the columns that changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from microagg_ops.series.history import Present, changed_columns
from microagg_ops.series.ledger import Ledger, Member

if TYPE_CHECKING:
    import pyarrow as pa


def retold(
    ledger: Ledger, present: Present, clusters: Sequence[Sequence[int]], rows: Sequence[pa.Table]
) -> Ledger:
    """Write classes formed anew into a ledger.

    Parameters
    ----------
    ledger
        What was published before.
    present
        Who is published now.
    clusters
        The places in `present` of each class.
    rows
        The published rows of each class, in that order.
    """
    number = ledger.next
    last = {m.entity: m.record for m in ledger.in_epoch()}
    lasting = {frozenset((m.entity, m.record) for m in those): name
               for name, those in ledger.current().items()}  # fmt: skip
    classes: dict[str, pa.Table] = {}
    fresh: list[Member] = []
    for i, (cluster, shown) in enumerate(zip(clusters, rows, strict=True)):
        pairs = frozenset((present.entities[p], present.records[p]) for p in cluster)
        name = lasting.get(pairs)
        if name is not None and same_rows(ledger.classes[name], shown):
            classes[name] = ledger.classes[name]
            continue
        name = f"{number}.{i}"
        classes[name] = shown
        fresh += [
            Member(entity, name, number, None, changed(last, entity, record), j, record)
            for j, (entity, record) in enumerate(
                (present.entities[p], present.records[p]) for p in cluster
            )
        ]
    members = (
        m._replace(until=number - 1) if m.until is None and m.group not in classes else m
        for m in ledger.members
    )
    return replace(ledger, members=(*members, *fresh), classes=classes, waiting={}, gone={})


def changed(last: Mapping[str, str], entity: str, record: str) -> int:
    """Set the bits of the columns in which an entity's record differs from its last one."""
    return changed_columns(last[entity], record) if entity in last else 0


def same_rows(some: pa.Table, others: pa.Table) -> bool:
    """Whether two tables hold the same rows, in any order."""
    order = [(name, "ascending") for name in some.column_names]
    same_columns = some.schema.names == others.schema.names
    return same_columns and bool(some.sort_by(order).equals(others.sort_by(order)))
