"""Hierarchies: of what more general thing a category is one, level by level.

Each step leads from the text of a category to that of the level above it, up to `ROOT`. So a step
can be made from whatever level a column was generalized to before.
"""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

#: What everything is.
ROOT = "*"
Step = Callable[[str], str | None]
DATES = ("month", "quarter", "year")
CODES = ("category", "chapter")
# The chapters of ICD-10, by their first codes; what the clinical modification adds is in them.
CHAPTERS = (
    "A00-B99", "C00-D49", "D50-D89", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95",
    "I00-I99", "J00-J99", "K00-K95", "L00-L99", "M00-M99", "N00-N99", "O00-O99", "P00-P96",
    "Q00-Q99", "R00-R99", "S00-T98", "U00-U99", "V00-Y99", "Z00-Z99",
)  # fmt: skip
FIRSTS = [chapter[:3] for chapter in CHAPTERS]
CODE = re.compile(r"([A-Z]\d[0-9A-Z])(\.?[0-9A-Z]{1,4})?")


def steps_of(hierarchy: str | Mapping[str, Any]) -> list[Step]:
    """Make the steps of a hierarchy: from a category to the level above, or nothing if unknown.

    Parameters
    ----------
    hierarchy
        What a release file says: ``date``, ``icd10``, ``{"prefix": [3, 2]}``,
        ``{"groups": {"north": ["a", "b"]}}`` or ``{"levels": [["a", "north"], …]}``.
    """
    if hierarchy == "date":
        return [month, quarter, year]
    if hierarchy == "icd10":
        return [category, chapter]
    how = dict(hierarchy) if isinstance(hierarchy, Mapping) else {}
    if "prefix" in how:
        return [prefix(length) for length in how["prefix"]]
    if "groups" in how:
        named = {str(c): str(name) for name, listed in how["groups"].items() for c in listed}
        return [named.get]
    rows = [[str(cell) for cell in row] for row in how.get("levels", ())]
    depth = max((len(row) for row in rows), default=1) - 1
    return [{row[i]: row[i + 1] for row in rows}.get for i in range(depth)]


def level_names(hierarchy: str | Mapping[str, Any]) -> Sequence[str]:
    """Name the levels above the categories, where they have names."""
    return {"date": DATES, "icd10": CODES}.get(hierarchy if isinstance(hierarchy, str) else "", ())


def level_of(hierarchy: str | Mapping[str, Any], level: int | str | None) -> int:
    """Return the number of a level: 0 for the categories themselves."""
    if isinstance(level, str):
        return list(level_names(hierarchy)).index(level) + 1
    return level or 0


def hierarchy_faults(hierarchy: Any, level: Any) -> Iterable[tuple[str, str, str]]:
    """List what is wrong with a hierarchy, and with the level that is asked for."""
    if isinstance(hierarchy, Mapping):
        yield from _shape_faults(hierarchy)
    names = level_names(hierarchy)
    if isinstance(level, str) and level not in names:
        yield "/level", repr(level), ", ".join(names) or "the number of a level"
    elif isinstance(level, int) and level > len(steps_of(hierarchy)):
        yield "/level", str(level), f"at most {len(steps_of(hierarchy))}"


def _shape_faults(how: Mapping[str, Any]) -> Iterable[tuple[str, str, str]]:
    if len(how) != 1:
        yield "/hierarchy", f"{len(how)} keys", "one of prefix, groups and file"
    elif "file" in how:
        yield "/hierarchy/file", "a file that cannot be read", "a CSV beside the release file"
    lengths = list(how.get("prefix", ()))
    if any(b >= a for a, b in pairwise(lengths)):
        yield "/hierarchy/prefix", "lengths that do not fall", "each shorter than the one before"
    if twice := _twice(str(c) for listed in how.get("groups", {}).values() for c in listed):
        yield "/hierarchy/groups", f"{twice} categories in two groups", "each category in one group"
    rows = [[str(cell) for cell in row] for row in how.get("levels", ())]
    if len({len(row) for row in rows}) > 1:
        yield "/hierarchy", "rows of different lengths", "as many levels in each row"
    elif twice := sum(
        _twice(child for child, _ in {(row[i], row[i + 1]) for row in rows})
        for i in range(len(rows[0]) - 1 if rows else 0)
    ):
        yield "/hierarchy", f"{twice} entries with two levels above", "one level above each entry"


def _twice(values: Iterable[str]) -> int:
    listed = list(values)
    return len(listed) - len(set(listed))


def read_levels(content: bytes) -> list[list[str]]:
    """Read a hierarchy as ARX writes it: a row a category, then its levels; no header."""
    text = content.decode("utf-8-sig")
    mark = ";" if ";" in text.partition("\n")[0] else ","
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=mark) if row]
    while rows and all(len(row) > 1 and row[-1] == ROOT for row in rows):
        rows = [row[:-1] for row in rows]
    return rows


def prefix(length: int) -> Step:
    """Keep the first letters of a category."""
    return lambda text: text[:length] + ROOT * (len(text) - length)


def month(text: str) -> str | None:
    """Return the month of a day."""
    try:
        return date.fromisoformat(text[:10]).isoformat()[:7]
    except ValueError:
        return None


def quarter(text: str) -> str:
    """Return the quarter of a month."""
    return f"{text[:4]}-Q{(int(text[5:7]) + 2) // 3}"


def year(text: str) -> str:
    """Return the year of a quarter."""
    return text[:4]


def category(text: str) -> str | None:
    """Return the three characters of a code of ICD-10."""
    found = CODE.fullmatch(text.strip().upper())
    return found[1] if found else None


def chapter(text: str) -> str:
    """Return the chapter of three characters of ICD-10."""
    return CHAPTERS[bisect_right(FIRSTS, text) - 1]
