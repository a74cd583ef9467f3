"""Validate: the same expectations, counted by the engine on the rows that publish will write."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from microagg_ops.checks.check import Claim, Finding
from microagg_ops.checks.information_loss import InformationLoss
from microagg_ops.checks.linkage import Linked
from microagg_ops.checks.registry import CHECKS, left_out
from microagg_ops.checks.risk import WORDS
from microagg_ops.columns.encoding import published_type
from microagg_ops.engines.spark.engine import Frame, SparkEngine
from microagg_ops.errors import DisclosureError
from microagg_ops.expectations.batch import Batch, evaluate
from microagg_ops.expectations.spark import SparkTable
from microagg_ops.expectations.tables import kind_of
from microagg_ops.metrics.linkage import Linkage, wilson
from microagg_ops.outside import told_k
from microagg_ops.release.model import Release
from microagg_ops.release.series_faults import series_warnings
from microagg_ops.stages.artefacts import Groups, Protected, Verdict
from microagg_ops.stages.checks import ASKED
from microagg_ops.stages.distributed.aggregate import losses, published
from microagg_ops.stages.distributed.blocks import (
    COUNTED,
    NEW,
    OLD,
    WEIGHT,
    judge,
    judged_schema,
    means,
)
from microagg_ops.stages.distributed.plan import (
    BLOCKS,
    PROTECTED,
    Plan,
    Planned,
    engine_of,
    folder,
)
from microagg_ops.stages.run import Run
from microagg_ops.stages.validate import advice, refuse_unless_passed


@dataclass(frozen=True)
class Whole:
    """What checks may look at where no process holds all rows: figures, and names of columns.

    Parameters
    ----------
    run, plan
        The run, and what executors were told.
    groups
        The columns that were aggregated together.
    answers
        What each block said of its rows.
    """

    run: Run
    plan: Plan
    groups: list[list[str]]
    answers: Sequence[Mapping[str, Any]]

    has_source = True

    @property
    def release(self) -> Release:
        """What was asked for."""
        return self.run.release

    @property
    def declared(self) -> dict[str, str | None]:
        """The columns that must be published, in their order, with what they hold."""
        quasi, found = self.release.columns.quasi, dict[str, str | None]()
        for name in self.plan.published:
            kind = self.plan.schema.field(name).type
            found[name] = kind_of(published_type(quasi[name].type, kind) if name in quasi else kind)
        return found

    @property
    def totals(self) -> dict[str, tuple[float, float]]:
        """What columns published as means were in total, and in absolute total."""
        return {
            name: tuple(math.fsum(a["totals"][name][i] for a in self.answers) for i in (0, 1))  # type: ignore[misc]
            for name in self.answers[0]["totals"]
        }

    def private(self, what: str) -> str:
        """Name a column beside the rows that no published one is named like."""
        label = what
        while label in self.plan.schema.names:
            label += "'"
        return label

    @property
    def counted(self) -> dict[str, str]:
        """The columns with the values whose totals must be kept."""
        return {name: self.private(f"{name} (counted)") for name in means(self.release)}

    @property
    def weight(self) -> str | None:
        """The column with the weights."""
        name = self.release.columns.weight
        return None if name is None else self.private(f"{name} (weight)")

    @property
    def information_loss(self) -> float:
        """SSE/SST in percent, of the staged rows."""
        return losses(self.answers)[0]

    @property
    def linkage(self) -> Linkage:
        """The rows that are linked within their strata and blocks."""
        each = [answer["linkage"] for answer in self.answers]
        rows, tried, certain = (sum(one[n] for one in each) for n in ("rows", "tried", "certain"))
        shares = [one["rows"] / rows for one in each]
        expected = tried * sum(
            share * one["expected"] / one["tried"] for share, one in zip(shares, each, strict=True)
        )
        low = high = 100.0 * expected / tried
        if tried < rows:
            low, high = (100.0 * end for end in wilson(expected / tried, tried))
        return Linkage(rows, tried, certain, expected, low, high)


def validate(run: Run) -> dict[str, Any]:
    """Make every check, write the verdict down, and fail unless all passed."""
    release, groups, engine = run.release, Groups.of(run).names, engine_of(run)
    plan = Planned.plan(run, groups)
    blocks = engine.stored(folder(run, BLOCKS))
    refuse_other_rows(engine, run, plan, blocks)
    many = Protected.of(run).summary["blocks"]
    judged = engine.each_block(blocks, many, partial(judge, plan), judged_schema())
    told = engine.answers(judged)
    whole = Whole(run, plan, groups, told)
    beside = with_keys(engine, whole, blocks)
    checks = find_checks(engine, whole, beside)
    table, by_group = SparkTable(beside), {}
    if len(groups) > 1:
        entity = release.columns.entity
        sets = [[*names, *release.strata] for names in (release.quasi, *groups)]
        joint, *each = (min(table.sizes(names, entity), default=0) for names in sets)
        by_group = {"k_joint": joint, "k_by_group": each}
    verdict = {
        "passed": all(check.passed for check in checks),
        "file": Protected.of(run).bytes_digest,
        "release": release.digest,
        "checks": [asdict(check) for check in checks],
        "attacks": None,
        **by_group,
    }
    summary = {
        "passed": verdict["passed"],
        "k": min(int(c.observed or 0) for c in checks if c.name.startswith("k_anonymous")),
        "checks": {check.name: check.passed for check in checks},
        **by_group,
        "warnings": list(series_warnings(release)),
    }
    if release.columns.entity:
        summary["outside"] = told_k(release.k, summary)
    Verdict.write(run, verdict, summary)
    refuse_unless_passed(checks, hint=advice(release, by_group))
    return summary


def with_keys(engine: SparkEngine, whole: Whole, blocks: Frame) -> Frame:
    """Take the rows to be published, with what checks need beside them."""
    plan, release = whole.plan, whole.release
    names = {NEW.format(i): name for i, name in enumerate(plan.published)}
    entity = release.columns.entity
    if entity is not None:
        names[OLD.format(plan.schema.names.index(entity))] = entity
    names |= {COUNTED.format(i): whole.counted[n] for i, n in enumerate(means(release))}
    if whole.weight is not None:
        names[WEIGHT] = whole.weight
    return engine.renamed(blocks, names)


def find_checks(engine: SparkEngine, whole: Whole, beside: Frame) -> list[Finding]:
    """Make the checks that the release asks for."""
    release, evidence = whole.release, _as_evidence(whole)
    claims: list[Claim] = [claim for check in CHECKS for claim in check.claims(evidence)]
    for one in claims:
        one.expectation.description = one.claim
    alone = beside.select(*(f"`{name.replace('`', '``')}`" for name in whole.plan.published))
    outcomes = evaluate(
        [
            Batch("rows", beside, {one.name: one.expectation for one in claims if one.beside}),
            Batch(
                "columns", alone, {one.name: one.expectation for one in claims if not one.beside}
            ),
        ],
        release.release,
        by_spark=True,
    )
    found = [one.judged(outcomes[one.name], release) for one in claims]
    for check in (Linked(), InformationLoss()):
        found += check.findings(evidence)
    found += [*risks(release, SparkTable(beside)), *of_blocks(whole.answers)]
    lost = left_out({one.name for one in found}, release, whole.groups)
    return [*found, *(Finding(n, ASKED, 0, None, False, {}, "it was not made") for n in lost)]


def _as_evidence(whole: Whole) -> Any:
    return whole


def risks(release: Release, table: SparkTable) -> Iterator[Finding]:
    """Compare the chances to be found with their limits."""
    limits, entity = release.validate, release.columns.entity
    if limits.max_risk is None and limits.average_risk is None:
        return
    sizes = table.sizes([*release.quasi, *release.strata], entity)
    people = sum(size * many for size, many in sizes.items())
    chances = {"max_risk": 1 / min(sizes), "average_risk": sum(sizes.values()) / people}
    whom = "an entity" if entity else "a row"
    for name, seen in chances.items():
        limit = getattr(limits, name)
        if limit is not None:
            claim = f"{whom} {WORDS[name]} with a chance of at most {100 * limit:.4g} %"
            yield Finding(name, claim, 100 * limit, 100 * seen, seen <= limit, {})


def of_blocks(answers: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Join what was found block by block: counts add up, and every block must have passed."""
    for first in answers[0]["findings"]:
        each = [one for a in answers for one in a["findings"] if one["name"] == first["name"]]
        observed = sum(one["observed"] or 0 for one in each)
        if first["name"] == "contributors":
            observed = min(one["observed"] or 0 for one in each)
        passed = len(each) == len(answers) and all(one["passed"] for one in each)
        error = next((one["error"] for one in each if one["error"]), "")
        yield Finding(**first | {"observed": observed, "passed": passed, "error": error})


def refuse_other_rows(engine: SparkEngine, run: Run, plan: Plan, blocks: Frame) -> None:
    """Refuse sorted rows, which publish will write, that are not those of the blocks."""
    left = engine.stored(folder(run, PROTECTED))
    if engine.digest(published(engine, plan, blocks)) != engine.digest(left):
        raise DisclosureError(
            "The staged rows are not those that the blocks made.",
            code="not_validated",
            hint="Run the release from the start. Nothing was published.",
        )
