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
class Series:
    """What is demanded of all tables of a release together."""

    protect: str = NONE
    ledger: LedgerPlace | None = None
    leavers: str = "hold"
    hold: int | None = None
    patience: int = 7
    near: float = 2.0
    epoch: str | None = None

    @property
    def is_kept(self) -> bool:
        """Whether there is a ledger."""
        return self.protect != NONE

    @property
    def held_for(self) -> int | None:
        """For how many publications a leaver is held; ``None`` until k leave."""
        return 0 if self.leavers == "retire" and self.hold is None else self.hold


def build_series(section: Mapping[str, Any]) -> Series:
    """Make the dataclass from a section that has no fault of shape."""
    given = dict(section)
    if "ledger" in given:
        place = dict(given["ledger"])
        if "table" in place:
            place["table"] = TableName.parse(place["table"])
        given["ledger"] = LedgerPlace(**place)
    return Series(**given)
