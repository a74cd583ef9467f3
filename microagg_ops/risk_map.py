"""The risk–utility map: each way to protect a table as a point, what it loses against its risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from microagg_ops.report.svg import line, number, path, text

Ends = tuple[float, float]
Place = Callable[[float], float]
WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 220, 56, 56
# Between two names.
LINE = 17
STYLE = """
svg { --ground: #fff; --ink: #1f2328; --faint: #d8dde3; --one: #1668b8; --best: #b3400e;
  font: 13px system-ui, sans-serif }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #e6edf3; --faint: #30363d; --one: #6cb2f5; --best: #f59e6c } }
.ground { fill: var(--ground) } text { fill: var(--ink) } .title { font-weight: 600 }
.grid { stroke: var(--faint) } .equal { stroke: var(--best); stroke-dasharray: 5 4; fill: none }
.lead { stroke: var(--ink); stroke-width: .5; opacity: .5 }
.one { fill: var(--one) } .best { fill: var(--best) }
"""


@dataclass(frozen=True)
class Spot:
    """A place on the map: a name, and loss and risk in percent."""

    name: str
    loss: float
    risk: float


def drawn(title: str, spots: Sequence[Spot], best: str) -> str:
    """Draw the map as SVG: the nearer to the lower left corner, the better.

    A dashed line joins places with the score of the best: what lies above it is worse.
    """
    across = ticks([spot.loss for spot in spots])
    upward = ticks([spot.risk for spot in spots])

    def x(loss: float) -> float:
        return LEFT + (loss - across[0]) / (across[-1] - across[0]) * (WIDTH - LEFT - RIGHT)

    def y(risk: float) -> float:
        share = (risk - upward[0]) / (upward[-1] - upward[0])
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    told = "; ".join(f"{s.name}: loss {s.loss:.2f} %, risk {s.risk:.2f} %" for s in spots)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-labelledby="map-title map-about">',
        f'<title id="map-title">{escape(title)}</title><desc id="map-about">{escape(told)}</desc>',
        f'<style>{STYLE}</style><rect class="ground" width="100%" height="100%"/>',
        text(LEFT, 28, title, "title"),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "information loss, %", anchor="middle"),
        f'<g transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)">'
        f"{text(0, 4, 'disclosure risk, %', anchor='middle')}</g>",
    ]
    for tick in across:
        parts.append(line(x(tick), TOP, x(tick), HEIGHT - BOTTOM, "grid"))
        parts.append(text(x(tick), HEIGHT - BOTTOM + 18, f"{tick:g}", anchor="middle"))
    for tick in upward:
        parts.append(line(LEFT, y(tick), WIDTH - RIGHT, y(tick), "grid"))
        parts.append(text(LEFT - 8, y(tick) + 4, f"{tick:g}", anchor="end"))
    first = next(spot for spot in spots if spot.name == best)
    parts += equal_score(first, (across[0], across[-1]), (upward[0], upward[-1]), x, y)
    parts += marks(spots, best, x, y)
    return "\n".join([*parts, "</svg>", ""])


def equal_score(spot: Spot, across: Ends, upward: Ends, x: Place, y: Place) -> list[str]:
    """Draw where loss and risk sum up to the same, inside the plot."""
    total = spot.loss + spot.risk
    low, high = max(across[0], total - upward[1]), min(across[1], total - upward[0])
    if not low < high:
        return []
    return [line(x(low), y(total - low), x(high), y(total - high), "equal")]


def marks(spots: Sequence[Spot], best: str, x: Place, y: Place) -> list[str]:
    """Draw the places, each joined to its name in the margin: they often lie close together."""
    parts: list[str] = []
    lying = sorted(spots, key=lambda spot: (-spot.risk, -spot.loss, spot.name))
    names = [y(spot.risk) for spot in lying]
    for i in range(1, len(names)):
        names[i] = max(names[i], names[i - 1] + LINE)
    for i in range(len(names)):  # what would stand below the plot pushes the others up
        names[-1 - i] = min(names[-1 - i], HEIGHT - BOTTOM - LINE * i)
    for spot, at in zip(lying, names, strict=True):
        kind, across, down = "best" if spot.name == best else "one", x(spot.loss), y(spot.risk)
        shape = f'<circle class="one" cx="{number(across)}" cy="{number(down)}" r="5"/>'
        if kind == "best":  # told by its shape too, not by its colour alone
            corners = [(0, -8), (8, 0), (0, 8), (-8, 0)]
            shape = path([(across + a, down + b) for a, b in corners], "best", closed=True)
        name = f"{spot.name} (recommended)" if kind == "best" else spot.name
        edge = WIDTH - RIGHT + 12
        parts += [line(across, down, edge, at, "lead"), shape, text(edge + 4, at + 4, name)]
    return parts


def ticks(values: Sequence[float]) -> list[float]:
    """Choose about five round values around values."""
    low, high = min(values), max(values)
    raw = max((high - low) * 1.2, 0.05 * abs(high), 0.1) / 4
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw)
    first = math.floor((low - 0.05 * (high - low)) / step)
    last = max(first + 1, math.ceil((high + 0.05 * (high - low)) / step))
    return [round(i * step, 10) for i in range(first, last + 1)]
