"""What happens next: a DAG that runs when a release was published.

It is scheduled on the asset of the published table, so it never sees the source. The event that
starts it carries the figures of the release: its name, digest, k, rows and information loss.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

from airflow.sdk import DAG, Asset, task

from microagg_ops.operators import MicroaggExtractOperator

FOLDER = os.environ.get("MICROAGG_EXAMPLE_FOLDER", "/tmp/microagg-example")  # noqa: S108
# microagg://CONNECTION/SCHEMA.TABLE, or published_asset("clinic_patients.yaml").
PUBLISHED = Asset("microagg://warehouse/pub.clinic_patients")

with DAG(
    dag_id="diagnosis_counts",
    schedule=[PUBLISHED],
    start_date=datetime(2026, 1, 1),
    doc_md=__doc__,
    tags=["microagg"],
):
    fetch = MicroaggExtractOperator(
        task_id="fetch",
        source="pub.clinic_patients",
        conn_id="warehouse",
        columns=["region", "diagnosis"],
        target=f"{FOLDER}/published.parquet",
    )

    @task
    def count(fetched: dict[str, Any], triggering_asset_events: Any = None) -> int:
        """Count patients by region and diagnosis."""
        import polars as pl

        for event in (triggering_asset_events or {}).get(PUBLISHED, []):
            figures = event.extra
            print(f"{figures['release']}: {figures['rows']} rows, k = {figures['k']}")
        counts = (
            pl.read_parquet(f"{FOLDER}/published.parquet").group_by("region", "diagnosis").len()
        )
        counts.write_parquet(f"{FOLDER}/diagnosis_counts.parquet")
        return counts.height

    count(fetch.output)
