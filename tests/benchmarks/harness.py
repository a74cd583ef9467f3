"""What the benchmarks share: timing side by side, growth, and the page that is written."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from microagg_ops import __version__
from microagg_ops.metrics.loss import centroids, information_loss

RESULTS = Path(__file__).with_name("results")
# A run that takes longer is not repeated: what disturbs it has evened out.
LONG = 5.0

Find = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Measured:
    """One way to find clusters on one table."""

    name: str
    rows: int
    seconds: float
    loss: float


@dataclass(frozen=True)
class Panel:
    """What was measured on tables of one kind."""

    title: str
    measured: list[Measured]
    # How a size is written, and what the loss is: some measure against k, or a score.
    size: str = "{:,} rows"
    loss: str = "loss, %"

    @property
    def names(self) -> list[str]:
        """Names, in the order in which they were measured."""
        return list(dict.fromkeys(m.name for m in self.measured))

    def of(self, name: str) -> list[Measured]:
        """What was measured of one name, by rows."""
        return sorted((m for m in self.measured if m.name == name), key=lambda m: m.rows)


@dataclass(frozen=True)
class Section:
    """The answer to one question: panels, of which a plot is made too, and text."""

    title: str
    about: str
    panels: list[Panel]
    text: list[str] = field(default_factory=list)


def best_of(cases: dict[str, Callable[[], Any]], repeats: int) -> dict[str, tuple[float, Any]]:
    """Run each case in turn, several times over; give the best time and the last result."""
    best: dict[str, tuple[float, Any]] = {}
    for _ in range(repeats):
        for name, case in cases.items():
            if best.get(name, (0.0, None))[0] > LONG:
                continue
            began = time.perf_counter()
            result = case()
            seconds = time.perf_counter() - began
            best[name] = (min(seconds, best.get(name, (seconds, None))[0]), result)
    return best


def grow(
    finds: dict[str, Find],
    table: Callable[[int], np.ndarray],
    sizes: Iterable[int],
    limit: float,
    repeats: int = 3,
) -> Iterator[Measured]:
    """Measure on tables of growing size; who would take more than the limit drops out."""
    for find in finds.values():
        find(table(500))  # compiled before the clock runs
    done: dict[str, list[Measured]] = {name: [] for name in finds}
    for rows in sizes:
        X = table(rows)
        cases = {
            name: partial(find, X)
            for name, find in finds.items()
            if expected(done[name], rows) < limit
        }
        for name, (seconds, labels) in best_of(cases, repeats).items():
            loss = information_loss(X, centroids(X, labels)[labels])
            done[name].append(Measured(name, rows, seconds, loss))
            yield done[name][-1]


def expected(done: list[Measured], rows: int) -> float:
    """Seconds that more rows would take, growing as they last did, or else quadratically."""
    if not done:
        return 0.0
    growth = exponent(done[-2:]) or 2.0
    return done[-1].seconds * (rows / done[-1].rows) ** growth


def exponent(found: Sequence[Measured], least_rows: int = 0) -> float | None:
    """Growth of time with rows: the slope in logarithms, from some size on."""
    upper = [m for m in found if m.rows >= least_rows]
    if len(upper) < 2:
        return None
    slope = np.polyfit(np.log([m.rows for m in upper]), np.log([m.seconds for m in upper]), 1)[0]
    return float(slope)


def markdown(header: Sequence[str], lines: Iterable[Sequence[object]]) -> list[str]:
    """Return a table, its first column to the left and the others to the right."""
    return [
        f"| {' | '.join(header)} |",
        f"|---|{'---:|' * (len(header) - 1)}",
        *(f"| {' | '.join(map(str, line))} |" for line in lines),
        "",
    ]


def table_of(panel: Panel) -> list[str]:
    """Return seconds and loss: a line a name, a column a size."""
    sizes = sorted({m.rows for m in panel.measured})
    cells = {(m.name, m.rows): f"{m.seconds:.3f} s, {m.loss:.2f} %" for m in panel.measured}
    return [
        f"### {panel.title}",
        "",
        *markdown(
            ["", *(panel.size.format(size) for size in sizes)],
            ([name, *(cells.get((name, n), "–") for n in sizes)] for name in panel.names),
        ),
    ]


def machine() -> str:
    """Name the machine by what matters."""
    model = platform.machine()
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}"


def write(name: str, section: Section, quick: bool) -> str:
    """Write a section and its plot; give the section."""
    from tests.benchmarks.plot import drawn

    lines = [
        f"## {section.title}",
        "",
        section.about,
        f"microagg-ops {__version__}, {datetime.now(UTC):%Y-%m-%d}, {machine()}"
        f"{'; a quick pass over small tables' if quick else ''}.",
        "",
    ]
    if section.panels:
        lines += [f"![Time and loss]({name}.svg)", ""]
    for panel in section.panels:
        lines += table_of(panel)
    page = "\n".join([*lines, *section.text]).rstrip() + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(page)
    if section.panels:
        (RESULTS / f"{name}.svg").write_text(drawn(section.panels))
    return page


def write_index() -> None:
    """Put all sections on one page."""
    pages = [path.read_text() for path in sorted(RESULTS.glob("*.md"))]
    about = "# Benchmarks\n\n`make bench` measures and writes this page. Times are the best of "
    about += "the repeats, all of a section in one run.\n"
    index = "\n".join([about, *pages]).replace("](", "](results/")
    RESULTS.with_suffix(".md").write_text(index)
