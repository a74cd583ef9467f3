"""Dominance: nobody outweighs a class or makes up a value, nor can be estimated from it.

Entities, weights and values are those of the source rows by the staged labels, beside the bytes to
be published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from microagg_ops.checks.check import NO_SOURCE, Check, Finding
from microagg_ops.checks.evidence import Evidence, Groups
from microagg_ops.columns.dominance import Parts, Rule, parts
from microagg_ops.release.model import Release
from microagg_ops.release.series import HISTORY


class Dominance(Check):
    """The (n, k)-rule and the p %-rule."""

    titles = {"dominance": "Dominance", "p_percent": "p %-rule"}
    units = {"dominance": "{} cases", "p_percent": "{} cases"}
    key = "`dominance` (weights: always)"
    shown = "`dominance`, `p_percent`"
    about = "nobody makes up too much of a class, or of a mean"

    def findings(self, evidence: Evidence) -> Iterator[Finding]:
        """Judge both rules where they are asked for, or could fail."""
        release = evidence.release
        how, rule = release.validate.dominance, Rule.of(release)
        weighed = release.columns.entity is not None or release.columns.weight is not None
        # Of three or more no median is the least or the largest; a medoid may be of any many.
        shown = {column.statistic for column in release.columns.quasi.values()}
        shows = "medoid" in shown or (rule.k == 2 and "median" in shown)
        share, p = how.of_values(rule.k)
        if weighed or shows or share is not None:
            claim = outweighed(rule, share is not None)
            if "medoid" in shown:
                claim = claim.replace("median or mode", "median, mode or medoid")
            yield judged("dominance", claim, evidence, dominated)
        if (weighed and rule.p > 0) or p is not None:
            claim = f"no entity can be estimated to within {rule.p:g} % from the weights of a class"
            claim += "" if p is None else " or from a published mean"
            yield judged("p_percent", claim, evidence, estimable)

    def advice(self, name: str, rest: str, release: Release, groups: Groups) -> tuple[str, str]:
        """Advise less of the heaviest."""
        key, limit = ("share", "raise") if name == "dominance" else ("p", "lower")
        key = f"validate.dominance.{key}"
        return key, (
            "Clusters were joined as far as strata and NULLs allow, and one entity still has too "
            "much of one. Leave out some of its rows in source.where, cap its weight in a view, or "
            f"name fewer or coarser strata; or raise aggregate.k (now {release.aggregate.k}). If "
            f"the risk was judged acceptable, {limit} {key}."
        )


def outweighed(rule: Rule, of_values: bool) -> str:
    """Say what the rule of dominance claims."""
    whom = "no entity has" if rule.n == 1 else f"no {rule.n} entities have"
    claim = f"{whom} more than {100 * rule.share:g} % of the weight of a class"
    claim += " or of a published mean" if of_values else ""
    return claim if rule.share >= 1 else f"{claim}, and no median or mode is one entity's alone"


def judged(name: str, claim: str, evidence: Evidence, count: Callable[[Evidence], int]) -> Finding:
    """Count what breaks a rule; named columns cannot be judged without the source."""
    if evidence.release.validate.dominance.columns and not evidence.has_source:
        return Finding(name, claim, 0, None, False, {}, NO_SOURCE)
    many = count(evidence)
    return Finding(name, claim, 0, many, many == 0, {})


def dominated(evidence: Evidence) -> int:
    """Count the classes that few outweigh, and the values that they make up."""
    rule = Rule.of(evidence.release)
    many = sum(int(rule.outweighs(found).sum()) for found in weights(evidence))
    share, _ = evidence.release.validate.dominance.of_values(rule.k)
    if share is not None:
        many += sum(found["dominated"] for found in of_values(evidence))
    return many + sum(exposed(evidence, rule))


def estimable(evidence: Evidence) -> int:
    """Count the classes and means from which the heaviest can be estimated."""
    rule = Rule.of(evidence.release)
    many = sum(int(rule.estimable(found).sum()) for found in weights(evidence))
    return many + sum(found["estimable"] or 0 for found in of_values(evidence))


def of_values(evidence: Evidence) -> list[dict[str, Any]]:
    """Count the means that few make up, by column, as the aggregator did."""
    if not evidence.has_source:
        return []
    return list(evidence.treatment["dominance"])


def weights(evidence: Evidence) -> Iterator[Parts]:
    """Weigh each entity in each cluster; without labels, in each published class."""
    if not evidence.has_source:
        yield parts(*evidence.claimed)
        return
    rows = evidence.microdata
    for labels in evidence.labels:
        yield parts(rows.weights, labels, rows.entities)


def exposed(evidence: Evidence, rule: Rule) -> Iterator[int]:
    """Count the medians and modes of each column that are one entity's alone."""
    import numpy as np

    if not evidence.has_source or evidence.release.series.protect == HISTORY:
        return  # a class shows what it was born with, and was judged then
    rows = evidence.microdata
    for names, labels in zip(evidence.groups, evidence.labels, strict=True):
        _, first = np.unique(labels, return_index=True)
        for name in names:
            if name in evidence.behind:
                continue  # contributors stand for these: only what exposes nobody is taken
            before, after = rows.before[name], evidence.after[name]
            left = replace(before, codes=np.where(after.missing, np.nan, before.codes))
            yield int(rule.exposes(left, after.codes[first], labels, rows.entities).sum())
