"""A release on a schedule: its ledger, what is refused, and what a crash leaves."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
import yaml

from microagg_ops import run_release
from microagg_ops.cli.main import main
from microagg_ops.errors import DataError, DisclosureError, StagingError
from microagg_ops.plugin.runs import Reports
from microagg_ops.release.document import build, find_faults
from microagg_ops.series.ledger import read_ledger
from microagg_ops.series.together import joint_k
from microagg_ops.series.traces import history_k
from microagg_ops.stages import Run, series_ledger, stage_function
from microagg_ops.staging.digests import content_digest, from_parquet
from tests import series
from tests.series import People, Schedule, one_key, people

__all__ = ["one_key"]
pytestmark = pytest.mark.usefixtures("one_key")
HISTORY = {"protect": "history"}


def some(first: int, last: int) -> People:
    return {name: values[first:last] for name, values in people(120, 3).items()}


def ledger_of(schedule: Schedule):
    return read_ledger(from_parquet(schedule.ledger.read_bytes()))


def test_the_ledger_is_private_and_holds_no_value(tmp_path: Path) -> None:
    schedule = Schedule(tmp_path, HISTORY)
    assert schedule.run(some(0, 60)) == "published"
    assert stat.S_IMODE(schedule.ledger.stat().st_mode) == 0o600
    ledger = ledger_of(schedule)
    table = ledger.table().to_pylist()
    raw = {str(value) for name in ("income", "bmi", "person") for value in some(0, 60)[name]}
    assert not raw & {row["value"] for row in table} | raw & {row["entity"] for row in table}
    assert history_k(ledger) >= 5
    assert sorted(p.name for p in schedule.ledger.parent.iterdir()) == [
        "ledger.parquet", "ledger.parquet.lock",
    ]  # fmt: skip


@pytest.mark.parametrize("protect", ["history", "difference"])
def test_the_same_input_gives_the_same_table(tmp_path: Path, protect: str) -> None:
    schedule = Schedule(tmp_path, {"protect": protect})
    digests = set()
    for _ in range(3):
        assert schedule.run(some(0, 60)) == "published"
        digests.add(content_digest(schedule.published()))
    assert len(digests) == 1


def test_people_come_leave_and_change_k_at_a_time(tmp_path: Path) -> None:
    schedule = Schedule(tmp_path, HISTORY | {"patience": 0})
    schedule.run(some(0, 60))
    first = schedule.published()
    assert schedule.run(some(0, 63)) == "published"
    assert content_digest(schedule.published()) == content_digest(first)
    assert len(ledger_of(schedule).waiting) == 3
    assert schedule.run(some(0, 66)) == "published"
    assert schedule.published().num_rows == 66
    # All leave but the last: whole classes go, who is left of others stays with those who left.
    assert schedule.run(some(30, 66)) == "published"
    assert len(ledger_of(schedule).gone) + 36 >= schedule.published().num_rows >= 36
    assert history_k(ledger_of(schedule)) >= 5


def test_who_retires_takes_company_along(tmp_path: Path) -> None:
    schedule = Schedule(tmp_path, HISTORY | {"leavers": "retire"})
    schedule.run(some(0, 60))
    assert schedule.run(some(1, 60)) == "published"
    ledger = ledger_of(schedule)
    assert not ledger.gone
    assert 60 - schedule.published().num_rows >= 5


def test_what_difference_would_tell_is_held_back(tmp_path: Path) -> None:
    schedule = Schedule(tmp_path, {"protect": "difference"})
    schedule.run(some(0, 60))
    before = content_digest(schedule.published())
    assert schedule.run(some(0, 61)) == "held_back"
    assert content_digest(schedule.published()) == before
    assert schedule.run(some(60, 120)) == "published"


class Killed(BaseException):
    """The end of a process, as far as one process can act it."""


@pytest.mark.parametrize("published", [False, True])
def test_a_run_that_died_is_healed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, published: bool
) -> None:
    schedule = Schedule(tmp_path, HISTORY | {"patience": 0})
    schedule.run(some(0, 60))
    write = series_ledger.FileLedger.write

    def die(self: series_ledger.FileLedger, ledger: pa.Table | None, which: str = "") -> None:
        """Die before the target is written, or after it and before the ledger is."""
        if which == "":
            raise Killed
        write(self, ledger, which)
        if not published:
            raise Killed

    monkeypatch.setattr(series_ledger.FileLedger, "write", die)
    with pytest.raises(Killed):
        schedule.run(some(0, 70))
    assert schedule.published().num_rows == (70 if published else 60)
    assert len(ledger_of(schedule).publications) == 1
    monkeypatch.setattr(series_ledger.FileLedger, "write", write)
    assert schedule.run(some(0, 70)) == "published"
    ledger = ledger_of(schedule)
    assert len(ledger.publications) == (3 if published else 2)
    assert sum(map(len, ledger.current().values())) == schedule.published().num_rows == 70


def test_a_ledger_that_is_lost_or_contradicted_stops_the_series(tmp_path: Path) -> None:
    schedule = Schedule(tmp_path, HISTORY)
    schedule.run(some(0, 60))
    content = schedule.ledger.read_bytes()
    schedule.ledger.unlink()
    assert schedule.run(some(0, 70)) == "lost_ledger"
    schedule.ledger.write_bytes(content)
    with duckdb.connect(str(schedule.database)) as con:
        con.execute("delete from patients where age = (select max(age) from patients)")
    with pytest.raises(DisclosureError) as caught:
        schedule.run(some(0, 70))
    assert caught.value.code == "ledger_disagrees"
    schedule.ledger.unlink()
    schedule.document["series"]["epoch"] = "2026-11-18"
    assert schedule.run(some(0, 70)) == "published"


def test_an_epoch_begins_anew(tmp_path: Path) -> None:
    schedule = Schedule(tmp_path, HISTORY)
    schedule.run(some(0, 60))
    schedule.document["series"]["epoch"] = "2026-11-18"
    assert schedule.run(some(0, 63)) == "published"
    assert schedule.published().num_rows == 63
    assert ledger_of(schedule).began == 2


def test_another_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(tmp_path, HISTORY)
    schedule.run(some(0, 60))
    monkeypatch.setenv("MICROAGG_KEY", "another key, of another machine")
    assert schedule.run(some(0, 70)) == "other_ledger"


def test_an_entity_has_one_row(tmp_path: Path) -> None:
    rows = some(0, 60)
    rows["person"] = rows["person"] // 2
    assert Schedule(tmp_path, HISTORY).run(rows) == "rows_per_entity"


def test_l_holds_for_those_who_part(tmp_path: Path) -> None:
    schedule = Schedule(tmp_path, HISTORY, validate={"l": {"diagnosis": 3}})
    assert schedule.run(some(0, 60)) == "published"
    assert schedule.run(some(20, 80)) == "published"
    assert history_k(ledger_of(schedule)) >= 5


def test_larger_classes_let_few_part(tmp_path: Path) -> None:
    schedule = Schedule(
        tmp_path, HISTORY, strata=("region",), aggregate={"k": 12}, validate={"k": 5}
    )
    rows = some(0, 60)
    rows["region"][:] = "R0"
    rows["region"][40:] = "R1"
    assert schedule.run(rows) == "published"
    rest = {name: values[7:] for name, values in rows.items()}
    assert (
        schedule.run({n: np.concatenate([v[:33], v[41:]]) for n, v in rest.items()}) == "published"
    )
    assert schedule.published().num_rows < 60
    assert history_k(ledger_of(schedule)) >= 5


def test_a_ledger_can_be_a_table(tmp_path: Path) -> None:
    schedule = Schedule(tmp_path)
    schedule.document["series"] = {
        "protect": "history", "patience": 0, "ledger": {"conn_id": "w", "table": "ledger"},
    }  # fmt: skip
    for last in (60, 63, 70):
        assert schedule.run(some(0, last)) == "published"
    with duckdb.connect(str(schedule.database)) as con:
        ledger = read_ledger(con.sql("select * from ledger").to_arrow_table())
    assert len(ledger.publications) == 3
    assert schedule.published().num_rows == 70


def test_faults(tmp_path: Path) -> None:
    document = Schedule(tmp_path, HISTORY).document
    document |= {"nulls": "impute", "series": {"protect": "history"}}
    del document["columns"]["entity"]
    pointers = {fault.pointer for fault in find_faults(document)}
    assert pointers == {"/series/ledger", "/columns/entity", "/nulls"}


@pytest.mark.slow
def test_from_end_to_end_and_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule = Schedule(tmp_path, HISTORY, checked=True)
    path = tmp_path / "patients.yaml"
    path.write_text(yaml.safe_dump(schedule.document))
    where = {"w": f"duckdb:///{schedule.database}"}
    for last in (60, 62):
        schedule.put(some(0, last))
        done = run_release(path, connections=where, reports=tmp_path / "reports", run_id=f"r{last}")
        assert done.checks["history_k"]
    told = json.loads((tmp_path / "reports" / "patients" / "r62" / "report.json").read_text())
    assert told["series"]["protect"] == "history"
    assert told["series"]["counts"]["waiting"] == "fewer than k"
    assert told["series"]["counts"]["longest_wait"] == 0
    assert 0 < told["series"]["loss"]["anew"] < 100
    page = (tmp_path / "reports" / "patients" / "r62" / "report.html").read_text()
    assert "newcomers who wait for near ones" in page
    (last, _), _ = Reports(tmp_path / "reports").runs("patients", 9)
    assert (last.waiting, last.wait) == (None, 0)
    assert last.anew == told["series"]["loss"]["anew"]
    outside = json.loads((tmp_path / "reports" / "patients" / "r62" / "external.json").read_text())
    assert outside["utility"] is None
    given = ["--connection", f"w=duckdb:///{schedule.database}", "--json"]
    assert main(["series", str(path), "show", *given]) == 0
    assert json.loads(capsys.readouterr().out)["waiting"] == 2
    assert main(["series", str(path), "list", *given]) == 0
    assert len(json.loads(capsys.readouterr().out)["publications"]) == 2
    assert main(["attack", str(path), "--series", *given]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "held_back": False, "arrived": 0, "left": 0, "changed": 0,
    }  # fmt: skip
    assert main(["series", str(path), "forget", "--yes", *given]) == 0
    capsys.readouterr()
    with pytest.raises(DataError, match="no ledger"):
        run_release(path, connections=where, reports=tmp_path / "reports")


def test_a_series_that_nothing_protects_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule = Schedule(tmp_path)
    schedule.document["source"]["where"] = "age < extract(year from :end)"
    path = tmp_path / "patients.yaml"
    path.write_text(yaml.safe_dump(schedule.document))
    assert main(["check", str(path)]) == 0
    assert "Warning: Whoever compares consecutive tables" in capsys.readouterr().out


# Several releases about the same people


def pair(folder: Path, **more: str) -> tuple[Schedule, Schedule]:
    """Make two releases of the same people with other columns, each naming the other."""
    made = []
    for name, other, quasi in (("wide", "narrow", "income"), ("narrow", "wide", "bmi")):
        (folder / name).mkdir()
        ledger = {"file": str(folder / "private" / f"{name}.ledger")}
        columns = {"entity": "person", "quasi": {quasi: {"type": "number"}}}
        made.append(Schedule(
            folder / name,
            HISTORY | {"with": [other], "ledger": ledger, "patience": 0} | more,
            aggregate={"k": 10 if name == "wide" else 5},
            columns=columns,
            release=name,
        ))  # fmt: skip
    return made[0], made[1]


def test_two_releases_follow_each_other(tmp_path: Path) -> None:
    wide, narrow = pair(tmp_path)
    for last in (60, 75, 90):
        for schedule in (wide, narrow):
            assert schedule.run(some(0, last)) == "published"
    ledgers = [read_ledger(from_parquet((tmp_path / "private" / f"{n}.ledger").read_bytes()))
               for n in ("wide", "narrow")]  # fmt: skip
    assert joint_k(ledgers) >= 5
    assert ledgers[1].seen == {"wide": 3}
    assert len(ledgers[1].classes) > len(ledgers[0].classes)


def test_two_releases_formed_anew_are_held_back(tmp_path: Path) -> None:
    wide, narrow = pair(tmp_path, protect="difference")
    assert wide.run(some(0, 60)) == "published"
    assert narrow.run(some(0, 60)) == "held_back"
    assert wide.run(some(0, 60)) == "published"


def test_what_another_release_published_in_between_is_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide, narrow = pair(tmp_path)
    # Neither knows of the other until the second is about to be written.
    publish = series.STAGES.index("publish")
    monkeypatch.setattr(series, "STAGES", (*series.STAGES[:publish], "other", "publish"))

    def at(stage: str) -> Callable[[Run], object]:
        def other(run: Run) -> None:
            monkeypatch.undo()
            monkeypatch.setenv("MICROAGG_KEY", "the key of the tests of series")
            assert narrow.run(some(0, 60)) == "published"

        return other if stage == "other" else stage_function(stage)

    monkeypatch.setattr(series, "stage_function", at)
    with pytest.raises(DisclosureError, match="Counted again: over the tables of this series and"):
        wide.run(some(0, 60))


def test_what_of_another_release_cannot_be_counted_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide, narrow = pair(tmp_path)
    place = tmp_path / "private" / "wide.ledger"
    assert wide.run(some(0, 60)) == "published"
    assert narrow.run(some(60, 120)) == "no_shared_entities"
    assert narrow.run(some(0, 60)) == "published"
    content = place.read_bytes()
    place.unlink()
    assert narrow.run(some(0, 60)) == "lost_ledger"
    place.write_bytes((tmp_path / "private" / "narrow.ledger").read_bytes())
    assert narrow.run(some(0, 60)) == "other_ledger"
    place.write_bytes(content)
    place.with_name("wide.ledger_next").write_bytes(content)
    with pytest.raises(StagingError) as caught:
        narrow.run(some(0, 60))
    assert (caught.value.code, caught.value.retryable) == ("other_unsettled", True)
    assert wide.run(some(0, 60)) == "published"
    assert narrow.run(some(0, 60)) == "published"


@pytest.mark.parametrize(
    ("section", "pointer"),
    [
        ({"protect": "none", "with": ["other"]}, "/series/with"),
        ({"with": ["patients"]}, "/series/with/0"),
        ({"with": ["other"], "ledger": {"file": "/var/lib/ledger"}}, "/series/with/0"),
        ({"with": ["a", "b"], "ledger": {"file": "/x/patients", }}, None),
        ({"with": [{"release": "a", "ledger": {"file": "/x/patients"}}],
          "ledger": {"file": "/x/patients"}}, "/series/with/0"),
        ({"with": [{"release": "a", "ledger": {"table": "x"}}]}, "/series/with/0"),
    ],
)  # fmt: skip
def test_faults_of_other_releases(
    tmp_path: Path, section: dict[str, object], pointer: str | None
) -> None:
    document = Schedule(tmp_path, HISTORY).document
    document["series"] |= section
    assert [fault.pointer for fault in find_faults(document)] == ([pointer] if pointer else [])


def test_the_ledger_of_another_release_is_where_ours_is(tmp_path: Path) -> None:
    document = Schedule(tmp_path).document
    document["series"] = HISTORY | {
        "ledger": {"conn_id": "private", "table": "patients.of_patients"}, "with": ["geo"],
    }  # fmt: skip
    (other,) = build(document, "").series.others
    assert str(other.ledger.table) == "patients.of_geo"
