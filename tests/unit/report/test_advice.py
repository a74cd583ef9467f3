"""What to change, in the words of the release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from microagg_ops.release import load_release
from microagg_ops.report.advice import CHANGES, advice


def check(name: str, **more: Any) -> dict[str, Any]:
    found = {"claim": "all is well", "threshold": 5, "observed": 2, "passed": False, "error": ""}
    return {"name": name, **found, **more}


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("k_anonymous", "aggregate.k"),
        ("l_diverse_the column", "validate.l.the column"),
        ("t_close_x", "validate.t.x"),
        ("linkage", "validate.max_linkage"),
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
    assert found["why"] == "All is well. Found: 2; the threshold is 5."
    assert found["change"].endswith(".")


def test_groups_that_do_not_hold_jointly_are_a_case_of_their_own(release_file: Path) -> None:
    release = load_release(release_file)
    (found,) = advice(release, [check("k_anonymous")], [["age"], ["bmi"]])
    assert found["key"] == "validate.guarantee"
    assert "per_group" in found["change"]


def test_a_check_that_could_not_be_made_says_why(release_file: Path) -> None:
    (found,) = advice(load_release(release_file), [check("linkage", error="it broke")], [["age"]])
    assert found["why"] == "All is well: this could not be shown, because it broke."


def test_every_known_check_has_advice(release_file: Path) -> None:
    release = load_release(release_file)
    found = advice(release, [check(name) for name in CHANGES], [["age"]])
    assert len({one["change"] for one in found}) == len(CHANGES)
