"""Names, dates and numbers for people."""

from __future__ import annotations

from typing import Any

import pytest

from microagg_ops.checks import CHECKS
from microagg_ops.checks.added import Added
from microagg_ops.report import words


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("k_anonymous", "k-anonymity"),
        ("k_anonymous_2", "k-anonymity, group 2"),
        ("l_diverse_blood type", "l-diversity of blood type"),
        ("something_new", "Something new"),
        ("linkages", "Linkages"),
    ],
)
def test_checks_have_titles(name: str, title: str) -> None:
    assert words.check_title(name) == title


@pytest.mark.parametrize(
    ("shown", "value", "text"),
    [
        (words.as_percent, 0.0, "0.0 %"),
        (words.as_percent, 0.001, "< 0.01 %"),
        (words.as_percent, 12.345, "12.3 %"),
        (words.as_percent, 1.234, "1.23 %"),
        (words.as_share, 0.5, "50.0 %"),
        (words.as_tiny, -1.5e-8, "−1.5 × 10⁻⁸"),
        (words.as_tiny, 0.0, "0"),
        (words.as_moment, "2026-03-01", "1 March 2026"),
        (words.as_moment, "2026-03-01T00:00:00", "1 March 2026"),
        (words.as_moment, "2026-03-01T12:30:00+02:00", "1 March 2026, 10:30 UTC"),
        (words.as_seconds, 2.0, "2 s"),
        (words.as_seconds, 75.0, "1 min 15 s"),
        (words.as_seconds, 7300.0, "2 h 1 min"),
        (words.as_figure, -3, "−3"),
        (words.as_figure, "2026-03-01", "1 March 2026"),
        (words.as_figure, "joint", "joint"),
        (words.as_title, "clinic_patients", "Clinic patients"),
    ],
)
def test_they_are_for_people(shown: Any, value: Any, text: str) -> None:
    assert shown(value) == text


def test_every_figure_of_a_check_has_a_unit() -> None:
    for check in CHECKS:
        if not isinstance(check, Added):
            assert set(check.units) == set(check.titles), check.titles


@pytest.mark.parametrize(
    ("name", "value", "found", "limit"),
    [
        ("k_anonymous_2", 5, "5 entities", "5"),
        ("linkage", 7.0752, "7.08 %", "7.08 %"),
        ("totals_income", 1e-9, "1.0 × 10⁻⁹ of the total", "1.0 × 10⁻⁹"),
        ("t_close_income", 0.2, "distance 0.2", "0.2"),
        ("of_another_package", 3.0, "3", "3"),
        ("k_anonymous", None, "–", "–"),
    ],
)
def test_findings_have_units(name: str, value: float, found: str, limit: str) -> None:
    assert (words.as_measured(value, name), words.as_limit(value, name)) == (found, limit)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("validate.max_linkage", 0.05, "0.05 = 5.00 %"),
        ("validate.attacks.linkage", 0.1, "0.1 = 10.0 %"),
        ("validate.k", 5, "5"),
        ("validate.guarantee", "joint", "joint"),
    ],
)
def test_thresholds_are_as_in_the_file(key: str, value: object, text: str) -> None:
    assert words.as_setting(value, key) == text
