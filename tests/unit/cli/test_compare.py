"""``microagg compare``."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.cli.test_main import (  # noqa: F401 - fixtures
    Microagg,
    connection,
    left_in_temporary,
    microagg,
    targets,
)


def test_a_table_a_plot_and_a_recommendation(
    microagg: Microagg,  # noqa: F811
    release_file: Path,
    warehouse: Path,
    connection: tuple[str, str],  # noqa: F811
    tmp_path: Path,
) -> None:
    given = ("--methods", "mdav, optimal,vmdav", "--sample", "200", "--plot", "maps/map.svg")
    done = microagg("compare", release_file, *connection, *given)
    assert done.code == 0
    assert [line.split()[0] for line in done.err.splitlines()] == ["mdav", "vmdav"]
    lines = done.out.splitlines()
    assert " ".join(lines[0].split()) == (
        "method loss % least % linked % ID % DLD % PLD % risk % score % k clusters seconds"
    )
    assert {line.split()[0] for line in lines[1:3]} == {"mdav", "vmdav"}
    assert lines[3].startswith("optimal  The method 'optimal' takes one column.")
    best = lines[1].split()[0]
    assert " rows of 600, k = 3, 10s a method; nothing was published." in lines[5]
    assert lines[6] == f"Recommended: {best}, with the least mean of loss and risk."
    plot = tmp_path / "maps" / "map.svg"
    ElementTree.fromstring(plot.read_text())
    assert stat.S_IMODE(plot.stat().st_mode) == 0o600
    assert targets(warehouse) == []
    assert left_in_temporary(tmp_path) == []


def test_as_json(
    microagg: Microagg,  # noqa: F811
    release_file: Path,
    connection: tuple[str, str],  # noqa: F811
) -> None:
    done = microagg("compare", release_file, *connection, "--methods", "mdav", "--json")
    assert done.code == 0
    assert done.result["recommended"] == "mdav"
    assert done.result["tried"][0]["score"] > 0
    assert done.result["plot"] is None
    assert json.dumps(done.result)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (("--methods", "mdva"), "no_method"),
        (("--budget", "soon"), "bad_release"),
        (("--sample", "1"), "bad_sample"),
        (("--methods", "mdav", "--plot", "/dev/null/no/map.svg"), "no_plot"),
    ],
)
def test_bad_arguments(
    microagg: Microagg,  # noqa: F811
    release_file: Path,
    connection: tuple[str, str],  # noqa: F811
    given: tuple[str, ...],
    error: str,
) -> None:
    done = microagg("compare", release_file, *connection, *given, "--json")
    assert (done.code, done.out, done.error["error"]) == (2, "", error)
