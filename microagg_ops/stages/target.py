"""What a target holds, as it was published: whatever types a database gave it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from microagg_ops.warehouse.base import naive_utc

if TYPE_CHECKING:
    import pyarrow as pa


def of_interval(rows: pa.Table, mark: str, start: datetime) -> pa.Table:
    """Take the rows that are marked with the start of an interval."""
    import pyarrow as pa
    import pyarrow.compute as pc

    moment = pa.scalar(naive_utc(start), pa.timestamp("us"))
    moments = rows[mark].cast(pa.timestamp("us", getattr(rows[mark].type, "tz", None)))
    return rows.filter(pc.equal(moments.cast(pa.int64()), moment.cast(pa.int64())))


def typed(rows: pa.Table, types: Mapping[str, str]) -> pa.Table:
    """Cast columns to the types that they were published with, where a database has fewer types."""
    import pyarrow as pa

    for i, (name, kind) in enumerate(types.items()):
        try:
            wanted = pa.type_for_alias(kind)
            rows = rows.set_column(i, name, rows[name].cast(wanted))
        except (ValueError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue  # compared as it is
    return rows
