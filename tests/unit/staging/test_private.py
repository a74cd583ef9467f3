"""What somebody else planted in staging is neither followed, nor written to, nor read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from microagg_ops.errors import StagingError
from microagg_ops.staging.private import write_private
from microagg_ops.staging.store import Staging

OTHER = 12345


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder of somebody else's choice, open as it should be."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    folder.chmod(0o755)
    return folder


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    return Staging(tmp_path / "run")


def untouched(elsewhere: Path) -> bool:
    return not list(elsewhere.iterdir()) and elsewhere.stat().st_mode & 0o777 == 0o755


def test_a_root_that_is_a_link_is_not_written(
    tmp_path: Path, elsewhere: Path, staging: Staging
) -> None:
    (tmp_path / "run").symlink_to(elsewhere)
    with pytest.raises(StagingError, match="cannot be written .*link") as caught:
        staging.put("extract", {"a": b"raw"}, {})
    assert not caught.value.retryable
    assert untouched(elsewhere)


def test_a_stage_that_is_a_link_is_not_written(
    tmp_path: Path, elsewhere: Path, staging: Staging
) -> None:
    staging.put("extract", {}, {})
    (tmp_path / "run" / "group").symlink_to(elsewhere)
    with pytest.raises(StagingError, match="cannot be written .*link"):
        staging.put("group", {"a": b"raw"}, {})
    assert untouched(elsewhere)


@pytest.mark.parametrize(
    "name", ["a", "manifest.json", f".a.{os.getpid()}"], ids=["a", "manifest", "part"]
)
def test_a_file_that_is_a_link_is_replaced_and_not_followed(
    tmp_path: Path, elsewhere: Path, staging: Staging, name: str
) -> None:
    victim = elsewhere / "victim"
    victim.write_bytes(b"precious")
    staging.put("extract", {}, {})
    planted = tmp_path / "run" / "extract" / name
    planted.unlink(missing_ok=True)
    planted.symlink_to(victim)
    staging.put("extract", {"a": b"raw"}, {})
    assert victim.read_bytes() == b"precious"
    assert staging.get("extract", "a") == b"raw"


def test_a_mark_that_is_a_link_is_not_followed(
    tmp_path: Path, elsewhere: Path, staging: Staging
) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    (tmp_path / "run" / ".microagg").symlink_to(elsewhere / "made")
    with pytest.raises(Exception, match="link|other things"):
        staging.put("extract", {"a": b"raw"}, {})
    assert untouched(elsewhere)


def linked(path: Path) -> None:
    """Put a link in the place of a file or folder, to the very same content."""
    path.rename(path.parent / "moved")
    path.symlink_to(path.parent / "moved")


def given_away(path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a file to somebody else")
    os.chown(path, OTHER, OTHER)


def opened_to_all(path: Path) -> None:
    path.chmod(0o666)


def piped(path: Path) -> None:
    """Put a pipe in the place of a file: whoever opens it would wait for ever."""
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.parametrize("plant", [linked, given_away, opened_to_all, piped])
@pytest.mark.parametrize("name", ["a", "manifest.json"])
def test_a_planted_file_is_not_read(
    tmp_path: Path, staging: Staging, plant: Callable[[Path], None], name: str
) -> None:
    staging.put("extract", {"a": b"raw"}, {})
    plant(tmp_path / "run" / "extract" / name)
    with pytest.raises(StagingError, match=f"extract/{name} is not what 'extract' wrote") as caught:
        staging.get("extract", "a")
    assert (caught.value.code, caught.value.retryable) == ("staging_changed", False)


@pytest.mark.parametrize("plant", [linked, given_away])
@pytest.mark.parametrize("name", ["run", "run/extract"])
def test_a_planted_folder_is_not_read(
    tmp_path: Path, staging: Staging, plant: Callable[[Path], None], name: str
) -> None:
    staging.put("extract", {"a": b"raw"}, {})
    plant(tmp_path / name)
    with pytest.raises(StagingError) as caught:
        staging.get("extract", "a")
    assert (caught.value.code, caught.value.retryable) == ("staging_changed", False)


def test_a_link_is_not_removed_through(tmp_path: Path, staging: Staging) -> None:
    staging.put("extract", {"a": b"raw"}, {})
    (tmp_path / "run").rename(tmp_path / "moved")
    (tmp_path / "run").symlink_to(tmp_path / "moved")
    with pytest.raises(StagingError, match="cannot be removed .*link"):
        staging.remove()
    assert (tmp_path / "moved" / "extract" / "a").exists()


def test_removal_does_not_follow_links_inside(
    tmp_path: Path, elsewhere: Path, staging: Staging
) -> None:
    (elsewhere / "thesis.txt").write_text("years of work")
    staging.put("extract", {"a": b"raw"}, {})
    (tmp_path / "run" / "group").symlink_to(elsewhere)
    assert staging.remove()
    assert (elsewhere / "thesis.txt").exists()
    assert not (tmp_path / "run").exists()


def test_a_parent_may_be_a_link(tmp_path: Path, elsewhere: Path) -> None:
    (tmp_path / "link").symlink_to(elsewhere)
    staging = Staging(tmp_path / "link" / "new" / "run")
    staging.put("extract", {"a": b"raw"}, {})
    assert staging.get("extract", "a") == b"raw"
    assert staging.remove()


@pytest.mark.parametrize(
    "name", ["report.html", f".report.html.{os.getpid()}"], ids=["report", "part"]
)
def test_a_report_is_not_written_through_a_link(elsewhere: Path, tmp_path: Path, name: str) -> None:
    victim = elsewhere / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / name).symlink_to(victim)
    write_private(tmp_path / "report.html", b"figures")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "report.html").read_bytes() == b"figures"
    assert not (tmp_path / "report.html").is_symlink()


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError):
        write_private(tmp_path / "a", b"raw")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
