"""Telling people what became of a release, by any notifier of Airflow."""

from __future__ import annotations

from microagg_ops.notifications.release import MicroaggNotifier, Told

__all__ = ["MicroaggNotifier", "Told"]
