"""The runs of releases, as their reports tell: read with care, since the page must not break.

Names that come from a browser are looked for among the names that are there, never joined to a
path; and what a link leads out of the folder of reports is not there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

#: What a run may leave, and as what it is served.
FILES = {
    "report.html": "text/html; charset=utf-8",
    "report.json": "application/json",
    "external.html": "text/html; charset=utf-8",
    "external.json": "application/json",
    "manifest.json": "application/json",
    "approval.json": "application/json",
}
#: Those that are not for everybody who may look at runs.
INTERNAL = frozenset(("report.html", "report.json", "approval.json"))
CHUNK = 1 << 18
# Which DAG run the reports are of.
ORIGIN = "airflow.json"
# Either tells how a run ended; the report tells more.
TOLD_BY = ("report.json", "manifest.json")
LARGEST = 8 * 2**20
LARGEST_NUMBER = 1e15


@dataclass(frozen=True)
class Run:
    """How one run of a release ended.

    ``verdict`` is passed, failed or unreadable; ``state`` says what became of the table, as
    `microagg_ops.stages.publication` lists it, where the report tells; ``dag_id`` is the DAG, if it
    was one that ran; ``failed`` holds the claims that did not hold, and ``limits`` the thresholds
    of loss and linkage, in percent, and of k. Of a series that is protected: how many newcomers
    wait and how long, how many leavers are held, and the loss of a table formed anew.
    """

    key: str
    run_id: str
    verdict: str = "unreadable"
    created: datetime | None = None
    interval: tuple[datetime, datetime] | None = None
    rows: float | None = None
    k: float | None = None
    loss: float | None = None
    linkage: float | None = None
    failed: tuple[str, ...] = ()
    limits: tuple[tuple[str, float], ...] = ()
    files: tuple[str, ...] = ()
    state: str | None = None
    waiting: float | None = None
    held: float | None = None
    wait: float | None = None
    anew: float | None = None
    dag_id: str | None = None


@dataclass(frozen=True)
class Reports:
    """The folder of reports: a folder for each release, and in it one for each run."""

    root: Any

    def releases(self) -> list[str]:
        """Name the releases that have left something."""
        return sorted(folder.name for folder in self._folders(self.root) if self._is_ours(folder))

    def runs(self, release: str, most: int) -> tuple[list[Run], int]:
        """Return the newest runs of a release, newest first, and how many there are.

        Of all runs only the times are looked at; of as many as are asked for what they left.
        """
        folders = self._folders(self._named(self.root, release))
        timed = [(when, folder.name, folder) for folder in folders if (when := told_at(folder))]
        timed.sort(key=lambda one: one[:2], reverse=True)
        found: list[Run] = []
        for _, _, folder in timed:
            if len(found) == most:
                break
            run = self._run(folder)
            if run is not None:
                found.append(run)
        found.sort(key=lambda run: (run.created or OLDEST, run.key), reverse=True)
        # What was looked at and is none of ours is no run; all runs may have been.
        return found, len(timed) if len(found) == most else len(found)

    def run(self, release: str, key: str) -> Run | None:
        """Return one run, by the name of its folder."""
        folder = self._named(self._named(self.root, release), key)
        return None if folder is None else self._run(folder)

    def _run(self, folder: Any) -> Run | None:
        files = tuple(name for name in FILES if self._is_file(folder / name))
        if not files or not self._is_ours(folder):
            return None
        told = folder / next((name for name in TOLD_BY if name in files), files[0])
        run = read_run(told, *changed(told), files)
        origin = folder / ORIGIN
        when, size = changed(origin) if self._is_file(origin) else (0.0, 0)
        return replace(run, dag_id=read_dag_id(origin, when, size)) if size else run

    def file(self, release: str, run: str, name: str) -> Iterator[bytes] | None:
        """Read a file of a run, piece by piece; ``None`` if there is none."""
        folder = self._named(self._named(self.root, release), run)
        if name not in FILES or folder is None or not self._is_file(folder / name):
            return None
        try:
            opened = (folder / name).open("rb")
        except OSError:
            return None
        return pieces(opened)

    def _named(self, folder: Any, name: str) -> Any:
        if isinstance(folder, Path):
            # A name that a folder lists is one name, whatever it holds; paths for all take long.
            with suppress(OSError):
                there = name in os.listdir(folder) and not name.startswith(".")
                return folder / name if there and self._is_ours(folder / name) else None
            return None
        found = next((one for one in self._folders(folder) if one.name == name), None)
        return found if found is not None and self._is_ours(found) else None

    def _folders(self, folder: Any) -> Iterator[Any]:
        """Yield what is in a folder and has a name that may be shown; whether it is ours is open.

        To ask that of thousands takes longer than all the rest.
        """
        try:
            found = list(folder.iterdir()) if folder is not None else []
        except OSError:
            return
        yield from (path for path in found if not path.name.startswith("."))

    @cached_property
    def _home(self) -> Any:
        return self.root.resolve()

    def _is_ours(self, path: Any) -> bool:
        return bool(path.is_dir()) and self._is_within(path)

    def _is_file(self, path: Any) -> bool:
        try:
            return bool(path.is_file()) and self._is_within(path)
        except OSError:
            return False

    def _is_within(self, path: Any) -> bool:
        # An object store has no links that could lead elsewhere.
        return not isinstance(path, Path) or path.resolve().is_relative_to(self._home)


OLDEST = datetime(1970, 1, 1, tzinfo=UTC)


def told_at(folder: Any) -> float:
    """Find when a run told something; 0 if it never did."""
    if not isinstance(folder, Path):
        return next((when for name in FILES if (when := changed(folder / name)[0])), 0.0)
    base = os.fspath(folder)
    for name in (*TOLD_BY, *FILES):
        with suppress(OSError, ValueError):
            return os.stat(f"{base}/{name}").st_mtime
    return 0.0


def pieces(opened: Any) -> Iterator[bytes]:
    """Yield what is in an open file, and close it."""
    with opened:
        while piece := opened.read(CHUNK):
            yield bytes(piece)


def changed(path: Any) -> tuple[float, int]:
    """Find when a file was written and how large it is."""
    try:
        found = path.stat()
        return float(found.st_mtime), int(found.st_size)
    except (OSError, AttributeError, TypeError):
        return 0.0, 0


@lru_cache(maxsize=16384)
def read_dag_id(origin: Any, when: float, size: int) -> str | None:
    """Read which DAG a run is of; ``when`` it changed it is read anew."""
    try:
        return text(json.loads(origin.read_bytes()), "dag_id") if size < CHUNK else None
    except (OSError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=16384)
def read_run(told: Any, when: float, size: int, files: tuple[str, ...]) -> Run:
    """Read what a run left; ``when`` it changed it is read anew."""
    key = told.parent.name
    unreadable = Run(key, key, created=moment_of(when), files=files)
    if told.name not in TOLD_BY or size > LARGEST:
        return unreadable
    try:
        document = json.loads(told.read_bytes())
    except (OSError, ValueError, RecursionError):
        return unreadable
    verdict = part(document, "verdict")
    if verdict not in ("passed", "failed"):
        return unreadable
    listed = part(document, "checks")
    checks = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return Run(
        key=key,
        run_id=text(document, "identity", "run_id") or text(document, "run", "run_id") or key,
        verdict=verdict,
        state=text(document, "publication", "state")
        or ("published" if part(document, "published") else None),
        created=time_of(text(document, "identity", "created") or text(document, "created"))
        or moment_of(when),
        interval=interval_of(
            part(document, "identity", "interval") or part(document, "run", "interval")
        ),
        rows=first(number(document, "data", "rows"), number(document, "output", "rows")),
        k=number(document, "risk", "k"),
        loss=first(
            number(document, "utility", "information_loss"), number(document, "information_loss")
        ),
        linkage=first(
            number(document, "risk", "after", "linkability", "distance", "percent"),
            figure_of(checks, "linkage", "observed"),
        ),
        failed=tuple(failed_claims(checks, part(document, "checks"))),
        limits=tuple(limits_of(checks)),
        files=files,
        waiting=number(document, "series", "counts", "waiting"),
        held=number(document, "series", "counts", "held"),
        wait=number(document, "series", "counts", "longest_wait"),
        anew=number(document, "series", "loss", "anew"),
    )


def failed_claims(checks: list[dict[str, Any]], listed: Any) -> Iterator[str]:
    """Return what did not hold, in the words of the report; a manifest has the names alone."""
    for check in checks:
        if check.get("passed") is False:
            yield str(check.get("claim") or check.get("name") or "a check")
    if isinstance(listed, dict):
        yield from (str(name) for name, passed in listed.items() if passed is False)


def limits_of(checks: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """Return the thresholds that the charts are read against."""
    names = (("k", "k_anonymous"), ("loss", "information_loss"), ("linkage", "linkage"))
    for word, name in names:
        limit = figure_of(checks, name, "threshold")
        if limit is not None:
            yield word, limit


def figure_of(checks: list[dict[str, Any]], name: str, what: str) -> float | None:
    """Return a figure of a check."""
    named = (check for check in checks if check.get("name") == name)
    return next((number(check, what) for check in named), None)


def part(document: Any, *keys: str) -> Any:
    """Return what lies below some keys, or nothing."""
    for key in keys:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def text(document: Any, *keys: str) -> str | None:
    """Return a text that lies below some keys, or nothing."""
    found = part(document, *keys)
    return found if isinstance(found, str) else None


def number(document: Any, *keys: str) -> float | None:
    """Return a number that lies below some keys, or nothing."""
    found = part(document, *keys)
    known = isinstance(found, int | float) and not isinstance(found, bool)
    return found if known and -LARGEST_NUMBER < found < LARGEST_NUMBER else None


def first(*values: float | None) -> float | None:
    """Return the first that is known."""
    return next((value for value in values if value is not None), None)


def interval_of(found: Any) -> tuple[datetime, datetime] | None:
    """Read a data interval."""
    if not isinstance(found, list) or len(found) != 2:
        return None
    start, end = (time_of(one) for one in found)
    return (start, end) if start and end else None


def time_of(found: Any) -> datetime | None:
    """Read a moment; one without a zone is in UTC."""
    try:
        moment = datetime.fromisoformat(found)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def moment_of(seconds: float) -> datetime | None:
    """Return the moment at which a file was written, if that is known."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
