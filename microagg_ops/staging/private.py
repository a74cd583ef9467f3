"""Files and folders for their owner alone, where others may have planted something.

In a directory that everybody can write, a name that we are going to use may be there already: as a
link to what we should not touch, or as a folder from which somebody else reads or swaps our files.
So a folder of ours is opened once, without following a link, looked at through what was opened,
and everything inside is reached from there. A folder above ours may well be a link.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# The files of a staged run that are no stage's: its mark, and whose it is.
MARK, OWNER = ".microagg", ".microagg-owner"
OPEN = os.O_NOFOLLOW | os.O_CLOEXEC
# Whoever opens a pipe without O_NONBLOCK waits for its other end.
READ = os.O_RDONLY | os.O_NONBLOCK | OPEN
FOLDER = os.O_RDONLY | os.O_DIRECTORY | OPEN
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN


class NotOursError(PermissionError):
    """What is there is a link, or somebody else could have put it there."""


def reason(error: OSError) -> str:
    """Say why something cannot be had: in our own words, or by the name of the error."""
    return str(error) if isinstance(error, NotOursError) else type(error).__name__


def make_private(folder: Any) -> None:
    """Make a folder, and the parents it lacks, for the owner alone."""
    if not isinstance(folder, Path):
        folder.mkdir(parents=True, exist_ok=True)
        return
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def write_private(path: Any, content: bytes) -> None:
    """Write a file that only its owner can read; whole or not at all where it is local."""
    if not isinstance(path, Path):
        with path.open("wb") as file:
            file.write(content)
        return
    make_private(path.parent)
    # The folder is the user's choice and may be a link; the file is ours and may not.
    handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _write(handle, path.name, content)
    finally:
        os.close(handle)


@contextmanager
def opened(folder: Path, *inside: str, make: bool = False) -> Iterator[int]:
    """Open a folder of ours, or one inside it.

    Parameters
    ----------
    folder
        The folder; its parents may be links, and it may not.
    inside
        A path of folders in it, none of which may be a link.
    make
        Whether to make what is not there, and to close to others what is.
    """
    if make:
        make_private(folder.parent)
    handle = _enter(str(folder), None, make)
    try:
        for name in inside:
            outer, handle = handle, _enter(name, handle, make)
            os.close(outer)
        yield handle
    finally:
        os.close(handle)


def _enter(name: str, within: int | None, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=within)
    try:
        handle = os.open(name, FOLDER, dir_fd=within)
    except NotADirectoryError:
        raise NotOursError("a link or a file is in the place of a folder") from None
    try:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid():
            raise NotOursError("the folder belongs to somebody else")
        if make and found.st_mode & 0o077:
            os.fchmod(handle, 0o700)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _write(folder: int, name: str, content: bytes) -> None:
    """Write a file in an open folder beside its name, and move it there."""
    partial = f".{name}.{secrets.token_hex(8)}"
    handle = os.open(partial, CREATE, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial, dir_fd=folder)
        raise


def _read(folder: int, name: str, most: int) -> bytes:
    """Read a file in an open folder that nobody else could have written."""
    try:
        handle = os.open(name, READ, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError:
        raise NotOursError("a link is in the place of a file") from None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise NotOursError("something else is in the place of a file")
        if found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise NotOursError("somebody else could have written the file")
        return file.read(most)


class LocalFolder:
    """A folder of this machine; files in it are named by their paths from there."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def name(self) -> str:
        """The name of the folder, however its path is written."""
        return Path(os.path.abspath(self.root)).name

    def write(self, path: str, content: bytes) -> None:
        """Write a file, whole or not at all."""
        *inside, name = path.split("/")
        with opened(self.root, *inside, make=True) as folder:
            _write(folder, name, content)

    def read(self, path: str, most: int = -1) -> bytes:
        """Read a file, or its beginning."""
        *inside, name = path.split("/")
        with opened(self.root, *inside) as folder:
            return _read(folder, name, most)

    def delete(self, path: str) -> None:
        """Delete a file if it is there."""
        *inside, name = path.split("/")
        with suppress(FileNotFoundError), opened(self.root, *inside) as folder:
            os.unlink(name, dir_fd=folder)

    def names(self) -> list[str]:
        """List what the folder holds."""
        with opened(self.root) as folder:
            return os.listdir(folder)

    def remove(self) -> None:
        """Delete the folder with all that it holds; links in it go, and not what they lead to.

        Mark and owner go last: what a killed removal leaves can still be told to be ours.
        """
        with opened(self.root) as folder:
            names = os.listdir(folder)
            for name in sorted(names, key=(OWNER, MARK).__contains__):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    shutil.rmtree(name, dir_fd=folder)
                else:
                    os.unlink(name, dir_fd=folder)
        self.root.rmdir()


class RemoteFolder:
    """The same in an object store, which has neither links nor owners of files."""

    def __init__(self, root: Any) -> None:
        self.root = root

    @property
    def name(self) -> str:
        """The name of the folder."""
        return str(self.root.name)

    def write(self, path: str, content: bytes) -> None:
        """Write a file."""
        make_private((self.root / path).parent)
        write_private(self.root / path, content)

    def read(self, path: str, most: int = -1) -> bytes:
        """Read a file, or its beginning."""
        with (self.root / path).open("rb") as file:
            return bytes(file.read(most))

    def delete(self, path: str) -> None:
        """Delete a file if it is there."""
        (self.root / path).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """List what the folder holds."""
        if not self.root.exists():
            raise FileNotFoundError
        return [path.name for path in self.root.iterdir()]

    def remove(self) -> None:
        """Delete the folder with all that it holds."""
        self.root.rmdir(recursive=True)
