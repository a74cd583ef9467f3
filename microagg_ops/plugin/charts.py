"""Small charts of one figure over the runs of a release: numbers in, geometry out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from microagg_ops.plugin.runs import Run

# The drawing, in units of its own; the page scales it.
WIDTH, HEIGHT = 260, 104
LEFT, RIGHT, TOP, BOTTOM = 54, 250, 12, 74


@dataclass(frozen=True)
class Point:
    """One run in a chart."""

    x: float
    y: float
    passed: bool
    about: str


@dataclass(frozen=True)
class Chart:
    """A chart: what it shows in words, and where everything stands."""

    title: str
    latest: str
    limit: str
    summary: str
    points: tuple[Point, ...]
    ticks: tuple[tuple[float, str], ...]
    ends: tuple[str, ...]

    @property
    def line(self) -> str:
        """The points of the line through all runs."""
        return " ".join(f"{point.x:g},{point.y:g}" for point in self.points)


def charts_of(runs: Sequence[Run]) -> list[Chart]:
    """Draw the figures of some runs, given newest first; of a series those that there are."""
    told = [
        chart(runs, title, figure, shown, "")
        for title, figure, shown in OF_SERIES
        if any(getattr(run, figure) is not None for run in runs)
    ]
    return [
        chart(runs, "Information loss", "loss", percent, "limit {}"),
        chart(runs, "k", "k", whole, "asked for {}"),
        chart(runs, "Rows", "rows", whole, ""),
        chart(runs, "Linkage", "linkage", percent, "limit {}"),
        *told,
    ]


def percent(value: float) -> str:
    """Write a percentage."""
    return f"{value:.2f} %" if abs(value) < 10 else f"{value:.1f} %"


def whole(value: float) -> str:
    """Write a count."""
    return f"{value:,.0f}"


OF_SERIES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("Loss if formed anew", "anew", percent),
    ("Newcomers who wait", "waiting", whole),
    ("Longest wait, in runs", "wait", whole),
    ("Leavers who are held", "held", whole),
)


def chart(
    runs: Sequence[Run], title: str, figure: str, shown: Callable[[float], str], limit: str
) -> Chart:
    """Draw one figure, oldest run first, runs at equal distances."""
    known = [(run, getattr(run, figure)) for run in reversed(runs)]
    known = [(run, value) for run, value in known if value is not None]
    limits = [value for run, _ in known[-1:] for name, value in run.limits if name == figure]
    asked = limit.format(shown(limits[0])) if limits and limit else ""
    if not known:
        return Chart(title, "–", asked, f"{title}: not measured yet.", (), (), ())
    values = [value for _, value in known]
    low, high = min(values), max(values)
    step = (RIGHT - LEFT) / max(len(known) - 1, 1)
    points = tuple(
        Point(
            round(LEFT + step * i if len(known) > 1 else (LEFT + RIGHT) / 2, 1),
            height(value, low, high),
            run.verdict == "passed",
            f"{day(run.created)}: {shown(value)}, {run.verdict}",
        )
        for i, (run, value) in enumerate(known)
    )
    ends = tuple(dict.fromkeys(day(run.created) for run, _ in (known[0], known[-1])))
    return Chart(
        title=title,
        latest=shown(values[-1]),
        limit=asked,
        summary=summary(
            title, [shown(value) for value in (values[-1], low, high)], len(known), ends
        ),
        points=points,
        ticks=tuple((height(value, low, high), short(value)) for value in sorted({low, high})),
        ends=ends,
    )


def summary(title: str, figures: list[str], count: int, ends: Sequence[str]) -> str:
    """Say in a sentence what the chart shows, for those who do not see it."""
    latest, low, high = figures
    when = " to ".join(ends)
    if count == 1:
        return f"{title}: {latest} in one run, {when}."
    return f"{title} of {count} runs, {when}: latest {latest}, lowest {low}, highest {high}."


def height(value: float, low: float, high: float) -> float:
    """Measure how far down a value stands; a figure that never changes stands in the middle."""
    share = (value - low) / (high - low) if high > low else 0.5
    return round(BOTTOM - share * (BOTTOM - TOP), 1)


def short(value: float) -> str:
    """Write a number in few characters, for an axis."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if letter == "k" else size
            return f"{value / unit:.4g}{letter}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def day(moment: datetime | None) -> str:
    """Write a day."""
    return f"{moment:%-d %b %Y}" if moment else "unknown"
