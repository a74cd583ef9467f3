"""The risk–utility map."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from microagg_ops.risk_map import HEIGHT, LEFT, WIDTH, Spot, drawn, ticks

SVG = "{http://www.w3.org/2000/svg}"
SPOTS = [Spot("mdav", 20.0, 40.0), Spot("a < b & c", 30.0, 25.0), Spot("best", 10.0, 42.0)]


def parsed(spots: list[Spot], best: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawn('odd "title" <&', spots, best))


def test_every_method_is_on_the_map_and_the_best_is_marked() -> None:
    found = parsed(SPOTS, "best")
    words = [element.text for element in found.iter(f"{SVG}text")]
    assert {"mdav", "a < b & c", "best (recommended)"} <= set(words)
    assert len(list(found.iter(f"{SVG}circle"))) == 2
    assert len(list(found.iter(f"{SVG}path"))) == 1
    assert "mdav: loss 20.00 %, risk 40.00 %" in (found.find(f"{SVG}desc").text or "")  # type: ignore[union-attr]


def test_loss_goes_to_the_right_and_risk_goes_up() -> None:
    places = [
        (float(c.get("cx", 0)), float(c.get("cy", 0)))
        for c in parsed(SPOTS, "best").iter(f"{SVG}circle")
    ]
    (mdav_x, mdav_y), (other_x, other_y) = places
    assert LEFT <= mdav_x < other_x <= WIDTH
    assert 0 < mdav_y < other_y < HEIGHT


@pytest.mark.parametrize("spots", [[Spot("a", 0.0, 0.0)], [Spot("a", 5.0, 5.0)] * 2])
def test_one_place_is_a_map_too(spots: list[Spot]) -> None:
    assert parsed(spots, "a") is not None


@pytest.mark.parametrize("values", [[0.0], [3.0, 3.0], [41.5, 42.9], [0.0, 100.0], [1e-9, 2e-9]])
def test_ticks_enclose_the_values(values: list[float]) -> None:
    found = ticks(values)
    assert found == sorted(set(found))
    assert found[0] <= min(values) and max(values) <= found[-1]
    assert 2 <= len(found) <= 8
