"""What a check is, what it claims of a release, and what it found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from microagg_ops.release.model import Release

if TYPE_CHECKING:
    from microagg_ops.checks.evidence import Evidence, Groups, Published
    from microagg_ops.expectations.batch import Outcome
    from microagg_ops.expectations.measure import MeasuredExpectation

NO_SOURCE = "the source rows are not there to compare with"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found of one claim.

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
    """A claim that Great Expectations judges.

    Parameters
    ----------
    name, claim, threshold
        As of its `Finding`.
    expectation
        What is expected.
    beside
        Whether it is expected of the rows with what checks need beside them; else of the bytes to
        be published and nothing else.
    """

    name: str
    claim: str
    threshold: float
    expectation: MeasuredExpectation
    beside: bool = True

    def judged(self, outcome: Outcome, release: Release) -> Finding:
        """Turn the outcome into a finding; an error is a failure of its own kind."""
        figure = None if outcome.observed is None else float(outcome.observed)
        passed, error = outcome.passed, ""
        if outcome.failed_itself:
            error = "the check itself failed"
        elif outcome.details.get("null_rows"):
            rows, figure = outcome.details["null_rows"], None
            error = f"a quasi-identifier is NULL in {rows} rows, but nulls is {release.nulls}"
        elif figure is None:
            error = "a class has too few values"
        passed, details = passed and not error, {} if error else outcome.details
        return Finding(self.name, self.claim, self.threshold, figure, passed, details, error)


class Check(ABC):
    """A demand on the rows to be published; a subclass says all there is to say of it.

    Attributes
    ----------
    titles
        The names of its findings, each with a title for people. A finding of a column, a group or
        an attack has that behind the name: ``totals_income``.
    key
        What asks for it under ``validate``, as the documentation has it.
    shown
        The names of its findings, as the documentation has them.
    about
        What must hold.
    units
        What the figures of its findings are, by name: ``percent``, or words around the figure.
    """

    titles: ClassVar[Mapping[str, str]]
    units: ClassVar[Mapping[str, str]] = MappingProxyType({})
    key: ClassVar[str]
    shown: ClassVar[str]
    about: ClassVar[str]

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """List the findings that must be there whatever the rows are: no verdict does without."""
        return iter(())

    def claims(self, evidence: Evidence) -> Iterator[Claim]:
        """List what Great Expectations judges, where the release asks for it."""
        return iter(())

    def findings(self, evidence: Evidence) -> Iterator[Finding]:
        """Judge what the measures of the report can tell, where the release asks for it."""
        return iter(())

    def recount(self, published: Published) -> Iterator[str]:
        """Tell in counts what does not hold on the very bytes, when publish counts again."""
        return iter(())

    @abstractmethod
    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Find the key that a failure is about, and what may be changed.

        Parameters
        ----------
        name, rest
            Which of `titles` failed, and what follows it: a column, a group or an attack.
        release, groups
            What was asked for, and the columns that were aggregated together.
        """

    @property
    def is_recounted(self) -> bool:
        """Whether publish counts it again."""
        return type(self).recount is not Check.recount

    def split(self, finding: str) -> tuple[str, str] | None:
        """Split the name of a finding, if it is one of its own: one of `titles`, and the rest."""
        for name in self.titles:
            if finding == name or finding.startswith(f"{name}_"):
                return name, finding.removeprefix(name)[1:]
        return None

    def title(self, name: str, rest: str) -> str:
        """Name a finding for people."""
        if not rest:
            return self.titles[name]
        of = f", group {rest}" if rest.isdigit() else f" of {rest}"
        return self.titles[name] + of


def where(release: Release, quasi: str = "all quasi-identifiers") -> str:
    """Name the classes of a release."""
    within = f" within {', '.join(release.strata)}" if release.strata else ""
    return f"every class of {quasi}{within}"


def by_entities(release: Release) -> str:
    """Say of whom a claim on classes is, where it is not of rows."""
    return ", counted by entities" if release.columns.entity else ""


def classes_of(release: Release, names: Sequence[str]) -> dict[str, Any]:
    """Say how expectations find classes: by the rule for NULL that the aggregator had."""
    return {
        "quasi": list(names),
        "strata": list(release.strata),
        "entity": release.columns.entity,
        "nulls": release.nulls,
    }


def without_source(name: str, limit: float | None) -> Iterator[Finding]:
    """Fail what is limited but cannot be compared with anything."""
    if limit is not None:
        yield Finding(name, f"{name} is at most {limit:g}", limit, None, False, {}, NO_SOURCE)


def larger(release: Release, key: str, limit: str) -> tuple[str, str]:
    """Advise larger clusters."""
    return key, (
        f"Raise aggregate.k (now {release.aggregate.k}), or name fewer or coarser columns. If the "
        f"risk was judged acceptable, {limit} {key}."
    )


def unmet(release: Release, groups: Groups, key: str, limit: str) -> tuple[str, str]:
    """Advise what lets clusters meet a limit on a sensitive column."""
    if not release.aggregate.aware:
        better = "Let clusters be built to meet it (aggregate: {aware: true})"
    elif len(groups) > 1:
        better = (
            "Each group meets it, but not all jointly: put all quasi-identifiers into one group "
            "(group: {method: single})"
        )
    else:
        better = (
            "Clusters are built to meet it: run the release again from the start, or name fewer or "
            "coarser strata"
        )
    return key, f"{better}. If the risk was judged acceptable, {limit} {key}."
