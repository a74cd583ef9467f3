"""The key of an installation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from microagg_ops.errors import ReleaseError
from microagg_ops.staging import keys


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(keys.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    keys._kept.cache_clear()


def test_is_made_once_and_is_private() -> None:
    path = keys.key_file()
    assert path is not None and not path.exists()
    first = keys.installation_key()
    keys._kept.cache_clear()
    assert keys.installation_key() == first
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["key"]


def test_processes_that_come_first_at_once_agree(tmp_path: Path) -> None:
    code = "from microagg_ops.staging.keys import installation_key as k; print(k().decode())"
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    assert len({process.communicate()[0] for process in running}) == 1


@pytest.mark.parametrize("plant", ["readable by others", "a link", "short"])
def test_a_file_that_somebody_planted_is_not_used(tmp_path: Path, plant: str) -> None:
    path = keys.key_file()
    assert path is not None
    path.parent.mkdir(parents=True)
    planted = b"x" * 8 if plant == "short" else b"planted by somebody else"
    target = tmp_path / "elsewhere" if plant == "a link" else path
    target.write_bytes(planted)
    target.chmod(0o644 if plant == "readable by others" else 0o600)
    if plant == "a link":
        path.symlink_to(target)
    assert keys.installation_key() != planted


def test_the_variable_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, "long enough to be a key")
    assert keys.installation_key() == b"long enough to be a key"
    monkeypatch.setenv(keys.VARIABLE, "short")
    with pytest.raises(ReleaseError, match="fewer than 16"):
        keys.installation_key()


def test_a_home_that_cannot_be_written_gives_a_key_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    assert keys.installation_key() == keys.process_key()


def test_digests_of_two_purposes_differ() -> None:
    digests = {
        keys.keyed_digest(key, purpose, b"rows")
        for key in (b"one", b"two")
        for purpose in ("a", "b")
    }
    assert len(digests) == 4
