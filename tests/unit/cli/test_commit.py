"""One truth about the target: as it was before the commit, and published after it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from microagg_ops.errors import StagingError, WarehouseError
from microagg_ops.stages import publication
from microagg_ops.staging.store import Staging
from microagg_ops.warehouse.base import Commit
from microagg_ops.warehouse.duckdb import DuckDBWarehouse
from tests.unit.cli.test_main import (
    Microagg,
    connection,
    left_in_temporary,
    microagg,
    rows,
    targets,
)

__all__ = ["connection", "microagg"]
COUNT = "select count(*) from pub.clinic_patients"
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]


@pytest.fixture(autouse=True)
def survive() -> Any:
    """A signal that nobody handles ends no test run."""
    before = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def state(folder: Path) -> str:
    found = json.loads(next(folder.glob("reports/*/*/report.json")).read_text())
    return str(found["publication"]["state"])


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_after_the_commit_comes_too_late(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int,
) -> None:  # fmt: skip
    write = DuckDBWarehouse.write

    def and_then(self: DuckDBWarehouse, *args: Any) -> None:
        write(self, *args)
        signal.raise_signal(number)
        signal.raise_signal(number)

    monkeypatch.setattr(DuckDBWarehouse, "write", and_then)
    done = microagg("run", release_file, *connection)
    assert (done.code, rows(warehouse, COUNT)) == (0, [(600,)])
    assert "came too late: what was asked for is done" in done.err
    assert "as it was" not in done.err
    assert state(tmp_path) == "published"
    assert left_in_temporary(tmp_path) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_before_the_commit_ends_the_run(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(
        "microagg_ops.warehouse.duckdb.check_target", lambda *_: signal.raise_signal(number)
    )
    monkeypatch.setattr(
        "microagg_ops.warehouse.duckdb._definitions", lambda *_: signal.raise_signal(number)
    )
    done = microagg("run", release_file, *connection)
    assert (done.code, targets(warehouse)) == (3, [])
    assert "Interrupted; the target is as it was" in done.err
    assert state(tmp_path) == "failed"
    assert left_in_temporary(tmp_path) == []


def test_a_second_signal_does_not_keep_raw_rows(
    microagg: Microagg, release_file: Path, connection: tuple[str, str],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    remove, put = Staging.remove, Staging.put

    def interrupted(self: Staging, stage: str, *args: Any) -> None:
        put(self, stage, *args)
        if stage == "group":
            signal.raise_signal(signal.SIGINT)

    def once_more(self: Staging) -> bool:
        signal.raise_signal(signal.SIGTERM)
        return remove(self)

    monkeypatch.setattr(Staging, "put", interrupted)
    monkeypatch.setattr(Staging, "remove", once_more)
    assert microagg("run", release_file, *connection).code == 3
    assert left_in_temporary(tmp_path) == []


@pytest.mark.parametrize("fault", [OSError, StagingError])
def test_staging_that_fails_after_the_commit_is_a_warning(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    fault: type[Exception],
) -> None:  # fmt: skip
    put = Staging.put

    def full(self: Staging, stage: str, *args: Any) -> None:
        if stage == "publish":
            raise fault("No space left on device")
        put(self, stage, *args)

    monkeypatch.setattr(Staging, "put", full)
    done = microagg("run", release_file, *connection)
    assert (done.code, rows(warehouse, COUNT)) == (0, [(600,)])
    assert "published, but its staging does not say so" in caplog.text
    assert "Published 600 rows" in done.out


def test_staging_that_cannot_be_removed_is_a_warning(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    def stuck(self: Staging) -> bool:
        raise StagingError("Staging cannot be removed.", hint="It holds raw data.")

    monkeypatch.setattr(Staging, "remove", stuck)
    done = microagg("run", release_file, *connection)
    assert (done.code, rows(warehouse, COUNT)) == (0, [(600,)])
    assert "It holds raw data" in caplog.text


def test_a_connection_that_breaks_after_the_commit_is_a_warning(
    microagg: Microagg, release_file: Path, connection: tuple[str, str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    write = DuckDBWarehouse.write

    def and_breaks(self: DuckDBWarehouse, *args: Any) -> None:
        write(self, *args)
        raise WarehouseError("gone", code="unreachable")

    monkeypatch.setattr(DuckDBWarehouse, "write", and_breaks)
    assert microagg("run", release_file, *connection).code == 0
    assert "published, but then: gone" in caplog.text
    assert state(tmp_path) == "published"


def test_a_commit_without_an_answer_is_called_so(
    microagg: Microagg, release_file: Path, connection: tuple[str, str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def lost(self: Commit, *_: object) -> None:
        raise WarehouseError("The connection was lost.", code="unreachable")

    monkeypatch.setattr(Commit, "__exit__", lost)
    done = microagg("run", release_file, *connection, "--json")
    assert (done.code, done.error["error"]) == (3, "commit_unknown")
    assert done.error["retryable"]
    assert "holds either the rows that it held before or the new ones" in done.error["message"]
    assert state(tmp_path) == "publishing"


def test_reports_that_cannot_say_so_hide_no_failure(
    microagg: Microagg, release_file: Path, connection: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    note = publication.note

    def full(run: Any, state: str, *args: Any) -> Any:
        if state == "failed":
            raise StagingError("no room")
        return note(run, state, *args)

    def refused(self: DuckDBWarehouse, *args: Any) -> None:
        raise WarehouseError("refused by the warehouse", code="refused")

    monkeypatch.setattr("microagg_ops.stages.publish.note", full)
    monkeypatch.setattr(DuckDBWarehouse, "write", refused)
    assert "refused by the warehouse" in microagg("run", release_file, *connection).err


def test_a_warehouse_that_does_not_tell_its_commit_is_not_cut_short(
    microagg: Microagg, release_file: Path, warehouse: Path, connection: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(DuckDBWarehouse, "tells_commit", False)
    monkeypatch.setattr(Commit, "__exit__", lambda self, *_: None)
    definitions = DuckDBWarehouse.describe

    def signalled(self: DuckDBWarehouse, *args: Any) -> Any:
        return definitions(self, *args)

    write = DuckDBWarehouse.write

    def with_signal(self: DuckDBWarehouse, *args: Any) -> None:
        signal.raise_signal(signal.SIGTERM)
        write(self, *args)

    monkeypatch.setattr(DuckDBWarehouse, "describe", signalled)
    monkeypatch.setattr(DuckDBWarehouse, "write", with_signal)
    assert microagg("run", release_file, *connection).code == 0
    assert rows(warehouse, COUNT) == [(600,)]


def test_sweep_tells_what_became_of_each_run(microagg: Microagg, tmp_path: Path) -> None:
    assert microagg("sweep").out == f"No staging in {tmp_path / 'tmp'}.\n"
    mine = tmp_path / "tmp" / f"microagg-{32 * 'a'}"
    Staging(mine).put("extract", {"table.parquet": b"raw"}, {})
    assert "nobody knows whose it is" in microagg("sweep").out
    with Staging(mine).owned():
        assert microagg("sweep", "--json").result["runs"] == {mine.name: "alive"}
    # The process of the note lives on, so it is still not gone.
    assert microagg("sweep", "--staging", mine).code == 0
    assert mine.exists()


def test_run_stages_where_it_is_told(
    microagg: Microagg, release_file: Path, connection: tuple[str, str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    seen: list[Path] = []
    put = Staging.put

    def noted(self: Staging, *args: Any) -> None:
        seen.append(Path(self.root))
        put(self, *args)

    monkeypatch.setattr(Staging, "put", noted)
    assert microagg("run", release_file, *connection, "--staging", tmp_path / "own").code == 0
    assert set(seen) == {tmp_path / "own"}
    assert not (tmp_path / "own").exists()


def test_a_run_removes_what_a_killed_one_left(
    microagg: Microagg, release_file: Path, connection: tuple[str, str], tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    from dataclasses import asdict, replace

    from microagg_ops.staging.owner import Owner
    from microagg_ops.staging.private import OWNER

    left = tmp_path / "tmp" / f"microagg-{32 * 'b'}"
    Staging(left).put("extract", {"table.parquet": b"raw"}, {})
    (left / OWNER).write_text(json.dumps(asdict(replace(Owner.this(), pid=2**30))))
    (left / OWNER).chmod(0o600)
    assert microagg("run", release_file, *connection).code == 0
    assert not left.exists()
    assert "Removed the staging of a run that had been killed" in caplog.text


def test_an_unusable_tmpdir_is_refused(
    microagg: Microagg, release_file: Path, connection: tuple[str, str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    done = microagg("run", release_file, *connection)
    assert (done.code, "TMPDIR names" in done.err) == (3, True)
    assert left_in_temporary(tmp_path) == []
