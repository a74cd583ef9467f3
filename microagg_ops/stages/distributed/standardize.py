"""Standardize: exact moments of all rows, and the blocks that they are partitioned in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from microagg_ops.columns.encoding import Encoded, refuse_null
from microagg_ops.columns.space import MOST_CATEGORIES, NO_SCALE, NOMINAL, points
from microagg_ops.engines.base import Moments
from microagg_ops.engines.exact import added, parts_of, total
from microagg_ops.engines.spark.engine import Frame, SparkEngine
from microagg_ops.stages.artefacts import Extracted
from microagg_ops.stages.distributed.layout import find_layout, in_blocks
from microagg_ops.stages.distributed.plan import SOURCE, Plan, Planned, engine_of, folder
from microagg_ops.stages.extract import check_calendar, normalized
from microagg_ops.stages.microdata import find_weights
from microagg_ops.stages.run import Run
from microagg_ops.stages.standardize import centre_and_scale, comparable

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from microagg_ops.release.columns import Quasi


def standardize(run: Run) -> dict[str, Any]:
    """Find scales and blocks."""
    engine, extracted = engine_of(run), Extracted.of(run)
    frame = engine.stored(folder(run, SOURCE))
    plan = Plan(run.release, extracted.schema, {}, {}, categories_of(run, engine, frame))
    as_asked = as_one if extracted.summary["rows"] <= run.release.engine.block_rows else as_many
    plan, summary = as_asked(engine, plan, frame)
    layout = find_layout(run, engine, plan, frame)
    if layout.cells.num_rows and run.release.aggregate.aware:
        left, key = in_blocks(engine, plan, layout, frame), run.release.columns.entity
        spreads = {name: engine.holders(left, name, key) for name in run.release.validate.t}
        plan = replace(plan, spreads=spreads)
    Planned.write(run, plan, layout, summary)
    return summary


def categories_of(run: Run, engine: SparkEngine, frame: Frame) -> dict[str, pa.Array]:
    """Find the categories of nominal columns, sorted."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    found = {}
    for name, how in run.release.columns.quasi.items():
        if how.type in NOMINAL:
            values = pa.table({name: engine.distinct(frame, name, 10 * MOST_CATEGORIES)})
            there = pc.drop_null(normalized(values)[name].combine_chunks())
            found[name] = there.take(pc.array_sort_indices(there))
            points(Encoded(name, how, np.zeros(0), there.type, found[name]))  # too many: refused
    return found


def as_one(engine: SparkEngine, plan: Plan, frame: Frame) -> tuple[Plan, dict[str, Any]]:
    """Let one executor do what one machine does, to the last digit."""
    (found,) = engine.ask_all(frame, partial(compared, plan))
    scales = {name: (one, other) for name, (one, other) in found["scales"].items()}
    return replace(plan, scales=scales), found["summary"]


def compared(plan: Plan, rows: pa.Table) -> dict[str, Any]:
    """Find the scales of rows that are all there are."""
    _, scales, summary = comparable(plan.release, plan.canonical(rows))
    return {"scales": scales, "summary": summary}


def as_many(engine: SparkEngine, plan: Plan, frame: Frame) -> tuple[Plan, dict[str, Any]]:
    """Find scales, and what would stand for all rows, from sums without rounding."""
    release, known = plan.release, Known.of(engine, plan, frame)
    method, warnings = release.standardize.method, []
    scales, centres = dict(plan.scales), dict(plan.centres)
    asked: Any = known  # by names, where engines are asked by columns
    for name, how in release.columns.quasi.items():
        seen, column = known.columns[name], cast("Any", name)
        if release.nulls == "reject":
            refuse_null(seen.encoded(name, how))
        if seen.least == seen.largest:
            warnings.append(f"Quasi-identifier {name!r} is {'constant' if seen.many else 'NULL'}.")
        plain = how.type in NOMINAL or not seen.many
        scales[name] = NO_SCALE if plain else centre_and_scale(name, column, method, asked)
        centres[name] = known.centre(name)
    summary = {"method": method, "columns": len(scales), "warnings": warnings}
    return replace(plan, scales=scales, centres=centres), summary


@dataclass(frozen=True)
class Seen:
    """What all rows together say of one column.

    Parameters
    ----------
    rows, many
        All rows, and those that are not NULL.
    least, largest
        The ends of the values.
    sums
        Of values, of weighted values and of weights.
    codes
        Code to the weight of its rows, where the column has categories.
    """

    rows: int
    many: int
    least: float | None
    largest: float | None
    sums: tuple[Fraction, Fraction, Fraction]
    codes: Mapping[int, Fraction]

    @classmethod
    def merged(cls, found: Sequence[Mapping[str, Any]]) -> Seen:
        """Join what partitions said."""
        ends = [end for one in found for end in one["ends"]]
        codes = {code for one in found for code in one["codes"]}
        return cls(
            sum(one["rows"] for one in found),
            sum(one["many"] for one in found),
            min(ends, default=None),
            max(ends, default=None),
            tuple(total(added(one["sums"][i] for one in found)) for i in range(3)),  # type: ignore[arg-type]
            {
                int(code): total(added(one["codes"].get(code, {}) for one in found))
                for code in codes
            },
        )

    def encoded(self, name: str, how: Quasi) -> Encoded:
        """Make a column that is NULL in as many rows."""
        import numpy as np
        import pyarrow as pa

        return Encoded(name, how, np.repeat([0.0, np.nan], [self.many, self.rows - self.many]),
                       pa.float64())  # fmt: skip


