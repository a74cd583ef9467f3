"""Plots as SVG, by hand: time and loss against rows, readable on light and on dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape

from tests.benchmarks.harness import Measured, Panel

WIDTH, HEIGHT = 380, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 34, 34, 34
# Colours that can be told apart on both grounds, also by those who do not see red or green.
COLOURS = ["#2f7ed8", "#d9822b", "#1a9c82", "#c2489a", "#8a6fd1", "#7d7d7d", "#b3a100", "#a8503a"]
STYLE = """
svg { --ground: #fff; --ink: #1f2328; --faint: #d8dde3; font: 12px system-ui, sans-serif }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #e6edf3; --faint: #30363d } }
.ground { fill: var(--ground) } text { fill: var(--ink) } .title { font-weight: 600 }
.grid { stroke: var(--faint) } .line { fill: none; stroke-width: 2 }
"""


def drawn(panels: Sequence[Panel]) -> str:
    """Draw two plots a panel, with one legend for all."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.names))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    per_row = 3
    legend_height = 24 + 20 * math.ceil(len(names) / per_row)
    height = HEIGHT * len(panels) + legend_height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {height}" '
        f'width="{2 * WIDTH}" height="{height}" role="img" aria-label="time and loss by rows">',
        f'<style>{STYLE}</style><rect class="ground" width="100%" height="100%"/>',
    ]
    for i, name in enumerate(names):
        x, y = 20 + i % per_row * 240, 22 + i // per_row * 20
        parts.append(f'<rect x="{x}" y="{y - 8}" width="18" height="4" fill="{colours[name]}"/>')
        parts.append(f'<text x="{x + 26}" y="{y}">{escape(name)}</text>')
    for i, panel in enumerate(panels):
        top = legend_height + i * HEIGHT
        seconds = plot(panel, "seconds", lambda m: m.seconds, colours, logarithmic=True)
        losses = plot(panel, panel.loss, lambda m: m.loss, colours, logarithmic=False)
        parts.append(f'<g transform="translate(0 {top})">{seconds}</g>')
        parts.append(f'<g transform="translate({WIDTH} {top})">{losses}</g>')
    return "\n".join([*parts, "</svg>", ""])


def plot(
    panel: Panel,
    what: str,
    value: Callable[[Measured], float],
    colours: dict[str, str],
    *,
    logarithmic: bool,
) -> str:
    """Draw one plot against the logarithm of the rows."""
    x_ticks = decades(m.rows for m in panel.measured)
    values = [value(m) for m in panel.measured]
    y_ticks = decades(values) if logarithmic else steps(values)
    place = math.log10 if logarithmic else float

    def x(rows: float) -> float:
        return scaled(math.log10(rows), [math.log10(t) for t in x_ticks], LEFT, WIDTH - RIGHT)

    def y(v: float) -> float:
        return scaled(place(v), [place(t) for t in y_ticks], HEIGHT - BOTTOM, TOP)

    parts = [f'<text class="title" x="{LEFT}" y="20">{escape(panel.title)}: {what}</text>']
    for tick in x_ticks:
        parts.append(rule(x(tick), TOP, x(tick), HEIGHT - BOTTOM))
        parts.append(label(x(tick), HEIGHT - BOTTOM + 18, f"{tick:,.0f}", "middle"))
    for tick in y_ticks:
        parts.append(rule(LEFT, y(tick), WIDTH - RIGHT, y(tick)))
        parts.append(label(LEFT - 6, y(tick) + 4, f"{tick:,g}", "end"))
    for name in panel.names:
        at = [(x(m.rows), y(value(m))) for m in panel.of(name)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
        parts.append(f'<polyline class="line" stroke="{colours[name]}" points="{path}"/>')
        parts += [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colours[name]}"/>' for a, b in at
        ]
    return "".join(parts)


def rule(x1: float, y1: float, x2: float, y2: float) -> str:
    """Draw a line of the grid."""
    return f'<line class="grid" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def label(x: float, y: float, text: str, anchor: str) -> str:
    """Write a tick's value."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def scaled(value: float, ticks: Sequence[float], first: float, last: float) -> float:
    """Place a value between the first and the last tick."""
    span = ticks[-1] - ticks[0] or 1.0
    return first + (value - ticks[0]) / span * (last - first)


def decades(values: Iterable[float]) -> list[float]:
    """Powers of ten around values."""
    found = list(values)
    low = math.floor(math.log10(min(found)) + 1e-9)
    high = max(low + 1, math.ceil(math.log10(max(found)) - 1e-9))
    return [10.0**power for power in range(low, high + 1)]


def steps(values: Sequence[float]) -> list[float]:
    """About five round values around values."""
    low, high = min(values), max(values)
    raw = (high - low or abs(high) or 1.0) / 4
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw)
    first = math.floor(low / step)
    last = max(first + 1, math.ceil(high / step))
    return [i * step for i in range(first, last + 1)]
