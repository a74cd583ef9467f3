"""Validate: check every claim on the very bytes that publish will write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from microagg_ops.checks.check import Finding
from microagg_ops.errors import DisclosureError
from microagg_ops.outside import Gate, told_k
from microagg_ops.release.model import Release
from microagg_ops.release.series_faults import series_warnings
from microagg_ops.stages.artefacts import ENTITY, Protected, Verdict
from microagg_ops.stages.checks import find_checks
from microagg_ops.stages.evidence import Evidence
from microagg_ops.stages.run import Run
from microagg_ops.stages.series_verdict import hold_back, ledger_claim, remembered
from microagg_ops.staging.store import local, safe_name


def validate(run: Run) -> dict[str, Any]:
    """Make every check, write the verdict down, and fail unless all passed."""
    evidence = Evidence.of(run)
    site = docs_folder(run)
    hold_back(run)
    found = find_checks(evidence, site, ledger_claim(run))
    checks = list(remembered(run, evidence.protected, found))
    by_group = k_of_groups(evidence)
    verdict = {
        "passed": all(check.passed for check in checks),
        "file": Protected.of(run).bytes_digest,
        "release": run.release.digest,
        "checks": [asdict(check) for check in checks],
        "attacks": evidence.attacks,
        **by_group,
    }
    summary = {
        "passed": verdict["passed"],
        "k": min(int(c.observed or 0) for c in checks if c.name.startswith("k_anonymous")),
        "checks": {check.name: check.passed for check in checks},
        **by_group,
        "warnings": [*same_for_all(evidence), *series_warnings(run.release)],
    }
    if run.release.columns.entity:
        summary["outside"] = told_k(run.release.k, summary)
    if site is not None:
        summary["data_docs"] = (site / "index.html").as_uri()
    Verdict.write(run, verdict, summary)
    refuse_unless_passed(checks, hint=advice(run.release, by_group))
    return summary


def docs_folder(run: Run) -> Path | None:
    """Return the folder for Data Docs of this run, if the release wants them."""
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


def same_for_all(evidence: Evidence) -> Iterator[str]:
    """Warn of classes in which everybody has the same sensitive value.

    The share of classes can be counted in the published table, that of entities passes the gate.
    """
    from microagg_ops.metrics import homogeneity, row_classes

    release, table, entity = evidence.release, evidence.protected, evidence.release.columns.entity
    if entity:
        table = table.append_column(entity, evidence.origin[ENTITY])
    gate = Gate(release.k, len(row_classes(table, [entity])) if entity else table.num_rows)
    per_group = release.validate.guarantee == "per_group"
    for names in evidence.groups if per_group else [release.quasi]:
        where = f" of {', '.join(names)}" if per_group else ""
        for name in release.columns.sensitive:
            if not {name, *names, *release.strata} <= set(table.column_names):
                continue  # the schema is a check of its own
            found = homogeneity(table, [*names, *release.strata], name, entity, k=release.k)
            if found.classes and found.values > 1:
                whom = gate.figure(100 * found.share_of_entities, 100)
                yield (
                    f"In {max(100 * found.share_of_classes, 1):.0f} % of the classes{where}"
                    f"{'' if whom is None else f', with {whom:g} % of the entities'}, all have the "
                    f"same {name!r}: who is in such a class has no secret there. validate.l of 2 "
                    "or more forbids it."
                )


def advice(release: Release, counted: Mapping[str, Any]) -> str:
    """Say what to do where k holds in each group of columns but not jointly."""
    if not counted or release.validate.guarantee != "joint" or counted["k_joint"] >= release.k:
        return "Nothing was published."
    each = counted["k_by_group"]
    return (
        f"Nothing was published. In the {len(each)} groups of columns k is "
        f"{', '.join(map(str, each))}, but over all of them jointly it is {counted['k_joint']}: "
        "rows that share one cluster rarely share the other. Aggregate fewer, larger groups "
        "(group.method: single makes one), or ask for the weaker claim expressly "
        "(validate.guarantee: per_group)."
    )


def refuse_unless_passed(checks: Sequence[Finding], hint: str = "Nothing was published.") -> None:
    """Raise what no operator retries and no stage passes."""
    failed = [check for check in checks if not check.passed]
    if failed:
        raise DisclosureError(
            f"{len(failed)} of {len(checks)} checks failed: {'; '.join(map(str, failed))}.",
            hint=hint,
        )
