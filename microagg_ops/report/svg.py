"""Inline SVG: shapes that take their colours from the page, so that they follow its scheme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from microagg_ops.outside import nice


def svg(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Return a picture with its description for those who do not see it."""
    said = escape(title, quote=True)
    return (
        f'<svg viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" '
        f'height="{number(height)}" role="img" aria-label="{said}">{"".join(parts)}</svg>'
    )


def number(value: float) -> str:
    """Write a coordinate in as few digits as a screen can show."""
    return f"{value:.1f}".removesuffix(".0")


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Write words."""
    named = f' class="{kind}"' if kind else ""
    placed = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{number(x)}" y="{number(y)}"{named}{placed}>{escape(words)}</text>'


def rect(box: tuple[float, float, float, float], kind: str, told: str = "") -> str:
    """Draw a rectangle (x, y, width, height); ``told`` shows where a pointer rests on it."""
    x, y, width, height = box
    hint = f"<title>{escape(told)}</title>" if told else ""
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(max(width, 0))}" '
        f'height="{number(max(height, 0))}" class="{kind}">{hint}</rect>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    """Draw a line."""
    return (
        f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" '
        f'class="{kind}"/>'
    )


def path(points: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> str:
    """Draw a line through points."""
    joined = " L".join(f"{number(x)} {number(y)}" for x, y in points)
    return f'<path d="M{joined}{"Z" if closed else ""}" class="{kind}"/>'


def ticks(most: float, count: int = 4) -> list[float]:
    """Choose round numbers from 0 up to the first that is not below ``most``."""
    step = nice(most / count) or 1.0
    return [i * step for i in range(math.ceil(most / step - 1e-9) + 1)]


def short(words: str, most: int) -> str:
    """Cut a name that has no room."""
    return words if len(words) <= most else f"{words[: most - 1]}…"
