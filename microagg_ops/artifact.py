"""Staged files: the private directory of one run, one folder per stage.

Object stores have no atomic rename, so a stage writes its files first and its manifest last: what
has no manifest does not exist, and what differs from its manifest is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import ReleaseError, StagingError

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"
MARK = ".microagg"


def local(path: Any) -> Any:
    """Give a pathlib path for what is local, and the object-store path for what is not.

    Only the local file system has modes, and only pathlib lets us set them.
    """
    if isinstance(path, Path):
        return path
    if isinstance(path, str):
        if "://" not in path:
            return Path(path)
        from upath import UPath

        path = UPath(path)
    protocol = getattr(path, "protocol", "")
    return Path(path.path) if protocol in ("", "file", "local") else path


def safe_name(name: str) -> str:
    """Give a name that any file system takes."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name).strip(".") or "unnamed"


def write_private(path: Any, content: bytes) -> None:
    """Write a file that only its owner can read; whole or not at all where it is local."""
    if not isinstance(path, Path):
        with path.open("wb") as file:
            file.write(content)
        return
    make_private(path.parent)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(partial, path)


def make_private(folder: Any) -> None:
    """Make a folder, and the parents it lacks, for the owner alone."""
    if not isinstance(folder, Path):
        folder.mkdir(parents=True, exist_ok=True)
        return
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def own(folder: Any) -> None:
    """Refuse a local folder that somebody else made, and close one that others can look into."""
    if not isinstance(folder, Path):
        return
    found = folder.stat()
    if found.st_uid != os.getuid():
        raise PermissionError(folder)
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def to_parquet(table: pa.Table) -> bytes:
    """Encode a table; the same table gives the same bytes."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def from_parquet(content: bytes) -> pa.Table:
    """Decode what `to_parquet` wrote."""
    import pyarrow.parquet as pq

    return pq.read_table(io.BytesIO(content))


def content_digest(table: pa.Table) -> str:
    """SHA-256 of a table's content, whatever its row order or chunks.

    The rows are sorted by all columns and written as CSV, so that anybody can recompute it.
    """
    from pyarrow import csv

    sink = hashlib.sha256()
    csv.write_csv(in_order(table), _HashFile(sink))
    return sink.hexdigest()


def in_order(table: pa.Table) -> pa.Table:
    """Sort a table by all its columns; rows that are equal are interchangeable."""
    return one_zero(table).sort_by([(name, "ascending") for name in table.column_names])


def one_zero(table: pa.Table) -> pa.Table:
    """Write -0.0 as 0.0: the two sort alike, so their order would be that of the source."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            table = table.set_column(i, field, pc.add(table[i], pa.scalar(0.0, field.type)))
    return table


class _HashFile(io.RawIOBase):
    def __init__(self, digest: Any) -> None:
        self._digest = digest

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._digest.update(content)
        return memoryview(content).nbytes


class Staging:
    """The private directory of one run.

    Parameters
    ----------
    root
        A path or URI; local folders are made with mode 0700.
    """

    def __init__(self, root: Any) -> None:
        self.root = local(root)

    def __str__(self) -> str:
        return str(self.root)

    def put(self, stage: str, files: Mapping[str, bytes], summary: Mapping[str, Any]) -> None:
        """Store what a stage made; running the stage again replaces it."""
        folder = self.root / stage
        manifest = folder / MANIFEST
        try:
            self._claim()
            make_private(folder)
            manifest.unlink(missing_ok=True)
            for name, content in files.items():
                write_private(folder / name, content)
            entry = {
                "files": {name: _sha256(content) for name, content in files.items()},
                "summary": dict(summary),
            }
            write_private(manifest, json.dumps(entry).encode())
        except OSError as error:
            raise StagingError(
                f"Staging for {stage!r} cannot be written ({type(error).__name__}).",
                hint=f"Check that {self.root} exists, is writable and has room.",
            ) from None

    def _claim(self) -> None:
        """Mark the folder as ours; refuse one that holds what we did not put there."""
        if not (self.root / MARK).exists():
            self._refuse_if_used()
            make_private(self.root)
            own(self.root)
            write_private(self.root / MARK, b"Raw data of one run; removed when it ends.\n")
        own(self.root)

    def _refuse_if_used(self) -> None:
        if self.root.exists() and any(self.root.iterdir()):
            raise ReleaseError(
                f"{self.root} holds other things than a staged run.",
                code="not_staging",
                hint="Nothing was changed there; give staging a folder of its own.",
            )

    def get(self, stage: str, name: str) -> bytes:
        """Read a stage's file, after checking that it is what the stage wrote."""
        entry = self.manifest(stage)
        try:
            content = (self.root / stage / name).read_bytes()
        except OSError:
            content = b""
        if _sha256(content) != entry["files"].get(name):
            raise _changed(stage, name)
        return bytes(content)

    def summary(self, stage: str) -> dict[str, Any]:
        """Give the counts and digests that a stage left."""
        return dict(self.manifest(stage)["summary"])

    def digest(self, stage: str, name: str) -> str:
        """Give the SHA-256 of a staged file."""
        return str(self.manifest(stage)["files"][name])

    def manifest(self, stage: str) -> dict[str, Any]:
        """Read a stage's manifest; without one the stage has not finished."""
        try:
            return dict(json.loads((self.root / stage / MANIFEST).read_bytes()))
        except (OSError, ValueError):
            raise _unfinished(stage, self.root) from None

    def remove(self) -> bool:
        """Delete everything; tell whether there was anything."""
        try:
            if not self.root.exists():
                return False
            if not (self.root / MARK).exists():
                # A slip in the path must not cost anybody their files.
                self._refuse_if_used()
            if isinstance(self.root, Path):
                shutil.rmtree(self.root)
            else:
                self.root.rmdir(recursive=True)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StagingError(
                f"Staging {self.root} cannot be removed ({type(error).__name__}).",
                hint="It holds raw data: remove it by hand if a retry does not.",
            ) from None
        return True


class MemoryStaging(Staging):
    """Staging that never touches a disk, for a run inside one process."""

    def __init__(self) -> None:
        self.root = "memory"
        self._files: dict[str, dict[str, bytes]] = {}
        self._manifests: dict[str, dict[str, Any]] = {}

    def put(self, stage: str, files: Mapping[str, bytes], summary: Mapping[str, Any]) -> None:
        """Store what a stage made."""
        self._files[stage] = dict(files)
        digests = {name: _sha256(content) for name, content in files.items()}
        self._manifests[stage] = {"files": digests, "summary": dict(summary)}

    def get(self, stage: str, name: str) -> bytes:
        """Read a stage's file."""
        if name not in self.manifest(stage)["files"]:
            raise _changed(stage, name)
        return self._files[stage][name]

    def manifest(self, stage: str) -> dict[str, Any]:
        """Give a stage's manifest."""
        if stage not in self._manifests:
            raise _unfinished(stage, self.root)
        return self._manifests[stage]

    def remove(self) -> bool:
        """Forget everything; tell whether there was anything."""
        found = bool(self._manifests)
        self._files.clear()
        self._manifests.clear()
        return found


def _unfinished(stage: str, root: Any) -> StagingError:
    return StagingError(
        f"Stage {stage!r} has not finished in {root}.",
        code="staging_missing",
        hint=f"Run {stage!r} first, with the same staging.",
    )


def _changed(stage: str, name: str) -> StagingError:
    return StagingError(
        f"The staged file {stage}/{name} is not what {stage!r} wrote.",
        code="staging_changed",
        hint=f"Run {stage!r} again.",
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
