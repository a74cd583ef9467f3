"""Two releases of one source, side by side, year by year, one of them after a person's approval.

One task group is mapped over the release files. Each run adds the rows of its interval and keeps
the others, so years may be filled in later (``airflow backfill create``), in any order, and twice.
The release with ``approve: true`` waits for a person after its report: Airflow shows the question
under Required Actions, and a rejection leaves the table as it was.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable

from microagg_ops.task_groups import build_releases

HERE = Path(__file__).parent

with DAG(
    dag_id="clinic_yearly",
    schedule=CronDataIntervalTimetable("0 0 1 1 *", timezone="UTC"),
    start_date=datetime(2024, 1, 1),
    catchup=False,
    doc_md=__doc__,
    tags=["microagg"],
):
    build_releases([HERE / "clinic_bodies.yaml", HERE / "clinic_habits.yaml"], group_id="clinic")
