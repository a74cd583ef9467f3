"""Names, dates and numbers for people."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

from microagg_ops.checks.registry import check_of


def as_figure(value: Any) -> str:
    """Format a figure, a date or a word for people."""
    if isinstance(value, str):
        return as_moment(value) if re.match(r"\d{4}-\d\d-\d\d(T|$)", value) else value
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}".replace("-", "−")
    if abs(value) >= 1000:
        return f"{value:,.1f}".replace("-", "−")
    return f"{value:,.4g}".replace("-", "−", 1)


def as_percent(value: float | None) -> str:
    """Format percentages with as many digits as tell something."""
    if value is None:
        return "–"
    if value == 0 or abs(value) >= 10:
        return f"{value:.1f} %".replace("-", "−")
    return (f"{value:.2f} %" if abs(value) >= 0.01 else "< 0.01 %").replace("-", "−")


def as_share(value: float | None) -> str:
    """Format a share as a percentage."""
    return as_percent(None if value is None else 100 * value)


def as_unit(value: float | str | None, unit: str) -> str:
    """Format a figure by what it is: a share, a percentage, or a count, a number, words."""
    if value is None:
        return "not measured"
    if unit == "share":
        return as_share(float(value))
    return as_percent(float(value)) if unit == "percent" else as_figure(value)


def as_tiny(value: float) -> str:
    """Format a difference that is rounding, mostly."""
    if not value:
        return "0"
    digits, _, power = f"{value:.1e}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits.replace('-', '−')} × 10{raised}"


def as_moment(text: str) -> str:
    """Format a day or a moment."""
    if len(text) == 10:
        return f"{date.fromisoformat(text):%-d %B %Y}"
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    if not (moment.hour or moment.minute or moment.second):
        return f"{moment:%-d %B %Y}"
    return f"{moment:%-d %B %Y, %H:%M}{' UTC' if moment.tzinfo else ''}"


ROLES = {
    "identifier": ("identifier", "identifiers"),
    "entity": ("entity key", "entity keys"),
    "quasi-identifier": ("quasi-identifier", "quasi-identifiers"),
    "sensitive": ("sensitive column", "sensitive columns"),
    "stratum": ("column of strata", "columns of strata"),
    "weight": ("column of weights", "columns of weights"),
}


def counted(role: str, many: int) -> str:
    """Say how many columns have a role."""
    return f"{many:,} {ROLES[role][many != 1]}"


def as_seconds(seconds: float) -> str:
    """Format a duration."""
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def as_title(name: str) -> str:
    """Write the name of a release as a title."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def check_title(name: str) -> str:
    """Name a check; whatever follows a known name is a column or a number."""
    check = check_of(name)
    return as_title(name) if check is None else check[0].title(*check[1:])


def as_measured(value: float | None, name: str) -> str:
    """Format what a check found, with its unit."""
    unit = unit_of(name)
    plain = value is None or unit == "percent"
    return as_limit(value, name) if plain else unit.format(as_limit(value, name))


def as_limit(value: float | None, name: str) -> str:
    """Format what a check allows, beside what it found."""
    if value is None:
        return "–"
    if unit_of(name) == "percent":
        return as_percent(value)
    return as_tiny(value) if 0 < abs(value) < 1e-4 else as_figure(value)


def unit_of(name: str) -> str:
    """Return the unit of a check's figures: percent, or words around a figure."""
    check = check_of(name)
    return check[0].units.get(check[1], "{}") if check else "{}"


def as_setting(value: Any, key: str) -> str:
    """Format a threshold as its file has it; of a share say what it is in percent."""
    shares = ("max_linkage", "max_information_loss", "max_risk", "average_risk", "share")
    is_share = key.rsplit(".", maxsplit=1)[-1] in shares or ".attacks." in key
    return f"{as_figure(value)} = {as_share(value)}" if is_share and value else as_figure(value)
