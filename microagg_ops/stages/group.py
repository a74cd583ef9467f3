"""Group: decide which quasi-identifiers are aggregated together."""

from __future__ import annotations

import json
from typing import Any

from microagg_ops.grouping import correlation
from microagg_ops.stages.prepared import prepare
from microagg_ops.stages.run import Run


def group(run: Run) -> dict[str, Any]:
    """Write down the groups of columns."""
    groups, told = find_groups(run)
    summary = {"method": run.release.group.method, "groups": groups, **told}
    run.staging.put("group", {"groups.json": json.dumps(groups).encode()}, summary)
    return summary


def find_groups(run: Run) -> tuple[list[list[str]], dict[str, Any]]:
    """Give the groups that the release asks for, and what there is to tell of their search."""
    how, names = run.release.group, run.release.quasi
    if how.method == "fixed":
        return [list(group) for group in how.groups], {}
    if how.method == "single" or len(names) == 1:
        return [list(names)], {}
    rows = prepare(run)
    strengths = correlation.correlations([rows.points[name] for name in names])
    by = {"correlated": correlation.correlated, "uncorrelated": correlation.uncorrelated}
    found = by[how.method](strengths, how.size)
    return [[names[column] for column in group] for group in found], {}
