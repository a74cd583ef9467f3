"""However a release file is bloated, its answer is short and printable."""

from __future__ import annotations

from pathlib import Path

import pytest

from microagg_ops.errors import ReleaseError
from microagg_ops.release.document import LARGEST_FILE, check_release, load_release
from microagg_ops.release.faults import MOST_FAULTS, printable

HEAD = "release: t\nsource: {conn_id: w, table: t}\naggregate: {k: 3}\n"
TAIL = "publish: {conn_id: w, table: o}\n"
COLUMNS = "columns: {quasi: {a: {type: number}}}\n"
MANY = [f"c{i}" for i in range(800)]


def listed(word: str) -> str:
    return ", ".join(word.format(name) for name in MANY)


BLOATED = {
    "unknown keys": HEAD + COLUMNS + TAIL + "".join(f"{name}: 1\n" for name in MANY),
    "strata twice": HEAD + COLUMNS + TAIL + f"strata: [{listed('{}')}, c1]\n",
    "strata of numbers": HEAD + COLUMNS + TAIL + f"strata: [{listed('1')}]\n",
    "quasi without type": HEAD + TAIL + f"columns: {{quasi: {{{listed('{}: 1')}}}}}\n",
    "reasons": HEAD
    + TAIL
    + f"columns: {{quasi: {{a: {{type: number}}}}, may_leave: {{{listed('{}: x')}}}}}\n",
    "groups": HEAD + COLUMNS + TAIL + f"group: {{method: fixed, groups: [{listed('[{}]')}]}}\n",
    "two roles": HEAD
    + TAIL
    + f"columns: {{quasi: {{a: {{type: number}}}}, sensitive: [{listed('{}')}]}}\n"
    + f"strata: [{listed('{}')}]\n",
    "a long key": "x" * 60_000 + ": 1\n",
    "a long value": "release: " + "x" * 60_000 + "\n",
}


@pytest.mark.parametrize("name", BLOATED)
def test_a_bloated_file_has_a_short_answer(tmp_path: Path, name: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(BLOATED[name][:LARGEST_FILE])
    faults = check_release(path)
    assert 1 <= len(faults) <= MOST_FAULTS
    with pytest.raises(ReleaseError) as caught:
        load_release(path)
    assert len(str(caught.value)) < 60_000
    if len(faults) == MOST_FAULTS:
        assert f"{MOST_FAULTS} faults or more" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + COLUMNS + TAIL + '"\\e[2Jgone\\a": 1\n',
        HEAD + COLUMNS + TAIL + '"a\\u202eb\\u2028": {x: 1}\n',
        HEAD + TAIL + 'columns: {quasi: {"\\e[31m": 1}}\n',
        HEAD + TAIL + 'columns: {quasi: {a: {type: number}}, may_leave: {"\\e[31m": x}}\n',
        HEAD.replace("release: t", 'release: "\\e[31m\\r"') + COLUMNS + TAIL,
        HEAD.replace("table: t", 'table: "\\e[31m..x"') + COLUMNS + TAIL,
        HEAD.replace("table: t", 'table: t, where: "\\e[31m"') + COLUMNS + TAIL,
    ],
)
def test_what_a_terminal_would_obey_is_escaped(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with pytest.raises(ReleaseError) as caught:
        load_release(path)
    assert all(c.isprintable() or c == "\n" for c in str(caught.value))


def test_too_many_entries_are_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(HEAD + COLUMNS + TAIL + f"strata: [{', '.join('s' for _ in range(20_000))}]\n")
    (fault,) = check_release(path)
    assert "more than 10000 keys and values" in str(fault)


def test_a_short_text_is_shown_as_it_is() -> None:
    assert printable("größer als 3") == "größer als 3"
    assert printable("\x1b[2J" + "x" * 100, 10) == "\\x1b[2Jxxx..."
