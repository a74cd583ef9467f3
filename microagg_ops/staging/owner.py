"""Who staging belongs to, so that what a killed run left can be told from what a living one needs.

A run that lives in one process notes that process beside its files, and holds a lock that the
system takes back however the process ends. What another host, a living process or nobody known
owns is never touched.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from microagg_ops.staging.private import MARK, OPEN, OWNER, LocalFolder, NotOursError, opened

RUN = re.compile(r"microagg-[0-9a-f]{32}")
LARGEST = 4096
# What a staged run holds: folders of stages, its mark (also half written), and its owner.
OURS = re.compile(
    rf"[a-z]+|{re.escape(MARK)}|\.{re.escape(MARK)}\.[0-9a-f]{{16}}|{re.escape(OWNER)}"
)
Fate = Literal["removed", "alive", "unknown"]


@dataclass(frozen=True)
class Owner:
    """A process: its host, the boot of that host, its number and the tick that it began at."""

    host: str
    boot: str
    pid: int
    began: str

    @classmethod
    def this(cls) -> Owner:
        """Describe this process."""
        return cls(platform.node(), _boot(), os.getpid(), _began(os.getpid()) or "")

    @classmethod
    def parse(cls, content: bytes) -> Owner | None:
        """Read what was noted; ``None`` for what is no note of ours."""
        try:
            found = json.loads(content)
            owner = cls(**found)
        except (ValueError, TypeError, RecursionError):
            return None
        plain = all(isinstance(part, str) for part in (owner.host, owner.boot, owner.began))
        return owner if plain and type(owner.pid) is int and owner.pid > 0 else None

    @property
    def is_gone(self) -> bool:
        """Whether this process has certainly ended: anything in doubt counts as alive."""
        here = Owner.this()
        if self.host != here.host or not self.boot or not here.boot:
            return False
        if self.boot != here.boot:
            return True
        began = _began(self.pid)
        return began is None or (bool(self.began) and began != self.began)


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Note this process as the owner of a folder, and hold its lock.

    Raises
    ------
    BlockingIOError
        If a living run owns the folder.
    """
    with opened(folder) as inside:
        lock = os.open(OWNER, os.O_RDWR | os.O_CREAT | OPEN, 0o600, dir_fd=inside)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.pwrite(lock, json.dumps(asdict(Owner.this())).encode(), 0)
        yield
    finally:
        os.close(lock)


def sweep(folder: Path) -> dict[str, Fate]:
    """Remove the staging of runs whose process is gone, in a folder; needs no key, follows no link.

    Returns
    -------
    fates
        Name of each staged run to what became of it: removed; left alone because it is alive; or
        because nobody knows whom it belongs to.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    if MARK in names or OWNER in names:
        return {folder.name: _swept(folder)}
    return {name: _swept(folder / name) for name in names if RUN.fullmatch(name)}


def _swept(run: Path) -> Fate:
    """Remove one run if its owner is gone."""
    try:
        with opened(run) as inside:
            lock = os.open(OWNER, os.O_RDONLY | OPEN, dir_fd=inside)
            known = all(OURS.fullmatch(name) for name in os.listdir(inside))
    except (OSError, NotOursError):
        return "unknown"
    try:
        found = os.fstat(lock)
        owner = Owner.parse(os.pread(lock, LARGEST, 0))
        if not known or owner is None or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            return "unknown"
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if owner.is_gone:
                LocalFolder(run).remove()
                return "removed"
        return "alive"
    except OSError:
        return "unknown"
    finally:
        os.close(lock)


def _boot() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _began(pid: int) -> str | None:
    """Return the clock tick at which a process began; ``None`` if there is none of this number."""
    try:
        # The name of the program may hold spaces and brackets; behind it nothing does.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None if Path("/proc/self/stat").exists() else ""
    return None if fields[0] in "ZX" else fields[19]
