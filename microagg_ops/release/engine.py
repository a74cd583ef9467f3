"""What carries a release out: one machine, or Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LOCAL, SPARK = "local", "spark"


@dataclass(frozen=True, slots=True)
class EngineAsked:
    """The engine that a release asks for.

    Parameters
    ----------
    name
        ``local`` or ``spark``.
    conn_id
        The connection to a cluster; without one Spark runs on this machine.
    block_rows
        About how many rows are partitioned together.
    """

    name: str = LOCAL
    conn_id: str | None = None
    block_rows: int = 250_000

    @property
    def is_spark(self) -> bool:
        """Whether Spark is asked for."""
        return self.name == SPARK


def build_engine(given: str | Mapping[str, Any]) -> EngineAsked:
    """Read ``engine``: a name, or a mapping with options."""
    return EngineAsked(given) if isinstance(given, str) else EngineAsked(**given)
