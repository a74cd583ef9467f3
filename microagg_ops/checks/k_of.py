"""k of chosen combinations: what an attacker may know of people, short of everything."""

from __future__ import annotations

from collections.abc import Iterator

from microagg_ops.checks.check import Check, Claim, classes_of, larger, where
from microagg_ops.checks.evidence import Evidence, Groups, Published
from microagg_ops.release.model import Release


class KOf(Check):
    """Each combination of columns that was chosen has k entities or more."""

    titles = {"k_of": "k of chosen columns"}
    units = {"k_of": "{} entities"}
    key = "`k_of: [[age, sex], [postcode]]`"
    shown = "`k_of_<i>`"
    about = (
        "k entities in every class of the quasi-identifiers of list i alone, whichever groups they "
        "are in: what k within each group does not promise"
    )

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """Ask for each list."""
        yield from (f"k_of_{i}" for i, _ in enumerate(release.validate.k_of, 1))

    def claims(self, evidence: Evidence) -> Iterator[Claim]:
        """Claim k over the columns of each list."""
        from microagg_ops.expectations import ExpectTableToBeKAnonymous

        release = evidence.release
        counted = "entities" if release.columns.entity else "rows"
        for i, names in enumerate(release.validate.k_of, 1):
            expectation = ExpectTableToBeKAnonymous(k=release.k, **classes_of(release, names))
            over = where(release, ", ".join(names))
            claim = f"{over} has {release.k} {counted} or more"
            yield Claim(f"k_of_{i}", claim, release.k, expectation)

    def recount(self, published: Published) -> Iterator[str]:
        """Tell of combinations below k."""
        from microagg_ops.metrics import k_by_group

        release = published.release
        lists, entity = release.validate.k_of, release.columns.entity
        found = k_by_group(published.table, lists, release.strata, entity)
        for names, k in zip(lists, found, strict=True):
            if k < release.k:
                yield f"over {', '.join(names)} k is {k}, and {release.k} was asked for"

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Tell columns of several groups from classes that should not be there."""
        lists = release.validate.k_of
        names = set(lists[int(rest) - 1]) if rest.isdigit() and int(rest) <= len(lists) else set()
        if sum(bool(names & set(group)) for group in groups) > 1:
            return "validate.k_of", (
                "These columns were aggregated in several groups, and rows that share a cluster of "
                "one rarely share that of the other. Put them into one group (group: {method: "
                "fixed}), or all quasi-identifiers (group: {method: single})."
            )
        return larger(release, "validate.k_of", "take the list out of")

    def title(self, name: str, rest: str) -> str:
        """Name a list by its number: its columns are in the claim."""
        return f"{self.titles[name]}, list {rest}" if rest else self.titles[name]
