"""Ways to find clusters, behind one signature."""

from __future__ import annotations

from microagg_ops.methods.partition import Clock, partition
from microagg_ops.methods.registry import METHODS, Method

__all__ = ["METHODS", "Clock", "Method", "partition"]
