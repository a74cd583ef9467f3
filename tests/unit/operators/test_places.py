"""The default staging folder, in a directory that everybody can write."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from microagg_ops.errors import StagingError
from microagg_ops.operators.places import temporary


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary directory such as everybody's."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def default(shared: Path) -> Path:
    return shared / f"microagg-{os.geteuid()}"


def test_is_made_for_its_owner_alone(shared: Path) -> None:
    for _ in range(2):
        assert temporary() == str(default(shared))
        assert default(shared).lstat().st_mode & 0o777 == 0o700


def test_a_folder_of_ours_that_is_open_to_others_is_closed(shared: Path) -> None:
    default(shared).mkdir()
    default(shared).chmod(0o777)
    temporary()
    assert default(shared).lstat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("there", [True, False])
def test_a_planted_link_is_refused_and_its_target_left_alone(shared: Path, there: bool) -> None:
    target = shared.parent / "web"
    if there:
        target.mkdir()
        target.chmod(0o755)
    default(shared).symlink_to(target)
    with pytest.raises(StagingError, match="cannot be used") as caught:
        temporary()
    assert not caught.value.retryable
    assert "link" in str(caught.value)
    assert target.exists() is there
    assert not there or target.stat().st_mode & 0o777 == 0o755


def test_a_planted_folder_is_refused(shared: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a folder that belongs to somebody else")
    default(shared).mkdir(mode=0o777)
    os.chown(default(shared), 12345, 12345)
    before = default(shared).stat().st_mode
    with pytest.raises(StagingError, match="cannot be used"):
        temporary()
    assert default(shared).stat().st_mode == before


def test_a_planted_file_is_refused(shared: Path) -> None:
    default(shared).touch()
    with pytest.raises(StagingError, match="cannot be used"):
        temporary()


def test_the_temporary_directory_itself_may_be_a_link(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = shared.parent / "link"
    link.symlink_to(shared)
    monkeypatch.setattr(tempfile, "tempdir", str(link))
    assert Path(temporary()).resolve() == default(shared)
