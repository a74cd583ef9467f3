"""Checks that other packages add, by entry points of the group ``microagg_ops.checks``.

Such a check is a stranger to the release that it judges. So it is asked which things break its
rule, and only how many they are is told; its words are those of its declaration, with parameters of
the release file; whatever goes wrong in it, it has failed; and what it does to what it is given
reaches no other check.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from microagg_ops.checks.check import NO_SOURCE, Check, Finding
from microagg_ops.checks.evidence import Evidence, Groups, Published
from microagg_ops.plugins import plugins
from microagg_ops.release.model import Release

# Names of findings are this and the name of the entry point: no check here has such a name.
PREFIX = "check"

log = logging.getLogger("microagg_ops")


@dataclass(frozen=True)
class AddedCheck:
    """What an entry point leads to: a check of another package.

    Parameters
    ----------
    name
        The name of the entry point: ``validate: {checks: {name: {parameter: value}}}`` asks for it.
    about
        What it is for, in a line.
    claim
        What must hold, with parameters in braces: ``at most {most} rows are old``.
    advice
        What to change where it does not.
    where
        ``module:function``, imported when it is first used: ``f(rows, **params) -> broken``, an
        array of truth values, one for each thing that could break the rule; none may. ``rows`` are
        `Published`, and publish asks again.
    needs_source
        Whether ``rows`` are to be `Evidence` instead, with the source beside what is published.
        Publish has no source, and does not ask again.
    """

    name: str
    about: str
    claim: str
    advice: str
    where: str = field(repr=False)
    needs_source: bool = False

    def load(self) -> Callable[..., Any]:
        """Import the function."""
        module, _, function = self.where.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), function)
        return found

    @cached_property
    def params(self) -> Mapping[str, Any]:
        """Its parameters and their defaults; `inspect.Parameter.empty` where there is none."""
        import inspect

        _, *found = inspect.signature(self.load()).parameters.values()
        return {one.name: one.default for one in found}

    def stated(self, params: Mapping[str, Any]) -> str:
        """State the claim with the parameters of a release."""
        return self.claim.format(**{**self.params, **params})

    def broken(self, rows: Published | Evidence, params: Mapping[str, Any]) -> int:
        """Count what breaks the rule; an answer of another kind, or about nothing, is none."""
        import numpy as np

        found = np.asarray(self.load()(rows, **params))
        if found.dtype != bool or found.ndim != 1 or not len(found):
            raise TypeError("A check answers with an array of truth values.")
        return int(found.sum())


class Added(Check):
    """The checks of other packages that the release asks for."""

    titles = {PREFIX: "Check"}
    key = "`checks: {name: {…}}`"
    shown = "`check_<name>`"
    about = "what [a check of another package](howto/add-a-check.md) claims"

    def asked(self, release: Release, groups: Groups) -> Iterator[str]:
        """Ask for each that is named."""
        yield from (f"{PREFIX}_{name}" for name in release.validate.checks)

    def findings(self, evidence: Evidence) -> Iterator[Finding]:
        """Judge each on the bytes, or on evidence of its own."""

        def rows_for(check: AddedCheck, release: Release) -> Any:
            if not check.needs_source:
                return Published(release, evidence.with_entities, deepcopy(evidence.groups))
            own: Any = evidence
            return replace(own, run=replace(own.run, release=release)) if own.has_source else None

        for name in evidence.release.validate.checks:
            yield judged(name, evidence.release, rows_for)

    def recount(self, published: Published) -> Iterator[str]:
        """Tell of those that need no source and do not hold."""

        def rows_for(check: AddedCheck, release: Release) -> Any:
            if check.needs_source:
                return None
            return Published(release, published.table, deepcopy(published.groups))

        for name in published.release.validate.checks:
            found = judged(name, published.release, rows_for)
            if not found.passed and found.error != NO_SOURCE:
                yield f"it does not hold that {found.claim}"

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Say what the package says."""
        try:
            text = added(rest).advice
        except Exception:  # noqa: BLE001 - it is somebody else's
            text = "Install the package that adds this check, and run the release again."
        return f"validate.checks.{rest}", text

    def title(self, name: str, rest: str) -> str:
        """Name it as its package does."""
        words = rest.replace("_", " ")
        return words[:1].upper() + words[1:]


def added(name: str) -> AddedCheck:
    """Load the check of an entry point."""
    found = plugins("checks")[name].load()
    if not isinstance(found, AddedCheck) or found.name != name:
        raise TypeError("An entry point leads to an AddedCheck of its own name.")
    return found


def judged(name: str, asked: Release, rows_for: Callable[[AddedCheck, Release], Any]) -> Finding:
    """Ask a check what breaks its rule in the rows that it is shown, if there are any."""
    release = deepcopy(asked)  # what the check does to it stays there
    params = release.validate.checks[name]
    claim, many, error = f"the check {name} passes", None, ""
    try:
        check = added(name)
        claim = check.stated(params)
        rows = rows_for(check, release)
        if rows is None:
            error = NO_SOURCE
        else:
            many = check.broken(rows, params)
    except Exception as fault:  # noqa: BLE001 - whatever it is, it fails the check
        error = "the check itself failed"
        # Its text may hold a value, as that of any error of somebody else.
        log.warning("The check %s failed itself: %s.", name, type(fault).__name__)
    return Finding(f"{PREFIX}_{name}", claim, 0, many, many == 0, {}, error)
