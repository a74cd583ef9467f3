"""What an attacker gets from a release: protected in memory, attacked, and never published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from microagg_ops.attacks.reconstruction import reconstruct
from microagg_ops.errors import DataError
from microagg_ops.pipeline import make_run
from microagg_ops.release.document import load_release
from microagg_ops.release.model import Release
from microagg_ops.stages import stage_function
from microagg_ops.stages.artefacts import Protected
from microagg_ops.stages.attack_simulation import find_attacks
from microagg_ops.stages.evidence import Evidence
from microagg_ops.stages.extract import describe_source, keep, read_rows
from microagg_ops.staging.store import MemoryStaging


@dataclass(frozen=True)
class Attacked:
    """What an attacker got.

    Parameters
    ----------
    release, k
        What was asked for.
    rows, entities
        Of the source.
    attacks
        Each attack with its figures, shares from 0 to 1.
    reconstruction
        What table and external report give away together; nothing without such a report.
    """

    release: str
    k: int
    rows: int
    entities: int
    attacks: Mapping[str, Any]
    reconstruction: Mapping[str, Any] | None


def attack(
    release: str | Path | Release,
    *,
    external: Mapping[str, Any] | None = None,
    connections: Mapping[str, str] | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Attacked:
    """Attack a release; publish nothing.

    Parameters
    ----------
    release
        A release file, or what `load_release` gave for one.
    external
        The external report of a run of it, to reconstruct cells from.
    connections, start, end, progress
        As for `run_release`.
    """
    if not isinstance(release, Release):
        release = load_release(release)
    run = make_run(release, "memory", connections=connections, start=start, end=end)
    run = replace(run, staging=MemoryStaging())
    tell = progress or (lambda stage, share: None)
    extracted = keep(run, *read_rows(run, describe_source(run)))
    for stage in ("standardize", "group", "aggregate"):
        stage_function(stage)(replace(run, progress=partial(tell, stage)))
    tell("attack", 0.0)
    found = find_attacks(Evidence.of(run))
    rebuilt = None
    if external is not None:
        rebuilt = reconstruct(Protected.of(run).rows, external, release.aggregate.k)
    tell("attack", 1.0)
    return Attacked(
        release.release, release.aggregate.k, extracted["rows"], extracted["entities"], found,
        rebuilt,
    )  # fmt: skip


def attack_series(
    release: str | Path | Release,
    *,
    connections: Mapping[str, str] | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
) -> dict[str, Any]:
    """Compare the table that would be published now with the one that is; publish nothing.

    Parameters
    ----------
    release, connections, start, end
        As for `run_release`.

    Returns
    -------
    dict
        How many arrived, left or changed whom a difference of the two tables tells of, whether the
        table would be held back, and (`together`) how many it would tell from all but fewer than k
        beside the tables of the releases of `series.with`. No value.
    """
    from microagg_ops.attacks.differencing import ARRIVED, CHANGED, LEFT, differences
    from microagg_ops.stages.series_verdict import hold_back

    if not isinstance(release, Release):
        release = load_release(release)
    run = make_run(release, "memory", connections=connections, start=start, end=end)
    run = replace(run, staging=MemoryStaging())
    how = release.publish
    warehouse = run.warehouse(how.conn_id)
    names = release.published_columns
    described = {n: kind for n, kind in warehouse.require(how.table).items() if n in names}
    before = warehouse.read(how.table, described)
    for stage in ("extract", "standardize", "group", "aggregate"):
        stage_function(stage)(run)
    told: dict[str, Any] = {"held_back": False}
    try:
        hold_back(run)
    except DataError:
        told["held_back"] = True
    counted = Protected.of(run).summary.get("series", {})
    told |= {name: counted[name] for name in ("together",) if name in counted}
    columns: dict[str, Any] = {"strata": release.strata, "sensitive": release.columns.sensitive}
    after = Protected.of(run).rows
    found = differences(before, after, release.quasi, **columns)
    return told | {kind: sum(g.kind == kind for g in found) for kind in (ARRIVED, LEFT, CHANGED)}
