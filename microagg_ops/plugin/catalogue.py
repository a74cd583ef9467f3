"""The release files of an installation, found by looking into a folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from microagg_ops.errors import ReleaseError
from microagg_ops.release.document import build, find_faults, parse, read_bounded
from microagg_ops.release.model import Release

# A folder with more than this is not one of release files.
MOST_FILES = 2000


@dataclass(frozen=True)
class Entry:
    """A release file: what it says, or how many faults keep it from saying anything."""

    name: str
    file: str
    release: Release | None = None
    faults: int = 0


def find_entries(folder: Path) -> dict[str, Entry]:
    """Return the releases that a folder describes, by name; of two files the first counts."""
    found: dict[str, Entry] = {}
    for path in release_files(folder):
        try:
            status = path.stat()
        except OSError:
            continue
        entry = read_entry(path, str(path.relative_to(folder)), status.st_mtime, status.st_size)
        if entry is not None:
            found.setdefault(entry.name, entry)
    return found


def release_files(folder: Path) -> Iterator[Path]:
    """Return the YAML files below a folder, in order."""
    try:
        found = [path for path in folder.rglob("*.y*ml") if path.suffix in (".yaml", ".yml")]
    except OSError:
        return
    for path in sorted(found)[:MOST_FILES]:
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


@lru_cache(maxsize=4096)
def read_entry(path: Path, shown: str, when: float, size: int) -> Entry | None:
    """Read a file, anew ``when`` it changed; ``None`` if it is no release file at all."""
    try:
        document, faults = parse(read_bounded(path))
    except ReleaseError:
        return None
    # Other YAML lies beside release files; only these two keys together are ours.
    if faults or not isinstance(document, dict) or not {"release", "source"} <= set(document):
        return None
    faults = list(find_faults(document))
    if faults:
        return Entry(str(document["release"])[:100], shown, faults=len(faults))
    return Entry(document["release"], shown, build(document, ""))
