"""Report: counts and sums over all rows; of a sample what needs rows side by side."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from microagg_ops import metrics
from microagg_ops.engines.spark.engine import Frame, SparkEngine
from microagg_ops.expectations.spark import SparkTable
from microagg_ops.expectations.tables import ORDERED
from microagg_ops.metrics.anonymity import closeness_of, diversity_of
from microagg_ops.report.external import external
from microagg_ops.report.figures import find_figures
from microagg_ops.report.manifest import earlier_manifests
from microagg_ops.report.material import Material
from microagg_ops.stages.artefacts import (
    Extracted,
    Groups,
    Protected,
    Reported,
    Verdict,
    warnings_of,
)
from microagg_ops.stages.distributed.blocks import NEW, OLD
from microagg_ops.stages.distributed.plan import BLOCKS, SOURCE, Plan, Planned, engine_of, folder
from microagg_ops.stages.extract import with_entity_ranks
from microagg_ops.stages.microdata import find_weights
from microagg_ops.stages.publication import Told, write_told
from microagg_ops.stages.run import Run
from microagg_ops.staging.keys import keyed_digest

# Rows that are compared side by side, about.
COMPARED = 100_000


def report(run: Run) -> dict[str, Any]:
    """Write the internal report of this run and its manifest; neither holds a cell value."""
    began = time.monotonic()
    run.key  # noqa: B018 - without its key a run has no report: found out before the work
    engine, plan = engine_of(run), Planned.plan(run, Groups.of(run).names)
    blocks = engine.stored(folder(run, BLOCKS))
    material, whole = gather(run, engine, plan, blocks)
    figures = find_figures(material)
    if not whole:
        counted(engine, plan, blocks, material, figures)
    figures["timings"]["report"] = round(time.monotonic() - began, 3)
    outside = external(material, figures) if figures["verdict"] == "passed" else None
    if outside is not None and not whole:
        outside |= {"utility": None, "data": outside["data"] | {"rows": rows_of(run)}}
    types = {field.name: str(field.type) for field in material.after.schema}
    told = Told(figures, outside, {name: types[name] for name in plan.published})
    summary = {"verdict": figures["verdict"], "uris": write_told(run, told)}
    Reported.write(run, told.document(), summary)
    return summary


def rows_of(run: Run) -> int:
    """Return the number of rows to be published."""
    return int(Protected.of(run).summary["rows"])


def gather(run: Run, engine: SparkEngine, plan: Plan, blocks: Frame) -> tuple[Material, bool]:
    """Collect what the stages left, with the rows or a sample of them; tell which."""
    extracted, protected = Extracted.of(run), Protected.of(run)
    rows, entity = rows_of(run), run.release.columns.entity
    names = [OLD.format(i) for i in range(len(plan.schema))]
    news = [NEW.format(i) for i in range(len(plan.published))]
    share = min(1.0, COMPARED / rows)
    some = engine.sample(blocks.select(*names, *news), share)
    some = some.sort_by([(name, "ascending") for name in (*news, *names)])
    before = some.select(names).rename_columns(plan.schema.names).cast(plan.schema)
    before = with_entity_ranks(before, entity)
    after = some.select(news).rename_columns(plan.published)
    if entity:
        after = after.append_column(entity, before[entity])
    prepared = plan.microdata(before) if share == 1.0 else None
    return Material(
        release=run.release,
        run_id=run.run_id,
        interval=run.interval,
        extracted=extracted.summary,
        aggregated=protected.summary,
        verdict=Verdict.of(run).found,
        treatment=protected.treatment,
        groups=Groups.of(run).names,
        types=extracted.source["types"],
        before=before,
        old=plan.encoded(before),
        after=after,
        weights=find_weights(run.release.columns.weight, before),
        input_digest=keyed_digest(run.key, "input", input_of(run, engine).encode()),
        strata=strata_of(engine, run, plan) if prepared is None
        else int(prepared.strata.codes.max()) + 1,
        warnings=warnings_of(run),
        notes=[] if share == 1.0 else [noted(len(before), rows)],
        earlier=earlier_manifests(run.report_folder),
        seconds={"aggregate": protected.summary["seconds"]},
    ), share == 1.0  # fmt: skip


def noted(some: int, rows: int) -> str:
    """Say what was measured on a sample."""
    return (
        f"The table has {rows:,} rows, spread over executors: k, l, t, sizes of classes, loss, "
        f"totals and dominance are counted over all of them; every other figure of risk and "
        f"utility is of a sample of {some:,} rows."
    )


def input_of(run: Run, engine: SparkEngine) -> str:
    """Digest the rows that were read."""
    return str(engine.digest(engine.stored(folder(run, SOURCE))))


def strata_of(engine: SparkEngine, run: Run, plan: Plan) -> int:
    """Count the strata."""
    names = run.release.strata
    if not names:
        return 1
    return int(engine.count(engine.stored(folder(run, SOURCE)), names, None).num_rows)


def counted(
    engine: SparkEngine, plan: Plan, blocks: Frame, material: Material, figures: dict[str, Any]
) -> None:
    """Put figures of all rows in the place of those of the sample."""
    import numpy as np

    release = material.release
    entity, strata = release.columns.entity, list(release.strata)
    names = {NEW.format(i): name for i, name in enumerate(plan.published)}
    key = {} if entity is None else {OLD.format(plan.schema.names.index(entity)): entity}
    after = SparkTable(engine.renamed(blocks, names | key))
    old = {OLD.format(i): name for i, name in enumerate(plan.schema.names)}
    before = SparkTable(engine.renamed(blocks, old))
    columns = [*strata, *release.quasi]
    sizes = after.sizes(columns, entity)
    rows = int(material.aggregated["rows"])
    risk = figures["risk"]
    each = [after.sizes([*strata, *names], entity) for names in material.groups]
    jointly = release.validate.guarantee == "joint"
    risk["k"] = min(sizes) if jointly else min(min(one) for one in each)
    merged: dict[int, int] = {}
    for one in [sizes] if jointly else each:
        for size, many in one.items():
            merged[size] = merged.get(size, 0) + many
    risk["class_sizes"] = [{"size": size, "classes": merged[size]} for size in sorted(merged)]
    if not release.sample.weighted:
        each_class = np.repeat(np.array(list(sizes)), list(sizes.values()))
        behind = each_class / (release.sample.fraction or 1.0)
        risk["attackers"] |= asdict(metrics.attackers_of_classes(each_class, behind))
    single = risk["after"]["singling_out"]
    single |= engine.found(after.frame, columns, entity) | {
        "k_joint": min(sizes),
        "k_by_group": [min(one) for one in each],
    }
    single["k_by_stratum"] = []
    risk["before"] |= engine.found(before.frame, columns, entity) | {"rows": rows}
    for entry in risk["after"]["inference"]["sensitive"]:
        values = after.values(columns, entry["name"], entity)
        diverse, is_ordered = diversity_of(values, 2), after.kinds()[entry["name"]] in ORDERED
        entry |= {"l": diverse.distinct, "entropy_l": diverse.entropy}
        entry["t"] = closeness_of(values, ordered=is_ordered)
    data = figures["data"]
    missing = engine.nulls(before.frame, plan.schema.names)
    for entry in data["columns"]:
        entry["missing"] = missing.get(entry["name"])
    data |= {"published_rows": rows, "missing": sum(missing.values())}
