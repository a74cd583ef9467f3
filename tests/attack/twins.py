"""Twins: two sources that give one published table, and differ in what nobody outside may learn.

Whatever leaves with one must leave with the other. This is the strongest attacker there is: he
knows all of both sources, the release file and the code, and asks which of the two it was.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.errors import MicroaggError
from microagg_ops.release.document import build, find_faults
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.extract import keep
from microagg_ops.staging.digests import in_order
from microagg_ops.staging.store import MemoryStaging
from tests.attack.artefacts import Outside
from tests.attack.releases import GRAIN, Case, Random

# Figures of loss move with the values behind them: this many digits of one may leave.
DIGITS = 3
FEWER = "fewer than k"
# How long something took, which differs from run to run.
CLOCK = re.compile(r"seconds|duration|timings|created|trajectory/\d+/0$")
NOW = re.compile(r"in \d+\.\d+ s\b|20(2[6-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?")


@dataclass(frozen=True)
class Inside:
    """What only those inside know of a run.

    Parameters
    ----------
    case
        The release.
    source
        The source as it is staged.
    row, labels
        Published row to row of the source, and to its cluster in each group of columns.
    after
        The table to publish, rows as in `row`.
    """

    case: Case
    source: pa.Table
    row: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]
    after: pa.Table

    @cached_property
    def before(self) -> pa.Table:
        """The published rows as they were."""
        return self.source.take(self.row)

    @cached_property
    def dropped(self) -> np.ndarray[Any, Any]:
        """The rows of the source that are not published."""
        return np.setdiff1d(np.arange(self.source.num_rows), self.row)

    def suppressed(self, name: str) -> np.ndarray[Any, Any]:
        """The rows of the source whose cell in a column is not published."""
        gone = self.after[name].is_null().to_numpy() & self.before[name].is_valid().to_numpy()
        return self.row[gone]

    def imputed(self, name: str) -> np.ndarray[Any, Any]:
        """The rows of the source whose cell in a column was made up."""
        new = self.after[name].is_valid().to_numpy() & self.before[name].is_null().to_numpy()
        return self.row[new]

    def merged(self) -> np.ndarray[Any, Any]:
        """The rows of the source whose stratum is not published."""
        if not self.case.strata:
            return self.row[:0]
        (name,) = self.case.strata
        return self.suppressed(name)

    def classes(self) -> list[np.ndarray[Any, Any]]:
        """The rows of the source that share all that is published but the sensitive columns."""
        names = [*self.case.quasi, *self.case.strata]
        keys = [tuple(row.values()) for row in self.after.select(names).to_pylist()]
        found: dict[Any, list[int]] = {}
        for key, row in zip(keys, self.row, strict=True):
            found.setdefault(key, []).append(int(row))
        return [np.array(rows) for rows in found.values()]

    def counts(self) -> dict[str, int]:
        """What is counted of cells and rows that are not published as they were."""
        people = self.case.sections["columns"].get("entity")
        rows = self.source.num_rows
        found = {"dropped rows": len(self.dropped), "merged rows": len(self.merged())}
        for name in self.case.quasi:
            found[f"suppressed cells of {name}"] = len(self.suppressed(name))
            found[f"imputed cells of {name}"] = len(self.imputed(name))
            found[f"missing cells of {name}"] = self.before[name].null_count
        for what in ("suppressed", "imputed", "missing"):
            parts = [many for key, many in found.items() if key.startswith(what)]
            found[f"{what} cells"] = sum(parts)
        if people:
            found["rows beyond one an entity"] = rows - len(self.source[people].unique())
        for what, which in (("dropped", self.dropped), ("merged", self.merged())):
            if self.case.strata:
                strata = self.source[self.case.strata[0]].take(which)
                found[f"{what} strata"] = len(strata.unique())
        return found

    def hidden(self) -> dict[str, list[float]]:
        """The cells that are not published in any form, of columns that can be computed with."""
        found = {}
        for name, how in self.case.quasi.items():
            if how["type"] in ("number", "integer", "decimal", "date"):
                rows = np.concatenate([self.suppressed(name), self.dropped]).astype(int)
                cells = as_numbers(self.source[name].take(rows))
                found[name] = cells[~np.isnan(cells)].tolist()
        return found


def as_numbers(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Cells as one can compute with them: dates as days since 1970, NULL as NaN."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), float)


def look_inside(case: Case) -> Inside | None:
    """Find the clusters of a release without publishing it; none where it cannot be."""
    assert not list(find_faults(case.document))
    names = set(case.table.column_names) - set(case.sections["columns"]["identifiers"])
    run = Run(
        release=build(case.document, ""),
        staging=MemoryStaging(),
        warehouse=lambda conn_id: pytest.fail("no warehouse here"),
        reports=None,
        run_id="run",
    )
    try:
        keep(run, case.table.select([n for n in case.table.column_names if n in names]), {}, "")
        for stage in ("standardize", "group", "aggregate"):
            stage_function(stage)(run)
    except MicroaggError:
        return None
    rows = run.table("aggregate", "rows")
    labels = [name for name in rows.column_names if name.startswith("label")]
    return Inside(
        case,
        run.table("extract", "table"),
        rows["row"].to_numpy(),
        np.column_stack([rows[name].to_numpy() for name in labels]),
        run.table("aggregate", "protected"),
    )


def put(table: pa.Table, name: str, cells: dict[int, Any]) -> pa.Table:
    """Replace some cells of a column."""
    values = table[name].to_pylist()
    for row, cell in cells.items():
        values[row] = cell
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values, table[name].type))


def other(cell: Any, rng: Random) -> Any:
    """Another value of the same type, near it."""
    step = int(rng.integers(1, 50))
    if isinstance(cell, bool):
        return not cell
    if isinstance(cell, float):
        return cell + step / GRAIN
    if isinstance(cell, int):
        return cell + 1
    if isinstance(cell, Decimal):
        return cell + Decimal(step).scaleb(-2)
    if isinstance(cell, datetime.datetime):
        return cell + datetime.timedelta(0, step)
    if isinstance(cell, datetime.date):
        return cell + datetime.timedelta(1)
    return None


def suppressed_value(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """A suppressed cell had another value."""
    for name in inside.case.quasi:
        for row in inside.suppressed(name)[:2]:
            cell = other(inside.source[name][int(row)].as_py(), rng)
            if cell is not None:
                yield put(inside.source, name, {int(row): cell})


def suppressed_missing(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """A suppressed cell was NULL."""
    for name in inside.case.quasi:
        for row in inside.suppressed(name)[:2]:
            yield put(inside.source, name, {int(row): None})


def dropped_value(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """A row that was dropped had another value."""
    for name in inside.case.quasi:
        for row in inside.dropped[:1]:
            cell = other(inside.source[name][int(row)].as_py(), rng)
            if cell is not None:
                yield put(inside.source, name, {int(row): cell})


def dropped_row(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """A row fewer was dropped."""
    for row in inside.dropped[:2]:
        yield inside.source.take(np.delete(np.arange(inside.source.num_rows), row))


def merged_stratum(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """A row of merged strata was of a stratum of its own."""
    for row in inside.merged()[:2]:
        yield put(inside.source, inside.case.strata[0], {int(row): "islet_zz8"})


def imputed_cell(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """A cell that was imputed had the value that was made up for it."""
    for name in inside.case.quasi:
        for row in inside.imputed(name)[:2]:
            at = int(np.flatnonzero(inside.row == row)[0])
            yield put(inside.source, name, {int(row): inside.after[name][at].as_py()})


def moved_values(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """Two people of a cluster had other values with the same mean."""
    if "weight" in inside.case.sections["columns"]:
        return
    for name, how in inside.case.quasi.items():
        if how["type"] != "number" or how.get("representative"):
            continue
        for rows in pairs(inside, rng):
            cells = [inside.source[name][r].as_py() for r in rows]
            if None not in cells and cells[0] != cells[1]:
                low, high = np.argsort(cells)
                yield put(
                    inside.source,
                    name,
                    {rows[low]: cells[low] - 3 / GRAIN, rows[high]: cells[high] + 3 / GRAIN},
                )


def exchanged_values(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """Two people of a cluster had each other's value in one column."""
    for name in inside.case.quasi:
        for one, two in pairs(inside, rng):
            cells = [inside.source[name][r].as_py() for r in (one, two)]
            if None not in cells and cells[0] != cells[1]:
                yield put(inside.source, name, {one: cells[1], two: cells[0]})


