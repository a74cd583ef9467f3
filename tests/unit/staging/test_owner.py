"""What a killed run left is removed by the next one; what anybody else needs is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from microagg_ops.errors import StagingError
from microagg_ops.staging.owner import Owner, owned, sweep
from microagg_ops.staging.private import OWNER
from microagg_ops.staging.store import Staging

NAME = "microagg-" + 32 * "0"
# A run that stages a raw row and then waits for whatever comes.
RUN = """
import sys
from microagg_ops.staging.store import Staging
staging = Staging(sys.argv[1])
with staging.owned():
    staging.put("extract", {"table.parquet": b"raw rows"}, {})
    print("staged", flush=True)
    sys.stdin.read()
"""


def living(folder: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"staged\n"
    return process


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """Staging of a run that was killed."""
    process = living(tmp_path / NAME)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (tmp_path / NAME / "extract" / "table.parquet").read_bytes() == b"raw rows"
    return tmp_path / NAME


def test_what_a_killed_run_left_is_removed_without_a_key(
    killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MICROAGG_KEY")
    assert sweep(killed.parent) == {NAME: "removed"}
    assert not killed.exists()
    assert sweep(killed.parent) == {}


def test_the_folder_itself_may_be_named(killed: Path) -> None:
    assert sweep(killed) == {NAME: "removed"}


def test_a_living_run_is_left_alone(tmp_path: Path) -> None:
    process = living(tmp_path / NAME)
    try:
        assert sweep(tmp_path) == {NAME: "alive"}
        assert Staging(tmp_path / NAME).get("extract", "table.parquet") == b"raw rows"
        with pytest.raises(StagingError, match="Another run"), Staging(tmp_path / NAME).owned():
            pass
    finally:
        process.communicate()


def test_a_note_that_lies_about_a_living_run_is_not_enough(tmp_path: Path) -> None:
    process = living(tmp_path / NAME)
    try:
        gone = replace(Owner.this(), pid=2**30)
        (tmp_path / NAME / OWNER).write_text(json.dumps(asdict(gone)))
        assert sweep(tmp_path) == {NAME: "alive"}  # by its lock
    finally:
        process.communicate()


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({}, False),
        ({"host": "elsewhere", "pid": 2**30}, False),
        ({"boot": "an earlier one"}, True),
        ({"boot": ""}, False),
        ({"pid": 2**30}, True),
        ({"began": "1"}, True),  # the number was given to another process
        ({"began": ""}, False),
    ],
)
def test_only_a_process_that_certainly_ended_is_gone(change: dict[str, object], gone: bool) -> None:
    assert replace(Owner.this(), **change).is_gone is gone


@pytest.mark.parametrize(
    "note",
    ["", "[]", "{}", "[" * 50_000, '{"host": 1, "boot": 2, "pid": "x", "began": 1}', "\0"],
)
def test_a_note_that_is_none_removes_nothing(killed: Path, note: str) -> None:
    (killed / OWNER).write_text(note)
    assert sweep(killed.parent) == {NAME: "unknown"}
    assert killed.exists()


def test_files_of_others_are_never_removed(killed: Path) -> None:
    (killed / "Thesis.odt").write_text("years of work")
    assert sweep(killed.parent) == {NAME: "unknown"}
    assert (killed / "Thesis.odt").exists()


def test_no_link_is_followed(killed: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("kept")
    (tmp_path / f"microagg-{32 * '1'}").symlink_to(outside)
    (killed / "extract" / "link").symlink_to(outside)
    (killed / "group").symlink_to(outside)
    assert sweep(tmp_path) == {NAME: "removed", f"microagg-{32 * '1'}": "unknown"}
    assert (outside / "file").read_text() == "kept"


def test_an_owner_that_is_a_link_removes_nothing(killed: Path, tmp_path: Path) -> None:
    note = tmp_path / "note"
    (killed / OWNER).rename(note)
    (killed / OWNER).symlink_to(note)
    assert sweep(tmp_path) == {NAME: "unknown"}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_left_alone(killed: Path) -> None:
    os.chown(killed, 12345, 12345)
    assert sweep(killed.parent) == {NAME: "unknown"}


def test_other_folders_are_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "microagg-0").mkdir()
    (tmp_path / "photos").mkdir()
    assert sweep(tmp_path) == {}
    assert sweep(tmp_path / "nowhere") == {}


def test_a_removal_that_is_killed_can_be_finished(
    killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", die)
    with pytest.raises(KeyboardInterrupt):
        sweep(killed.parent)
    monkeypatch.undo()
    assert sweep(killed.parent) == {NAME: "removed"}


def test_a_run_may_take_over_what_a_killed_one_left(killed: Path) -> None:
    with owned(killed):
        assert sweep(killed.parent) == {NAME: "alive"}
