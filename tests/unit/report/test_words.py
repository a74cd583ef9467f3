"""Names, dates and numbers for people."""

from __future__ import annotations

from typing import Any

import pytest

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
