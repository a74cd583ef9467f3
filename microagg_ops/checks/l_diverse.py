"""l: a sensitive column has different values in every class."""

from __future__ import annotations

import math
from collections.abc import Iterator

from microagg_ops.checks.check import Check, Claim, by_entities, classes_of, unmet, where
from microagg_ops.checks.evidence import Evidence, Groups, Published
from microagg_ops.release.model import Release
from microagg_ops.release.validate import Diverse


class LDiverse(Check):
    """Sensitive columns are diverse in every class."""

    titles = {"l_diverse": "l-diversity"}
    units = {"l_diverse": "{} values"}
    key = "`l: {column: 2}`"
    shown = "`l_diverse_<column>`"
    about = (
        "at least l values of a sensitive column in every class, and l people who can be given one "
        "each; `{kind: entropy, l: 2.5}` or `{kind: recursive, l: 3, c: 2}`"
    )

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """Ask for it in each column that has a limit."""
        yield from (f"l_diverse_{name}" for name in release.validate.l)

    def claims(self, evidence: Evidence) -> Iterator[Claim]:
        """Claim diversity of each column that has a limit."""
        from microagg_ops.expectations import ExpectTableToBeLDiverse

        release = evidence.release
        for name, how in release.validate.l.items():
            limit = how.l if how.c is None else how.c
            claim = f"in {where(release)} {name} {demanded(how)}{by_entities(release)}"
            options = {"sensitive": name, "l": how.l, "kind": how.kind, "c": how.c}
            expectation = ExpectTableToBeLDiverse(**options, **classes_of(release, release.quasi))
            yield Claim(f"l_diverse_{name}", claim, limit, expectation)

    def recount(self, published: Published) -> Iterator[str]:
        """Tell of sensitive columns that are less diverse than demanded."""
        from microagg_ops.metrics import diversity
        from microagg_ops.metrics.anonymity import is_diverse

        table, entity = published.table, published.release.columns.entity
        for name, how in published.release.validate.l.items():
            found = diversity(table, published.classes, name, entity, l=math.ceil(how.l))
            if not is_diverse(getattr(found, how.kind), how.kind, how.l, how.c):
                yield f"a class has too few values of {name}"

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Advise clusters that are built to meet it."""
        return unmet(release, groups, f"validate.l.{rest}", "lower")


def demanded(how: Diverse) -> str:
    """Say what a kind of diversity demands."""
    return {
        "distinct": f"has {how.l:g} different values or more",
        "entropy": f"has an entropy of log {how.l:g} or more",
        "recursive": f"has a most frequent value rarer than {how.c or 0:g} times all others from "
        f"number {how.l:g} on",
    }[how.kind]
