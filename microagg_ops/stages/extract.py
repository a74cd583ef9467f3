"""Extract: read what the release names, and nothing else, into staging.

Rows are put in an order of their own, so that nothing later depends on the order of the source,
and entity keys become numbers, so that the keys themselves are never staged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.methods.partition import check_k
from microagg_ops.release.condition import parameters
from microagg_ops.release.model import Release
from microagg_ops.stages.artefacts import Extracted
from microagg_ops.stages.memory import check_memory
from microagg_ops.stages.run import Run
from microagg_ops.staging.digests import in_order
from microagg_ops.staging.keys import keyed_digest
from microagg_ops.warehouse.base import check_target, no_column

if TYPE_CHECKING:
    import pyarrow as pa

# 0001-01-01 and 9999-12-31 in days since 1970.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896


def extract(run: Run) -> dict[str, Any]:
    """Read the source; refuse early what publish would refuse late."""
    described = describe_source(run)
    check_publishable(run, list(described))
    table, types, kind = read_rows(run, described)
    table = canonical(run, table)
    check_roles(run.release, table)
    from microagg_ops.stages.series import arranged  # which reads forms of this module

    table, beside = arranged(run, table)
    return staged(run, table, types, kind, beside)


def describe_source(run: Run) -> dict[str, str]:
    """Return the columns of the source; those that the release names must be there."""
    source = run.release.source
    described = run.warehouse(source.conn_id).require(source.table)
    declared = (*run.release.extracted, *run.release.columns.identifiers)
    check_columns(str(source.table), described, declared)
    return described


def read_source(run: Run, described: Mapping[str, str]) -> dict[str, Any]:
    """Read what the release names into staging."""
    return keep(run, *read_rows(run, described))


def read_rows(run: Run, described: Mapping[str, str]) -> tuple[pa.Table, dict[str, str], str]:
    """Return what the release names, the types of its columns, and the kind of the warehouse."""
    source = run.release.source
    warehouse = run.warehouse(source.conn_id)
    columns = {name: kind for name, kind in described.items() if name in run.release.extracted}
    table = warehouse.read(source.table, columns, source.condition, run.values)
    check_memory(table.num_rows, table.num_columns)
    return table, columns, warehouse.kind


def keep(run: Run, table: pa.Table, types: Mapping[str, str], kind: str) -> dict[str, Any]:
    """Put a table into staging, in its canonical form."""
    return staged(run, canonical(run, table), types, kind)


def canonical(run: Run, table: pa.Table) -> pa.Table:
    """Normalize the types and the order of a table so that they depend on its rows alone."""
    check_columns("The source", table.column_names, run.release.extracted)
    check_rows(run, table)
    return in_order(readable(run.release, table))


def readable(release: Release, table: pa.Table) -> pa.Table:
    """Normalize the types of a table, and recode what the release says."""
    from microagg_ops.columns.recoding import recoded

    return recoded(nan_as_null(normalized(table), release.quasi), release.columns.quasi)


def staged(
    run: Run,
    table: pa.Table,
    types: Mapping[str, str],
    kind: str,
    beside: Mapping[str, bytes] = MappingProxyType({}),
) -> dict[str, Any]:
    """Put a table in its canonical form into staging."""
    release = run.release
    table = with_entity_ranks(table, release.columns.entity)
    entities = table.num_rows
    if release.columns.entity:
        entities = len(table[release.columns.entity].unique())
    check_k(release.least, entities, "entities" if release.columns.entity else "rows")
    summary = {
        "release": release.digest,
        "interval": run.span,
        "rows": table.num_rows,
        "entities": entities,
        "columns": table.num_columns,
    }
    if release.small_strata != "drop":  # else who subtracts the published rows has those dropped
        summary["outside"] = {"rows": table.num_rows}
    # What was recast has no SQL type in the source.
    recast = {name for name, how in release.columns.quasi.items() if how.is_recast}
    types = {name: sql_type for name, sql_type in types.items() if name not in recast}
    Extracted.write(run, table, types, kind, summary, beside=beside)
    return summary


def is_arranged(run: Run) -> bool:
    """Whether the staged rows are those that a series lets be published."""
    return "series.json" in Extracted.of(run).entry["files"]


def input_digest(run: Run) -> str:
    """Digest the rows that were read, keyed: a plain digest of few rows can be tried out."""
    if is_arranged(run):  # not all that was read is staged
        return str(Extracted.of(run).document("series")["input"])
    return keyed_digest(run.key, "input", Extracted.of(run).digest.encode())


def check_columns(where: str, found: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse columns that are not there or are there twice."""
    names = [name for name in found if isinstance(name, str)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"{where} has two columns named {twice[0]!r}.",
            code="duplicate_column",
            hint="Rename one of them in a view.",
        )
    wanted = sorted(wanted)
    if len(wanted) > 1 and not set(wanted) & set(names):
        # Names are not compared: those of a file without a header are cells.
        raise DataError(
            f"{where} has none of the {len(wanted)} columns that are named.",
            code="no_column",
            hint="Check that it is the right one; of a file, that its first line names columns.",
        )
    for name in wanted:
        if name not in names:
            raise no_column(where, name, names)


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
    wanted = [name for name in source_columns if name in run.release.published_columns]
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


