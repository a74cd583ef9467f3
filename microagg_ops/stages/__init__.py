"""The stages of a release, one file each; they know tables and the release, not Airflow."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from microagg_ops.stages.run import Run

__all__ = ["Run", "stage_function"]


def stage_function(stage: str, *, distributed: bool = False) -> Callable[[Run], dict[str, Any]]:
    """Load the function of a stage; it has the stage's name.

    Groups that need no rows are the same for rows that are spread over executors.
    """
    within = "distributed." if distributed and stage != "group" else ""
    function: Callable[[Run], dict[str, Any]] = getattr(
        import_module(f"microagg_ops.stages.{within}{stage}"), stage
    )
    return function
