"""Operators that chain: ten frames are protected and published, and no path is named twice.

A function of yours returns a frame; `@task.microagg` protects it in memory, so that its rows are
in no XCom and no file. What an operator returns names what it wrote, and the next takes it for
`source`; publish validates once more what it is given.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from microagg_ops.decorators import microagg_task
from microagg_ops.operators import MicroaggPublishOperator

FOLDER = os.environ.get("MICROAGG_EXAMPLE_FOLDER", "/tmp/microagg-example")  # noqa: S108
HOW = {"quasi": ["age", "income"], "sensitive": ["job"], "k": 5}
TOWNS = [f"town_{i}" for i in range(10)]

with DAG(
    dag_id="many_tables",
    schedule=None,
    start_date=datetime(2026, 1, 1),
    doc_md=__doc__,
    tags=["microagg"],
):

    @microagg_task(target=f"{FOLDER}/{{{{ task.op_kwargs['town'] }}}}.parquet", **HOW)
    def protect(town: str) -> object:
        """Read the people of a town, as your pipeline would."""
        import polars as pl

        first = TOWNS.index(town)
        return pl.DataFrame(
            {
                "name": [f"person {i} of {town}" for i in range(500)],
                "age": [18 + (i * 7 + first) % 70 for i in range(500)],
                "income": [1200.0 + (i * 37 + first * 11) % 5000 for i in range(500)],
                "job": [("nurse", "clerk", "smith")[(i + first) % 3] for i in range(500)],
            }
        )

    MicroaggPublishOperator.partial(task_id="publish", conn_id="warehouse", **HOW).expand_kwargs(
        protect.expand(town=TOWNS).map(
            lambda one: {"source": one, "target": f"pub.{Path(one['target']).stem}"}
        )
    )
