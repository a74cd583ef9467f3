"""What is staged is private, whole, and what was written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from microagg_ops.errors import ReleaseError, StagingError
from microagg_ops.staging.digests import content_digest, from_parquet, to_parquet
from microagg_ops.staging.private import LocalFolder
from microagg_ops.staging.store import MemoryStaging, Staging, safe_name


@pytest.fixture(params=["local", "object_store", "memory"])
def staging(request: pytest.FixtureRequest, tmp_path: Path) -> Staging:
    """Staging of each kind."""
    if request.param == "memory":
        return MemoryStaging()
    return Staging(tmp_path / "run" if request.param == "local" else f"memory://{tmp_path}/run")


@pytest.fixture
def no_umask() -> Iterator[None]:
    """A process that hides nothing of its own accord."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_what_is_put_can_be_got(staging: Staging) -> None:
    staging.put("extract", {"a": b"1", "b": b""}, {"rows": 3})
    assert (staging.get("extract", "a"), staging.get("extract", "b")) == (b"1", b"")
    assert staging.summary("extract") == {"rows": 3}


def test_the_digest_is_sha256(staging: Staging) -> None:
    staging.put("extract", {"a": b""}, {})
    assert staging.digest("extract", "a").startswith("e3b0c44298fc1c14")


def test_a_stage_that_has_not_run_is_named(staging: Staging) -> None:
    for read in (lambda: staging.get("group", "a"), lambda: staging.summary("group")):
        with pytest.raises(StagingError, match="'group' has not finished") as caught:
            read()
        assert caught.value.code == "staging_missing"


def test_a_file_that_no_stage_wrote_is_refused(staging: Staging) -> None:
    staging.put("extract", {"a": b"1"}, {})
    with pytest.raises(StagingError, match="extract/b is not what 'extract' wrote") as caught:
        staging.get("extract", "b")
    assert caught.value.code == "staging_changed"


def test_a_second_run_replaces_the_first(staging: Staging) -> None:
    staging.put("extract", {"a": b"1", "old": b"2"}, {"rows": 1})
    staging.put("extract", {"a": b"3"}, {"rows": 2})
    assert staging.get("extract", "a") == b"3"
    assert staging.summary("extract") == {"rows": 2}
    with pytest.raises(StagingError):
        staging.get("extract", "old")


def test_stages_do_not_disturb_each_other(staging: Staging) -> None:
    staging.put("extract", {"a": b"1"}, {})
    staging.put("group", {"a": b"2"}, {})
    assert (staging.get("extract", "a"), staging.get("group", "a")) == (b"1", b"2")


def test_removal_leaves_nothing(staging: Staging) -> None:
    staging.put("extract", {"a": b"1"}, {})
    assert staging.remove() is True
    assert staging.remove() is False
    with pytest.raises(StagingError, match="'extract' has not finished"):
        staging.get("extract", "a")


def test_a_summary_is_a_copy(staging: Staging) -> None:
    staging.put("extract", {}, {"rows": 1})
    staging.summary("extract")["rows"] = 2
    assert staging.summary("extract") == {"rows": 1}


@pytest.mark.usefixtures("no_umask")
def test_only_the_owner_can_read(tmp_path: Path) -> None:
    root = tmp_path / "new" / "run"
    Staging(root).put("extract", {"a": b"1"}, {})
    folders = [root.parent, root, root / "extract"]
    assert [mode(folder) for folder in folders] == [0o700] * 3
    assert {path.name: mode(path) for path in (root / "extract").iterdir()} == {
        "a": 0o600,
        "manifest.json": 0o600,
    }


def test_a_wide_folder_is_closed(tmp_path: Path) -> None:
    root = tmp_path / "run"
    root.mkdir()
    root.chmod(0o777)
    Staging(root).put("extract", {"a": b"1"}, {})
    assert mode(root) == 0o700


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a folder that belongs to somebody else")
    root = tmp_path / "run"
    root.mkdir()
    os.chown(root, 12345, 12345)
    with pytest.raises(StagingError, match="cannot be written"):
        Staging(root).put("extract", {"a": b"1"}, {})
    assert not [path for path in root.rglob("*") if path.is_file()]


@pytest.mark.parametrize("change", [b"2", b"", None])
def test_a_changed_file_is_refused(tmp_path: Path, change: bytes | None) -> None:
    staging = Staging(tmp_path)
    staging.put("extract", {"a": b"1"}, {})
    file = tmp_path / "extract" / "a"
    file.unlink() if change is None else file.write_bytes(change)
    with pytest.raises(StagingError, match="extract/a is not what 'extract' wrote") as caught:
        staging.get("extract", "a")
    assert caught.value.code == "staging_changed"


