"""The smallest scheduled release: every night the clinic's patients, k-anonymous, for research.

The release file beside this one says what to protect and how; Airflow says when.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from microagg_ops.task_groups import build_release

with DAG(
    dag_id="clinic_patients",
    schedule="@daily",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    doc_md=__doc__,
    tags=["microagg"],
):
    build_release(Path(__file__).with_name("clinic_patients.yaml"))
