"""Manifests are sealed: by our key, in their place, for one run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from microagg_ops.errors import StagingError
from microagg_ops.staging.store import Staging

Root = Any


def ours() -> bytes:
    return b"the key of the one"


def theirs() -> bytes:
    return b"the key of the other"


@pytest.fixture(params=["local", "object store"])
def parent(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    return tmp_path if request.param == "local" else UPath(f"memory://{tmp_path}")


def refused(staging: Staging, stage: str = "validate") -> StagingError:
    with pytest.raises(StagingError, match="is not what") as caught:
        staging.summary(stage)
    assert (caught.value.code, caught.value.retryable) == ("staging_changed", False)
    return caught.value


def rewritten(path: Any, change: Callable[[dict[str, Any]], object]) -> None:
    entry = json.loads(path.read_bytes())
    change(entry)
    path.write_bytes(json.dumps(entry).encode())


def test_a_manifest_is_json_with_a_seal(parent: Root) -> None:
    Staging(parent / "run", ours).put("validate", {"a": b"1"}, {"k": 3, "why": "ünï", "inf": 1e400})
    entry = json.loads((parent / "run" / "validate" / "manifest.json").read_bytes())
    assert list(entry) == ["seal", "files", "summary"]
    assert Staging(parent / "run", ours).summary("validate") == entry["summary"]


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: entry["summary"].update(k=4),
        lambda entry: entry["files"].update(a="0" * 64),
        lambda entry: entry["files"].clear(),
        lambda entry: entry.update(seal="0" * 64),
        lambda entry: entry.pop("seal"),
        lambda entry: entry.update(more=1),
    ],
)
def test_every_part_is_sealed(parent: Root, change: Callable[[dict[str, Any]], object]) -> None:
    staging = Staging(parent / "run", ours)
    staging.put("validate", {"a": b"1"}, {"k": 3})
    rewritten(parent / "run" / "validate" / "manifest.json", change)
    refused(staging)


def test_another_key_does_not_seal(parent: Root) -> None:
    Staging(parent / "run", theirs).put("validate", {}, {})
    error = refused(Staging(parent / "run", ours))
    assert "MICROAGG_KEY" in error.hint


def test_a_manifest_of_another_stage_is_refused(parent: Root) -> None:
    staging = Staging(parent / "run", ours)
    for stage in ("validate", "approve"):
        staging.put(stage, {}, {})
    content = (parent / "run" / "approve" / "manifest.json").read_bytes()
    (parent / "run" / "validate" / "manifest.json").write_bytes(content)
    refused(staging)
    assert staging.summary("approve") == {}


@pytest.mark.parametrize("with_mark", [True, False])
def test_a_manifest_of_another_run_is_refused(parent: Root, with_mark: bool) -> None:
    one, other = (Staging(parent / name, ours) for name in ("one", "other"))
    for staging in (one, other):
        staging.put("validate", {}, {})
    for name in ("validate/manifest.json", *([".microagg"] if with_mark else [])):
        (parent / "other" / name).write_bytes((parent / "one" / name).read_bytes())
    refused(other)


def test_a_new_run_in_the_same_folder_forgets_the_old_one(parent: Root) -> None:
    staging = Staging(parent / "run", ours)
    staging.begin()
    staging.put("validate", {}, {"k": 3})
    assert staging.summary("validate") == {"k": 3}
    staging.begin()
    refused(staging)
    staging.put("validate", {}, {"k": 4})
    assert staging.summary("validate") == {"k": 4}


def test_a_path_may_be_written_in_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Staging(tmp_path / "run", ours).put("validate", {}, {})
    for folder, name in ((tmp_path, "run"), (tmp_path / "run", "."), (tmp_path, "./run/")):
        monkeypatch.chdir(folder)
        assert Staging(name, ours).summary("validate") == {}
    (tmp_path / "mounted").symlink_to(tmp_path)
    assert Staging(tmp_path / "mounted" / "run", ours).summary("validate") == {}


def test_removal_needs_no_key(parent: Root) -> None:
    Staging(parent / "run", ours).put("validate", {}, {})
    assert Staging(parent / "run", lambda: pytest.fail("no key is needed")).remove()
