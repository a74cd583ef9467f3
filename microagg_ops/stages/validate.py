"""Validate: check every claim on the very bytes that publish will write."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from microagg_ops.errors import DisclosureError
from microagg_ops.release import Release
from microagg_ops.stages.aggregate import ENTITY
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import pandas as pd


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
        return f"{verdict} {self.name}: {self.claim} ({self.error or seen})"


def validate(run: Run) -> dict[str, Any]:
    """Make every check, write the verdict down, and fail unless all passed."""
    protected = run.table("aggregate", "protected")
    # Whole numbers beside NULL would become doubles, and two of them one.
    frame = protected.to_pandas(integer_object_nulls=True)
    entity = run.release.columns.entity
    if entity:  # never a published column, so the name is free
        frame[entity] = run.table("aggregate", "rows")[ENTITY].to_numpy()
    checks = list(find_checks(run, frame, entity))
    by_group = k_of_groups(run, frame)
    verdict = {
        "passed": all(check.passed for check in checks),
        "file": run.staging.digest("aggregate", "protected.parquet"),
        "release": run.release.digest,
        "checks": [asdict(check) for check in checks],
        **by_group,
    }
    summary = {
        "passed": verdict["passed"],
        "k": min(int(c.observed or 0) for c in checks if c.name.startswith("k_anonymous")),
        "checks": {check.name: check.passed for check in checks},
        **by_group,
    }
    run.staging.put("validate", {"verdict.json": json.dumps(verdict).encode()}, summary)
    refuse_unless_passed(checks, hint=advice(run.release, by_group))
    return summary


def k_of_groups(run: Run, frame: pd.DataFrame) -> dict[str, Any]:
    """Count k jointly and by group where there are several: the first can be 1, whatever k is."""
    from microagg_ops.metrics import k_anonymity, k_by_group

    release, groups = run.release, run.document("group", "groups")
    if len(groups) < 2:
        return {}
    entity = release.columns.entity
    return {
        "k_joint": k_anonymity(frame, [*release.quasi, *release.strata], entity),
        "k_by_group": list(k_by_group(frame, groups, release.strata, entity)),
    }


def advice(release: Release, counted: Mapping[str, Any]) -> str:
    """Say what to do where k holds in each group of columns but not jointly."""
    if not counted or release.validate.guarantee != "joint" or counted["k_joint"] >= release.k:
        return "Nothing was published."
    each = counted["k_by_group"]
    return (
        f"Nothing was published. In the {len(each)} groups of columns k is "
        f"{', '.join(map(str, each))}, but over all of them jointly it is {counted['k_joint']}: "
        "rows that share one cluster rarely share the other. Aggregate fewer, larger groups "
        "(group.method: single makes one), or ask for the weaker claim in so many words "
        "(validate.guarantee: per_group)."
    )


def refuse_unless_passed(checks: Sequence[Check], hint: str = "Nothing was published.") -> None:
    """Raise what no operator retries and no stage passes."""
    failed = [check for check in checks if not check.passed]
    if failed:
        raise DisclosureError(
            f"{len(failed)} of {len(checks)} checks failed: {'; '.join(map(str, failed))}.",
            hint=hint,
        )


def find_checks(run: Run, frame: pd.DataFrame, entity: str | None) -> Iterator[Check]:
    """Make the checks that the release asks for."""
    release = run.release
    groups = run.document("group", "groups")
    counted = "entities" if entity else "rows"
    within = f" within {', '.join(release.strata)}" if release.strata else ""
    if release.validate.guarantee == "joint":
        claim = f"every class of all quasi-identifiers{within} has {release.k} {counted} or more"
        yield classes_of("k_anonymous", claim, frame, release, release.quasi)
    else:
        for i, names in enumerate(groups, 1):
            claim = f"every class of group {i}{within} has {release.k} {counted} or more"
            yield classes_of(f"k_anonymous_{i}", claim, frame, release, names)
    if release.validate.max_information_loss is not None:
        limit = 100 * release.validate.max_information_loss
        loss = run.staging.summary("aggregate")["information_loss"]
        claim = f"information loss is at most {limit:g} %"
        yield Check("information_loss", claim, limit, loss, loss <= limit, {})
    yield from dominance(run)


def classes_of(
    name: str, claim: str, frame: pd.DataFrame, release: Release, names: Sequence[str]
) -> Check:
    """Count classes by the rule for NULL that the aggregator had."""
    nulls = int(frame[list(names)].isna().any(axis=1).sum())
    if nulls and release.nulls != "own_class":
        error = f"a quasi-identifier is NULL in {nulls} rows, but nulls is {release.nulls}"
        return Check(name, claim, release.k, None, False, {}, error=error)
    columns, entity = [*names, *release.strata], release.columns.entity
    return k_anonymous(name, claim, frame, quasi=columns, k=release.k, entity=entity)


def dominance(run: Run) -> Iterator[Check]:
    """Check that no few entities make up a published mean, where the release sets a limit."""
    how = run.release.validate.dominance
    if how.share is None and how.p is None:
        return
    found = run.document("aggregate", "treatment")["dominance"]
    if how.share is not None:
        whom = "no entity makes" if how.n == 1 else f"no {how.n} entities make"
        claim = f"{whom} up more than {100 * how.share:g} % of a published mean"
        many = sum(entry["dominated"] for entry in found)
        yield Check("dominance", claim, 0, many, many == 0, {})
    if how.p is not None:
        claim = f"no entity can be estimated to within {how.p:g} % from a published mean"
        many = sum(entry["estimable"] for entry in found)
        yield Check("p_percent", claim, 0, many, many == 0, {})


def k_anonymous(
    name: str, claim: str, frame: pd.DataFrame, *, quasi: list[str], k: int, entity: str | None
) -> Check:
    """Ask Great Expectations; an error in it is a failure of its own kind."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    with silenced("great_expectations"):
        observed, details = counted_classes(frame, quasi, k, entity)
    if observed is None:
        return Check(name, claim, k, None, False, {}, error="the check itself failed")
    return Check(name, claim, k, observed, observed >= k, details)


@contextmanager
def silenced(name: str) -> Iterator[None]:
    """Keep a library quiet: it logs its own machinery, and errors with the data they are about."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def counted_classes(
    frame: pd.DataFrame, quasi: list[str], k: int, entity: str | None
) -> tuple[int | None, dict[str, Any]]:
    """Let Great Expectations count; give the smallest class, or none where it failed to."""
    import great_expectations as gx

    from microagg_ops.expectations.k_anonymous import ExpectTableToBeKAnonymous

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    asset = context.data_sources.add_pandas("published").add_dataframe_asset("rows")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
    expectation = ExpectTableToBeKAnonymous(quasi=quasi, k=k, entity=entity)
    outcome = batch.validate(
        expectation, result_format={"result_format": "SUMMARY", "exclude_unexpected_values": True}
    )
    observed = outcome.result.get("observed_value")
    if observed is None or (not outcome.success and observed >= k):
        return None, {}
    return int(observed), outcome.result["details"]
