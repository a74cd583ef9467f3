"""The stages of a release, one file each; they know tables and the release, not Airflow."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from microagg_ops.stages.run import Run

__all__ = ["Run", "stage_function"]


def stage_function(stage: str) -> Callable[[Run], dict[str, Any]]:
    """Load the function of a stage; it has the stage's name."""
    function: Callable[[Run], dict[str, Any]] = getattr(
        import_module(f"microagg_ops.stages.{stage}"), stage
    )
    return function
