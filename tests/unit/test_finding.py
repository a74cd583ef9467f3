"""Somebody who knows the field, but not this project, finds things from the tree alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (.+?) \| `(.+?)` \| `(.+?)` \| (?:`(.+?)` )?\|$", re.MULTILINE)
LISTED = ROW.findall((ROOT / "docs" / "where.md").read_text())
# A word that a tenth of the tree has in its names finds nothing.
FEW = 24


def test_there_are_twenty_of_them() -> None:
    assert len(LISTED) >= 20
    assert len({path for _, _, path, _ in LISTED}) == len(LISTED)


@pytest.mark.parametrize(("what", "word", "path", "name"), LISTED, ids=[one[2] for one in LISTED])
def test_a_word_finds_it(what: str, word: str, path: str, name: str) -> None:
    there = [
        str(found.relative_to(ROOT))
        for top in ("microagg_ops", "tests", "docs")
        for found in (ROOT / top).rglob("*")
        if found.suffix in (".py", ".md") and word in str(found.relative_to(ROOT))
    ]
    assert path in there
    assert len(there) <= FEW
    defined = rf"^(?:(?:def|class) {name}\b|{name}\b.* = )"
    assert not name or re.search(defined, (ROOT / path).read_text(), re.MULTILINE), what
