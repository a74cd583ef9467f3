"""What a reader who only looks sees. Shape and place tell, not colour: it reads in grey too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from microagg_ops.report.svg import line, number, path, rect, short, svg, text, ticks
from microagg_ops.report.words import as_figure, as_percent

BARS = 14


def plots(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the figures of the internal report."""
    utility, risk = figures["utility"], figures["risk"]
    return {
        "sizes": class_sizes(risk["class_sizes"], figures["method"]["k"]),
        "loss": loss_by_column(utility["by_column"]),
        "map": risk_utility(figures["tried"]),
        "search": search(figures["search"]),
        "distributions": {one["name"]: distribution(one) for one in utility["distributions"]},
        "correlations": both_sides(utility["correlations"]),
    }


def outside_plots(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the figures of the external report."""
    utility = figures["utility"] or {"correlations": None}
    return {"correlations": both_sides(utility["correlations"])}


def both_sides(related: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Draw correlations before and after, if there are any."""
    return [
        (side, correlations(related["columns"], related[side], side))
        for side in ("before", "after")
        if related
    ]


def class_sizes(sizes: Sequence[Mapping[str, int]], k: int) -> str:
    """Draw how many classes there are of each size; the largest sizes share a bar."""
    if not sizes:
        return ""
    bars = [(str(one["size"]), one["classes"]) for one in sizes]
    if len(bars) > BARS:
        rest = sizes[BARS - 1 :]
        bars = [*bars[: BARS - 1], (f"{rest[0]['size']}+", sum(one["classes"] for one in rest))]
    width, height, left, base = 400.0, 220.0, 46.0, 178.0
    scale = ticks(max(many for _, many in bars))
    parts = _rules(scale, (left, width, base, 20.0), as_figure)
    slot = (width - left - 6) / len(bars)
    thick = min(slot * 0.72, 44.0)
    for i, (size, many) in enumerate(bars):
        x = left + slot * (i + 0.5)
        high = (base - 20) * many / scale[-1]
        kind = "after" if int(size.rstrip("+")) >= k else "wrong"
        parts.append(
            rect((x - thick / 2, base - high, thick, max(high, 1.0)), kind, f"{size}: {many:,}")
        )
        parts.append(text(x, base + 16, size, "tick", "middle"))
    parts += [
        line(left, base, width, base),
        text((left + width) / 2, base + 36, "size", "soft", "middle"),
    ]
    least = f"smallest {bars[0][0]}"
    return svg(width, height, f"Number of classes by their size, {least}.", parts)


def loss_by_column(columns: Sequence[Mapping[str, Any]]) -> str:
    """Draw the loss of each column, largest first."""
    ordered = sorted(columns, key=lambda one: -one["information_loss"])
    width, row, left = 400.0, 26.0, 128.0
    most = max([one["information_loss"] for one in ordered] + [1e-9])
    parts = []
    for i, one in enumerate(ordered):
        y = 6 + row * i
        long = (width - left - 64) * one["information_loss"] / most
        parts += [
            text(left - 8, y + 14, short(one["name"], 17), "", "end"),
            rect((left, y, max(long, 1.5), 18), "after", one["name"]),
            text(left + max(long, 1.5) + 6, y + 14, as_percent(one["information_loss"]), "tick"),
        ]
    parts.append(line(left, 2, left, 4 + row * len(ordered)))
    return svg(width, 10 + row * len(ordered), "Information loss by column, in percent.", parts)


def distribution(one: Mapping[str, Any]) -> str:
    """Draw shares before as wide pale bars and shares after as narrow dark ones in front."""
    if not one["bins"]:
        return ""
    width, left, base, top = 320.0, 44.0, 138.0, 12.0
    height = base + (24 if one["kind"] == "ordered" else 40)
    scale = ticks(max(*one["before"], *one["after"], 1.0), 3)
    parts = _rules(scale, (left, width, base, top), lambda value: f"{value:g} %")
    count = len(one["bins"])
    slot = (width - left - 4) / count
    for i, (name, old, new) in enumerate(
        zip(one["bins"], one["before"], one["after"], strict=True)
    ):
        x = left + slot * (i + 0.5)
        told = f"{name}: {as_percent(old)} before, {as_percent(new)} after"
        for share, part, kind in ((old, 0.84, "before"), (new, 0.42, "after")):
            high = (base - top) * share / scale[-1]
            parts.append(rect((x - slot * part / 2, base - high, slot * part, high), kind, told))
    parts.append(line(left, base, width, base))
    if one["edges"]:
        every = -(-len(one["edges"]) // (6 if max(map(len, one["edges"])) < 6 else 3))
        for i, edge in list(enumerate(one["edges"]))[::every]:
            x = left + slot * (i + 1)
            parts += [line(x, base, x, base + 4), text(x, base + 17, edge, "tick", "middle")]
    elif one["kind"] != "ordered":
        every = -(-count // 10)
        for i, name in list(enumerate(one["bins"]))[::every]:
            parts.append(text(left + slot * (i + 0.5), base + 17, name, "tick", "middle"))
    axis = {"rank": "category, in its order", "frequency": "category, by frequency"}
    if one["kind"] in axis:
        parts.append(text((left + width) / 2, base + 34, axis[one["kind"]], "soft", "middle"))
    return svg(width, height, f"Distribution of {one['name']} before and after.", parts)


def correlations(names: Sequence[str], matrix: Sequence[Sequence[float]], side: str) -> str:
    """Draw a matrix: the darker, the stronger; numbers in it, dashed frames where negative."""
    left, cell = 118.0, min(46.0, max(24.0, 300.0 / len(names)))
    size = cell * len(names)
    parts = []
    for j in range(len(names)):
        parts.append(text(left + cell * (j + 0.5), 16, str(j + 1), "tick", "middle"))
    for i, name in enumerate(names):
        y = 24 + cell * i
        parts.append(text(left - 8, y + cell / 2 + 4, f"{short(name, 13)} {i + 1}", "", "end"))
        for j, found in enumerate(matrix[i]):
            x = left + cell * j
            strong = min(9, round(9 * abs(found)))
            kind = f"cell s{strong}" + (" negative" if found < -0.05 else "")
            parts.append(
                rect((x + 1, y + 1, cell - 2, cell - 2), kind, f"{name}, {names[j]}: {found:.2f}")
            )
            shown = "1" if i == j else f"{abs(found):.2f}".lstrip("0")
            shown = f"−{shown}" if found < -0.005 else shown
            words = "number" + (" light" if strong > 5 else "") + (" small" if cell < 34 else "")
            parts.append(text(x + cell / 2, y + cell / 2 + 4, shown, words, "middle"))
    return svg(left + size + 2, size + 28, f"Correlations {side} protection.", parts)


def risk_utility(tried: Sequence[Mapping[str, Any]]) -> str:
    """Draw loss against risk of every method that was tried: the chosen one is filled."""
    width, height, left, base, top = 400.0, 270.0, 52.0, 216.0, 30.0
    across = ticks(1.15 * max([one["information_loss"] for one in tried] + [1e-6]))
    up = ticks(1.15 * max([one["linkage"] for one in tried] + [1e-6]))
    parts = _rules(up, (left, width, base, top), lambda value: f"{value:g} %")
    span = width - left - 24
    for value in across:
        x = left + span * value / across[-1]
        parts += [line(x, base, x, base + 4), text(x, base + 18, f"{value:g} %", "tick", "middle")]
    taken: list[float] = []
    for one in sorted(tried, key=lambda one: not one["chosen"]):
        x = left + span * one["information_loss"] / across[-1]
        y = base - (base - top) * one["linkage"] / up[-1]
        if one["chosen"]:
            parts.append(
                path([(x, y - 9), (x + 9, y), (x, y + 9), (x - 9, y)], "chosen", closed=True)
            )
        else:
            parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="6" class="other"/>')
        label = _free(y, taken)
        right = x < left + span * 0.6
        words = f"{one['method']}, chosen" if one["chosen"] else one["method"]
        at = x + 14 if right else x - 14
        parts.append(
            text(
                at, label + 4, words, "strong" if one["chosen"] else "", "start" if right else "end"
            )
        )
    parts += [
        line(left, base, width, base),
        text((left + width) / 2, base + 40, "information loss → less useful", "soft", "middle"),
        text(2, 10, "rows linked ↑ more risk", "soft"),
    ]
    return svg(
        width, height, "Risk against information loss of the methods that were tried.", parts
    )


def _free(y: float, taken: list[float]) -> float:
    """Find a height for a label where no other stands."""
    while any(abs(y - other) < 16 for other in taken):
        y -= 16
    taken.append(y)
    return y


def search(found: Mapping[str, Any] | None) -> str:
    """Draw how the loss fell while the search went on."""
    points = found["trajectory"] if found else []
    if len(points) < 2 or not points[0][2]:
        return ""
    width, height, left, base, top = 400.0, 220.0, 52.0, 172.0, 14.0
    shares = [100.0 * sse / points[0][2] for _, _, sse in points]
    low = min(shares)
    floor = 0.0 if low < 50 else 10.0 * int(low / 10 - 1e-9)
    seconds = ticks(max(points[-1][0], 1e-3))
    parts = []
    for i in range(5):
        value = floor + (100 - floor) * i / 4
        y = base - (base - top) * i / 4
        parts += [
            line(left, y, width, y, "grid"),
            text(left - 6, y + 4, f"{value:g} %", "tick", "end"),
        ]
    span = width - left - 16
    drawn: list[tuple[float, float]] = []
    for (moment, _, _), share in zip(points, shares, strict=True):
        x = left + span * moment / seconds[-1]
        y = base - (base - top) * (share - floor) / (100 - floor)
        if drawn:  # it held what it had until it found better
            drawn.append((x, drawn[-1][1]))
        drawn.append((x, y))
    parts.append(path(drawn, "trace"))
    for value in seconds:
        x = left + span * value / seconds[-1]
        parts.append(text(x, base + 17, f"{value:g} s", "tick", "middle"))
    parts += [
        line(left, base, width, base),
        text(
            (left + width) / 2, base + 38, "loss, of what the search began with", "soft", "middle"
        ),
    ]
    return svg(width, height, f"The search ended at {low:.1f} % of its first loss.", parts)


def _rules(scale: Sequence[float], box: tuple[float, float, float, float], shown: Any) -> list[str]:
    """Draw the horizontal rules of a scale in a box (left, right, bottom, top), and its numbers."""
    left, width, base, top = box
    parts = []
    for value in scale:
        y = base - (base - top) * value / scale[-1]
        if value:
            parts.append(line(left, y, width, y, "grid"))
        parts.append(text(left - 6, y + 4, shown(value), "tick", "end"))
    return parts
