"""Ways to find clusters, behind one signature."""

from __future__ import annotations

from microagg_ops.methods.partition import METHODS, Clock, Method, partition

__all__ = ["METHODS", "Clock", "Method", "partition"]
