"""Aggregate: every block on an executor, and the rows to be published in an order of their own."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from microagg_ops.engines.spark.engine import Frame, SparkEngine, column
from microagg_ops.stages.aggregate import methods_of
from microagg_ops.stages.artefacts import Groups, Protected
from microagg_ops.stages.distributed.blocks import NEW, protect, schema_of
from microagg_ops.stages.distributed.layout import Layout, in_blocks
from microagg_ops.stages.distributed.plan import (
    BLOCKS,
    PROTECTED,
    SOURCE,
    Plan,
    Planned,
    engine_of,
    folder,
)
from microagg_ops.stages.run import Run
from microagg_ops.staging.digests import digest_of_sorted
from microagg_ops.warehouse.parquet import data_files


def aggregate(run: Run) -> dict[str, Any]:
    """Make the table that will be published, if it passes."""
    release, groups, engine = run.release, Groups.of(run).names, engine_of(run)
    began = time.monotonic()
    plan, layout = Planned.plan(run, groups), Layout.of(*Planned.of(run).layout)
    frame = in_blocks(engine, plan, layout, engine.stored(folder(run, SOURCE)))
    task = partial(protect, plan, layout.strata)
    found = engine.each_block(frame, layout.many, task, schema_of(plan))
    blocks = engine.store(found, folder(run, BLOCKS))
    answers = engine.answers(blocks)
    seconds = time.monotonic() - began
    rows = sum(answer["rows"] for answer in answers)
    engine.store(engine.sorted(published(engine, plan, blocks)), folder(run, PROTECTED))
    digest = digest_of_folder(folder(run, PROTECTED))
    loss, by_column = losses(answers)
    treatment = treated(answers)
    if layout.dropped[0]:
        treatment["strata"]["dropped"] = list(layout.dropped[:2])
    summary = {
        "method": methods_of(release, groups),
        "k": release.aggregate.k,
        "rows": rows,
        "clusters": [sum(parts) for parts in zip(*(a["clusters"] for a in answers), strict=True)],
        "information_loss": loss,
        "information_loss_by_column": by_column,
        "suppressed": sum(entry["cells"] for entry in treatment["suppressed"]),
        "imputed": 0,
        "warnings": list(dict.fromkeys(w for a in answers for w in a["warnings"])),
        "entities": entities_of(engine, plan, blocks, answers),
        "outside": outside_of(answers),
        "least_loss": None,
        "seconds": round(seconds, 3),
        "price": None,
        "search": None,
        "digest": digest,
        "blocks": len(answers),
    }
    files = {
        "protected.json": json.dumps({"rows": rows, "sha256": digest}).encode(),
        "treatment.json": json.dumps(treatment).encode(),
    }
    Protected.leave(run, files, summary)
    return summary


def published(engine: SparkEngine, plan: Plan, blocks: Frame) -> Frame:
    """Take the columns that leave."""
    return engine.renamed(blocks, {NEW.format(i): n for i, n in enumerate(plan.published)})


def digest_of_folder(path: Path) -> str:
    """Digest sorted rows, file by file, in the order in which Spark numbered them."""
    return digest_of_sorted(data_files(path))


def losses(answers: Sequence[Mapping[str, Any]]) -> tuple[float, dict[str, float]]:
    """Add up what blocks lost; compute SSE/SST in percent, of all columns and of each."""
    sums = {
        name: [math.fsum(answer["loss"][name][side] for answer in answers) for side in (0, 1)]
        for name in answers[0]["loss"]
    }
    by_column = {name: 100.0 * lost / most if most else 0.0 for name, (lost, most) in sums.items()}
    lost, most = (math.fsum(one[side] for one in sums.values()) for side in (0, 1))
    return (100.0 * lost / most if most else 0.0), by_column


def treated(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up what was done to the rows of blocks."""
    each = [answer["treatment"] for answer in answers]
    suppressed: dict[tuple[str, int], int] = {}
    for entry in (entry for one in each for entry in one["suppressed"]):
        place = (entry["name"], entry["stratum"])
        suppressed[place] = suppressed.get(place, 0) + entry["cells"]
    totals = {}
    for name in each[0]["totals"]:
        apart, _, size = (math.fsum(a["totals"][name][i] for a in answers) for i in range(3))
        totals[name] = apart / size if size else 0.0
    strata = {
        what: [sum(one["strata"][what][i] for one in each) for i in range(2)]
        for what in ("merged", "dropped")
    }
    return {
        "totals": totals,
        "suppressed": [
            {"name": name, "stratum": stratum, "cells": cells}
            for (name, stratum), cells in sorted(suppressed.items())
        ],
        "imputed": {},
        "strata": strata,
        "dominance": dominance([one["dominance"] for one in each]),
    }


def dominance(each: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Add up the means that few make up; a column that is negative anywhere was not looked at."""
    names = [entry["name"] for entry in each[0]]
    found = []
    for name in names:
        entries = [entry for one in each for entry in one if entry["name"] == name]
        if len(entries) < len(each):
            continue
        told = dict(entries[0])
        for count in ("dominated", "estimable"):
            if told[count] is not None:
                told[count] = sum(entry[count] for entry in entries)
        found.append(told)
    return found


def entities_of(
    engine: SparkEngine, plan: Plan, blocks: Frame, answers: Sequence[Mapping[str, Any]]
) -> int:
    """Count the entities that are published; one can have rows in several blocks."""
    from microagg_ops.stages.distributed.blocks import OLD

    entity = plan.release.columns.entity
    if entity is None or len(answers) == 1:
        return int(sum(answer["entities"] for answer in answers))
    key = OLD.format(plan.schema.names.index(entity))
    return int(engine.count(blocks.select(column(key)), [], key)["entities"][0].as_py())


def outside_of(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Tell others of the rows of one block what one machine would; of several, nothing.

    Whether few entities make up a figure is not known of sums over blocks, so none passes the gate.
    """
    if len(answers) == 1:
        return dict(answers[0]["outside"])
    names: Iterable[str] = answers[0]["outside"]
    found: dict[str, Any] = dict.fromkeys(names)
    found["information_loss_by_column"] = dict.fromkeys(answers[0]["loss"])
    return found
