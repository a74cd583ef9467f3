"""Differencing and intersection: what consecutive tables of one release tell of single people.

``MICROAGG_SERIES`` is the number of series of each kind: ``make series`` tries a hundred.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from microagg_ops.attacks.differencing import (
    Guess,
    differences,
    intersections,
    nearest_places,
)
from microagg_ops.methods import best
from microagg_ops.series.ledger import read_ledger
from microagg_ops.stages.series_keys import entity_digests
from microagg_ops.staging.digests import content_digest, from_parquet
from microagg_ops.staging.keys import installation_key
from tests.series import QUASI, People, Schedule, one_key, people

__all__ = ["one_key"]
SERIES = int(os.environ.get("MICROAGG_SERIES", "1"))
ROWS = 1000 if SERIES > 1 else 300
KINDS = ("add", "remove", "change")
SIZES = (1, 3, 5, 10)
BEST = {"method": "best", "params": {"iterations": 50 if SERIES > 1 else 3}}
pytestmark = pytest.mark.usefixtures("one_key")


def taken(rows: People, places: np.ndarray) -> People:
    return {name: values[places].copy() for name, values in rows.items()}


def before_and_after(kind: str, many: int, seed: int) -> tuple[People, People, list[Guess]]:
    """Make two tables that differ by some people, and say what is true of each of these."""
    whole, rng = people(ROWS + many, seed), np.random.default_rng(seed)
    chosen = rng.choice(ROWS + many, many, replace=False)
    rest = np.setdiff1d(np.arange(ROWS + many), chosen)
    with_all, without = taken(whole, np.arange(ROWS + many)), taken(whole, rest)
    if kind == "add":
        return without, with_all, truth("arrived", taken(whole, chosen))
    if kind == "remove":
        return with_all, without, truth("left", taken(whole, chosen))
    after = taken(whole, np.arange(ROWS + many))
    for name in ("income", "bmi"):
        after[name][chosen] = np.round(after[name][chosen] * rng.uniform(1.05, 1.4, many), 2)
    moved = (rng.integers(1, 20, many) + [int(d[1:]) for d in after["diagnosis"][chosen]]) % 20
    after["diagnosis"][chosen] = [f"d{code:03}" for code in moved]
    return with_all, after, truth("changed", taken(after, chosen), taken(with_all, chosen))


def truth(kind: str, rows: People, was: People | None = None) -> list[Guess]:
    found = []
    for i, diagnosis in enumerate(rows["diagnosis"]):
        values = {n: float(rows[n][i]) - (float(was[n][i]) if was else 0.0) for n in QUASI}
        before = (was["diagnosis"][i],) if was else (diagnosis,) if kind == "left" else None
        found.append(Guess(kind, values, before, None if kind == "left" else (diagnosis,)))
    return found


def near(guess: Guess, true: Guess, name: str) -> bool:
    """Whether a guessed value is the true one, which has two decimals."""
    return abs(guess.values[name] - true.values[name]) < 5e-3


def recovered(guesses: list[Guess], true: list[Guess]) -> tuple[int, int]:
    """Count the exact values that were found out, and the diagnoses."""
    values = diagnoses = 0
    for one in true:
        same = [g for g in guesses if g.kind == one.kind]
        values += sum(one.values[n] != 0 and any(near(g, one, n) for g in same) for n in QUASI)
        # Whose it is, the class tells: its representative need not be the person's own values.
        diagnoses += any((g.before, g.after) == (one.before, one.after) for g in same)
    return values, diagnoses


def attacked(
    folder: Path, kind: str, many: int, seed: int, series: dict[str, object] | None,
    strata: tuple[str, ...], aggregate: dict[str, object],
) -> tuple[int, int, str]:  # fmt: skip
    folder.mkdir()
    schedule = Schedule(folder, series, strata=strata, aggregate=aggregate)
    earlier, later, true = before_and_after(kind, many, seed)
    assert schedule.run(earlier) == "published"
    first = schedule.published()
    outcome = schedule.run(later)
    guesses = differences(
        first, schedule.published(), QUASI, strata=strata, sensitive=["diagnosis"]
    )
    return *recovered(guesses, true), outcome


@pytest.mark.parametrize(("kind", "aggregate"), [(kind, {}) for kind in KINDS] + [("add", BEST)])
def test_without_protection_one_person_is_recovered(
    tmp_path: Path, kind: str, aggregate: dict[str, object]
) -> None:
    found = [attacked(tmp_path / str(s), kind, 1, s, None, (), aggregate) for s in range(SERIES)]
    assert all(values >= 2 and diagnoses == 1 for values, diagnoses, _ in found)


def appended(
    folder: Path, kind: str, many: int, seed: int, series: dict[str, object] | None
) -> tuple[int, int, str]:
    """Attack a table that holds all versions of the same people: a cumulative where, appended."""
    folder.mkdir()
    schedule = Schedule(
        folder, series,
        source={"conn_id": "w", "table": "people", "where": "age < extract(year from :end)"},
        publish={"conn_id": "w", "table": "patients", "mode": "append_interval"},
    )  # fmt: skip
    earlier, later, true = before_and_after(kind, many, seed)
    days = [datetime(2026, 1, day) for day in (1, 2, 3)]
    assert schedule.run(earlier, (days[0], days[1])) == "published"
    outcome = schedule.run(later, (days[1], days[2]))
    table = schedule.published()
    marks = table["interval_start"].unique().sort().to_pylist()
    versions = [table.filter(pc.equal(table["interval_start"], mark)) for mark in marks]
    guesses = differences(versions[0], versions[-1], QUASI, sensitive=["diagnosis"])
    return *recovered(guesses, true), outcome


@pytest.mark.parametrize("kind", KINDS)
def test_versions_in_one_table_are_attacked_too(tmp_path: Path, kind: str) -> None:
    for seed in range(SERIES):
        values, diagnoses, outcome = appended(tmp_path / f"n{seed}", kind, 1, seed, None)
        assert (outcome, diagnoses) == ("published", 1)
        assert values >= 2
        for many in SIZES if SERIES > 1 else (1,):
            where = tmp_path / f"d{seed}_{many}"
            found = appended(where, kind, many, seed, {"protect": "difference"})
            assert found == (0, 0, "held_back")


PROTECTED, STRATA, METHODS = ("history", "difference"), ((), ("region",)), ("mdav", "best")
SHORT = [
    ("add", 1, "history", (), "mdav"),
    ("add", 5, "history", ("region",), "mdav"),
    ("remove", 3, "history", (), "mdav"),
    ("remove", 10, "difference", (), "mdav"),
    ("change", 1, "history", ("region",), "mdav"),
    ("change", 10, "history", (), "best"),
    ("change", 3, "difference", ("region",), "mdav"),
]


def cases() -> list[tuple[str, int, str, tuple[str, ...], str]]:
    return SHORT if SERIES == 1 else list(product(KINDS, SIZES, PROTECTED, STRATA, METHODS))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "many", "protect", "strata", "method"), cases())
def test_nobody_is_recovered(
    tmp_path: Path, kind: str, many: int, protect: str, strata: tuple[str, ...], method: str
) -> None:
    aggregate = BEST if method == "best" else {}
    found = [
        attacked(tmp_path / str(s), kind, many, s, {"protect": protect, "patience": 0}, strata,
                 aggregate)
        for s in range(SERIES)
    ]  # fmt: skip
    assert {outcome for *_, outcome in found} <= {"published", "held_back"}
    assert sum(values for values, *_ in found) == 0
    assert sum(diagnoses for _, diagnoses, _ in found) == 0


def test_intersections_find_what_all_tables_share() -> None:
    tables = [
        pa.table({"age": [1, 1, 2, 2], "d": ["a", "b", "b", "c"]}),
        pa.table({"age": [3, 3, 4, 4], "d": ["b", "c", "a", "b"]}),
    ]
    places = [{"p": 0, "q": 2, "r": 1}, {"p": 0, "q": 0, "r": 2}]
    assert intersections(tables, places, ["age"], sensitive="d") == {"p": "b"}


def drifting(tables: int) -> list[People]:
    """People of whom some change their income and body mass from table to table."""
    rng, found = np.random.default_rng(5), [people(ROWS, 5)]
    for _ in range(tables - 1):
        rows = taken(found[-1], np.arange(ROWS))
        chosen = rng.choice(ROWS, ROWS // 20, replace=False)
        for name in ("income", "bmi"):
            rows[name][chosen] = np.round(rows[name][chosen] * rng.uniform(1.05, 1.4), 2)
        found.append(rows)
    return found


def by_values(rows: People, table: pa.Table) -> dict[int, int]:
    values = np.column_stack([np.asarray(rows[name], float) for name in QUASI])
    return nearest_places({i: ((), values[i]) for i in range(ROWS)}, table, QUASI)


def by_ledger(
    path: Path, rows: People, table: pa.Table, quasi: Sequence[str] = QUASI
) -> dict[int, int]:
    """Know of everybody the class, as only the ledger does."""
    ledger = read_ledger(from_parquet(path.read_bytes()))
    shown = {tuple(row[name] for name in quasi): i for i, row in enumerate(table.to_pylist())}
    digests = entity_digests(installation_key(), pa.chunked_array([pa.array(rows["person"])]))
    names = dict(zip(digests, range(ROWS), strict=True))
    return {
        names[m.entity]: shown[tuple(ledger.classes[name][n][0].as_py() for n in quasi)]
        for name, members in ledger.current().items()
        for m in members
    }


def test_intersections_pin_people_without_protection_and_nobody_with_it(tmp_path: Path) -> None:
    right = {}
    for name, series in (("none", None), ("history", {"protect": "history"})):
        (tmp_path / name).mkdir()
        schedule, tables, places = Schedule(tmp_path / name, series), [], []
        for rows in drifting(4):
            assert schedule.run(rows) == "published"
            tables.append(schedule.published())
            where = (
                by_ledger(schedule.ledger, rows, tables[-1])
                if series
                else by_values(rows, tables[-1])
            )
            places.append(where)
        pinned = intersections(tables, places, QUASI, sensitive="diagnosis")
        right[name] = sum(value == rows["diagnosis"][who] for who, value in pinned.items())
    assert right["none"] > ROWS // 10
    assert right["history"] == 0


def two_releases(folder: Path, protect: str | None) -> tuple[list[str], int]:
    """Publish two tables of the same people, of other columns and another k; intersect them."""
    rows, place = people(ROWS, 7), str(folder / "private" / "{}.ledger")
    tables, places, outcomes = [], [], []
    told = (("wide", "narrow", ("age", "income"), 10), ("narrow", "wide", ("bmi",), 5))
    for name, other, quasi, k in told:
        (folder / name).mkdir(parents=True)
        series = {"protect": protect or "history", "ledger": {"file": place.format(name)}}
        series |= {"with": [other]} if protect else {}
        columns = {
            "entity": "person",
            "quasi": {column: {"type": "number"} for column in quasi},
            "sensitive": ["diagnosis"],
        }
        schedule = Schedule(
            folder / name, series, aggregate={"k": k}, columns=columns, release=name
        )
        outcomes.append(schedule.run(rows))
        if outcomes[-1] == "published":
            table = schedule.published()
            where = by_ledger(Path(place.format(name)), rows, table, quasi)
            tables.append(pa.table({
                **{column: table[column] if column in quasi else pa.nulls(len(table))
                   for column in QUASI},
                "diagnosis": table["diagnosis"],
            }))  # fmt: skip
            places.append(where)
    pinned = intersections(tables, places, QUASI, sensitive="diagnosis")
    return outcomes, sum(value == rows["diagnosis"][who] for who, value in pinned.items())


def test_two_releases_of_the_same_people_pin_nobody_if_they_know_of_each_other(
    tmp_path: Path,
) -> None:
    outcomes, right = two_releases(tmp_path / "apart", None)
    assert outcomes == ["published"] * 2
    assert right > ROWS // 10
    outcomes, right = two_releases(tmp_path / "history", "history")
    assert outcomes == ["published"] * 2
    assert right == 0
    outcomes, right = two_releases(tmp_path / "difference", "difference")
    assert outcomes == ["published", "held_back"]
    assert right == 0


def test_best_with_a_budget_repeats_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One core and two, in turn: work is planned from the table, and the clock only guards.

    The guard is put off, so that a busy machine does not end a search: such a run says so.
    """
    monkeypatch.setattr(best, "GUARD", 1e6)
    rows, digests = people(ROWS, 1), set()
    for i in range(max(4, min(SERIES, 50))):
        folder = tmp_path / str(i)
        folder.mkdir()
        how = {"method": "best", "budget": "200ms", "threads": 1 + i % 2}
        schedule = Schedule(folder, aggregate=how)
        assert schedule.run(rows) == "published"
        digests.add(content_digest(schedule.published()))
    assert len(digests) == 1
