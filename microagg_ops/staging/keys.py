"""The key of an installation: what digests of raw data, and verdicts in staging, are keyed with.

A plain digest of few rows can be tried out: whoever knows all but one value hashes every
candidate. A keyed one (HMAC-SHA256) tells nothing without the key, which never leaves.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from functools import cache
from pathlib import Path

VARIABLE = "MICROAGG_KEY"
SHORTEST = 16


def keyed_digest(key: bytes, purpose: str, content: bytes) -> str:
    """HMAC-SHA256 of content in hex; a digest made for one purpose is of no use for another."""
    return hmac.new(derived(key, purpose), content, hashlib.sha256).hexdigest()


def derived(key: bytes, purpose: str) -> bytes:
    """Derive the key of one purpose."""
    return hmac.new(key, f"microagg_ops/{purpose}".encode(), hashlib.sha256).digest()


def installation_key() -> bytes:
    """Find the key of this installation: ``MICROAGG_KEY``, or a private file that is made once.

    Where no file can be kept the key lives as long as the process: what was keyed with it cannot
    be checked by another one, which then refuses.
    """
    given = os.environ.get(VARIABLE)
    if given:
        if len(given) < SHORTEST:
            from microagg_ops.errors import ReleaseError

            raise ReleaseError(
                f"{VARIABLE} has fewer than {SHORTEST} characters.",
                code="weak_key",
                hint="Make one with: python -c 'import secrets; print(secrets.token_hex(32))'",
            )
        return given.encode()
    return _kept(key_file())


@cache
def process_key() -> bytes:
    """Make a key that lives as long as the process, for what no other one will check."""
    return secrets.token_bytes(32)


def key_file() -> Path | None:
    """Return the file of the installation's key; none without a home."""
    folder = os.environ.get("XDG_CONFIG_HOME")
    try:
        base = Path(folder) if folder else Path.home() / ".config"
    except RuntimeError:
        return None
    return base / "microagg" / "key"


@cache
def _kept(path: Path | None) -> bytes:
    from microagg_ops.staging.private import make_private

    if path is None:
        return process_key()
    fresh = secrets.token_hex(32).encode()
    try:
        make_private(path.parent)
        try:
            # Two processes may come first at once: a link puts a whole file there, once.
            partial = path.with_name(f".key.{os.getpid()}.{secrets.token_hex(4)}")
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(fresh)
            os.link(partial, path)
        except FileExistsError:
            pass
        finally:
            partial.unlink(missing_ok=True)
        return _read(path) or process_key()
    except OSError:
        return process_key()


def _read(path: Path) -> bytes | None:
    """Read a key that only its owner could have written."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_uid != os.getuid() or found.st_mode & 0o077:
            return None
        content = file.read().strip()
    return content if len(content) >= SHORTEST else None
