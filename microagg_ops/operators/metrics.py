"""What a stage tells Airflow's metrics: how long it took, how many rows, what was lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What a stage's summary calls a figure, by the name of its metric.
FIGURES = {"rows": "rows", "k": "k", "information_loss": "information_loss"}


def measure(release: str, stage: str, summary: Mapping[str, Any], seconds: float) -> None:
    """Send the figures of a stage that finished.

    Each goes out twice, as Airflow's own do: with tags, and under a name that holds them, because
    plain StatsD drops tags.
    """
    from airflow.sdk.observability.stats import Stats, normalize_name_for_stats

    release = normalize_name_for_stats(release, log_warning=False)
    tags = {"release": release, "stage": stage}
    for name, labels in (("microagg", tags), (f"microagg.{release}.{stage}", None)):
        Stats.timing(f"{name}.duration", 1000 * seconds, tags=labels)
        for key, figure in FIGURES.items():
            if isinstance(summary.get(key), int | float):
                Stats.gauge(f"{name}.{figure}", float(summary[key]), tags=labels)
