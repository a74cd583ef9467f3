"""Where files are: on this machine or at a URI, one or many, and how one is replaced whole."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from microagg_ops.errors import WarehouseError
from microagg_ops.release.files import READ, is_pattern, suffix
from microagg_ops.staging.private import CREATE, FOLDER
from microagg_ops.staging.store import local

Fill = Callable[[Any], None]
Check = Callable[[Any], None]


def place(folder: str, name: str) -> Any:
    """Return the path of a name in a release: a `Path`, or what fsspec reaches."""
    if "://" not in name:
        return Path(folder, name)
    try:
        return local(name)
    except (ImportError, ValueError) as error:
        raise WarehouseError(
            f"Nothing that is installed reaches {name.partition(':')[0]}:// "
            f"({type(error).__name__}).",
            code="no_driver",
            retryable=False,
            hint="Install what fsspec needs for it: s3fs for s3://, gcsfs for gs://.",
        ) from None


def files_at(at: Any) -> list[Any]:
    """List the files that a path stands for, by name: itself, those in a folder, or of a pattern.

    What begins with a dot or an underscore is no data, as writers of such folders have it.
    """
    if at.is_file():
        return [at]
    if at.is_dir():
        found = [path for path in at.rglob("*") if not _is_hidden(at, path)]
    elif is_pattern(at.name):
        found = [path for path in at.parent.glob(at.name) if path.name[0] not in "._"]
    else:
        return []
    # Pyarrow and pandas write folders of Parquet files, Spark with an ending of its own before it.
    kept = (path for path in found if suffix(path.name) in READ and path.is_file())
    return sorted(kept, key=str)


def _is_hidden(root: Any, path: Any) -> bool:
    inside = str(path).removeprefix(str(root)).strip("/")
    return any(part[:1] in ("_", ".") for part in inside.split("/"))


@contextmanager
def locked(at: Any) -> Iterator[None]:
    """Let one process at a time replace files of a folder; nothing is left behind by it."""
    if not isinstance(at, Path):
        yield
        return
    at.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(at.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def replace(at: Any, fill: Fill, check: Check, commit: AbstractContextManager[None]) -> None:
    """Write a file aside, look at what was written, and put it in the place of the old one."""
    if isinstance(at, Path):
        # A link stays one: the file that it leads to is replaced.
        _replace_here(at.resolve(), fill, check, commit)
        return
    partial = at.parent / f".{at.name}.{secrets.token_hex(8)}"
    try:
        with partial.open("wb") as file:
            fill(file)
        check(partial)
        with commit:
            at.fs.mv(partial.path, at.path)
    except BaseException:
        with suppress(Exception):
            partial.unlink(missing_ok=True)
        raise


def _replace_here(
    path: Path, fill: Fill, check: Check, commit: AbstractContextManager[None]
) -> None:
    for killed in path.parent.glob(f".{path.name}.*.partial"):
        killed.unlink(missing_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    # Made as the umask allows, and closed to others until it is whole.
    handle = os.open(partial, CREATE, 0o666)
    try:
        mode = (path.stat() if path.exists() else os.fstat(handle)).st_mode & 0o777
        os.fchmod(handle, 0o600)
        with os.fdopen(handle, "wb") as file:
            fill(file)
            file.flush()
            os.fsync(handle)
        check(partial)
        partial.chmod(mode)
        with commit:
            os.replace(partial, path)
        _sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, FOLDER)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
