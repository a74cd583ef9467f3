"""Task groups: a whole release in one call."""

from __future__ import annotations

from microagg_ops.operators.assets import published_asset
from microagg_ops.task_groups.release import build_release, build_releases

__all__ = ["build_release", "build_releases", "published_asset"]
