"""What is done to a ledger between runs: erasure, retention, another base, another key, a copy."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml

from microagg_ops.cli.main import main
from microagg_ops.errors import DisclosureError
from microagg_ops.series.ledger import Ledger, read_ledger
from microagg_ops.series.traces import history_k
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.series_keys import entity_digests
from microagg_ops.staging.digests import content_digest, from_parquet
from microagg_ops.staging.keys import installation_key
from tests import series
from tests.series import People, Schedule, one_key, people

__all__ = ["one_key"]
pytestmark = pytest.mark.usefixtures("one_key")
HISTORY = {"protect": "history", "patience": 0}
YEAR = "seen >= extract(year from :start) and seen < extract(year from :end)"


def some(first: int, last: int) -> People:
    return {name: values[first:last] for name, values in people(120, 3).items()}


def ledger_of(schedule: Schedule) -> Ledger:
    return read_ledger(from_parquet(schedule.ledger.read_bytes()))


def digest(person: object) -> str:
    return entity_digests(installation_key(), pa.chunked_array([[str(person)]]))[0]


@pytest.fixture
def schedule(tmp_path: Path) -> Schedule:
    made = Schedule(tmp_path, HISTORY)
    assert made.run(some(0, 60)) == "published"
    return made


@pytest.fixture
def told(
    tmp_path: Path, schedule: Schedule, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """The command, for the schedule."""

    def say(*words: str) -> dict[str, Any]:
        path = tmp_path / "patients.yaml"
        path.write_text(yaml.safe_dump(schedule.document))
        given = ["--connection", f"w=duckdb:///{schedule.database}", "--json"]
        capsys.readouterr()
        code = main(["series", str(path), *words, *given])
        said = capsys.readouterr()
        return {"code": code, **(json.loads(said.out) if said.out else {}), "said": said.err}

    return say


def test_who_is_erased_is_published_no_more_and_forgotten(
    tmp_path: Path, schedule: Schedule, told: Callable[..., dict[str, Any]]
) -> None:
    rows, asked = some(0, 60), tmp_path / "requests"
    gone = [str(who) for who in rows["person"][:2]]
    asked.write_text("\n".join([*gone, "nobody", ""]))
    before = ledger_of(schedule)
    first = told("erase", "--entity-file", str(asked))
    assert (first["entities"], first["published"], first["unknown"]) == (2, 2, 1)
    assert first["company"] >= 3
    assert not first["changed"]
    assert ledger_of(schedule) == before
    assert told("erase", "--entity-file", str(asked), "--yes")["changed"]
    assert told("show")["to_erase"] == 3
    # The source has them still, and is what it was: they leave, and do not come back.
    for _ in range(2):
        assert schedule.run(rows) == "published"
        ledger = ledger_of(schedule)
        assert schedule.published().num_rows == 60 - 2 - first["company"]
        assert not {digest(who) for who in gone} & {m.entity for m in ledger.members}
        assert history_k(ledger) >= 5
    assert {digest(who) for who in gone} == set(ledger.erase)
    # Once the source has them no more, nothing is remembered of them.
    assert schedule.run(some(2, 60)) == "published"
    assert ledger_of(schedule).erase == {}


def test_an_erasure_while_a_run_is_under_way_is_not_lost(
    tmp_path: Path, schedule: Schedule, told: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    asked = tmp_path / "requests"
    asked.write_text(str(some(0, 1)["person"][0]))

    def at(stage: str) -> Callable[[Run], object]:
        if stage == "publish":
            told("erase", "--entity-file", str(asked), "--yes")
        return stage_function(stage)

    monkeypatch.setattr(series, "stage_function", at)
    with pytest.raises(DisclosureError) as caught:
        schedule.run(some(0, 70))
    assert caught.value.code == "ledger_moved"


def test_a_base_and_a_retention_forget_who_was_taken_out(
    tmp_path: Path, schedule: Schedule, told: Callable[..., dict[str, Any]]
) -> None:
    schedule.document["series"]["leavers"] = "retire"
    assert schedule.run(some(1, 60)) == "published"
    out = 60 - schedule.published().num_rows
    assert out >= 5
    assert told("rebase")["may_come_again"] == out
    assert told("rebase", "--yes")["changed"]
    ledger = ledger_of(schedule)
    assert (ledger.began, history_k(ledger)) == (2, told("show")["history_k"])
    # Those who are there still come again, as newcomers; classes last.
    assert schedule.run(some(1, 60)) == "published"
    assert schedule.published().num_rows in (59, 60 - out)
    schedule.document["series"]["retention"] = 1
    assert schedule.run(some(2, 70)) == "published"
    assert schedule.run(some(3, 75)) == "published"
    assert schedule.run(some(3, 76)) == "published"
    ended = [m.until for m in ledger_of(schedule).members if m.until is not None]
    assert min(ended, default=9) >= ledger_of(schedule).next - 2
    assert history_k(ledger_of(schedule)) >= 5


def test_another_key(
    tmp_path: Path, schedule: Schedule, told: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rows = some(0, 60)
    rows["income"] = rows["income"].copy()
    rows["income"][3] += 1000
    assert schedule.run(rows) == "published"
    old = tmp_path / "old.key"
    old.write_text("the key of the tests of series\n")
    monkeypatch.setenv("MICROAGG_KEY", "another key, of another machine")
    assert schedule.run(rows) == "other_ledger"
    wrong = tmp_path / "wrong.key"
    wrong.write_text("a key that never was a key")
    assert told("rekey", "--old-key-file", str(wrong))["code"] == 2
    assert told("rekey", "--old-key-file", str(old), "--yes")["unrecognized"] == 0
    before = content_digest(schedule.published())
    assert schedule.run(rows) == "published"
    assert content_digest(schedule.published()) == before
    assert not ledger_of(schedule).gone
    assert not ledger_of(schedule).waiting


def test_a_copy_is_private_and_can_be_put_back(
    tmp_path: Path, schedule: Schedule, told: Callable[..., dict[str, Any]]
) -> None:
    path = tmp_path / "copy.parquet"
    assert told("export")["code"] == 2
    assert told("export", "--to", str(path))["publications"] == 1
    assert told("export", "--to", str(path))["code"] == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    schedule.ledger.write_bytes(path.read_bytes())
    assert schedule.run(some(0, 60)) == "published"
    assert told("forget")["code"] == 2


def test_intervals_in_any_order_and_again(tmp_path: Path) -> None:
    tables = []
    for name, order in (("ordered", (0, 1, 2)), ("mixed", (2, 0, 1, 0, 2))):
        (tmp_path / name).mkdir()
        schedule = Schedule(
            tmp_path / name,
            {"protect": "difference"},
            source={"conn_id": "w", "table": "people", "where": YEAR},
            publish={"conn_id": "w", "table": "patients", "mode": "append_interval"},
        )  # fmt: skip
        schedule.put(some(0, 120) | {"seen": 2020 + np.arange(120) // 40})
        for year in order:
            span = (datetime(2020 + year, 1, 1), datetime(2021 + year, 1, 1))
            assert schedule.run(interval=span) == "published"
        tables.append(schedule.published().sort_by([(n, "ascending") for n in series.QUASI]))
        assert history_k(ledger_of(schedule)) >= 5
    assert content_digest(tables[0]) == content_digest(tables[1])
    # The same people in two intervals would be told apart.
    schedule.put(some(0, 120) | {"seen": 2020 + np.arange(120) // 41})
    assert schedule.run(interval=(datetime(2020, 1, 1), datetime(2021, 1, 1))) == "held_back"
