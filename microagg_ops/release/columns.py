"""What a release says of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from microagg_ops.release.hierarchy import hierarchy_faults

# What a cluster may publish of a column of each type; the first is what it publishes by default.
REPRESENTATIVES = {
    **dict.fromkeys(
        ("number", "integer", "decimal", "date", "timestamp"), ("mean", "median", "medoid")
    ),
    "ordinal": ("median", "medoid"),
    **dict.fromkeys(("nominal", "boolean"), ("mode", "medoid")),
}
# Types that have a least and a largest value to code.
CODED = ("number", "integer", "decimal", "date", "timestamp")

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
    cast: bool | str = False
    bottom: float | str | None = None
    top: float | str | None = None
    round: float | None = None
    hierarchy: str | Mapping[str, Any] | None = None
    level: int | str | None = None

    @property
    def statistic(self) -> str:
        """What stands for a cluster: mean, median, mode, medoid or ancestor."""
        default = "ancestor" if self.hierarchy is not None else REPRESENTATIVES[self.type][0]
        return self.representative or default

    @property
    def is_coded(self) -> bool:
        """Whether values are rounded, or brought to a bottom or a top."""
        return any(limit is not None for limit in (self.bottom, self.top, self.round))

    @property
    def is_recast(self) -> bool:
        """Whether the column may be published in another type than the source has."""
        return bool(self.cast) or self.hierarchy is not None

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
        allowed = REPRESENTATIVES[how.type] + ("ancestor",) * (how.hierarchy is not None)
        if how.statistic not in allowed:
            found = f"{how.statistic}, of a column declared {how.type}"
            yield f"{at}/representative", found, ", ".join(allowed)
        if (how.type == "ordinal") != bool(how.order):
            found = "nothing" if how.type == "ordinal" else f"a list, with type {how.type}"
            yield f"{at}/order", found, "with type ordinal: its categories, lowest first"
        for pointer, found, wanted in recoding_faults(how):
            yield at + pointer, found, wanted
    if dominance.n > 1 and dominance.share is None:
        yield "/validate/dominance/share", "nothing, with n above 1", "the share that n may have"
    for name in dominance.columns:
        if name not in columns.quasi or not columns.quasi[name].is_magnitude:
            allowed_here = "a number, integer or decimal of columns.quasi published as its mean"
            yield "/validate/dominance/columns", f"{name!r}", allowed_here


def recoding_faults(how: Quasi) -> Iterator[tuple[str, str, str]]:
    """List what contradicts itself in how a column is recoded."""
    limits = {"bottom": how.bottom, "top": how.top, "round": how.round}
    for key, limit in limits.items():
        if limit is not None and not fits(how.type, key, limit):
            yield f"/{key}", f"{limit!r}, with type {how.type}", BOUNDS.get(how.type, "nothing")
            return
    if how.bottom is not None and how.top is not None and how.bottom >= how.top:  # type: ignore[operator]
        yield "/top", f"{how.top}", f"more than the bottom, {how.bottom}"
    if isinstance(how.cast, str) and how.type not in ("date", "timestamp"):
        yield "/cast", f"a form of dates, with type {how.type}", "true or false"
    if how.hierarchy is None:
        if how.level is not None:
            yield "/level", f"{how.level}, without a hierarchy", "nothing"
    elif how.type != "nominal":
        yield "/hierarchy", f"a hierarchy, with type {how.type}", "type nominal"
    else:
        yield from hierarchy_faults(how.hierarchy, how.level)


BOUNDS = {
    "number": "a number",
    "integer": "a whole number",
    "decimal": "a number",
    "date": "a day, as '2020-12-31', to be bottom or top",
    "timestamp": "a moment, as '2020-12-31T23:59', to be bottom or top",
}


def fits(declared: str, key: str, limit: float | str) -> bool:
    """Whether a column of a type can be brought to a limit."""
    if declared not in CODED:
        return False
    if declared in ("date", "timestamp"):
        read = date.fromisoformat if declared == "date" else datetime.fromisoformat
        try:
            return key != "round" and isinstance(limit, str) and bool(read(limit))
        except ValueError:
            return False
    return not isinstance(limit, str) and (declared != "integer" or limit == int(limit))
