"""A year of daily publications: what history k costs, who waits, and who is held."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
import pyarrow as pa

from microagg_ops import partition
from microagg_ops.series.arrange import Arranged, arrange
from microagg_ops.series.history import DIGITS, Present, Rules
from microagg_ops.series.ledger import Ledger, Publication
from microagg_ops.series.traces import singled_out
from tests import naive_series
from tests.benchmarks.harness import Section, markdown

K, PEOPLE = 5, 5000
ARRIVE, LEAVE, CHANGE = 0.01, 0.005, 0.01


@dataclass
class World:
    """People who come, change and go; three quasi-identifiers, of which two change.

    Parameters
    ----------
    size
        How many there are at first; shares are of this number.
    rng
        What decides.
    change
        The share that changes each day.
    """

    size: int
    rng: np.random.Generator
    change: float = CHANGE
    values: dict[str, np.ndarray] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    def arrive(self, many: int, day: int) -> None:
        """Let people come."""
        for values in self.rng.normal(size=(many, 3)):
            name = f"p{len(self.since):06}"
            self.values[name], self.since[name], self.versions[name] = values, day, 0

    def live(self, day: int) -> None:
        """Let a day pass."""
        names, rng = list(self.values), self.rng
        for name in rng.choice(names, round(self.size * LEAVE), replace=False):
            del self.values[name]
            self.left[name] = day
        names = list(self.values)
        for name in rng.choice(names, round(self.size * self.change), replace=False):
            self.values[name] = self.values[name] + rng.normal(size=3) * (0, 0.3, 0.3)
            self.versions[name] += 1
        self.arrive(round(self.size * ARRIVE), day)

    def present(self) -> tuple[Present, np.ndarray]:
        """Tell who is there, and where."""
        same = "0" * DIGITS
        records = [f"{same}{self.versions[n]:0{DIGITS}}{self.versions[n]:0{DIGITS}}"
                   for n in self.values]  # fmt: skip
        points = np.array(list(self.values.values()))
        return Present(list(self.values), records, [0] * len(points)), points


@dataclass
class Tally:
    """What a year has come to, day by day."""

    loss: list[float] = field(default_factory=list)
    anew: list[float] = field(default_factory=list)
    published: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    stale: list[float] = field(default_factory=list)
    waits: dict[str, int] = field(default_factory=dict)
    holds: dict[str, int] = field(default_factory=dict)
    recounts: list[int] = field(default_factory=list)
    singled_out: float = 0.0
    within: float = 0.0


def published(ledger: Ledger, found: Arranged, points: np.ndarray, number: int) -> Ledger:
    """Publish: the means of newborn classes, row by row."""
    rows = {}
    for name, places in found.fresh.items():
        mean = np.repeat(points[places].mean(0)[None], len(places), 0)
        rows[name] = pa.table({f"q{j}": mean[:, j] for j in range(mean.shape[1])})
    one = Publication(number, f"run_{number}", "", "", {}, "", "", None)
    return replace(
        found.ledger,
        classes={**found.ledger.classes, **rows},
        publications=(*ledger.publications, one),
    )


def simulated(
    rules: Rules,
    size: int,
    days: int,
    people: int,
    *,
    recount: bool,
    change: float = CHANGE,
    epoch: int = 0,
) -> Tally:
    """Publish daily.

    Parameters
    ----------
    size
        The least size of a newborn class.
    recount
        Whether history k is counted by SQL after each publication.
    change, epoch
        The share that changes each day, and after how many days a new epoch begins; 0 for never.
    """
    world, ledger, tally = (
        World(people, np.random.default_rng(1), change),
        Ledger("year", ""),
        Tally(),
    )
    world.arrive(people, 0)
    for day in range(days):
        if day:
            world.live(day)
        if epoch and day and day % epoch == 0:
            ledger = ledger.begin(str(day))
        present, points = world.present()

        def find(places: np.ndarray, points: np.ndarray = points) -> np.ndarray:
            if len(places) < 2 * size:
                return np.zeros(len(places), np.int32)
            return partition(points[places], size)

        found = arrange(ledger, present, points, rules=rules, find=find)
        ledger = published(ledger, found, points, day + 1)
        measure_day(tally, world, ledger, found, points, day)
        if recount:
            tally.recounts.append(recounted(ledger))
    tally.within = within(tally, world, days)
    if epoch:
        ever = len({m.entity for m in ledger.members})
        tally.singled_out = 100 * singled_out(ledger, rules.k) / ever
    return tally


def within(tally: Tally, world: World, days: int, patience: int = 7) -> float:
    """Measure the share of newcomers, of those who stayed so long, published in so many days."""
    stayed = [
        name
        for name, since in world.since.items()
        if 0 < since < days - patience and world.left.get(name, days) > since + patience
    ]
    soon = sum(tally.waits.get(name, days) <= patience for name in stayed)
    return 100 * soon / max(1, len(stayed))


def recounted(ledger: Ledger) -> int:
    """Count history k by SQL."""
    with duckdb.connect(config={"threads": 1}) as con:
        con.register("ledger", ledger.table())
        row = con.execute(naive_series.HISTORY_K).fetchone()
    return int(row[0]) if row else 0


def measure_day(
    tally: Tally, world: World, ledger: Ledger, found: Arranged, points: np.ndarray, day: int
) -> None:
    """Measure the table of a day."""
    shown = {}
    for name, members in ledger.current().items():
        columns = [ledger.classes[name][column][0].as_py() for column in ("q0", "q1", "q2")]
        shown |= {m.entity: columns for m in members}
    for entity in shown:
        if day and entity not in tally.waits:
            tally.waits[entity] = day - world.since[entity]
        if entity in world.left:
            tally.holds[entity] = day - world.left[entity]
    there = [name for name in world.values if name in shown]
    now = np.array([world.values[name] for name in there])
    spread = float(np.square(now - now.mean(0)).sum())
    lost = float(np.square(now - np.array([shown[name] for name in there])).sum())
    tally.loss.append(100 * lost / spread)
    tally.published.append(100 * len(there) / len(world.values))
    tally.held.append(100 * (1 - len(there) / len(shown)))
    tally.stale.append(100 * found.decided.stale / len(shown))
    if day % 30 == 0:
        labels = partition(points, K)
        centres = np.array([points[labels == i].mean(0) for i in range(labels.max() + 1)])
        lost = float(np.square(points - centres[labels]).sum())
        tally.anew.append(100 * lost / float(np.square(points - points.mean(0)).sum()))


@dataclass(frozen=True)
class Variant:
    """A way to publish for a year.

    Parameters
    ----------
    name, rules
        What the table calls it, and what it demands.
    size, change, epoch
        As for `simulated`.
    """

    name: str
    rules: Rules
    size: int = K
    change: float = CHANGE
    epoch: int = 0


VARIANTS = (
    Variant("the default: classes of 5, held until 5 leave", Rules(K)),
    Variant("patience of 1 day", Rules(K, patience=1)),
    Variant("patience of 30 days", Rules(K, patience=30)),
    Variant("patience of 30 days, near 1", Rules(K, patience=30, near=1)),
    Variant("classes of 10", Rules(K), 10),
    Variant("classes of 15", Rules(K), 15),
    Variant("held for 90 days", Rules(K, hold=90)),
    Variant("held for 30 days", Rules(K, hold=30)),
    Variant("classes of 15, held for 30 days", Rules(K, hold=30), 15),
    Variant("leavers retire", Rules(K, hold=0)),
    Variant("an epoch of 90 days", Rules(K), epoch=90),
    Variant("an epoch of 30 days", Rules(K), epoch=30),
    # What is lost by waiting and by lasting classes alone.
    Variant("nobody changes", Rules(K), change=0.0),
    Variant("nobody changes, patience of 30 days", Rules(K, patience=30), change=0.0),
)


def lines(
    days: int, people: int, chosen: Sequence[int] = range(len(VARIANTS))
) -> Iterator[list[object]]:
    """Simulate each variant; a line of figures each, over the last sixth of the time."""
    for i in chosen:
        one, began = VARIANTS[i], time.process_time()
        found = simulated(
            one.rules, one.size, days, people, recount=True, change=one.change, epoch=one.epoch
        )
        last = slice(-max(1, days // 6), None)
        holds = np.array(list(found.holds.values()))
        means = [each[last] for each in (found.loss, found.published, found.held, found.stale)]
        line = [
            one.name,
            *(f"{np.mean(mean):.1f}" for mean in means),
            f"{found.anew[-1]:.1f}",
            f"{found.within:.1f}",
            f"{100 * np.sum(holds > 30) / max(1, len(holds)):.1f}",
            holds.max(initial=0),
            min(found.recounts),
            f"{found.singled_out:.1f}" if one.epoch else "–",
        ]
        print(*line, f"{time.process_time() - began:.0f} s", sep=" | ", flush=True)
        yield line


HEAD = [
    "variant", "loss, %", "published, %", "held rows, %", "stale rows, %", "anew, %",
    "within 7 days, %", "held > 30 days, %", "longest held, days", "history k by SQL",
    "singled out by epochs, %",
]  # fmt: skip


def measure(quick: bool) -> Section:
    """Simulate a year, or a month of few people where it must be quick."""
    days, people = (30, 500) if quick else (365, PEOPLE)
    text = [*markdown(HEAD, list(lines(days, people))), *NOTES]
    about = (
        f"{days} daily publications of {people:,} people at first, three quasi-identifiers, k = "
        f"{K}: each day {ARRIVE:.1%} arrive, {LEAVE:.1%} leave and {CHANGE:.1%} change, shares of "
        "the first number. Losses are SSE/SST of who is published and present against what is true "
        "that day; the means are those of the last sixth of the time."
    )
    return Section("A year of history k", about, [], text)


NOTES = [
    "`held rows`: of people who left, still published. `stale rows`: of people who have changed "
    "since. `published`: of those who are present. `anew`: the loss of MDAV on all who are "
    "present. `within 7 days`: of newcomers who stayed so long. `held > 30 days`: of leavers who "
    "were held at all. `singled out`: of everybody ever published, whom all epochs together tell "
    "from all but fewer than k.",
    "",
    "A loss within twice that of forming anew, newcomers within 7 days and leavers within 30 do "
    "not hold at once in one epoch. Who comes is few a day, so classes of newcomers are wide: to "
    "wait longer loses less. Of a class of 5 nobody can leave before all do: whoever must be gone "
    "within 30 days takes so many along that less than half of the people are published. With an "
    "epoch every 30 days all three hold, and history k does within each: but two epochs together "
    "single out everybody who was in both. So the default holds leavers, waits for 7 publications, "
    "and leaves the rest to an epoch begun on purpose.",
    "",
]
