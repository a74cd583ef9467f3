"""k: every class has k entities or more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from microagg_ops.checks.check import Check, Claim, classes_of, where
from microagg_ops.checks.evidence import Evidence, Groups, Published
from microagg_ops.release.model import Release


class KAnonymous(Check):
    """Every class has k entities or more, jointly or in each group."""

    titles = {"k_anonymous": "k-anonymity"}
    units = {"k_anonymous": "{} entities"}
    key = "`guarantee`, `k`"
    shown = "`k_anonymous`, `k_anonymous_<i>`"
    about = "k entities in every class: jointly, or in group i"

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """Ask for k jointly, or in each group."""
        joint = release.validate.guarantee == "joint"
        numbers = range(1, len(groups) + 1)
        yield from ["k_anonymous"] if joint else (f"k_anonymous_{i}" for i in numbers)

    def claims(self, evidence: Evidence) -> Iterator[Claim]:
        """Claim k over all quasi-identifiers, or by group where that is the guarantee."""
        from microagg_ops.expectations import ExpectTableToBeKAnonymous

        release = evidence.release
        k, counted = release.k, "entities" if release.columns.entity else "rows"
        joint = release.validate.guarantee == "joint"
        for i, names in enumerate([release.quasi] if joint else evidence.groups, 1):
            over = where(release) if joint else where(release, f"group {i}")
            expectation = ExpectTableToBeKAnonymous(k=k, **classes_of(release, names))
            name = "k_anonymous" if joint else f"k_anonymous_{i}"
            yield Claim(name, f"{over} has {k} {counted} or more", k, expectation)

    def recount(self, published: Published) -> Iterator[str]:
        """Tell of NULLs where the release allows none, and of classes below k."""
        yield from nulls(published)
        yield from small(published)

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Tell groups that do not hold jointly from classes that should not be there."""
        key = "validate.k" if release.validate.k else "aggregate.k"
        if len(groups) > 1 and release.validate.guarantee == "joint":
            return "validate.guarantee", (
                "Several groups keep k within each group, not jointly. Put all quasi-identifiers "
                "into one group (group: {method: single}), or ask for validate.guarantee: "
                "per_group if k within each group is enough."
            )
        return key, (
            "The table has classes that are too small although clusters are not: check nulls, "
            "strata and columns.quasi, and run the release again from the start."
        )


def nulls(published: Published) -> Iterator[str]:
    """Tell of NULLs where the release allows none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    release = published.release
    if release.nulls == "own_class":
        return
    for name in release.quasi:
        column = published.table[name]
        missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
        if rows := pc.sum(missing).as_py():
            yield f"{name} is NULL in {rows} rows, but nulls is {release.nulls}"


def small(published: Published) -> Iterator[str]:
    """Tell of classes below k: over all quasi-identifiers, or by group where that is demanded."""
    from microagg_ops.metrics import k_anonymity, k_by_group

    release, table, groups = published.release, published.table, published.groups
    entity = release.columns.entity
    counted: Mapping[str, int]
    if release.validate.guarantee == "joint":
        counted = {"all quasi-identifiers": k_anonymity(table, published.classes, entity)}
    elif sorted(name for names in groups for name in names) != sorted(release.quasi):
        yield "the groups do not hold each quasi-identifier once"
        return
    else:
        each = k_by_group(table, groups, release.strata, entity)
        counted = {f"group {i}": k for i, k in enumerate(each, 1)}
    for over, k in counted.items():
        if k < release.k:
            yield f"over {over} k is {k}, and {release.k} was asked for"
