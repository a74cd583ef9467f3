"""What a release says of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# What a cluster may publish of a column of each type; the first is what it publishes by default.
REPRESENTATIVES = {
    **dict.fromkeys(("number", "integer", "decimal", "date", "timestamp"), ("mean", "median")),
    "ordinal": ("median",),
    **dict.fromkeys(("nominal", "boolean"), ("mode",)),
}


@dataclass(frozen=True, slots=True)
class Quasi:
    """How a quasi-identifier is read and written."""

    type: str
    order: tuple[str | int, ...] = ()
    weight: float = 1.0
    representative: str | None = None
    reason: str | None = None

    @property
    def published(self) -> str:
        """What stands for a cluster: mean, median or mode."""
        return self.representative or REPRESENTATIVES[self.type][0]

    @property
    def is_magnitude(self) -> bool:
        """Whether clusters publish a mean that values can be shares of."""
        return self.type in ("number", "integer", "decimal") and self.published == "mean"


@dataclass(frozen=True, slots=True)
class Columns:
    """What each column is."""

    quasi: Mapping[str, Quasi]
    identifiers: tuple[str, ...] = ()
    entity: str | None = None
    sensitive: tuple[str, ...] = ()
    weight: str | None = None


@dataclass(frozen=True, slots=True)
class Dominance:
    """How much of a published mean a few entities may make up."""

    n: int = 1
    share: float | None = None
    p: float | None = None
    columns: tuple[str, ...] = ()


def column_faults(columns: Columns, dominance: Dominance) -> Iterator[tuple[str, str, str]]:
    """List what contradicts itself: pointer, what was found, what is allowed."""
    for name, how in columns.quasi.items():
        at = "/columns/quasi/" + name.replace("~", "~0").replace("/", "~1")
        allowed = REPRESENTATIVES[how.type]
        if how.published not in allowed:
            found = f"{how.published}, of a column declared {how.type}"
            yield f"{at}/representative", found, ", ".join(allowed)
        if (how.type == "ordinal") != bool(how.order):
            found = "nothing" if how.type == "ordinal" else f"a list, with type {how.type}"
            yield f"{at}/order", found, "with type ordinal: its categories, lowest first"
    for name in dominance.columns:
        if name not in columns.quasi or not columns.quasi[name].is_magnitude:
            allowed_here = "a number, integer or decimal of columns.quasi published as its mean"
            yield "/validate/dominance/columns", f"{name!r}", allowed_here
