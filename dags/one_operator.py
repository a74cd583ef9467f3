"""One operator inside an ordinary pipeline: no release file, plain keyword arguments.

A task exports a table as Parquet, one operator protects it, the next task uses the result.
"""

from __future__ import annotations

import os
from datetime import datetime

from airflow.sdk import DAG, task

from microagg_ops.operators import MicroaggAggregateOperator

FOLDER = os.environ.get("MICROAGG_EXAMPLE_FOLDER", "/tmp/microagg-example")  # noqa: S108

with DAG(
    dag_id="one_operator",
    schedule=None,
    start_date=datetime(2026, 1, 1),
    doc_md=__doc__,
    tags=["microagg"],
):

    @task
    def export() -> str:
        """Write a table as an ordinary pipeline would."""
        from pathlib import Path

        import polars as pl

        rows = range(1000)
        frame = pl.DataFrame(
            {
                "name": [f"person {i}" for i in rows],
                "age": [18 + i * 7 % 70 for i in rows],
                "income": [1200.0 + i * 37 % 5000 for i in rows],
                "job": [("nurse", "clerk", "smith")[i % 3] for i in rows],
            }
        )
        path = Path(FOLDER) / "people.parquet"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        frame.write_parquet(path)
        return str(path)

    protect = MicroaggAggregateOperator(
        task_id="protect",
        source=export(),
        quasi=["age", "income"],
        sensitive=["job"],  # kept as it is; `name` is not named, so it does not leave
        k=5,
        target=f"{FOLDER}/people_protected.parquet",
    )

    @task
    def use(outcome: dict[str, object]) -> int:
        """Work on what the operator wrote."""
        import polars as pl

        print(f"k = {outcome['k']}, information loss {outcome['information_loss']:.2f} %")
        return pl.read_parquet(f"{FOLDER}/people_protected.parquet").height

    use(protect.output)
