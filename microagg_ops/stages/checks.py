"""The checks of a release: what each claims, and whether it holds on the bytes to be published.

========================  ========================================================================
name                      what must hold; when it is made
========================  ========================================================================
``k_anonymous``           k over all quasi-identifiers; with guarantee joint
``k_anonymous_<i>``       k within group i; with guarantee per_group
``l_diverse_<column>``    diversity of a sensitive column; for each of ``validate.l``
``t_close_<column>``      closeness of a sensitive column; for each of ``validate.t``
``linkage``               few rows can be linked; with ``validate.max_linkage``
``information_loss``      little is lost; with ``validate.max_information_loss``
``totals_<column>``       the total of a mean is kept; with ``validate.totals``
``schema``                columns, their order and types are those declared; always
``dominance``             few entities do not make up a mean; with ``validate.dominance.share``
``p_percent``             nor can they be estimated from it; with ``validate.dominance.p``
========================  ========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.limits import Diverse
from microagg_ops.release import Release
from microagg_ops.stages.evidence import Evidence

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

    from microagg_ops.expectations.batch import Outcome

NO_SOURCE = "the source rows are not there to compare with"


@dataclass(frozen=True, slots=True)
class Check:
    """One validated claim.

    A check that could not be made has an ``error`` and has not passed.
    """

    name: str
    claim: str
    threshold: float
    observed: float | None
    passed: bool
    details: dict[str, Any]
    error: str = ""

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        seen = "not observed" if self.observed is None else f"observed {self.observed:g}"
        if self.name == "schema" and self.details:
            seen = "; ".join(f"{what}: {', '.join(n)}" for what, n in self.details.items())
        return f"{verdict} {self.name}: {self.claim} ({self.error or seen})"


@dataclass(frozen=True)
class Claim:
    """A claim that Great Expectations judges; ``unit`` turns what it observes into a figure."""

    name: str
    claim: str
    threshold: float
    expectation: Expectation
    unit: float = 1.0

    def judged(self, outcome: Outcome, release: Release) -> Check:
        """Turn the outcome into a check; an error is a failure of its own kind."""
        figure = None if outcome.observed is None else outcome.observed * self.unit
        passed, error = outcome.passed and figure is not None, ""
        if outcome.failed_itself:
            error = "the check itself failed"
        elif outcome.details.get("null_rows"):
            rows, figure = outcome.details["null_rows"], None
            error = f"a quasi-identifier is NULL in {rows} rows, but nulls is {release.nulls}"
        elif figure is None:
            error = "a class has too few values"
        details = {} if error else outcome.details
        return Check(self.name, self.claim, self.threshold, figure, passed, details, error)


def find_checks(evidence: Evidence, site: Path | None = None) -> list[Check]:
    """Make the checks that the release asks for; write Data Docs of them where told to."""
    from microagg_ops.expectations.batch import Batch, evaluate

    claims, schema = list(find_claims(evidence)), as_declared(evidence)
    for one in (*claims, schema):
        one.expectation.description = one.claim
    asked = {one.name: one.expectation for one in claims}
    outcomes = evaluate(
        [
            Batch("rows", evidence.frame(), asked),
            Batch("columns", evidence.published(), {schema.name: schema.expectation}),
        ],
        evidence.release.release,
        site,
    )
    judged = [one.judged(outcomes[one.name], evidence.release) for one in [*claims, schema]]
    return [*judged, *compared(evidence), *dominance(evidence)]


def find_claims(evidence: Evidence) -> Iterator[Claim]:
    """List what the release claims of its rows and Great Expectations can judge."""
    release = evidence.release
    yield from anonymous(release, evidence.groups)
    yield from diverse(release)
    yield from close(release)
    if evidence.has_source:
        yield from linked(evidence)
        yield from totals(evidence)


def classes_of(release: Release, names: Sequence[str]) -> dict[str, Any]:
    """Say how expectations find classes: by the rule for NULL that the aggregator had."""
    return {
        "quasi": list(names),
        "strata": list(release.strata),
        "entity": release.columns.entity,
        "nulls": release.nulls,
    }


def where(release: Release) -> str:
    """Name the classes of a release."""
    within = f" within {', '.join(release.strata)}" if release.strata else ""
    return f"every class of all quasi-identifiers{within}"


def anonymous(release: Release, groups: Sequence[Sequence[str]]) -> Iterator[Claim]:
    """Claim k."""
    from microagg_ops.expectations import ExpectTableToBeKAnonymous

    k, counted = release.k, "entities" if release.columns.entity else "rows"
    if release.validate.guarantee == "joint":
        claim = f"{where(release)} has {k} {counted} or more"
        how = classes_of(release, release.quasi)
        yield Claim("k_anonymous", claim, k, ExpectTableToBeKAnonymous(k=k, **how))
        return
    for i, names in enumerate(groups, 1):
        claim = f"{where(release)} has {k} {counted} or more"
        claim = claim.replace("all quasi-identifiers", f"group {i}")
        how = classes_of(release, names)
        yield Claim(f"k_anonymous_{i}", claim, k, ExpectTableToBeKAnonymous(k=k, **how))


def diverse(release: Release) -> Iterator[Claim]:
    """Claim diversity of sensitive columns."""
    from microagg_ops.expectations import ExpectTableToBeLDiverse

    for name, how in release.validate.l.items():
        limit = how.l if how.c is None else how.c
        claim = f"in {where(release)} {name} {diversity(how)}"
        options = {"sensitive": name, "l": how.l, "kind": how.kind, "c": how.c}
        expectation = ExpectTableToBeLDiverse(**options, **classes_of(release, release.quasi))
        yield Claim(f"l_diverse_{name}", claim, limit, expectation)


def diversity(how: Diverse) -> str:
    """Say what a kind of diversity demands."""
    return {
        "distinct": f"has {how.l:g} different values or more",
        "entropy": f"has an entropy of log {how.l:g} or more",
        "recursive": f"has a most frequent value rarer than {how.c or 0:g} times all others from "
        f"number {how.l:g} on",
    }[how.kind]


def close(release: Release) -> Iterator[Claim]:
    """Claim closeness of sensitive columns."""
    from microagg_ops.expectations import ExpectTableToBeTClose

    for name, how in release.validate.t.items():
        claim = f"in {where(release)} {name} is at most {how.t:g} from its spread in the table"
        options = {"sensitive": name, "t": how.t, "ordered": how.ordered}
        expectation = ExpectTableToBeTClose(**options, **classes_of(release, release.quasi))
        yield Claim(f"t_close_{name}", claim, how.t, expectation)


def linked(evidence: Evidence) -> Iterator[Claim]:
    """Claim that few rows can be linked to their originals."""
    from microagg_ops.expectations import ExpectLinkageToBeAtMost

    limit = evidence.release.validate.max_linkage
    if limit is None:
        return
    claim = f"at most {100 * limit:g} % of the rows are linked to their originals by distance"
    expectation = ExpectLinkageToBeAtMost(columns=evidence.pairs, max_linkage=limit)
    yield Claim("linkage", claim, 100 * limit, expectation, unit=100.0)


def totals(evidence: Evidence) -> Iterator[Claim]:
    """Claim that the totals of columns published as means are kept."""
    from microagg_ops.expectations import ExpectColumnTotalToBePreserved

    limit = evidence.release.validate.totals
    if limit is None:
        return
    for name, (total, size) in evidence.totals.items():
        claim = f"the total of {name} differs by at most {limit:g} of itself"
        expectation = ExpectColumnTotalToBePreserved(
            column=evidence.coded[name], total=total, size=size, tolerance=limit,
            weight=evidence.weight,
        )  # fmt: skip
        yield Claim(f"totals_{name}", claim, limit, expectation)


def as_declared(evidence: Evidence) -> Claim:
    """Claim that the table has the columns that were declared."""
    from microagg_ops.expectations import ExpectTableSchemaToBeAsDeclared

    claim = "the columns, their order and their types are those declared"
    declared = evidence.declared
    types = {name: kind for name, kind in declared.items() if kind is not None}
    expectation = ExpectTableSchemaToBeAsDeclared(columns=list(declared), types=types)
    return Claim("schema", claim, 0, expectation)


def compared(evidence: Evidence) -> Iterator[Check]:
    """Check that little was lost, by the measure of the report: with weights and all types."""
    limits = evidence.release.validate
    if not evidence.has_source:
        for name, limit in (("linkage", limits.max_linkage), ("totals", limits.totals)):
            if limit is not None:
                yield Check(name, f"{name} is at most {limit:g}", limit, None, False, {}, NO_SOURCE)
    if limits.max_information_loss is None:
        return
    limit = 100 * limits.max_information_loss
    claim = f"information loss is at most {limit:g} %"
    if not evidence.has_source:
        yield Check("information_loss", claim, limit, None, False, {}, NO_SOURCE)
        return
    loss = evidence.information_loss
    yield Check("information_loss", claim, limit, loss, loss <= limit, {})


def dominance(evidence: Evidence) -> Iterator[Check]:
    """Check that no few entities make up a published mean, where the release sets a limit."""
    how = evidence.release.validate.dominance
    if how.share is None and how.p is None:
        return
    found = evidence.run.document("aggregate", "treatment")["dominance"]
    if how.share is not None:
        whom = "no entity makes" if how.n == 1 else f"no {how.n} entities make"
        claim = f"{whom} up more than {100 * how.share:g} % of a published mean"
        many = sum(entry["dominated"] for entry in found)
        yield Check("dominance", claim, 0, many, many == 0, {})
    if how.p is not None:
        claim = f"no entity can be estimated to within {how.p:g} % from a published mean"
        many = sum(entry["estimable"] for entry in found)
        yield Check("p_percent", claim, 0, many, many == 0, {})
