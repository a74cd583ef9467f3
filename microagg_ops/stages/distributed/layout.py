"""Which block each row is partitioned in: whole strata where they fit, else parts of one.

A cell is the rows of one stratum that are NULL in the same columns: no cluster crosses it. Small
strata share a block; in a large stratum large cells are cut, and cells that are too small go with
the largest, so that they can be widened as one machine would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.space import points
from microagg_ops.columns.strata import numbered
from microagg_ops.engines.cuts import Cuts, Node, cut, joined, numbers
from microagg_ops.engines.spark.engine import BLOCK, Frame, SparkEngine
from microagg_ops.errors import DataError
from microagg_ops.release.model import Release
from microagg_ops.stages.artefacts import Extracted
from microagg_ops.stages.distributed.plan import Plan
from microagg_ops.stages.extract import normalized
from microagg_ops.stages.run import Run
from microagg_ops.staging.digests import in_order

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

PATTERN, ROWS, ENTITIES = "microagg pattern", "rows", "entities"
# Rows of the sample that cuts are found in: at least, and of each block.
SAMPLE, OF_BLOCK = 50_000, 64
# A block must have this many clusters' worth of entities: fewer lose too much at its edges.
CLUSTERS = 20
# What stands for all strata that are merged: a name that no stratum has.
MERGED = object()
#: The values of a stratum.
Stratum = tuple[Any, ...]


@dataclass(frozen=True)
class Layout:
    """The blocks of a table.

    Parameters
    ----------
    cells
        The columns of strata, and the pattern of NULLs; a row a cell.
    firsts
        The first block of each cell.
    cuts
        How large cells are cut, by the number of the cell.
    dropped
        How many strata are in no block, and their rows and entities.
    """

    cells: pa.Table
    firsts: tuple[int, ...]
    cuts: Mapping[int, Cuts]
    dropped: tuple[int, int, int] = (0, 0, 0)

    @property
    def many(self) -> int:
        """The number of blocks."""
        ends = (first + self.cuts[i].many - 1 if i in self.cuts else first
                for i, first in enumerate(self.firsts))  # fmt: skip
        return max(ends, default=0) + 1

    @property
    def strata(self) -> dict[tuple[Any, ...], int]:
        """The number of each stratum, from 1 on, in the order of the sorted table."""
        cells = (tuple(cell.values())[:-1] for cell in self.cells.to_pylist())
        return {stratum: i for i, stratum in enumerate(dict.fromkeys(cells), 1)}

    def facts(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        cuts = {str(i): asdict(tree) for i, tree in self.cuts.items()}
        return {"firsts": self.firsts, "cuts": cuts, "dropped": self.dropped}

    @classmethod
    def of(cls, facts: Mapping[str, Any], cells: pa.Table) -> Layout:
        """Read what `facts` made."""
        cuts = {}
        for i, told in facts["cuts"].items():
            nodes = tuple(
                Node(tuple(n["axis"]), n["at"], n["left"], n["right"], tuple(n["centre"]))
                for n in told["nodes"]
            )
            cuts[int(i)] = Cuts(nodes, tuple(told["paths"]), tuple(told["blocks"]))
        return cls(cells, tuple(facts["firsts"]), cuts, tuple(facts["dropped"]))

    def blocks(self, plan: Plan, batch: pa.RecordBatch) -> pa.Array:
        """Find the block of each row of a batch."""
        import numpy as np
        import pyarrow as pa

        rows = normalized(pa.Table.from_batches([batch]))
        names = self.cells.column_names
        known = {tuple(cell.values()): i for i, cell in enumerate(self.cells.to_pylist())}
        found = np.empty(rows.num_rows, np.int32)
        for these, key in combinations(rows, names):
            cell = known[key]
            found[these] = self.firsts[cell]
            if cell in self.cuts:
                where = coordinates(plan, rows.take(these), key[-1])
                found[these] += numbers(where, self.cuts[cell])
        return pa.array(found)


def combinations(
    rows: pa.Table, names: Sequence[str]
) -> Iterator[tuple[NDArray[np.int64], tuple[Any, ...]]]:
    """Yield the rows with each combination of values, and the combination."""
    import numpy as np
    import pyarrow.compute as pc

    codes = (
        pc.dictionary_encode(rows[name].combine_chunks(), null_encoding="encode").indices.to_numpy()
        for name in names
    )
    groups = numbered(rows.num_rows, codes)
    order = np.argsort(groups, kind="stable")
    for these in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if len(these):
            yield these, tuple(rows[name][int(these[0])].as_py() for name in names)


def coordinates(plan: Plan, rows: pa.Table, pattern: int) -> NDArray[np.float64]:
    """Return the coordinates of rows that are NULL in the same columns."""
    import numpy as np

    columns = plan.encoded(rows).values()
    there = [points(column, plan.scales[column.name]) for i, column in enumerate(columns)
             if not pattern >> i & 1]  # fmt: skip
    return np.hstack([np.empty((rows.num_rows, 0)), *there])


def find_layout(run: Run, engine: SparkEngine, plan: Plan, frame: Frame) -> Layout:
    """Divide the rows into blocks."""
    import pyarrow as pa

    release, rows = run.release, Extracted.of(run).summary["rows"]
    if rows <= release.engine.block_rows:
        return Layout(pa.table({PATTERN: pa.array([], pa.int64())}), (), {})
    marked = engine.with_pattern(frame, release.quasi, PATTERN)
    names = [*release.strata, PATTERN]
    cells = in_order(normalized(engine.count(marked, names, release.columns.entity)))
    merged, dropped, gone = settled(run, engine, frame)
    layout, wanted = divided(run, cells, merged, dropped)
    layout = replace(layout, dropped=gone)
    if wanted:
        share = max(SAMPLE, OF_BLOCK * sum(wanted.values())) / rows
        sample = in_order(normalized(engine.sample(marked, min(1.0, share))))
        layout = with_cuts(plan, layout, wanted, sample)
        layout = balanced(run, engine, plan, layout, marked)
    return layout


def settled(
    run: Run, engine: SparkEngine, frame: Frame
) -> tuple[set[Stratum], set[Stratum], tuple[int, int, int]]:
    """Find the strata that are merged, and those that are dropped: how many, with which rows."""
    release, key = run.release, run.release.columns.entity
    if not release.strata:
        return set(), set(), (0, 0, 0)
    counted = in_order(normalized(engine.count(frame, release.strata, key))).to_pylist()
    sizes = {tuple(row[n] for n in release.strata): row[ENTITIES] for row in counted}
    small = {stratum for stratum, size in sizes.items() if size < release.least}
    if not small:
        return set(), set(), (0, 0, 0)
    rule = release.small_strata
    if rule == "error" or (rule == "drop" and len(small) == len(sizes)):
        raise DataError(
            f"A stratum of {', '.join(release.strata)} has {min(sizes.values())} "
            f"{'entities' if key else 'rows'}, fewer than k = {release.least}.",
            code="small_stratum",
            hint="Lower k, or let small_strata be merge or drop.",
        )
    if rule == "drop":
        rows, entities = counted_in(engine, frame, release, small)
        return set(), small, (len(small), rows, entities)
    nobody = (None,) * len(release.strata)
    small |= {nobody} & set(sizes)  # which the others are merged with
    others = sorted((s for s in sizes if s not in small), key=lambda s: sizes[s])
    while others and counted_in(engine, frame, release, small)[1] < release.least:
        small.add(others.pop(0))
    return small, set(), (0, 0, 0)


def counted_in(
    engine: SparkEngine, frame: Frame, release: Release, strata: set[Stratum]
) -> tuple[int, int]:
    """Count the rows and the entities of some strata together."""
    marked = engine.with_column(frame, BLOCK, partial(_among, list(release.strata), strata))
    found = engine.count(marked, [BLOCK], release.columns.entity).to_pylist()
    return next((row[ROWS], row[ENTITIES]) for row in found if row[BLOCK])


def _among(names: Sequence[str], strata: set[Stratum], batch: pa.RecordBatch) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    rows = normalized(pa.Table.from_batches([batch]))
    found = np.zeros(rows.num_rows, np.int32)
    for these, stratum in combinations(rows, names):
        found[these] = stratum in strata
    return pa.array(found)


def divided(
    run: Run, cells: pa.Table, merged: set[Stratum], dropped: set[Stratum]
) -> tuple[Layout, dict[int, int]]:
    """Assign each cell its first block, and large ones the number of parts to cut them into."""
    release, most = run.release, run.release.engine.block_rows
    rows, entities = (cells[name].to_pylist() for name in (ROWS, ENTITIES))
    names = [*release.strata, PATTERN]
    by_stratum: dict[Stratum, list[int]] = {}
    for i, cell in enumerate(cells.select(names).to_pylist()):
        stratum = tuple(cell.values())[:-1]
        by_stratum.setdefault((MERGED,) if stratum in merged else stratum, []).append(i)
    firsts, wanted = [0] * len(rows), dict[int, int]()
    block, filled = 0, 0
    for stratum, members in by_stratum.items():
        if stratum in dropped:
            for i in members:
                firsts[i] = -1
            continue
        for part in parts_of(members, rows, entities, release, whole=stratum == (MERGED,)):
            size = sum(rows[i] for i in part)
            if filled and filled + size > most:
                block, filled = block + 1, 0
            for i in part:
                firsts[i] = block
            filled += size
            if size > most and rows[part[0]] > most:
                wanted[part[0]] = -(-rows[part[0]] // most)
                block, filled = block + wanted[part[0]], 0
    return Layout(cells.select(names), tuple(firsts), {}), wanted


def parts_of(
    members: list[int], rows: list[int], entities: list[int], release: Release, *, whole: bool
) -> list[list[int]]:
    """Divide the cells of a stratum: those that cannot be alone go with the largest, the first.

    Strata that are merged stay together, so that the block they share merges them.
    """
    if sum(rows[i] for i in members) <= release.engine.block_rows:
        return [members]
    largest = max(members, key=lambda i: (rows[i], -i))
    few = [i for i in members if i != largest and (whole or entities[i] < release.least)]
    return [[largest, *few], *([i] for i in members if i not in {largest, *few})]


def with_cuts(plan: Plan, layout: Layout, wanted: Mapping[int, int], sample: pa.Table) -> Layout:
    """Cut large cells, each by its part of a sample."""
    known = {tuple(cell.values()): i for i, cell in enumerate(layout.cells.to_pylist())}
    cuts = {}
    for these, key in combinations(sample, layout.cells.column_names):
        cell = known[key]
        if cell in wanted:
            where = coordinates(plan, sample.take(these), key[-1])
            if where.shape[1]:
                cuts[cell] = cut(where, wanted[cell])
    return replace(layout, cuts=cuts)


def balanced(run: Run, engine: SparkEngine, plan: Plan, layout: Layout, marked: Frame) -> Layout:
    """Join blocks with too few entities to their neighbours, and number blocks anew."""
    release = run.release
    counted = engine.count(assigned(engine, plan, layout, marked), [BLOCK], release.columns.entity)
    sizes = dict(zip(*(counted[name].to_pylist() for name in (BLOCK, ENTITIES)), strict=True))
    cuts = {}
    for cell, tree in layout.cuts.items():
        first = layout.firsts[cell]
        leaves = [sizes.get(first + leaf, 0) for leaf in range(len(tree.paths))]
        cuts[cell] = joined(tree, leaves, CLUSTERS * release.aggregate.k)
    return replace(layout, cuts=cuts)


def assigned(engine: SparkEngine, plan: Plan, layout: Layout, marked: Frame) -> Frame:
    """Add the block of each row; rows of one entity in one cell share theirs."""
    frame = engine.only_blocks(
        engine.with_column(marked, BLOCK, partial(Layout.blocks, layout, plan))
    )
    entity = plan.release.columns.entity
    if entity is None or not layout.cuts:
        return frame
    return engine.together(frame, entity, layout.cells.column_names)


def in_blocks(engine: SparkEngine, plan: Plan, layout: Layout, frame: Frame) -> Frame:
    """Add the block of each row to the rows that were read."""
    if not layout.cells.num_rows:
        return engine.one_block(frame)
    return assigned(engine, plan, layout, engine.with_pattern(frame, plan.release.quasi, PATTERN))
