"""Validate: check every claim on the very bytes that publish will write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from microagg_ops.artifact import local, safe_name
from microagg_ops.errors import DisclosureError
from microagg_ops.release import Release
from microagg_ops.stages.checks import Check, find_checks
from microagg_ops.stages.evidence import Evidence
from microagg_ops.stages.run import Run


def validate(run: Run) -> dict[str, Any]:
    """Make every check, write the verdict down, and fail unless all passed."""
    evidence = Evidence.of(run)
    site = docs_folder(run)
    checks = find_checks(evidence, site)
    by_group = k_of_groups(evidence)
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
    if site is not None:
        summary["data_docs"] = (site / "index.html").as_uri()
    run.staging.put("validate", {"verdict.json": json.dumps(verdict).encode()}, summary)
    refuse_unless_passed(checks, hint=advice(run.release, by_group))
    return summary


def docs_folder(run: Run) -> Path | None:
    """Give the folder for Data Docs of this run, if the release wants them."""
    folder = run.release.report.data_docs
    if folder is None:
        return None
    return Path(local(folder)).resolve() / run.release.release / safe_name(run.run_id)


def k_of_groups(evidence: Evidence) -> dict[str, Any]:
    """Count k jointly and by group where there are several: the first can be 1, whatever k is."""
    from microagg_ops.metrics import k_anonymity, k_by_group

    release, groups = evidence.release, evidence.groups
    if len(groups) < 2:
        return {}
    frame, entity = evidence.frame(), release.columns.entity
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
