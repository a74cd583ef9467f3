"""The hooks of a series: what extract stages of it, what aggregate is given, what is left of it.

Under `history` the rows that extract stages are those that will be published: of a member of a
class that lasts with the sensitive values and strata as they were published, whatever the source
says now; of a leaver who is held, as he was published. So every later stage sees what leaves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DataError
from microagg_ops.release.series import HISTORY
from microagg_ops.series.arrange import Arranged, arrange
from microagg_ops.series.history import Present, Rules
from microagg_ops.series.ledger import Ledger, Member, read_ledger
from microagg_ops.series.together import Elsewhere
from microagg_ops.stages.artefacts import Artefact, Extracted
from microagg_ops.stages.births import Births
from microagg_ops.stages.extract import with_entity_ranks
from microagg_ops.stages.run import Run
from microagg_ops.stages.series_keys import entity_digests, record_digests
from microagg_ops.stages.series_ledger import ledger_of
from microagg_ops.stages.series_others import check_shared, others_of
from microagg_ops.staging.digests import content_digest, in_order, to_parquet
from microagg_ops.staging.keys import keyed_digest

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

PLACES, LEDGER, ABOUT = "series", "ledger", "series"
ENTITY, CLASS, PLACE, RECORD = "entity", "class", "place", "record"


@dataclass(frozen=True)
class Fixed:
    """The classes of a table that are not to be looked for.

    Parameters
    ----------
    labels
        Row to cluster.
    shown
        Cluster to the rows that it was published with; newborn ones have none yet.
    """

    labels: NDArray[np.int32]
    shown: Mapping[int, pa.Table]


def arranged(run: Run, table: pa.Table) -> tuple[pa.Table, dict[str, bytes]]:
    """Take the rows that a series lets be published now; give them and what later stages need."""
    release, key = run.release, run.release.columns.entity
    if not release.series.is_kept or key is None:
        return table, {}
    digest = keyed_digest(run.key, "input", content_digest(with_entity_ranks(table, key)).encode())
    entities = entity_digests(run.key, table[key])
    if len(set(entities)) < len(entities):
        many = len(entities) - len(set(entities))
        raise DataError(
            f"{many} of {len(entities)} rows are further rows of an entity, and a series needs "
            "one row an entity.",
            code="rows_per_entity",
            hint="Join the rows of an entity in a view.",
        )
    ledger = ledger_of(run)
    # Who asked to be erased is as good as gone, whatever the source says.
    erase = [entity for entity in entities if entity in ledger.erase]
    if erase:
        kept = [place for place, entity in enumerate(entities) if entity not in ledger.erase]
        table, entities = table.take(kept), [entities[place] for place in kept]
    others = others_of(run, ledger)
    for other in others:
        check_shared(other, entities)
    elsewhere = Elsewhere.of(ledger, others, release.k)
    names = [n for n in table.column_names if n in release.published_columns]
    blocks = zip(strata_of(run, table), map(elsewhere.of_entity, entities), strict=True)
    present = Present(entities, record_digests(run.key, table, names), list(blocks))
    about: dict[str, Any] = {"input": digest, "repeated": False, "counts": {}, "anew": None,
                             "erase": erase}  # fmt: skip
    last = ledger.last
    same = last is not None and (last.input, last.release) == (digest, release.digest)
    if same and ledger.classes and not ledger.erase:
        about["repeated"] = True
        table = effective(run, table, present, ledger, {})
        placed = places_of(ledger)
    elif release.series.protect == HISTORY:
        births = Births.of(run, table)
        found = next_publication(run, births, ledger, present, elsewhere)
        about["counts"] = found.counts()
        if run.reports is not None:  # else nobody asked what protection costs
            about["anew"] = births.loss_anew(strata_of(run, table))
        table = effective(run, table, present, found.ledger, found.fresh)
        ledger, placed = found.ledger, places_of(found.ledger)
    else:
        records = zip(entities, present.records, strict=True)
        placed = {entity: ("", 0, record) for entity, record in records}
        table = set_column(table, key, entities)
    table = in_order(table)
    files = {
        f"{PLACES}.parquet": to_parquet(as_table(table[key].to_pylist(), placed)),
        f"{LEDGER}.parquet": to_parquet(ledger.table()),
        f"{ABOUT}.json": json.dumps(about).encode(),
    }
    return table, files


def next_publication(
    run: Run, births: Births, ledger: Ledger, present: Present, elsewhere: Elsewhere
) -> Arranged:
    """Decide who is published now, by history k."""
    series = run.release.series
    rules = Rules(run.release.k, hold=series.held_for, patience=series.patience, near=series.near)
    found = arrange(
        ledger,
        present,
        births.points,
        rules=rules,
        find=births.clusters,
        enough=enough(run, ledger, elsewhere),
        elsewhere=elsewhere,
    )
    if not found.ledger.classes and not found.fresh:
        raise DataError(
            f"No {rules.k} entities can be published together.",
            code="too_few",
            hint="Lower k, or have fewer strata. Beside other releases (series.with) only those "
            "share a class who share all classes there: form larger ones there (aggregate.k)."
            if elsewhere.traces
            else "Lower k, or have fewer strata.",
        )
    return found


def enough(run: Run, ledger: Ledger, elsewhere: Elsewhere) -> Callable[[Sequence[Member]], bool]:
    """Make the question whether a part of a class has what else the release asks of a class."""
    from microagg_ops.checks.evidence import Published
    from microagg_ops.checks.l_diverse import LDiverse

    release = run.release
    if not release.validate.l or release.columns.entity is None:
        return elsewhere.lets_part
    key = release.columns.entity

    def ask(members: Sequence[Member]) -> bool:
        import pyarrow as pa

        rows = ledger.classes[members[0].group].take([m.place for m in members])
        rows = rows.append_column(key, pa.array(range(len(members))))
        diverse = LDiverse().recount(Published(release, rows, [list(release.quasi)]))
        return elsewhere.lets_part(members) and not list(diverse)

    return ask


def effective(
    run: Run,
    table: pa.Table,
    present: Present,
    ledger: Ledger,
    fresh: Mapping[str, Sequence[int]],
) -> pa.Table:
    """Collect the rows to publish: newborn as they are, others as they were published.

    Their numeric quasi-identifiers are those of now where there are any, so that what is lost is
    measured against what is true today.
    """
    import pyarrow as pa

    key = str(run.release.columns.entity)
    table = set_column(table, key, present.entities)
    born = table.take(pa.array([p for those in fresh.values() for p in those], pa.int64()))
    members = [m for those in ledger.current().values() for m in those if m.group not in fresh]
    if not members:
        return born
    shown = pa.concat_tables([ledger.classes[n] for n in ledger.current() if n not in fresh])
    now = {entity: place for place, entity in enumerate(present.entities)}
    where = [now.get(m.entity) for m in members]
    columns = {}
    for field in table.schema:
        if field.name == key:
            cells = pa.chunked_array([pa.array([m.entity for m in members], field.type)])
        elif field.name not in shown.column_names:
            cells = table[field.name].take(pa.array(where))
        else:
            cells = shown[field.name].cast(field.type, safe=False)
            how = run.release.columns.quasi.get(field.name)
            if how is not None and how.type not in ("nominal", "boolean"):
                cells = coalesced(table[field.name].take(pa.array(where, pa.int64())), cells)
        columns[field.name] = cells
    return pa.concat_tables([pa.table(columns, schema=table.schema), born])


def coalesced(cells: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.ChunkedArray:
    """Take the other cell where there is none."""
    import pyarrow.compute as pc

    return pc.coalesce(cells, others)


def places_of(ledger: Ledger) -> dict[str, tuple[str, int, str]]:
    """Find of each member its class, its place there, and its record."""
    return {m.entity: (m.group, m.place, m.record) for m in ledger.members if m.until is None}


def as_table(entities: Sequence[str], placed: Mapping[str, tuple[str, int, str]]) -> pa.Table:
    """Write whose each staged row is, and which class it is in."""
    import pyarrow as pa

    groups, places, records = zip(*(placed[entity] for entity in entities), strict=True)
    return pa.table(
        {ENTITY: list(entities), CLASS: list(groups), PLACE: list(places), RECORD: list(records)}
    )


def strata_of(run: Run, table: pa.Table) -> list[Any]:
    """Find the stratum of each row."""
    names = run.release.strata
    if not names:
        return [()] * table.num_rows
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def set_column(table: pa.Table, name: str, cells: Sequence[Any]) -> pa.Table:
    """Replace a column."""
    import pyarrow as pa

    return table.set_column(table.column_names.index(name), name, pa.array(cells))


def is_staged(run: Run) -> bool:
    """Whether extract arranged the rows for a series."""
    return f"{PLACES}.parquet" in Extracted.of(run).entry["files"]


def fixed(run: Run) -> Fixed | None:
    """Find the classes of the staged rows, if they are not to be looked for."""
    import numpy as np

    from microagg_ops.methods.partition import renumbered

    if not is_staged(run):
        return None
    groups = Extracted.of(run).table(PLACES)[CLASS].to_pylist()
    if "" in groups:
        return None
    numbers = {name: i for i, name in enumerate(dict.fromkeys(groups))}
    labels = renumbered(np.array([numbers[name] for name in groups]))
    classes = staged_ledger(run).classes
    return Fixed(labels, {numbers[name]: classes[name] for name in numbers if name in classes})


def staged_ledger(run: Run, left: type[Artefact] = Extracted) -> Ledger:
    """Read the ledger that a stage left."""
    return read_ledger(left.of(run).table(LEDGER))