@dataclass(frozen=True)
class Known:
    """What all rows together say of their quasi-identifiers; it answers by name as engines do."""

    engine: SparkEngine
    plan: Plan
    frame: Frame
    columns: Mapping[str, Seen]
    squares: Mapping[str, Fraction]

    @classmethod
    def of(cls, engine: SparkEngine, plan: Plan, frame: Frame) -> Known:
        """Ask all rows twice: the second time how far they lie from their means."""
        found = [one for one in engine.ask(frame, partial(looked, plan)) if one]
        columns = {n: Seen.merged([one[n] for one in found]) for n in plan.release.quasi}
        means = {n: float(c.sums[0] / c.many) if c.many else 0.0 for n, c in columns.items()}
        apart = [one for one in engine.ask(frame, partial(squared, plan, means)) if one]
        squares = {n: total(added(one[n] for one in apart)) for n in columns}
        return cls(engine, plan, frame, columns, squares)

    def moments(self, name: str) -> Moments:
        """Return the moments and ends of a column."""
        seen = self.columns[name]
        mean, square = float(seen.sums[0] / seen.many), float(self.squares[name] / seen.many)
        return Moments(mean, math.sqrt(square), seen.least or 0.0, seen.largest or 0.0)

    def quantiles(self, name: str, shares: Sequence[float]) -> tuple[float, ...]:
        """Return quantiles, interpolated between neighbours, in the units of values."""
        codes = self.engine.numbers(self.frame, partial(codes_of, self.plan, name))
        return self.engine.quantiles(codes, shares)

    def centre(self, name: str) -> float:
        """Find the code that would stand for all rows."""
        seen, how = self.columns[name], self.plan.release.columns.quasi[name]
        if not seen.many:
            return 0.0
        if how.statistic == "mean":
            return float(seen.sums[1] / seen.sums[2]) / self.unit(name)
        if how.statistic == "median":
            middle = self.quantiles(name, [0.5])[0] / self.unit(name)
            return math.floor(middle) if how.type == "ordinal" else middle
        return float(min(seen.codes, key=lambda code: (-seen.codes[code], code)))

    def unit(self, name: str) -> float:
        """Return the value of one step of a code."""
        import numpy as np

        kind = self.plan.schema.field(name).type
        return Encoded(name, self.plan.release.columns.quasi[name], np.zeros(0), kind).unit


def values_of(
    plan: Plan, batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[dict[str, Encoded], NDArray[np.float64]]]:
    """Read batches of rows as numbers, with their weights."""
    import pyarrow as pa

    for batch in batches:
        rows = normalized(pa.Table.from_batches([batch]))
        check_calendar(rows)
        yield plan.encoded(rows), find_weights(plan.release.columns.weight, rows)


def looked(plan: Plan, batches: Iterator[pa.RecordBatch]) -> dict[str, Any]:
    """Look at the rows of a partition: counts, ends and sums of each column."""
    import numpy as np

    found: dict[str, Any] = {}
    for columns, weights in values_of(plan, batches):
        for name, column in columns.items():
            there = ~column.missing
            values, weight = column.codes[there] * column.unit, weights[there]
            one = found.setdefault(
                name, {"rows": 0, "many": 0, "ends": [], "sums": [{}, {}, {}], "codes": {}}
            )
            one["rows"] += len(there)
            one["many"] += len(values)
            if len(values):
                ends = (*one["ends"], float(values.min()), float(values.max()))
                one["ends"] = [min(ends), max(ends)]
            parts = [parts_of(part) for part in (values, values * weight, weight)]
            one["sums"] = [added(pair) for pair in zip(one["sums"], parts, strict=True)]
            if column.how.statistic == "mode":
                codes = column.codes[there].astype(np.int64)
                for code in np.unique(codes).tolist():
                    seen = one["codes"].get(str(code), {})
                    one["codes"][str(code)] = added((seen, parts_of(weight[codes == code])))
    return found


def squared(
    plan: Plan, means: Mapping[str, float], batches: Iterator[pa.RecordBatch]
) -> dict[str, Any]:
    """Sum the squared distances from means of the rows of a partition."""
    import numpy as np

    found: dict[str, Any] = {}
    for columns, _ in values_of(plan, batches):
        for name, column in columns.items():
            values = column.codes[~column.missing] * column.unit
            with np.errstate(over="ignore"):
                parts = parts_of(np.square(values - means[name]))
            found[name] = added((found.get(name, {}), parts))
    return found


def codes_of(plan: Plan, name: str, batch: pa.RecordBatch) -> NDArray[np.float64]:
    """Read a column as numbers, NaN where it is NULL."""
    import pyarrow as pa

    column = plan.encoded(normalized(pa.Table.from_batches([batch])))[name]
    return column.codes * column.unit
