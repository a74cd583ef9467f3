"""Staged files: the private directory of one run, one folder per stage.

Object stores have no atomic rename, so a stage writes its files first and its manifest last: what
has no manifest does not exist, and what differs from its manifest is refused.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from microagg_ops.errors import ReleaseError, StagingError
from microagg_ops.staging.digests import sha256
from microagg_ops.staging.keys import installation_key, keyed_digest
from microagg_ops.staging.owner import owned
from microagg_ops.staging.private import MARK, LocalFolder, NotOursError, RemoteFolder, reason

MANIFEST = "manifest.json"
BEFORE_SEAL, SEAL_SIZE, AFTER_SEAL = b'{"seal": "', 64, b'", '
LARGEST_MANIFEST = 1 << 24
KEY_HINT = (
    "Run the release from the start. If nobody touched staging, its stages had different keys: "
    "give all of them one (MICROAGG_KEY; in Airflow the option key of [microagg])."
)


def local(path: Any) -> Any:
    """Return a pathlib path for what is local, and the object-store path for what is not.

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
    """Return a name that any file system takes."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name).strip(".") or "unnamed"


class Staging:
    """The private directory of one run.

    Who can write it cannot forge it: each manifest has a keyed digest of itself, of its stage, of
    the name of the folder and of a word that is drawn anew when a run begins. So neither a
    manifest of another run or stage nor one that somebody else wrote is taken for ours.

    Parameters
    ----------
    root
        A path or URI; local folders are made with mode 0700.
    key
        Finds the key; it is looked for when a manifest is written or read.
    """

    def __init__(self, root: Any, key: Callable[[], bytes] = installation_key) -> None:
        self.root = local(root)
        #: Stage to its artefact, as far as this process has it; forgotten when it is written anew.
        self.known: dict[str, Any] = {}
        self._key = key
        is_local = isinstance(self.root, Path)
        self._folder = LocalFolder(self.root) if is_local else RemoteFolder(self.root)

    def __str__(self) -> str:
        return str(self.root)

    def begin(self) -> None:
        """Begin a run: what earlier ones left here counts no more."""
        self._key()  # without one nothing could be stored, and that should be known by now
        self.known.clear()
        with self._writing("a new run"):
            self._claim()
            self._mark()

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Belong to this process, as long as the block lasts; an object store knows no processes.

        Only then can others tell when nobody needs the folder any more.
        """
        if not isinstance(self.root, Path):
            yield
            return
        with ExitStack() as owning:
            with self._writing("a new run"):
                self._claim()
                try:
                    owning.enter_context(owned(self.root))
                except BlockingIOError:
                    raise StagingError(
                        f"Another run is using the staging {self.root}.",
                        code="staging_in_use",
                        hint="Wait for its end, or give this run a folder of its own.",
                    ) from None
            yield

    def put(
        self, stage: str, files: Mapping[str, bytes], summary: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Store what a stage made, and return its manifest; running the stage again replaces it."""
        self.known.pop(stage, None)
        entry = {
            "files": {name: sha256(content) for name, content in files.items()},
            "summary": dict(summary),
        }
        with self._writing(repr(stage)):
            self._claim()
            self._folder.delete(f"{stage}/{MANIFEST}")
            for name, content in files.items():
                self._folder.write(f"{stage}/{name}", content)
            body = json.dumps(entry).encode()
            self._folder.write(f"{stage}/{MANIFEST}", sealed(self._seal(stage, body), body))
        return dict(json.loads(body))

    @contextmanager
    def _writing(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StagingError(
                f"Staging for {what} cannot be written ({reason(error)}).",
                hint=f"Check that {self.root} exists, is ours, is writable and has room.",
                retryable=not isinstance(error, NotOursError),
            ) from None

    def _claim(self) -> None:
        """Mark the folder as ours; refuse one that holds what we did not put there."""
        try:
            marked = self._is_marked()
        except FileNotFoundError:
            marked = False
        if not marked:
            self._mark()

    def _mark(self) -> None:
        word = f"Raw data of one run; removed when it ends.\n{secrets.token_hex(16)}\n"
        self._folder.write(MARK, word.encode())

    def _is_marked(self) -> bool:
        """Tell whether the folder has our mark; refuse one that holds other things."""
        names = self._folder.names()
        if names and MARK not in names:
            # A slip in the path must not cost anybody their files.
            raise ReleaseError(
                f"{self.root} holds other things than a staged run.",
                code="not_staging",
                hint="Nothing was changed there; give staging a folder of its own.",
            )
        return bool(names)

    def get(self, stage: str, name: str, entry: Mapping[str, Any] | None = None) -> bytes:
        """Read a stage's file, after checking that it is what the stage wrote.

        The manifest is read anew, unless the caller has it.
        """
        entry = self.manifest(stage) if entry is None else entry
        try:
            content = self._folder.read(f"{stage}/{name}")
        except OSError:
            raise _changed(stage, name) from None
        if sha256(content) != entry["files"].get(name):
            raise _changed(stage, name)
        return content

    def summary(self, stage: str) -> dict[str, Any]:
        """Return the counts and digests that a stage left."""
        return dict(self.manifest(stage)["summary"])

    def digest(self, stage: str, name: str) -> str:
        """Return the SHA-256 of a staged file."""
        found = self.manifest(stage)["files"]
        if name not in found:
            raise _changed(stage, name)
        return str(found[name])

    def manifest(self, stage: str) -> dict[str, Any]:
        """Read a stage's manifest; without one the stage has not finished."""
        try:
            content = self._folder.read(f"{stage}/{MANIFEST}", LARGEST_MANIFEST)
            seal, body = unsealed(content)
            # Nothing is parsed, let alone believed, before the digest is seen to hold.
            if not hmac.compare_digest(seal, self._seal(stage, body).encode()):
                raise _changed(stage, MANIFEST, KEY_HINT)
        except NotOursError:
            raise _changed(stage, MANIFEST) from None
        except OSError:
            raise _unfinished(stage, self.root) from None
        return _as_entry(stage, body)

    def _seal(self, stage: str, body: bytes) -> str:
        """Compute the keyed digest of a manifest in its place."""
        mark = self._folder.read(MARK, LARGEST_MANIFEST)
        place = json.dumps([self._folder.name, mark.hex(), stage]).encode()
        return keyed_digest(self._key(), "staging", place + b"\n" + body)

    def is_gone(self) -> bool:
        """Tell whether there is nothing at all: it was removed, or never was here."""
        try:
            return not self._folder.names()
        except FileNotFoundError:
            return True
        except OSError:  # it cannot be known
            return False

    def remove(self) -> bool:
        """Delete everything; tell whether there was anything."""
        self.known.clear()
        try:
            self._is_marked()
            self._folder.remove()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StagingError(
                f"Staging {self.root} cannot be removed ({reason(error)}).",
                hint="It holds raw data: remove it by hand if a retry does not.",
            ) from None
        return True


def _as_entry(stage: str, body: bytes) -> dict[str, Any]:
    """Read a manifest whose seal holds: another version of this package may have sealed it."""
    try:
        entry = json.loads(body)
        files, summary = entry["files"], entry["summary"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _changed(stage, MANIFEST) from None
    shaped = isinstance(files, dict) and isinstance(summary, dict)
    if not shaped or not all(isinstance(digest, str) for digest in files.values()):
        raise _changed(stage, MANIFEST)
    return dict(entry)


def sealed(seal: str, body: bytes) -> bytes:
    """Put a keyed digest into the JSON object that it is about, as its first entry."""
    return BEFORE_SEAL + seal.encode() + AFTER_SEAL + body[1:]


def unsealed(content: bytes) -> tuple[bytes, bytes]:
    """Take the keyed digest out again, whatever the content is; give it and the rest."""
    start = len(BEFORE_SEAL)
    stop = start + SEAL_SIZE
    return content[start:stop], b"{" + content[stop + len(AFTER_SEAL) :]


class MemoryStaging(Staging):
    """Staging that never touches a disk, for a run inside one process."""

    def __init__(self) -> None:
        self.root = "memory"
        self.known = {}
        self._files: dict[str, dict[str, bytes]] = {}
        self._manifests: dict[str, dict[str, Any]] = {}

    def begin(self) -> None:
        """Begin a run; nobody else can have left anything here."""

    def copy(self) -> MemoryStaging:
        """Return another with what stages left here; what is put there is not put here."""
        other = MemoryStaging()
        other.known |= self.known
        other._files |= self._files
        other._manifests |= self._manifests
        return other

    def put(
        self, stage: str, files: Mapping[str, bytes], summary: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Store what a stage made."""
        self.known.pop(stage, None)
        self._files[stage] = dict(files)
        digests = {name: sha256(content) for name, content in files.items()}
        self._manifests[stage] = {"files": digests, "summary": dict(summary)}
        return self._manifests[stage]

    def get(self, stage: str, name: str, entry: Mapping[str, Any] | None = None) -> bytes:
        """Read a stage's file."""
        if name not in (self.manifest(stage) if entry is None else entry)["files"]:
            raise _changed(stage, name)
        return self._files[stage][name]

    def manifest(self, stage: str) -> dict[str, Any]:
        """Return a stage's manifest."""
        if stage not in self._manifests:
            raise _unfinished(stage, self.root)
        return self._manifests[stage]

    def remove(self) -> bool:
        """Forget everything; tell whether there was anything."""
        self.known.clear()
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


def _changed(stage: str, name: str, hint: str = "Run {stage!r} again.") -> StagingError:
    return StagingError(
        f"The staged file {stage}/{name} is not what {stage!r} wrote.",
        code="staging_changed",
        hint=hint.format(stage=stage),
        retryable=False,
    )
