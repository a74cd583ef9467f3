"""Extract: read what the release names, and nothing else, into staging.

Rows are put in an order of their own, so that nothing later depends on the order of the source,
and entity keys become numbers, so that the keys themselves are never staged.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from microagg_ops.artifact import content_digest, in_order, to_parquet
from microagg_ops.errors import DataError
from microagg_ops.methods.partition import check_k
from microagg_ops.sql import parameters
from microagg_ops.stages.run import Run
from microagg_ops.warehouse.base import check_target

if TYPE_CHECKING:
    import pyarrow as pa


def extract(run: Run) -> dict[str, Any]:
    """Read the source; refuse early what publish would refuse late."""
    described = describe_source(run)
    check_publishable(run, list(described))
    return read_source(run, described)


def describe_source(run: Run) -> dict[str, str]:
    """Give the columns of the source; those that the release names must be there."""
    source = run.release.source
    described = run.warehouse(source.conn_id).require(source.table)
    declared = (*run.release.extracted, *run.release.columns.identifiers)
    check_columns(str(source.table), described, declared)
    return described


def read_source(run: Run, described: Mapping[str, str]) -> dict[str, Any]:
    """Read what the release names into staging."""
    return keep(run, *read_rows(run, described))


def read_rows(run: Run, described: Mapping[str, str]) -> tuple[pa.Table, dict[str, str], str]:
    """Give what the release names, the types of its columns, and the kind of the warehouse."""
    source = run.release.source
    warehouse = run.warehouse(source.conn_id)
    columns = {name: kind for name, kind in described.items() if name in run.release.extracted}
    table = warehouse.read(source.table, columns, source.where, run.values)
    return table, columns, warehouse.kind


def keep(run: Run, table: pa.Table, types: Mapping[str, str], kind: str) -> dict[str, Any]:
    """Put a table into staging, in its canonical form."""
    release = run.release
    check_columns("The source", table.column_names, release.extracted)
    check_rows(run, table)
    table = nan_as_null(normalized(table), release.quasi)
    table = coded(in_order(table), release.columns.entity)
    entities = table.num_rows
    if release.columns.entity:
        entities = len(table[release.columns.entity].unique())
    check_k(release.aggregate.k, entities, "entities" if release.columns.entity else "rows")
    summary = {
        "release": release.digest,
        "interval": run.span,
        "rows": table.num_rows,
        "entities": entities,
        "columns": table.num_columns,
        "digest": content_digest(table),
    }
    source = {"types": dict(types), "kind": kind}
    files = {"table.parquet": to_parquet(table), "source.json": json.dumps(source).encode()}
    run.staging.put("extract", files, summary)
    return summary


def check_columns(where: str, found: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse columns that are not there or are there twice."""
    names = list(found)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"{where} has two columns named {twice[0]!r}.",
            code="duplicate_column",
            hint="Rename one of them in a view.",
        )
    for name in sorted(wanted):
        if name not in names:
            lower = {found.lower(): found for found in names}
            close = [lower[c] for c in difflib.get_close_matches(name.lower(), lower, 1)]
            raise DataError(
                f"{where} has no column {name!r}.",
                code="no_column",
                hint=f"Did you mean {close[0]!r}?" if close else f"It has {len(names)} others.",
            )


def check_publishable(run: Run, source_columns: list[str]) -> None:
    """Refuse a target that is the source, or that has other columns."""
    publish, source = run.release.publish, run.release.source
    warehouse = run.warehouse(publish.conn_id)
    found = warehouse.describe(publish.table)
    if found is None:
        return
    if warehouse.identity(publish.table) == run.warehouse(source.conn_id).identity(source.table):
        raise DataError(
            f"The target {str(publish.table)!r} is the source itself.",
            code="target_is_source",
            hint="Publish to another table.",
        )
    wanted = [name for name in source_columns if name in run.release.published]
    if publish.mode == "append_interval":
        wanted.append(publish.interval_column)
    check_target(publish.table, list(found), wanted)


def check_rows(run: Run, table: pa.Table) -> None:
    """Refuse a source without rows, or with rows that belong to nobody."""
    if table.num_rows == 0:
        raise no_rows(run)
    entity = run.release.columns.entity
    if entity and table[entity].null_count:
        raise DataError(
            f"The entity key {entity!r} is NULL in {table[entity].null_count} of "
            f"{table.num_rows} rows.",
            code="null_entity",
            hint="Exclude these rows in source.where: they cannot be counted for k.",
        )


def no_rows(run: Run) -> DataError:
    """Say why there is nothing to release; only an interval without rows may be skipped."""
    where = run.release.source.where or ""
    if not run.release.source.by_interval:
        return DataError(
            "The source has no rows.", code="empty", hint="Check the table and source.where."
        )
    if run.interval and run.interval[0] == run.interval[1] and len(set(parameters(where))) == 2:
        # What a plain cron schedule gives in Airflow 3: such a run would find nothing, ever.
        return DataError(
            "The data interval has no length, so no row is between :start and :end.",
            code="no_interval",
            hint="Schedule the DAG with a CronDataIntervalTimetable, or name only :end.",
        )
    return DataError("The source has no rows in this interval.", code="empty_interval")


def normalized(table: pa.Table) -> pa.Table:
    """Give text one Arrow type, whichever the driver chose; refuse what has no order."""
    import pyarrow as pa
    import pyarrow.types as t

    fields = []
    for field in table.schema:
        if t.is_nested(field.type) or t.is_interval(field.type):
            raise DataError(
                f"Column {field.name!r} is {field.type}, which cannot be released.",
                code="bad_type",
                hint="Cast the column to text in a view.",
            )
        kind = field.type.value_type if t.is_dictionary(field.type) else field.type
        text = t.is_large_string(kind) or t.is_string_view(kind)
        fields.append(pa.field(field.name, pa.string() if text else kind))
    return table.cast(pa.schema(fields))


def nan_as_null(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Write NaN as NULL, which it counts as."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in names:
        column = table[name]
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def coded(table: pa.Table, entity: str | None) -> pa.Table:
    """Replace entity keys by their ranks."""
    if entity is None:
        return table
    import pyarrow.compute as pc

    ranks = pc.rank(table[entity].combine_chunks(), tiebreaker="dense")
    return table.set_column(table.column_names.index(entity), entity, ranks)
