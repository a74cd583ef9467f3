"""A release under attack: part of the entities are held out, the rest is protected and attacked.

Nothing is written outside memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from microagg_ops.attacks.ground import Ground, Side
from microagg_ops.attacks.inference import inference
from microagg_ops.attacks.linkability import linkability
from microagg_ops.attacks.singling_out import singling_out
from microagg_ops.columns.encoding import read
from microagg_ops.columns.pairs import paired
from microagg_ops.errors import DataError
from microagg_ops.metrics import homogeneity, reidentification, row_classes
from microagg_ops.metrics.linkage import coordinates
from microagg_ops.metrics.tables import is_ordered, measured, sorted_codes
from microagg_ops.stages.aggregate import aggregate
from microagg_ops.stages.artefacts import ENTITY, Extracted, Protected
from microagg_ops.stages.evidence import Evidence
from microagg_ops.stages.extract import keep
from microagg_ops.stages.group import group
from microagg_ops.stages.run import Run
from microagg_ops.stages.standardize import standardize
from microagg_ops.staging.store import MemoryStaging

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

# Half, so that a predicate has as many people to be true of on either side.
HELD_OUT = 0.5


def find_attacks(evidence: Evidence) -> dict[str, Any]:
    """Attack the rows that were aggregated; tell shares from 0 to 1."""
    release = evidence.release
    secrets = [name for name in release.columns.sensitive if name != release.columns.weight]
    table, entity = evidence.protected, release.columns.entity
    if entity:  # never a published column, so the name is free
        table = table.append_column(entity, evidence.origin[ENTITY])
    classes = row_classes(table, [*release.strata, *release.quasi])
    known = reidentification(table, classes, entity)
    linked = evidence.linkage
    return {
        "linkage": {
            "risk": linked.percent / 100,
            "low": linked.low / 100,
            "high": linked.high / 100,
            "algorithm": known.expected / max(known.rows, 1),
            "attempts": linked.tried,
        },
        "homogeneity": [
            {"name": name, "share": homogeneity(table, classes, name, entity).share_of_entities}
            for name in secrets
        ],
        **criteria(evidence.run, secrets),
    }


def criteria(run: Run, secrets: list[str]) -> dict[str, Any]:
    """Carry out the attacks that need people who are not in the release."""
    try:
        ground = find_ground(run)
    except DataError as error:
        return {
            "held_out": 0, "singling_out": None, "linkability": None, "inference": [],
            "note": f"Half of the entities cannot be released by themselves: {error.message}",
        }  # fmt: skip
    halves = linkability(ground)
    return {
        "held_out": len(set(ground.others.entities.tolist())),
        "singling_out": singling_out(ground).told(),
        "linkability": halves.told() if halves else None,
        "inference": [
            {"name": name, **risk.told()} for name, risk in inference(ground, secrets).items()
        ],
        "note": "",
    }


def find_ground(run: Run) -> Ground:
    """Hold entities out, protect the others as the release says, and read both sides."""
    return read_ground(run, *protect_half(run))


def protect_half(run: Run) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Protect half of the entities: published rows, the same as they were, and rows held out."""
    import pyarrow as pa

    release, source = run.release, Extracted.of(run).rows
    out = held_out(source, release.columns.entity, release.aggregate.seed)
    inner = replace(
        run,
        staging=MemoryStaging(),
        progress=lambda share: None,
        # A stratum that is large enough in the source can be too small in half of it.
        release=release
        if release.small_strata != "error"
        else replace(release, small_strata="merge"),
    )
    keep(inner, source.filter(pa.array(~out)), {}, "")
    for stage in (standardize, group, aggregate):
        stage(inner)
    protected = Protected.of(inner)
    members = Extracted.of(inner).rows.take(protected.order)
    return protected.rows, members, source.filter(pa.array(out))


def held_out(source: pa.Table, entity: str | None, seed: int) -> NDArray[np.bool_]:
    """Choose the rows of the entities that are held out, whatever the order of the source."""
    import numpy as np

    codes = np.arange(source.num_rows)
    if entity:
        codes = np.unique(source[entity].to_numpy(), return_inverse=True)[1]
    many = int(codes.max(initial=-1)) + 1
    out = np.zeros(many, bool)
    out[np.random.default_rng(seed).permutation(many)[: int(HELD_OUT * many)]] = True
    return np.asarray(out[codes])


def read_ground(run: Run, protected: pa.Table, members: pa.Table, others: pa.Table) -> Ground:
    """Read published rows and people as numbers on one scale."""
    import numpy as np
    import pyarrow as pa

    release, entity = run.release, run.release.columns.entity
    people = pa.concat_tables([members, others], promote_options="permissive")
    old = {name: read(name, how, people[name]) for name, how in release.columns.quasi.items()}
    new = {
        name: read(name, encoded.how, protected[name], encoded.categories)
        for name, encoded in old.items()
    }
    pairs = paired(old, new)
    points, first = coordinates(pairs), members.num_rows
    strata = stratum_of(release.strata, protected, others)
    before = dict(zip(pairs.names, pairs.before.T, strict=True))
    after = dict(zip(pairs.names, pairs.after.T, strict=True))
    unordered = {name for name, j in zip(pairs.names, pairs.nominal, strict=True) if j}
    kept = [n for n in protected.column_names if n not in before and n != release.columns.weight]
    for name in kept:
        before[name], after[name], ordered = as_numbers(name, people, protected)
        unordered |= set() if ordered else {name}
    entities = np.arange(people.num_rows) if entity is None else people[entity].to_numpy()

    def side(rows: slice, where: NDArray[np.int64]) -> Side:
        values = {name: np.ascontiguousarray(column[rows]) for name, column in before.items()}
        return Side(points.before[rows], where, entities[rows].astype(np.int64), values)

    published = Side(
        points.after, strata[0], np.arange(first),
        {name: np.ascontiguousarray(column) for name, column in after.items()},
    )  # fmt: skip
    return Ground(
        points.names, points.nominal, published,
        side(slice(first), strata[0]), side(slice(first, None), strata[1]),
        frozenset(unordered), release.aggregate.seed,
    )  # fmt: skip


def stratum_of(
    names: tuple[str, ...], protected: pa.Table, others: pa.Table
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the strata of published rows, and those where other people's rows would be.

    A stratum that is not published was merged with others under NULL, if any was.
    """
    import numpy as np
    import pyarrow as pa

    if not names:
        return np.zeros(protected.num_rows, np.int64), np.zeros(others.num_rows, np.int64)
    merged = pa.table({name: pa.array([None], others.schema.field(name).type) for name in names})
    tables = [protected.select(names), others.select(names), merged]
    codes = sorted_codes(pa.concat_tables(tables, promote_options="permissive"), names)
    there = codes[: protected.num_rows]
    would = codes[protected.num_rows : -1]
    would = np.where(np.isin(would, there), would, codes[-1])
    return there, np.where(np.isin(would, there), would, -1)


def as_numbers(
    name: str, people: pa.Table, protected: pa.Table
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Read a column that is published as it is; say whether its values have an order."""
    import numpy as np
    import pyarrow as pa

    kind = people[name].type
    if is_ordered(kind) and not pa.types.is_boolean(kind):
        return measured(people[name]), measured(protected[name]), True
    tables = [people.select([name]), protected.select([name])]
    codes = sorted_codes(pa.concat_tables(tables, promote_options="permissive"), [name])
    found = np.asarray(codes, float)
    return found[: people.num_rows], found[people.num_rows :], False
