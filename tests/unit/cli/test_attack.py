"""``microagg attack``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.cli.test_main import (  # noqa: F401 - fixtures
    Microagg,
    connection,
    left_in_temporary,
    microagg,
    targets,
)


def test_a_table_of_attacks_and_nothing_published(
    microagg: Microagg,  # noqa: F811
    release_file: Path,
    warehouse: Path,
    connection: tuple[str, str],  # noqa: F811
    tmp_path: Path,
) -> None:
    done = microagg("attack", release_file, *connection)
    assert done.code == 0
    assert "error" not in done.err
    lines = done.out.splitlines()
    assert lines[0].split("  ")[0] == "attack"
    told = [line.split("  ")[0] for line in lines[1 : lines.index("")]]
    assert told[:4] == [
        "linkage within strata", "linkage, algorithm known", "singling out", "linkability",
    ]  # fmt: skip
    assert all(" %" in line for line in lines[1 : lines.index("")])
    assert "entities were held out for comparison; nothing was published." in done.out
    assert targets(warehouse) == []
    assert left_in_temporary(tmp_path) == []


def test_json_tells_the_same_figures_each_time_and_what_an_external_report_gives_away(
    microagg: Microagg,  # noqa: F811
    release_file: Path,
    connection: tuple[str, str],  # noqa: F811
    tmp_path: Path,
) -> None:
    external = tmp_path / "external.json"
    external.write_text(json.dumps({"treatment": {"suppressed": {"cells": 2}}}))
    given = ("attack", release_file, *connection, "--json", "--external", external)
    found = json.loads(microagg(*given).out)
    assert found["reconstruction"]["counts"] == ["treatment.suppressed.cells"]
    assert 0 <= found["attacks"]["singling_out"]["low"] <= found["attacks"]["singling_out"]["high"]
    assert json.loads(microagg(*given).out) == found
    external.write_text("no JSON")
    done = microagg(*given)
    assert (done.code, "cannot be read" in done.err) == (2, True)
