"""Raw rows lie in the folder that was named, or nowhere."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from microagg_ops.errors import StagingError
from microagg_ops.staging.temporary import temporary_folder


def test_the_folder_that_is_named_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert temporary_folder() == tmp_path


def test_without_a_name_it_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    assert temporary_folder() == Path(tempfile.gettempdir())


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_a_name_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TMPDIR", str(tmp_path / name))
    with pytest.raises(StagingError, match="TMPDIR names") as caught:
        temporary_folder()
    assert not caught.value.retryable


def test_the_working_folder_is_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # as where nothing can be written
    with pytest.raises(StagingError, match="no temporary folder"):
        temporary_folder()


def test_the_usual_one_may_be_the_working_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    monkeypatch.chdir("/tmp")
    assert temporary_folder() == Path("/tmp")
