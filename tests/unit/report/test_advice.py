"""What to change, in the words of the release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from microagg_ops.checks import CHECKS
from microagg_ops.release.document import load_release
from microagg_ops.report.advice import advice
from microagg_ops.report.words import as_limit, as_measured


def check(name: str, **more: Any) -> dict[str, Any]:
    found = {"claim": "all is well", "threshold": 5, "observed": 2, "passed": False, "error": ""}
    return {"name": name, **found, **more}


@pytest.fixture
def release_file(release_file: Path) -> Path:
    """A release with limits of risk, which their advice counts with."""
    text = release_file.read_text()
    release_file.write_text(f"{text}validate: {{max_risk: 0.09, average_risk: 0.05}}\n")
    return release_file


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("k_anonymous", "aggregate.k"),
        ("k_of_1", "validate.k_of"),
        ("l_diverse_the column", "validate.l.the column"),
        ("t_close_x", "validate.t.x"),
        ("linkage", "validate.max_linkage"),
        ("max_risk", "validate.max_risk"),
        ("average_risk", "validate.average_risk"),
        ("information_loss", "validate.max_information_loss"),
        ("dominance", "validate.dominance.share"),
        ("p_percent", "validate.dominance.p"),
        ("never_heard_of", "validate"),
    ],
)
def test_it_names_the_key(release_file: Path, name: str, key: str) -> None:
    release = load_release(release_file)
    (found,) = advice(release, [check(name), check("fine", passed=True)], [["age"]])
    assert found["key"] == key
    seen, limit = as_measured(2, name), as_limit(5, name)
    assert found["why"] == f"All is well. Found: {seen}; the threshold is {limit}."
    assert found["change"].endswith(".")


def test_groups_that_do_not_hold_jointly_are_a_case_of_their_own(release_file: Path) -> None:
    release = load_release(release_file)
    (found,) = advice(release, [check("k_anonymous")], [["age"], ["bmi"]])
    assert found["key"] == "validate.guarantee"
    assert "per_group" in found["change"]


def test_columns_of_several_groups_are_told_of(release_file: Path) -> None:
    text = release_file.read_text().replace("max_risk: 0.09", "k_of: [[age, bmi]], max_risk: 0.09")
    release_file.write_text(text)
    release = load_release(release_file)
    (found,) = advice(release, [check("k_of_1")], [["age"], ["bmi"]])
    assert "aggregated in several groups" in found["change"]
    (found,) = advice(release, [check("k_of_1")], [["age", "bmi"]])
    assert "Raise aggregate.k" in found["change"]


def test_a_check_that_could_not_be_made_says_why(release_file: Path) -> None:
    (found,) = advice(load_release(release_file), [check("linkage", error="it broke")], [["age"]])
    assert found["why"] == "All is well: this could not be shown, because it broke."


def test_every_known_check_has_advice(release_file: Path) -> None:
    release = load_release(release_file)
    names = [name for one in CHECKS for name in one.titles]
    found = advice(release, [check(name) for name in names], [["age"]])
    assert len(names) == 15
    assert len({one["change"] for one in found}) == len(names)


def test_a_risk_that_is_too_high_tells_the_k_that_keeps_it(release_file: Path) -> None:
    (found,) = advice(load_release(release_file), [check("max_risk")], [["age"], ["bmi"]])
    assert "An aggregate.k of 12 (now 3, in 2 groups of columns)" in found["change"]
    assert "raise validate.max_risk" in found["change"]


def test_a_limit_of_a_profile_is_not_to_be_raised(release_file: Path) -> None:
    text = release_file.read_text().replace("k: 3", "k: 12")
    release_file.write_text(f"profile: ema0070\n{text}")
    (found,) = advice(load_release(release_file), [check("max_risk")], [["age"]])
    assert "Profile ema0070 sets this limit" in found["change"]
    assert "raise" not in found["change"]
