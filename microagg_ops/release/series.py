"""How a release protects the series of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from microagg_ops.sql import TableName

HISTORY, DIFFERENCE, NONE = "history", "difference", "none"


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """Where the ledger is: a file, or a table of a connection."""

    file: str | None = None
    conn_id: str | None = None
    table: TableName | None = None


@dataclass(frozen=True, slots=True)
class Other:
    """Another release about the same people, and where its ledger is, if that can be told."""

    release: str
    ledger: LedgerPlace | None


@dataclass(frozen=True, slots=True)
class Series:
    """What is demanded of all tables of a release together."""

    protect: str = NONE
    ledger: LedgerPlace | None = None
    leavers: str = "hold"
    hold: int | None = None
    patience: int = 7
    near: float = 2.0
    epoch: str | None = None
    others: tuple[Other, ...] = ()
    retention: int | None = None

    @property
    def is_kept(self) -> bool:
        """Whether there is a ledger."""
        return self.protect != NONE

    @property
    def held_for(self) -> int | None:
        """For how many publications a leaver is held; ``None`` until k leave."""
        return 0 if self.leavers == "retire" and self.hold is None else self.hold


def build_series(section: Mapping[str, Any], name: str) -> Series:
    """Make the dataclass of a release from a section that has no fault of shape."""
    given = dict(section)
    place = given["ledger"] = build_place(given.get("ledger"))
    others = []
    for one in given.pop("with", ()):
        if isinstance(one, str):
            others.append(Other(one, place_like(place, name, one)))
        else:
            others.append(Other(one["release"], build_place(one["ledger"])))
    return Series(**given, others=tuple(others))


def build_place(section: Mapping[str, Any] | None) -> LedgerPlace | None:
    """Make the place of a ledger."""
    if section is None:
        return None
    place = dict(section)
    if "table" in place:
        place["table"] = TableName.parse(place["table"])
    return LedgerPlace(**place)


def place_like(place: LedgerPlace | None, name: str, other: str) -> LedgerPlace | None:
    """Find the ledger of another release beside our own: it has its name where ours has ours."""
    if place is None:
        return None
    if place.file is not None:
        folder, slash, file = place.file.rpartition("/")
        there = folder + slash + file.replace(name, other)
        return LedgerPlace(file=there) if name in file else None
    if place.table is None or name not in place.table.name:
        return None
    *path, table = place.table.parts
    return LedgerPlace(conn_id=place.conn_id, table=TableName((*path, table.replace(name, other))))
