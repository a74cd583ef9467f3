"""Group: decide which quasi-identifiers are aggregated together."""

from __future__ import annotations

import json
from typing import Any

from microagg_ops.grouping import group_columns
from microagg_ops.stages.run import Run


def group(run: Run) -> dict[str, Any]:
    """Write down the groups of columns."""
    how = run.release.group
    groups = group_columns(run.release.quasi, how.method, how.groups)
    summary = {"method": how.method, "groups": groups}
    run.staging.put("group", {"groups.json": json.dumps(groups).encode()}, summary)
    return summary
