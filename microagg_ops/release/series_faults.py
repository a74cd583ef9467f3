"""What contradicts itself in a series."""

from __future__ import annotations

from collections.abc import Iterator

from microagg_ops.release.condition import parameters
from microagg_ops.release.model import Release
from microagg_ops.release.series import HISTORY, LedgerPlace

UNPROTECTED = (
    "Whoever compares consecutive tables of this release learns exact values of people who came, "
    "left or changed in between: {why}, and series.protect is none. Let it be history (classes "
    "last) or difference (held back where too few changed)."
)


def series_warnings(release: Release) -> Iterator[str]:
    """Warn of a series that nothing protects, where the file tells that there is one."""
    if release.series.is_kept:
        return
    named = set(parameters(release.source.where or "")) if release.source.by_interval else set()
    if named == {"end"}:
        yield UNPROTECTED.format(why="source.where names :end alone, so people are in many tables")
    elif named and release.columns.entity is not None:
        yield UNPROTECTED.format(why="source.where names the interval, and entities may be in many")


def series_faults(release: Release) -> Iterator[tuple[str, str, str]]:
    """List what contradicts itself: pointer, what was found, what is allowed."""
    series = release.series
    if not series.is_kept:
        if series.others:
            found = f"other releases, with protect {series.protect}"
            yield "/series/with", found, "protect: history or difference"
        return
    what = f"protect {series.protect}"
    if not place_is_whole(series.ledger):
        yield "/series/ledger", f"not one place, with {what}", "a file, or conn_id and table"
    if release.columns.entity is None:
        yield "/columns/entity", f"nothing, with {what}", "the column that tells who a row is about"
    place = series.ledger
    if place is not None and place.table is not None:
        for side in (release.source, release.publish):
            if (place.conn_id, place.table) == (side.conn_id, side.table):
                yield "/series/ledger/table", "a table of the release", "a table of its own"
    yield from _other_faults(release)
    if series.protect == HISTORY:
        yield from _history_faults(release)


def _other_faults(release: Release) -> Iterator[tuple[str, str, str]]:
    names, places = {release.release}, [release.series.ledger]
    for i, other in enumerate(release.series.others):
        at = f"/series/with/{i}"
        if other.release in names:
            yield at, f"{other.release!r}, once more", "each other release once"
        elif not place_is_whole(other.ledger):
            found = f"{other.release!r}, whose ledger cannot be told from the name of ours"
            yield at, found, "{release: …, ledger: …}"
        elif other.ledger in places:
            yield at, f"{other.release!r} with a ledger named already", "a ledger for each release"
        names.add(other.release)
        places.append(other.ledger)


def place_is_whole(place: LedgerPlace | None) -> bool:
    """Whether a ledger has one place."""
    if place is None:
        return False
    named = (place.conn_id is not None, place.table is not None)
    return not any(named) if place.file is not None else all(named)


def _history_faults(release: Release) -> Iterator[tuple[str, str, str]]:
    if release.publish.mode != "replace":
        found = f"{release.publish.mode}, with protect history"
        yield "/publish/mode", found, "replace, or series.protect: difference"
    if release.nulls != "reject":
        yield "/nulls", f"{release.nulls}, with protect history", "reject"
    if release.group.method != "single":
        yield "/group/method", f"{release.group.method}, with protect history", "single"
    if any(how.statistic == "medoid" for how in release.columns.quasi.values()):
        yield "/columns/quasi", "a medoid, with protect history", "mean, median, mode or ancestor"
    if release.columns.weight is not None:
        yield "/columns/weight", "a column, with protect history", "nothing"
