"""Extract: copy what the release names into staging, once, without any row passing the driver."""

from __future__ import annotations

from typing import Any

from microagg_ops.errors import DataError
from microagg_ops.methods.partition import check_k
from microagg_ops.stages.artefacts import Extracted
from microagg_ops.stages.distributed.plan import SOURCE, engine_of, folder
from microagg_ops.stages.extract import (
    check_calendar,
    check_columns,
    check_publishable,
    check_roles,
    describe_source,
    no_rows,
    normalized,
)
from microagg_ops.stages.run import Run
from microagg_ops.staging.digests import in_order

# Rows that suspect columns are looked for in, about.
SUSPECTED = 100_000


def extract(run: Run) -> dict[str, Any]:
    """Copy the source; refuse early what publish would refuse late."""
    release, engine = run.release, engine_of(run)
    described = describe_source(run)
    check_publishable(run, list(described))
    warehouse = run.warehouse(release.source.conn_id)
    names = [name for name in described if name in release.extracted]
    frame = engine.source(
        warehouse, release.source.table, names, release.source.condition, run.values
    )
    check_columns("The source", frame.columns, release.extracted)
    frame = engine.store(engine.without_nan(frame, release.quasi), folder(run, f"{SOURCE}-raw"))
    counted = engine.count(frame, [], release.columns.entity).to_pylist()[0]
    rows, entities = counted["rows"], counted["entities"]
    if not rows:
        raise no_rows(run)
    key = release.columns.entity
    if key:
        if missing := engine.missing(frame, key):
            raise DataError(
                f"The entity key {key!r} is NULL in {missing} of {rows} rows.",
                code="null_entity",
                hint="Exclude these rows in source.where: they cannot be counted for k.",
            )
        frame = engine.numbered(frame, key, ranked=rows <= release.engine.block_rows)
    check_k(release.least, entities, "entities" if key else "rows")
    frame = engine.store(frame, folder(run, SOURCE))
    engine.drop(folder(run, f"{SOURCE}-raw"))
    some = in_order(normalized(engine.sample(frame, min(1.0, SUSPECTED / rows))))
    check_calendar(some)
    check_roles(release, some)
    types = {name: described[name] for name in names}
    summary = {
        "release": release.digest,
        "interval": run.span,
        "rows": rows,
        "entities": entities,
        "columns": len(names),
    }
    if release.small_strata != "drop":
        summary["outside"] = {"rows": rows}
    schema = {"schema.arrow": some.schema.serialize().to_pybytes()}
    Extracted.write(run, None, types, warehouse.kind, summary, beside=schema)
    return summary
