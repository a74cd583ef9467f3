"""What a release demands of the rows to be published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from inspect import Parameter
from typing import Any

from microagg_ops.plugins import plugins
from microagg_ops.release.columns import Columns, Dominance


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
class Attacks:
    """How much each attack may find out, as a share; nothing where it is not asked for."""

    linkage: float | None = None
    singling_out: float | None = None
    linkability: float | None = None
    inference: float | None = None
    homogeneity: float | None = None

    @property
    def asked(self) -> dict[str, float]:
        """The limits that were set."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: limit for name, limit in found.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Validate:
    """What must hold on the rows to be published."""

    guarantee: str = "joint"
    k: int | None = None
    k_of: tuple[tuple[str, ...], ...] = ()
    l: Mapping[str, Diverse] = field(default_factory=dict)  # noqa: E741
    t: Mapping[str, Close] = field(default_factory=dict)
    max_linkage: float | None = None
    max_information_loss: float | None = None
    totals: float | None = None
    max_risk: float | None = None
    average_risk: float | None = None
    dominance: Dominance = field(default_factory=Dominance)
    attacks: Attacks = field(default_factory=Attacks)
    checks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def build_validate(section: Mapping[str, Any]) -> Validate:
    """Make the dataclass from a section that has no fault of shape."""
    given = dict(section)
    dominance = dict(given.get("dominance", {}))
    dominance["columns"] = tuple(dominance.get("columns", ()))
    given["dominance"] = Dominance(**dominance)
    given["k_of"] = tuple(tuple(names) for names in given.get("k_of", ()))
    given["attacks"] = Attacks(**given.get("attacks", {}))
    for key, make in (("l", Diverse), ("t", Close)):
        found = given.get(key, {}).items()
        given[key] = {n: make(**how) if isinstance(how, Mapping) else make(how) for n, how in found}
    return Validate(**given)


def limit_faults(validate: Validate, columns: Columns) -> Iterator[tuple[str, str, str]]:
    """List what contradicts itself: pointer, what was found, what is allowed."""
    for i, names in enumerate(validate.k_of):
        for name in sorted(set(names) - set(columns.quasi)):
            yield f"/validate/k_of/{i}", f"{name!r}", "a quasi-identifier of columns.quasi"
    yield from diversity_faults(validate, columns)
    yield from attack_faults(validate, columns)
    yield from added_faults(validate.checks)


def diversity_faults(validate: Validate, columns: Columns) -> Iterator[tuple[str, str, str]]:
    """List what contradicts itself in l and t."""
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


def attack_faults(validate: Validate, columns: Columns) -> Iterator[tuple[str, str, str]]:
    """List attacks that have nothing to find out."""
    for name in ("inference", "homogeneity"):
        if name in validate.attacks.asked and not columns.sensitive:
            found = f"{validate.attacks.asked[name]:g}"
            yield f"/validate/attacks/{name}", found, "nothing without columns.sensitive"
    if validate.attacks.linkability is not None and len(columns.quasi) < 2:
        found = f"{validate.attacks.linkability:g}"
        yield "/validate/attacks/linkability", found, "nothing with one quasi-identifier alone"


def added_faults(checks: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """List the parameters that checks of other packages do not take, and those that they lack."""
    for name, given in checks.items():
        try:
            params = plugins("checks")[name].load().params
        except Exception as error:  # noqa: BLE001 - it is somebody else's code
            found = f"a check that cannot be loaded ({type(error).__name__})"
            yield at("checks", name), found, "an entry point that leads to an AddedCheck"
            continue
        allowed = ", ".join(params) or "no parameter"
        for param in sorted(set(given) - set(params)):
            yield f"{at('checks', name)}/{param}", "an unknown parameter", allowed
        for param, default in params.items():
            if default is Parameter.empty and param not in given:
                yield f"{at('checks', name)}/{param}", "nothing", "a value, since it has no default"


def at(key: str, name: str) -> str:
    """Point to what is said of a column."""
    return f"/validate/{key}/" + name.replace("~", "~0").replace("/", "~1")
