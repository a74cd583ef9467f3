"""What microaggregate() gives back: it shows itself, reports and compares, and hides its rows."""

from __future__ import annotations

import json
import pickle
import stat
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from microagg_ops import Microaggregated, microaggregate
from microagg_ops.errors import DataError, ReleaseError
from microagg_ops.metrics import attackers

SECRET = "cell_of_one"
QUASI = ["age", "pay"]


def people(rows: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    found = pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "pay": rng.gamma(3, 900, rows),
            "ill": rng.choice(["x", "y"], rows),
        }
    )
    found.loc[7, ["pay", "ill"]] = [987654.25, SECRET]
    return found


@pytest.fixture(scope="module")
def done() -> Microaggregated:
    return microaggregate(people(), quasi=QUASI, k=4, sensitive=["ill"])


def told_nothing(text: str) -> None:
    for cell in (SECRET, "987654", "987,654", *map(str, people()["pay"][:3])):
        assert cell not in text


def test_it_tells_counts_alone(done: Microaggregated) -> None:
    assert repr(done) == str(done)
    assert repr(done).startswith("<Microaggregated: k = 4, information loss ")
    assert repr(done).endswith("30 clusters, 120 rows>")
    told_nothing(repr(done))


def test_a_notebook_shows_k_loss_checks_and_a_plot(done: Microaggregated) -> None:
    page = done._repr_html_()
    tree = ElementTree.fromstring(page)
    assert tree.find("p/strong").text == "k = 4"  # type: ignore[union-attr]
    assert "information loss" in page
    assert "counted again, and holds" in page or "every class of all quasi-identifiers" in page
    assert tree.find("{http://www.w3.org/2000/svg}svg") is not None
    told_nothing(page)


def test_what_does_not_hold_is_shown() -> None:
    frame = people()
    done = microaggregate(frame, quasi=QUASI, k=4, groups=[["age"], ["pay"]])
    assert "k = 4 in each group" in repr(done)
    how: dict[str, Any] = {"group": {"method": "fixed", "groups": [["age"], ["pay"]]}}
    done = microaggregate(frame, quasi=QUASI, k=4, l={"ill": 2}, groups=how["group"])
    assert done.k == 4
    assert "✗ Counted again: a class has too few values of ill" in done._repr_html_()
    assert {one.name: one.passed for one in done.checks}["l_diverse_ill"] is False
    assert "✗ failed" in done._repr_html_()
    assert "✓ held" in done._repr_html_()


def test_names_are_escaped() -> None:
    frame = people().rename(columns={"age": "<script>alert(1)</script>"})
    frame["flat"] = 1
    done = microaggregate(frame, quasi=["<script>alert(1)</script>", "flat"], k=4)
    assert done.warnings
    assert "<script>" not in done._repr_html_() + done.plot("<script>alert(1)</script>").svg


def test_checks_are_those_of_a_release(done: Microaggregated) -> None:
    assert [(one.name, one.passed) for one in done.checks] == [
        ("k_anonymous", True), ("schema", True)
    ]  # fmt: skip


def test_risk_is_in_shares(done: Microaggregated) -> None:
    risk, found = done.risk, attackers(done.frame, QUASI)
    assert (risk.highest, risk.average) == (found.prosecutor, found.prosecutor_average)
    assert risk.highest == 0.25
    assert 0 < risk.low <= risk.linked + 1e-9 <= risk.high + 2e-9 <= 0.25 + 3e-9
    assert 0 <= risk.same["ill"] < 1


def test_a_report_is_one_page_for_its_owner(done: Microaggregated, tmp_path: Path) -> None:
    path = done.report(tmp_path / "our people.html")
    page = path.read_text()
    assert "Our people" in page
    assert "k-anonymity" in page
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    told_nothing(page)
    figures = json.loads(done.report(tmp_path / "out.json").read_text())
    assert figures["verdict"] == "passed"
    assert figures["risk"]["k"] == 4
    assert figures["utility"]["information_loss"] == done.information_loss
    with pytest.raises(ReleaseError, match="cannot be written"):
        done.report(tmp_path)


def test_a_report_may_compare(done: Microaggregated, tmp_path: Path) -> None:
    def tried(**how: bool) -> list[str]:
        figures = json.loads(done.report(tmp_path / "out.json", **how).read_text())
        return [one["method"] for one in figures["tried"]]

    assert tried() == ["mdav"]
    assert tried(compare=True) == ["mdav", "vmdav", "mdav_mhm", "lsc"]
    page = done.report(tmp_path / "out.html", compare=True).read_text()
    assert "The method that was chosen beside the others that were tried" in page


def test_plots_are_drawn_and_saved(done: Microaggregated, tmp_path: Path) -> None:
    drawn = done.plot("age")
    assert drawn.save(tmp_path / "age.svg").read_text() == drawn._repr_svg_() == drawn.svg
    ElementTree.fromstring(drawn.svg)
    assert drawn.svg != done.plot().svg
    assert repr(drawn).startswith("<Drawing:")
    told_nothing(drawn.svg + done.plot().svg)
    with pytest.raises(ReleaseError, match="'ill' is no quasi-identifier. Choose of age, pay"):
        done.plot("ill")
    with pytest.raises(ReleaseError, match="cannot be written"):
        drawn.save(tmp_path)


def test_other_methods_are_tried_on_the_same_rows(done: Microaggregated) -> None:
    before, loss = done.frame.copy(), done.plot().svg
    found = done.compare(["mdav", "vmdav"], budget=2)
    assert [one.method for one in found.tried] == ["mdav", "vmdav"]
    assert found.tried[0].information_loss == done.information_loss
    assert (found.rows, found.of, found.budget) == (120, 120, "2s")
    page = ElementTree.fromstring(found._repr_html_())
    assert page.find("p/strong").text == found.recommended  # type: ignore[union-attr]
    # What was protected stays what it was.
    pd.testing.assert_frame_equal(done.frame, before)
    assert done.plot().svg == loss
    with pytest.raises(ReleaseError, match="Did you mean 'mdav'"):
        done.compare(["mdaw"])


def test_a_copy_has_no_rows(done: Microaggregated) -> None:
    held = pickle.dumps(microaggregate(people(), quasi=["age"], k=4))
    assert SECRET.encode() not in held
    copy = pickle.loads(held)
    assert copy.k == 4
    assert "<svg" not in copy._repr_html_()
    for ask in (lambda: copy.risk, copy.plot, lambda: copy.checks, copy.compare):
        with pytest.raises(DataError, match="not here any more"):
            ask()


def test_k_is_counted_by_entities() -> None:
    frame = people().assign(who=np.repeat(range(60), 2))
    done = microaggregate(frame, quasi=QUASI, k=4, entity="who", keep=["who"])
    sizes = done.frame.groupby(QUASI)["who"].nunique()
    assert done.k == sizes.min()


def test_progress_is_a_bar_or_a_function(capsys: pytest.CaptureFixture[str]) -> None:
    shares: list[float] = []
    microaggregate(people(), quasi=QUASI, k=4, progress=shares.append)
    assert shares and all(0 <= share <= 1 for share in shares)
    assert capsys.readouterr().err == ""
    microaggregate(people(), quasi=QUASI, k=4, progress=True)
    assert capsys.readouterr().err.endswith("100%\n")
