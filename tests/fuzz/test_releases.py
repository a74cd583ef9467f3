"""Release files that hands, scripts and enemies could write: read, or refused in plain words."""

from __future__ import annotations

import copy
import datetime
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from microagg_ops.release.document import check_release, load_release
from tests.conftest import RELEASE
from tests.fuzz.guard import Guard, tries

DAGS = Path(__file__).parents[2] / "dags"
SEEDS = [RELEASE, *(path.read_text() for path in sorted(DAGS.glob("*.yaml")))]
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3.5, 1e308, -1e-320, float("nan"), float("inf"), 10**40,
    "", " ", "\x00", "\x1b[31mred", "a" * 5000, "é\u202e", "5s", "-5s", "1e99s", "; drop table t",
    "a.b.c.d", '"', "'", "{{ ds }}", [], [[]], [None], {}, {"": None}, {1: 2}, {None: 1},
    datetime.date(2024, 2, 29), datetime.datetime(1, 1, 1), b"\xff\xfe", [1, "a", None, {}],
    ["age", "age"], "age", "region", "mdav", "best", "history", "entropy",
]  # fmt: skip
ODD_TEXTS = [
    "\t", "\x00", "\x07", "\ufeff", "%YAML 9.9\n", "---\n", "...\n", "!!python/object:os.system x",
    "&a [*a]", "*nobody", "<<: {a: 1}\n", "? [a]\n: b\n", "!!set {a}", "!!binary eA==",
    "!!omap []",
    "0x1F", "0o17", "1:30:00", "2024-13-45", "~", "#", "|\n", ">-\n", "{", "]", ": ", "- ", "'",
    '"', "\r\n", "\u2028", "k: 3\n", "k: 4\n",
    "\udc80".encode("utf-8", "surrogatepass").decode("latin1"),
]  # fmt: skip


def places(document: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the paths of all nodes below the root."""
    found: list[tuple[Any, ...]] = []
    inside: Any = ()
    if isinstance(document, dict):
        inside = document.items()
    elif isinstance(document, list):
        inside = enumerate(document)
    for key, value in inside:
        found += [(*at, key), *places(value, (*at, key))]
    return found


def node(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def put_odd(document: Any, draw: random.Random) -> None:
    """Put an odd value in the place of another."""
    *way, last = draw.choice(places(document))
    node(document, tuple(way))[last] = copy.deepcopy(draw.choice(ODD))


def take_out(document: Any, draw: random.Random) -> None:
    """Take an entry out."""
    *way, last = draw.choice(places(document))
    del node(document, tuple(way))[last]


def exchange(document: Any, draw: random.Random) -> None:
    """Write a copy of one node in the place of another."""
    source = copy.deepcopy(node(document, draw.choice(places(document))))
    *way, last = draw.choice(places(document))
    node(document, tuple(way))[last] = source


def rename(document: Any, draw: random.Random) -> None:
    """Misspell a key, or give it an odd name."""
    *way, last = draw.choice(places(document))
    parent = node(document, tuple(way))
    if isinstance(parent, dict):
        odd = draw.choice([f"{last}s", str(last)[:-1], "", "\x00", 7, None, "a" * 300])
        parent[odd] = parent.pop(last)


def nest(document: Any, draw: random.Random) -> None:
    """Wrap a node in lists or mappings, a few or a great many."""
    *way, last = draw.choice(places(document))
    inner = node(document, tuple(way))[last]
    for _ in range(draw.choice([1, 2, 30, 90])):
        inner = [inner] if draw.random() < 0.5 else {"k": inner}
    node(document, tuple(way))[last] = inner


CHANGES: tuple[Callable[[Any, random.Random], None], ...] = (
    put_odd, put_odd, put_odd, take_out, exchange, rename, nest,
)  # fmt: skip


def mutated(draw: random.Random) -> bytes:
    """Write a release file that is wrong in a way or two, as a document or as a text."""
    text = draw.choice(SEEDS)
    if draw.random() < 0.7:
        document = yaml.safe_load(text)
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            if places(document):
                draw.choice(CHANGES)(document, draw)
        text = yaml.safe_dump(document, allow_unicode=draw.random() < 0.5)
    for _ in range(draw.choice([0, 0, 1, 3])):
        at = draw.randrange(len(text) + 1)
        cut = draw.choice([0, 0, 1, 20])
        text = text[:at] + draw.choice(ODD_TEXTS) + text[at + cut :]
    content = text.encode("utf-8", "surrogatepass")
    if draw.random() < 0.05:
        at = draw.randrange(len(content))
        content = content[:at] + bytes([draw.randrange(256)]) + content[at + 1 :]
    return content


def test_release_files(tmp_path: Path) -> None:
    guard, path = Guard(), tmp_path / "release.yaml"
    for seed in range(tries(600, 100_000)):
        path.write_bytes(mutated(random.Random(seed)))
        faults = guard.run(f"check {seed}", check_release, path)
        release = guard.run(f"load {seed}", load_release, path)
        if (faults == []) != (release is not None):
            guard.broken.append(f"{seed}: what check says is not what load does")
        told = "".join(map(str, faults or []))
        if len(told) > 60_000 or any(not (c.isprintable() or c == "\n") for c in told):
            guard.broken.append(f"{seed}: a message that floods or steers a terminal")
    guard.settle()
    assert guard.ended["done"] > 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "[]",
        "7",
        "2024-01-01",
        "release: 2024-01-01",
        "a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
        "d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d]",
        "a: &a [*a]",
        "[" * 5000,
        "{a: " * 3000,
        "? {a: b}\n: c",
        "!!python/object/apply:os.getcwd []",
        "k: " + "9" * 5000,
    ],
)
def test_corpus(tmp_path: Path, text: str) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(text)
    guard = Guard()
    assert guard.run("check", check_release, path)
    guard.run("load", load_release, path)
    guard.settle()
