"""Columns that would name people stop a release until it says why they may leave."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from microagg_ops.errors import DataError
from microagg_ops.pipeline import Published, run_release
from tests.integration.test_warehouses import shown

ROWS = 200


def people() -> pa.Table:
    """People with numbers of their own, an age said twice, and an illness that many have."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, ROWS)
    return pa.table(
        {
            "age": age,
            "bmi": np.round(rng.normal(26, 4, ROWS), 1),
            "ssn": [f"918-27-{i:04}" for i in rng.permutation(ROWS)],
            "seven": rng.permutation(ROWS) + 918_270_000,
            "born": 2024 - age,
            "reach": [f"canary{i}@example.org" for i in rng.integers(0, 40, ROWS)],
            "illness": rng.choice(["asthma", "angina", "migraine"], ROWS),
        }
    )


class Attempt:
    """A release of people on DuckDB, its sensitive columns as a test asks."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.url = folder, f"duckdb:///{folder / 'house.duckdb'}"
        with duckdb.connect(str(folder / "house.duckdb")) as con:
            con.register("seed", people())
            con.execute("create table people as from seed")

    def run(self, sensitive: list[str], **columns: Any) -> Published:
        release = {
            "release": "people",
            "source": {"conn_id": "house", "table": "people"},
            "columns": {
                "quasi": {"age": {"type": "integer"}, "bmi": {"type": "number"}},
                "sensitive": sensitive,
                **columns,
            },
            "aggregate": {"k": 5},
            "publish": {"conn_id": "house", "table": "published"},
        }
        file = self.folder / "people.yaml"
        file.write_text(json.dumps(release))
        return run_release(
            file,
            connections={"house": self.url},
            staging=self.folder / "staging",
            reports=self.folder / "reports",
        )

    def refused(self, sensitive: list[str], **columns: Any) -> DataError:
        with pytest.raises(DataError) as caught:
            self.run(sensitive, **columns)
        assert (caught.value.code, caught.value.retryable) == ("suspect_column", False)
        for canary in ("918-27", "91827", "canary", "asthma"):
            assert canary not in shown(caught.value)
        with duckdb.connect(str(self.folder / "house.duckdb")) as con:
            assert con.execute("show tables").fetchall() == [("people",)]
        assert not (self.folder / "staging").exists()
        assert not (self.folder / "reports").exists()
        return caught.value


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return Attempt(tmp_path)


@pytest.mark.parametrize("name", ["ssn", "seven", "born", "reach"])
def test_a_column_that_names_people_is_not_published(attempt: Attempt, name: str) -> None:
    error = attempt.refused([name, "illness"])
    assert repr(name) in str(error) and "illness" not in str(error)
    assert f'columns.may_leave: {{{name}: "…"}}' in error.hint


def test_all_suspects_are_told_at_once(attempt: Attempt) -> None:
    error = attempt.refused(["ssn", "seven", "born", "reach", "illness"])
    assert "4 columns" in str(error)
    assert 'columns.may_leave: {born: "…", reach: "…", seven: "…", ssn: "…"}' in error.hint


def test_a_reason_lets_a_column_leave_and_stands_in_the_internal_report(attempt: Attempt) -> None:
    reason = "a number drawn for this table alone"
    attempt.refused(["seven", "born"], may_leave={"seven": reason})
    done = attempt.run(["seven", "illness"], may_leave={"seven": reason})
    assert done.rows == ROWS
    folder = next((attempt.folder / "reports" / "people").iterdir())
    inside = json.loads((folder / "report.json").read_text())
    assert inside["roles"]["kept"] == [
        {"name": "seven", "reason": reason},
        {"name": "illness", "reason": None},
    ]
    assert reason in (folder / "report.html").read_text()
    for page in ("external.json", "external.html", "manifest.json"):
        assert reason not in (folder / page).read_text()


def test_classes_of_one_value_are_warned_of(
    attempt: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    with duckdb.connect(str(attempt.folder / "house.duckdb")) as con:
        con.execute("update people set illness = 'asthma' where age < 60")
    with caplog.at_level(logging.INFO, "microagg_ops"):
        attempt.run(["illness"])
    folder = next((attempt.folder / "reports" / "people").iterdir())
    (warning,) = json.loads((folder / "report.json").read_text())["warnings"]
    assert (
        "'illness'" in warning and "% of the classes, with" in warning and "asthma" not in warning
    )
    assert warning in caplog.text
    assert "warnings" not in json.loads((folder / "external.json").read_text())
