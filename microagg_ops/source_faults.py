"""What is wrong with the rows of a release, all of it at once, before a run finds the first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from microagg_ops.columns.encoding import read
from microagg_ops.columns.strata import distinct_by, stratum_codes
from microagg_ops.columns.suspects import find_suspects
from microagg_ops.errors import DataError, MicroaggError
from microagg_ops.pipeline import make_run
from microagg_ops.release.document import Fault
from microagg_ops.release.files import FILES
from microagg_ops.release.model import Release
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.extract import canonical, check_publishable, keep, nan_as_null, normalized
from microagg_ops.staging.store import MemoryStaging
from microagg_ops.warehouse.text_cells import NUMBER

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = ("number", "integer", "decimal")
FORMS = {
    "date": ("date", "dates such as 2026-01-31", r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
    "timestamp": (
        "moment",
        "moments such as 2026-01-31 10:30",
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:",
    ),
    "boolean": ("truth value", "true or false", r"^([Tt]rue|[Ff]alse)$"),
    **dict.fromkeys(NUMBERS, ("number", "numbers", NUMBER)),
}


def source_faults(
    release: Release,
    *,
    connections: Mapping[str, str] | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
) -> list[Fault]:
    """List what is wrong with the source and the target of a release; publish nothing."""
    run = make_run(release, "memory", connections=connections, start=start, end=end)
    run = replace(run, staging=MemoryStaging())
    try:
        return list(_faults(run))
    except MicroaggError as error:
        at = "/source/file" if release.source.conn_id == FILES else "/source"
        return [Fault(at, f"what cannot be read: {error.message}", error.hint or "a source")]


def _faults(run: Run) -> Iterator[Fault]:
    release, source = run.release, run.release.source
    warehouse = run.warehouse(source.conn_id)
    described = warehouse.require(source.table)
    wanted = {name: at for at, name in named(release)}
    for name in sorted(wanted.keys() - described.keys()):
        yield Fault(wanted[name], f"{name!r}, which {source.table} has not", "a column of it")
    try:
        check_publishable(run, list(described))
    except DataError as error:
        yield Fault("/publish", error.message.rstrip("."), error.hint.rstrip("."))
    there = {n: kind for n, kind in described.items() if n in release.extracted}
    rows = warehouse.read(source.table, there, source.condition, run.values)
    if not rows.num_rows:
        yield Fault("/source", "no rows", "a table, and a condition that some of its rows meet")
        return
    found = [*_column_faults(release, rows), *_group_faults(release, rows)]
    yield from found
    if len(there) == len(release.extracted):
        yield from _whole_faults(run, rows, healthy=not found)


def named(release: Release) -> Iterator[tuple[str, str]]:
    """List the columns that a release names, each with its pointer."""
    columns = release.columns
    for key in ("identifiers", "sensitive"):
        yield from ((f"/columns/{key}", name) for name in getattr(columns, key))
    for key in ("entity", "weight"):
        if getattr(columns, key) is not None:
            yield f"/columns/{key}", getattr(columns, key)
    yield from (("/strata", name) for name in release.strata)
    yield from ((at(name), name) for name in columns.quasi)


def at(name: str) -> str:
    """Return the pointer of a quasi-identifier."""
    return "/columns/quasi/" + name.replace("~", "~0").replace("/", "~1")


def _column_faults(release: Release, rows: pa.Table) -> Iterator[Fault]:
    """Judge each quasi-identifier by its type and its NULLs."""
    for name, how in release.columns.quasi.items():
        if name not in rows.column_names:
            continue
        try:
            table = nan_as_null(normalized(rows.select([name])), [name])
        except DataError as error:
            yield Fault(at(name), error.message.rstrip("."), error.hint.rstrip("."))
            continue
        if told := misfits(release, how.type, table[name]):
            yield Fault(f"{at(name)}/type", told, f"{FORMS[how.type][1]}, or another type")
            continue
        try:
            missing = read(name, how, table[name]).missing
        except DataError as error:
            yield Fault(at(name), error.message.rstrip("."), error.hint.rstrip("."))
            continue
        if missing.any() and release.nulls == "reject":
            what = f"{name!r}, which is NULL in {missing.sum()} of {len(missing)} rows"
            yield Fault(at(name), what, "no NULL, or nulls: own_class or impute")


def misfits(release: Release, declared: str, column: pa.ChunkedArray) -> str:
    """Say which cells of a column of text are not of the declared type, and where the first is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if declared not in FORMS or not pa.types.is_string(column.type):
        return ""
    word, _, pattern = FORMS[declared]
    fits = pc.match_substring_regex(pc.utf8_trim_whitespace(column), pattern)
    wrong = pc.fill_null(pc.invert(fits), False)
    count = pc.sum(wrong).as_py()
    if not count:
        return "text"
    # Rows of a database have no order, and a condition leaves rows out.
    whole = release.source.conn_id == FILES and release.source.where is None
    first = f", first in row {pc.index(wrong, True).as_py() + 2}" if whole else ""
    return f"what is no {word} in {count} of {len(column)} rows{first}"


def _group_faults(release: Release, rows: pa.Table) -> Iterator[Fault]:
    """Judge how many there are: of entities, and in each stratum."""
    import numpy as np
    import pyarrow.compute as pc

    key, least = release.columns.entity, release.least
    if key is not None and key not in rows.column_names:
        return
    if key is not None and rows[key].null_count:
        what = f"{key!r}, which is NULL in {rows[key].null_count} of {rows.num_rows} rows"
        yield Fault("/columns/entity", what, "a key that every row has")
        return
    who = np.arange(rows.num_rows)
    if key is not None:
        who = pc.rank(rows[key].combine_chunks(), tiebreaker="dense").to_numpy().astype(np.int64)
    words = "rows" if key is None else "entities"
    if (entities := len(np.unique(who))) < least:
        yield Fault("/aggregate/k", f"{least}, with {entities} {words}", "a k that there are")
        return
    strata = [name for name in release.strata if name in rows.column_names]
    if strata and release.small_strata == "error":
        codes = stratum_codes(rows, strata)
        sizes = distinct_by(codes, who)
        if (small := sizes < least).any():
            what = f"{small.sum()} of {len(sizes)} strata with fewer than k = {least} {words}"
            what += f" (rows: {small[codes].sum()})"
            yield Fault("/strata", what, "larger strata, or small_strata: merge or drop")


def _whole_faults(run: Run, rows: pa.Table, *, healthy: bool) -> Iterator[Fault]:
    """Judge roles by the data; of rows without a fault so far, whatever standardize finds."""
    try:
        table = canonical(run, rows)
    except DataError as error:
        if healthy:
            yield Fault("/source", error.message.rstrip("."), error.hint.rstrip("."))
        return
    for suspect in find_suspects(run.release, table):
        reasons = "; ".join(suspect.reasons)
        found = f"{suspect.column!r}, which leaves and could name people ({reasons})"
        pointer = next(p for p, name in named(run.release) if name == suspect.column)
        yield Fault(pointer, found, "another role, or a reason under columns.may_leave")
    if not healthy:
        return
    try:
        keep(run, rows, {}, "")
        stage_function("standardize")(run)
    except DataError as error:
        hit = re.search(r"Quasi-identifier '([^']+)'", error.message)
        pointer = at(hit[1]) if hit else "/source"
        yield Fault(pointer, error.message.rstrip("."), error.hint.rstrip("."))
