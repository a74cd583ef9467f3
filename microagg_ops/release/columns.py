"""What a release says of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

# What a cluster may publish of a column of each type; the first is what it publishes by default.
REPRESENTATIVES = {
    **dict.fromkeys(("number", "integer", "decimal", "date", "timestamp"), ("mean", "median")),
    "ordinal": ("median",),
    **dict.fromkeys(("nominal", "boolean"), ("mode",)),
}

# No entity has more than this share of the weight of a class, and besides the two heaviest there is
# this much in percent of the heaviest. Of two one outweighs the other nearly always, and besides
# them there is nobody.
DOMINANCE = (0.5, 10.0)
DOMINANCE_OF_TWO = (0.8, 0.0)


@dataclass(frozen=True, slots=True)
class Quasi:
    """How a quasi-identifier is read and written."""

    type: str
    order: tuple[str | int, ...] = ()
    weight: float = 1.0
    representative: str | None = None
    reason: str | None = None

    @property
    def statistic(self) -> str:
        """What stands for a cluster: mean, median or mode."""
        return self.representative or REPRESENTATIVES[self.type][0]

    @property
    def is_magnitude(self) -> bool:
        """Whether clusters publish a mean that values can be shares of."""
        return self.type in ("number", "integer", "decimal") and self.statistic == "mean"


@dataclass(frozen=True, slots=True)
class Columns:
    """What each column is."""

    quasi: Mapping[str, Quasi]
    identifiers: tuple[str, ...] = ()
    entity: str | None = None
    sensitive: tuple[str, ...] = ()
    weight: str | None = None
    may_leave: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dominance:
    """How much of what a class publishes may come from a few entities.

    The weights of entities are judged always; values where a limit is set or columns are named.
    """

    n: int = 1
    share: float | None = None
    p: float | None = None
    columns: tuple[str, ...] = ()

    def limits(self, k: int) -> tuple[float, float]:
        """Compute the share and the p that hold for weights: what is set, or the defaults."""
        share, p = DOMINANCE_OF_TWO if k == 2 else DOMINANCE
        return share if self.share is None else self.share, p if self.p is None else self.p

    def of_values(self, k: int) -> tuple[float | None, float | None]:
        """Compute the share and the p that hold for values, if any do."""
        if self.columns and self.share is None and self.p is None:
            return self.limits(k)
        return self.share, self.p


def column_faults(columns: Columns, dominance: Dominance) -> Iterator[tuple[str, str, str]]:
    """List what contradicts itself: pointer, what was found, what is allowed."""
    for name, how in columns.quasi.items():
        at = "/columns/quasi/" + name.replace("~", "~0").replace("/", "~1")
        allowed = REPRESENTATIVES[how.type]
        if how.statistic not in allowed:
            found = f"{how.statistic}, of a column declared {how.type}"
            yield f"{at}/representative", found, ", ".join(allowed)
        if (how.type == "ordinal") != bool(how.order):
            found = "nothing" if how.type == "ordinal" else f"a list, with type {how.type}"
            yield f"{at}/order", found, "with type ordinal: its categories, lowest first"
    if dominance.n > 1 and dominance.share is None:
        yield "/validate/dominance/share", "nothing, with n above 1", "the share that n may have"
    for name in dominance.columns:
        if name not in columns.quasi or not columns.quasi[name].is_magnitude:
            allowed_here = "a number, integer or decimal of columns.quasi published as its mean"
            yield "/validate/dominance/columns", f"{name!r}", allowed_here
