"""Group: decide which quasi-identifiers are aggregated together."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.nulls import imputed
from microagg_ops.grouping import correlation
from microagg_ops.methods.partition import Clock
from microagg_ops.release.model import Release
from microagg_ops.stages.artefacts import Groups, Prepared
from microagg_ops.stages.microdata import Microdata
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.grouping.fitness import Fitness
    from microagg_ops.grouping.gomm import Found


def group(run: Run) -> dict[str, Any]:
    """Write down the groups of columns."""
    groups, told = find_groups(run)
    summary = {"method": run.release.group.method, "groups": groups, **told}
    Groups.write(run, groups, summary)
    return summary


def find_groups(run: Run) -> tuple[list[list[str]], dict[str, Any]]:
    """Return the groups that the release asks for, and what there is to tell of their search."""
    how, names = run.release.group, run.release.quasi
    if how.method == "fixed":
        return [list(group) for group in how.groups], {}
    if how.method == "single" or len(names) == 1:
        return [list(names)], {}
    rows = Prepared.rows(run)
    told: dict[str, Any] = {}
    if how.method in ("gomm", "dgomm"):
        found, told = searched(run, rows)
    else:
        strengths = correlation.correlations([rows.points[name] for name in names])
        by = {"correlated": correlation.correlated, "uncorrelated": correlation.uncorrelated}
        found = by[how.method](strengths, how.size)
    return [[names[column] for column in group] for group in found], told


def searched(run: Run, rows: Microdata) -> tuple[correlation.Grouping, dict[str, Any]]:
    """Search for groups; tell their score and how long it took."""
    from microagg_ops.grouping.gomm import gomm

    how, clock = run.release.group, Clock(run.release.group.seconds, run.progress)
    fitness = sampled(run.release, rows)
    found: Found = gomm(
        fitness,
        population=how.population,
        generations=how.generations,
        seed=how.seed,
        clock=clock,
        dynamic=how.method == "dgomm",
    )
    told = {"score": found.measured.score, **asdict(found.measured), "rows": fitness.rows}
    told |= {"generations": found.generations, "groupings": found.groupings}
    return found.groups, {"search": told | {"seconds": round(clock.seconds, 3)}}


def sampled(release: Release, rows: Microdata) -> Fitness:
    """Take a sample of entities, a row of each, to measure groupings on; NULLs are filled in."""
    import numpy as np

    from microagg_ops.grouping.fitness import Fitness

    _, chosen = np.unique(rows.entities, return_index=True)
    if len(chosen) > release.group.sample:
        rng = np.random.default_rng(release.group.seed)
        chosen = rng.choice(chosen, release.group.sample, replace=False)
    chosen = np.sort(chosen)
    columns = []
    for name in release.quasi:
        coded = rows.filled[name]
        if coded.missing.all():
            codes: NDArray[np.float64] = np.zeros(len(rows.weights))
        else:
            codes = imputed(coded, rows.strata.codes, rows.weights).codes
        columns.append(replace(coded, codes=codes[chosen]))
    scales = [rows.scales[name] for name in release.quasi]
    return Fitness(columns, scales, release.aggregate.k, rows.weights[chosen])