def check_roles(release: Release, table: pa.Table) -> None:
    """Refuse columns that leave and could name people, unless the release says why they may."""
    from microagg_ops.columns.suspects import find_suspects
    from microagg_ops.release.strict_yaml import as_key

    suspects = find_suspects(release, table)
    if suspects:
        reasons = ", ".join(f'{as_key(suspect.column)}: "…"' for suspect in suspects)
        many = f"{len(suspects)} columns leave that" if suspects[1:] else "A column leaves that"
        raise DataError(
            f"{many} could name people: {', '.join(map(str, suspects))}.",
            code="suspect_column",
            hint="Take such a column out of the release, make it a quasi-identifier, or say in "
            f"words why it may leave: columns.may_leave: {{{reasons}}}.",
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
    """Cast text to one Arrow type, whichever the driver chose; refuse what has no order."""
    import pyarrow as pa
    import pyarrow.types as t

    fields = []
    for field in table.schema:
        kind = field.type.value_type if t.is_dictionary(field.type) else field.type
        if t.is_nested(kind) or t.is_interval(kind):
            raise DataError(
                f"Column {field.name!r} is {field.type}, which cannot be released.",
                code="bad_type",
                hint="Cast the column to text in a view.",
            )
        text = t.is_large_string(kind) or t.is_string_view(kind)
        if t.is_float16(kind):  # what little can be done with is widened
            kind = pa.float32()
        if t.is_decimal32(kind) or t.is_decimal64(kind):
            kind = pa.decimal128(kind.precision, kind.scale)
        fields.append(pa.field(field.name, pa.string() if text else kind))
    table = table.cast(pa.schema(fields))
    check_calendar(table)
    return table


def check_calendar(table: pa.Table) -> None:
    """Refuse dates and moments outside of the years 1 to 9999, infinite ones among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for field in table.schema:
        if pa.types.is_date(field.type):
            # Also those of milliseconds are whole days.
            found, per_day = table[field.name].cast(pa.date32()).cast(pa.int32()), 1
        elif pa.types.is_timestamp(field.type):
            per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[field.type.unit]
            found, per_day = table[field.name].cast(pa.int64()), 86_400 * per_second
        else:
            continue
        first, last = FIRST_DAY * per_day, (LAST_DAY + 1) * per_day
        # Nanoseconds end before the calendar does; their ends stand for what is infinite.
        ends = 2**63 - 2
        outside = pc.or_(
            pc.less(found, max(first, -ends)), pc.greater_equal(found, min(last, ends))
        )
        count = pc.sum(outside).as_py()
        if count:
            raise DataError(
                f"Column {field.name!r} is infinite or outside of the years 1 to 9999 in {count} "
                f"of {len(table)} rows.",
                code="infinite",
                hint="Exclude these rows in source.where, or cast the column to text in a view.",
            )


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


def with_entity_ranks(table: pa.Table, entity: str | None) -> pa.Table:
    """Replace entity keys by their ranks."""
    if entity is None:
        return table
    import pyarrow.compute as pc

    ranks = pc.rank(table[entity].combine_chunks(), tiebreaker="dense")
    return table.set_column(table.column_names.index(entity), entity, ranks)