def exchanged_sensitive(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """Two people of a class had each other's sensitive value."""
    for one, two in pairs(inside, rng):
        cells = [inside.source["s"][r].as_py() for r in (one, two)]
        if cells[0] != cells[1]:
            yield put(inside.source, "s", {one: cells[1], two: cells[0]})


def other_weights(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """Every weight was twice as large."""
    name = inside.case.sections["columns"].get("weight")
    if name:
        doubled = [2 * w for w in inside.source[name].to_pylist()]
        yield put(inside.source, name, dict(enumerate(doubled)))


def other_entity(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """Two rows of a person were of two, or two people were one."""
    name = inside.case.sections["columns"].get("entity")
    if not name:
        return
    people = inside.source[name].to_pylist()
    for one, two in pairs(inside, rng):
        if people[one] == people[two]:
            yield put(inside.source, name, {two: max(people) + 1})
        elif people.count(people[two]) == 1:
            yield put(inside.source, name, {two: people[one]})


def other_identifier(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """The people had other identifiers."""
    yield inside.source


def other_ends(inside: Inside, rng: Random) -> Iterator[pa.Table]:
    """Hidden cells and the ends of every range were others; the published table may be, too."""
    table = inside.source
    for name, how in inside.case.quasi.items():
        if how["type"] in ("number", "integer", "decimal", "date"):
            cells = as_numbers(table[name])
            rows = {*inside.suppressed(name), *inside.dropped}
            if not np.isnan(cells).all():
                rows |= {np.nanargmin(cells), np.nanargmax(cells)}
            old = {int(row): table[name][int(row)].as_py() for row in rows}
            new = {row: other(cell, rng) for row, cell in old.items() if cell is not None}
            table = put(table, name, new)
    yield table


def pairs(inside: Inside, rng: Random, most: int = 3) -> Iterator[tuple[int, int]]:
    """Choose two rows of a class, a few times."""
    for rows in inside.classes()[:40]:
        if len(rows) > 1 and most > 0:
            one, two = rng.choice(rows, 2, replace=False)
            yield int(one), int(two)
            most -= 1


Twin = Callable[[Inside, Random], Iterator[pa.Table]]
TWINS: tuple[Twin, ...] = (
    suppressed_value, suppressed_missing, dropped_value, dropped_row, merged_stratum, imputed_cell,
    moved_values, exchanged_values, exchanged_sensitive, other_weights, other_entity,
    other_identifier,
)  # fmt: skip
#: Twins whose loss differs: a figure of it may tell them apart by no more than its few digits.
BY_LOSS = (imputed_cell, moved_values, exchanged_values)
#: Twins that differ in a count: it may leave where it is k or more.
BY_COUNT = (suppressed_missing, dropped_row, merged_stratum, imputed_cell, other_entity)


def find_twin(inside: Inside, kind: Twin, rng: Random) -> Inside | None:
    """Find a twin of one kind: another source, the same published table."""
    for source in kind(inside, rng):
        twin = look_inside(with_identifiers(inside.case.of(source), str(kind.__name__)))
        if twin is not None and in_order(twin.after).equals(in_order(inside.after)):
            return twin
    return None


def with_identifiers(case: Case, word: str) -> Case:
    """Add the column that is never read, and give people keys again instead of numbers."""
    table, entity = case.table, case.sections["columns"].get("entity")
    if entity:
        keys = pa.array([f"person-{code:05}" for code in table[entity].to_pylist()])
        table = table.set_column(table.column_names.index(entity), entity, keys)
    cells = pa.array([f"{word}-{i:05}" for i in range(table.num_rows)])
    return case.of(table.append_column("ssn", cells))


@dataclass
class Difference:
    """Where what leaves with a release differs from what leaves with its twin."""

    one: dict[str, Any] = field(default_factory=dict)
    two: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, one: Outside, two: Outside) -> Difference:
        first, second = flat(one), flat(two)
        places = [at for at in first.keys() | second.keys() if first.get(at) != second.get(at)]
        sides = ({at: side.get(at, "not there") for at in places} for side in (first, second))
        return cls(*sides)

    def without(self, noise: Iterable[str]) -> Difference:
        """Leave out what differs from run to run of one and the same source."""
        places = sorted(self.one.keys() - set(noise))
        return Difference({at: self.one[at] for at in places}, {at: self.two[at] for at in places})

    def beyond(self, may: Callable[[Any], bool]) -> Difference:
        """Leave out where both have what may leave."""
        places = [at for at in self.one if not (may(self.one[at]) and may(self.two[at]))]
        return Difference({at: self.one[at] for at in places}, {at: self.two[at] for at in places})

    def __bool__(self) -> bool:
        return bool(self.one)

    def __str__(self) -> str:
        lines = [f"{at}: {self.one[at]!r} or {self.two[at]!r}" for at in sorted(self.one)]
        return "\n    ".join(lines[:12] + [f"and {len(lines) - 12} more"] * (len(lines) > 12))


def flat(outside: Outside) -> dict[str, Any]:
    """All that leaves but the table, place by place, without clocks."""
    texts = {
        name: NOW.sub("then", text)
        .replace(FEWER, FEWER.replace(" ", "_"))
        .replace('<span class="soft">withheld</span>', "withheld")
        for name, text in outside.texts.items()
    }
    found = outside.leaves | Outside(None, {}, texts).words
    return {
        at: value
        for at, value in found.items()
        if not CLOCK.search(at) and value not in outside.digests
    }


def countable(value: Any, k: int) -> bool:
    """Tell whether a value is a count that may leave: k or more, or a word for less.

    ``test_no_word_stands_for_one_count_alone`` shows that the words do not tell more.

    Where none is told as 0, fewer than two are one: with k = 2 that is a count below k.
    """
    if value is None or str(value).replace("_", " ") in (FEWER, "withheld"):
        return True
    if str(value) == "0":
        return k > 2
    text = str(value).removesuffix(".0")
    return text.isdecimal() and int(text) >= k


def coarse(value: Any) -> bool:
    """Tell whether a value is a fraction with few digits."""
    text = str(value).rstrip("%")
    if not re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text):
        return False
    digits = text.partition("e")[0].lstrip("-0.").replace(".", "").rstrip("0")
    return len(digits) <= DIGITS
