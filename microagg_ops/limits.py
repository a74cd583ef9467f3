"""What a release demands of the rows to be published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from microagg_ops.roles import Columns, Dominance


@dataclass(frozen=True, slots=True)
class Diverse:
    """How diverse a sensitive column must be in every class."""

    l: float  # noqa: E741
    kind: str = "distinct"
    c: float | None = None


@dataclass(frozen=True, slots=True)
class Close:
    """How far the values of a class may be from those of the table."""

    t: float
    ordered: bool | None = None


@dataclass(frozen=True, slots=True)
class Validate:
    """What must hold on the rows to be published."""

    guarantee: str = "joint"
    k: int | None = None
    l: Mapping[str, Diverse] = field(default_factory=dict)  # noqa: E741
    t: Mapping[str, Close] = field(default_factory=dict)
    max_linkage: float | None = None
    max_information_loss: float | None = None
    totals: float | None = None
    dominance: Dominance = field(default_factory=Dominance)


def build_validate(section: Mapping[str, Any]) -> Validate:
    """Make the dataclass from a section that has no fault of shape."""
    given = dict(section)
    dominance = dict(given.get("dominance", {}))
    dominance["columns"] = tuple(dominance.get("columns", ()))
    given["dominance"] = Dominance(**dominance)
    for key, make in (("l", Diverse), ("t", Close)):
        found = given.get(key, {}).items()
        given[key] = {n: make(**how) if isinstance(how, Mapping) else make(how) for n, how in found}
    return Validate(**given)


def limit_faults(validate: Validate, columns: Columns) -> Iterator[tuple[str, str, str]]:
    """List what contradicts itself: pointer, what was found, what is allowed."""
    for key, named in (("l", validate.l), ("t", validate.t)):
        for name in named:
            if name not in columns.sensitive:
                yield at(key, name), f"{name!r}", "a column of columns.sensitive"
    for name, how in validate.l.items():
        if (how.kind == "recursive") != (how.c is not None):
            found = "nothing" if how.c is None else f"{how.c:g}, with kind {how.kind}"
            yield f"{at('l', name)}/c", found, "a number above 0, with kind recursive"
        if how.kind != "entropy" and how.l != int(how.l):
            yield f"{at('l', name)}/l", f"{how.l:g}, with kind {how.kind}", "a whole number"


def at(key: str, name: str) -> str:
    """Point to what is said of a column."""
    return f"/validate/{key}/" + name.replace("~", "~0").replace("/", "~1")
