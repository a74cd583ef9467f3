"""Reports as runs leave them, made up."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

PAGE = "<!doctype html><title>Report</title><h1>{}</h1>"
REPORT: dict[str, Any] = {
    "schema_version": 1,
    "verdict": "passed",
    "identity": {
        "run_id": "scheduled__2026-10-01T00:00:00+00:00",
        "interval": ["2026-10-01T00:00:00+00:00", "2026-10-02T00:00:00+00:00"],
        "created": "2026-10-02T03:04:05+00:00",
    },
    "data": {"rows": 50000},
    "risk": {"k": 5, "after": {"linkability": {"distance": {"percent": 1.234}}}},
    "utility": {"information_loss": 9.876},
    "checks": [
        {"name": "k_anonymous", "claim": "k holds", "threshold": 5, "observed": 5, "passed": True},
        {
            "name": "information_loss",
            "claim": "information loss is at most 35 %",
            "threshold": 35.0,
            "observed": 9.876,
            "passed": True,
        },
    ],
}


def make_report(
    root: Path, release: str, run: str, page: bool = True, day: int = 1, **changes: Any
) -> Path:
    """Write what a run leaves; ``changes`` are top-level keys, or dotted ones with ``__``."""
    document = copy.deepcopy(REPORT)
    document["identity"]["run_id"] = run
    document["identity"]["created"] = f"2026-10-{day:02}T03:04:05+00:00"
    for dotted, value in changes.items():
        *above, key = dotted.split("__")
        inner = document
        for name in above:
            inner = inner[name]
        inner[key] = value
    folder = root / release / run
    folder.mkdir(parents=True)
    told = folder / "report.json"
    told.write_text(json.dumps(document))
    os.utime(told, (1_790_000_000 + 86400 * day,) * 2)
    if page:
        (folder / "report.html").write_text(PAGE.format(run))
    return folder