@pytest.mark.parametrize(
    "content",
    [
        b"", b'{"files"', b"[1]", b"null", b"{}", b'{"files": {}}', b'{"files": 1, "summary": 2}',
        b'{"seal": "", "files": {}, "summary": {}}', b'{"a":' * 100_000, b"9" * (1 << 25),
        b"\xff" * 200,
    ],
    ids=range(11),
)  # fmt: skip
def test_a_manifest_of_another_shape_is_refused(tmp_path: Path, content: bytes) -> None:
    staging = Staging(tmp_path)
    staging.put("extract", {"a": b"1"}, {})
    (tmp_path / "extract" / "manifest.json").write_bytes(content)
    for read in (lambda: staging.get("extract", "a"), lambda: staging.digest("extract", "a")):
        with pytest.raises(StagingError, match="extract/manifest.json is not what") as caught:
            read()
        assert (caught.value.code, caught.value.retryable) == ("staging_changed", False)


def test_a_put_that_dies_leaves_no_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging = Staging(tmp_path)
    staging.put("extract", {"a": b"1", "b": b"1"}, {})

    def dies_at_b(folder: LocalFolder, path: str, content: bytes) -> None:
        if path.endswith("/b"):
            raise OSError("no room")
        write(folder, path, content)

    write = LocalFolder.write
    monkeypatch.setattr(LocalFolder, "write", dies_at_b)
    with pytest.raises(StagingError, match="Staging for 'extract' cannot be written"):
        staging.put("extract", {"a": b"2", "b": b"2"}, {})
    assert (tmp_path / "extract" / "a").read_bytes() == b"2"
    with pytest.raises(StagingError, match="'extract' has not finished"):
        staging.get("extract", "b")


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(StagingError, match="cannot be written"):
        Staging(tmp_path / "run").put("extract", {}, {})


def test_a_file_uri_is_local(tmp_path: Path) -> None:
    Staging(f"file://{tmp_path}/run").put("extract", {"a": b"1"}, {})
    assert mode(tmp_path / "run" / "extract" / "a") == 0o600


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("manual__2026-01-01T00:00:00+00:00", "manual__2026-01-01T00_00_00_00_00"),
        ("../../x", "_.._x"),
        ("..", "unnamed"),
        ("", "unnamed"),
    ],
)
def test_a_safe_name_stays_in_its_folder(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@pytest.fixture
def table() -> pa.Table:
    """A table with NULLs, empty text and equal rows."""
    return pa.table(
        {
            "a": pa.array([3, 1, None, 1, 1], pa.int32()),
            "b": ["x", "", None, None, ""],
            "c": [0.1, 1e300, -2.5, None, 1e300],
        }
    )


def test_parquet_gives_the_table_back(table: pa.Table) -> None:
    assert from_parquet(to_parquet(table)).equals(table)
    assert to_parquet(table) == to_parquet(table)


def test_the_content_digest_does_not_see_order_or_chunks(table: pa.Table) -> None:
    shuffled = table.take([4, 2, 0, 3, 1])
    chunked = pa.concat_tables([shuffled.slice(i, 1) for i in range(5)])
    assert content_digest(table) == content_digest(shuffled) == content_digest(chunked)


def test_the_content_digest_does_not_see_the_order_of_zeros() -> None:
    zeros = pa.table({"a": [0.0, -0.0, 0.0]})
    assert content_digest(zeros) == content_digest(zeros.take([1, 0, 2]))


@pytest.mark.parametrize(
    "other",
    [
        {"a": [1, 2], "b": ["x", "y"]},
        {"a": [1, 1], "b": ["x", None]},
        {"a": [1, 1], "b": ["x", "z"]},
        {"a": [1, None], "b": ["x", ""]},
        {"a": [1, 1], "c": ["x", ""]},
        {"b": ["x", ""], "a": [1, 1]},
        {"a": [1], "b": ["x"]},
        {"a": [1, 1, 1], "b": ["x", "", ""]},
    ],
)
def test_the_content_digest_sees_all_else(other: dict[str, list[Any]]) -> None:
    assert content_digest(pa.table(other)) != content_digest(
        pa.table({"a": [1, 1], "b": ["x", ""]})
    )


def test_the_content_digest_does_not_mix_up_neighbours() -> None:
    one = pa.table({"a": ['x","y'], "b": [""]})
    other = pa.table({"a": ["x"], "b": ['y",""']})
    assert content_digest(one) != content_digest(other)


def test_a_folder_with_other_things_is_neither_used_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    tmp_path.chmod(0o755)
    for use in (lambda s: s.put("extract", {}, {}), lambda s: s.remove()):
        with pytest.raises(ReleaseError, match="holds other things"):
            use(Staging(tmp_path))
    assert (tmp_path / "thesis.txt").exists()
    assert tmp_path.stat().st_mode & 0o777 == 0o755
