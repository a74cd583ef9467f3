"""Validate: check every claim on the very bytes that publish will write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from microagg_ops.errors import DisclosureError
from microagg_ops.stages.checks import Check, find_checks
from microagg_ops.stages.evidence import Evidence
from microagg_ops.stages.run import Run


def validate(run: Run) -> dict[str, Any]:
    """Make every check, write the verdict down, and fail unless all passed."""
    checks = find_checks(Evidence(run))
    verdict = {
        "passed": all(check.passed for check in checks),
        "file": run.staging.digest("aggregate", "protected.parquet"),
        "release": run.release.digest,
        "checks": [asdict(check) for check in checks],
    }
    summary = {
        "passed": verdict["passed"],
        "k": min(int(c.observed or 0) for c in checks if c.name.startswith("k_anonymous")),
        "checks": {check.name: check.passed for check in checks},
    }
    run.staging.put("validate", {"verdict.json": json.dumps(verdict).encode()}, summary)
    refuse_unless_passed(checks)
    return summary


def refuse_unless_passed(checks: Sequence[Check]) -> None:
    """Raise what no operator retries and no stage passes."""
    failed = [check for check in checks if not check.passed]
    if failed:
        raise DisclosureError(
            f"{len(failed)} of {len(checks)} checks failed: {'; '.join(map(str, failed))}.",
            hint="Nothing was published.",
        )
