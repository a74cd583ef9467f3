"""Risk: the chance of who knows that a target is in the table to find it."""

from __future__ import annotations

from collections.abc import Iterator

from microagg_ops.checks.check import Check, Finding
from microagg_ops.checks.evidence import Evidence, Groups, Published
from microagg_ops.release.model import Release
from microagg_ops.release.profiles import least_k

WORDS = {"max_risk": "is found", "average_risk": "is found on average"}


class Risk(Check):
    """Nobody is found with a higher chance, nor on average."""

    titles = {
        "max_risk": "Highest risk of being found",
        "average_risk": "Average risk of being found",
    }
    units = {"max_risk": "percent", "average_risk": "percent"}
    key = "`max_risk`, `average_risk`"
    shown = "`max_risk`, `average_risk`"
    about = "the highest and the mean chance of an entity to be found"

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """Ask for the chances that have a limit."""
        yield from (n for n in self.titles if getattr(release.validate, n) is not None)

    def findings(self, evidence: Evidence) -> Iterator[Finding]:
        """Compare the chances with their limits."""
        release, table = evidence.release, evidence.with_entities
        whom = "an entity" if release.columns.entity else "a row"
        for name, limit, seen in risks(Published(release, table, evidence.groups)):
            claim = f"{whom} {WORDS[name]} with a chance of at most {100 * limit:.4g} %"
            passed = table.num_rows > 0 and seen <= limit
            yield Finding(name, claim, 100 * limit, 100 * seen, passed, {})

    def recount(self, published: Published) -> Iterator[str]:
        """Tell of chances that are higher than allowed."""
        for name, limit, seen in risks(published):
            if seen > limit:
                yield f"{name} is {seen:.4g}, and {limit:.4g} was allowed"

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Name the k that keeps the limit, and say who may loosen it."""
        enough = least_k(getattr(release.validate, name))
        now = f"{release.aggregate.k}, in {len(groups)} group{'s' * (len(groups) > 1)} of columns"
        loosen = (
            f"Profile {release.profile} sets this limit; the release may only lower it."
            if release.profile
            else f"If the risk was judged acceptable, raise validate.{name}."
        )
        return f"validate.{name}", (
            f"An aggregate.k of {enough} (now {now}) keeps this limit where all quasi-identifiers "
            f"are in one group (group: {{method: single}}). {loosen}"
        )


def risks(published: Published) -> Iterator[tuple[str, float, float]]:
    """Measure the risks that have a limit: its key, the limit, and what was found.

    They are those of who knows that a target is in the table: no attacker knows more.
    """
    from microagg_ops.metrics import attackers

    limits = published.release.validate
    if limits.max_risk is None and limits.average_risk is None:
        return
    found = attackers(published.table, published.classes, published.release.columns.entity)
    if limits.max_risk is not None:
        yield "max_risk", limits.max_risk, found.prosecutor
    if limits.average_risk is not None:
        yield "average_risk", limits.average_risk, found.prosecutor_average
