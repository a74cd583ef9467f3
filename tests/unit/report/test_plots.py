"""Pictures show what they are given, and hold for little and for much."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from microagg_ops.report import plots
from microagg_ops.report.svg import ticks


def shapes(picture: str, tag: str, kind: str = "") -> list[ET.Element]:
    found = ET.fromstring(picture).iter(tag)
    return [one for one in found if not kind or kind in one.get("class", "").split()]


def words(picture: str) -> list[str]:
    return [one.text or "" for one in shapes(picture, "text")]


def inside(picture: str) -> bool:
    """Whether every shape lies within the picture."""
    root = ET.fromstring(picture)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    for one in root.iter("rect"):
        x, y, w, h = (float(one.get(key, "nan")) for key in ("x", "y", "width", "height"))
        if not (x >= 0 and y >= 0 and x + w <= width + 0.5 and y + h <= height + 0.5):
            return False
    return True


def sizes(found: dict[int, int]) -> list[dict[str, int]]:
    return [{"size": size, "classes": many} for size, many in found.items()]


def test_bars_are_as_high_as_there_are_classes() -> None:
    picture = plots.class_sizes(sizes({5: 40, 6: 10}), 5)
    first, second = (float(bar.get("height", "0")) for bar in shapes(picture, "rect", "after"))
    assert first == pytest.approx(4 * second, rel=0.02)
    assert inside(picture)


def test_classes_below_k_look_different() -> None:
    picture = plots.class_sizes(sizes({3: 1, 5: 4}), 5)
    assert len(shapes(picture, "rect", "wrong")) == len(shapes(picture, "rect", "after")) == 1


def test_many_sizes_share_the_last_bar() -> None:
    picture = plots.class_sizes(sizes(dict.fromkeys(range(5, 100), 1)), 5)
    assert len(shapes(picture, "rect")) == plots.BARS
    assert "18+" in words(picture)


@pytest.mark.parametrize("columns", [1, 3, 40])
def test_loss_is_sorted_and_escaped(columns: int) -> None:
    given = [{"name": f"<c{i}&>", "information_loss": float(i)} for i in range(columns)]
    picture = plots.loss_by_column(given)
    names = [word for word in words(picture) if word.startswith("<c")]
    assert names == [f"<c{i}&>" for i in reversed(range(columns))]
    assert inside(picture)


def test_no_loss_at_all_is_drawn() -> None:
    assert "0.0 %" in words(plots.loss_by_column([{"name": "a", "information_loss": 0.0}]))


def test_before_is_wide_and_after_narrow() -> None:
    one: dict[str, Any] = {
        "name": "a", "kind": "ordered", "bins": ["x", "y"], "edges": ["7"],
        "before": [25.0, 75.0], "after": [0.0, 100.0],
    }  # fmt: skip
    picture = plots.distribution(one)
    wide, narrow = (
        float(shapes(picture, "rect", kind)[0].get("width", "0")) for kind in ("before", "after")
    )
    assert wide == pytest.approx(2 * narrow, rel=0.02)
    assert "7" in words(picture)
    assert inside(picture)


@pytest.mark.parametrize("columns", [2, 8, 30])
def test_every_correlation_has_a_cell(columns: int) -> None:
    matrix = [[1.0 if i == j else -0.5 for j in range(columns)] for i in range(columns)]
    picture = plots.correlations([f"c{i}" for i in range(columns)], matrix, "before")
    assert len(shapes(picture, "rect", "cell")) == columns**2
    assert len(shapes(picture, "rect", "negative")) == columns**2 - columns
    assert inside(picture)


def test_the_chosen_method_is_marked_and_labels_do_not_overlap() -> None:
    tried = [
        {"method": f"m{i}", "information_loss": 5.0, "linkage": 3.0, "chosen": i == 0}
        for i in range(4)
    ]
    picture = plots.risk_utility(tried)
    assert len(shapes(picture, "path", "chosen")) == 1
    assert len(shapes(picture, "circle", "other")) == 3
    heights = [
        one.get("y") for one in shapes(picture, "text") if re.match("m[0-9]", one.text or "")
    ]
    assert len(set(heights)) == 4


def test_a_search_is_drawn_as_steps_down() -> None:
    points = [[0.0, 0, 10.0], [1.0, 5, 8.0], [2.0, 9, 4.0]]
    (line,) = shapes(plots.search({"trajectory": points}), "path", "trace")
    assert line.get("d", "").count("L") == 4
    assert plots.search(None) == plots.search({"trajectory": points[:1]}) == ""


def test_ticks_are_round_and_reach_the_top() -> None:
    assert ticks(17.0) == [0, 5, 10, 15, 20]
    assert ticks(0.0) == [0]
    assert ticks(100.0, 3) == [0, 50, 100]
