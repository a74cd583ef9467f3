"""Run one DAG of the DAGs folder to its end: ``python -m microagg_ops.cli.dag_test DAG_ID``."""

from __future__ import annotations

import sys
from datetime import UTC, datetime


def dag_test(dag_id: str, logical_date: datetime | None) -> str:
    """Run a DAG in this process and give the state of its run."""
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag()
    if dag_id not in bag.dags:
        raise SystemExit(f"There is no DAG {dag_id!r}. Import errors: {bag.import_errors}")
    return str(bag.dags[dag_id].test(logical_date=logical_date).state)


if __name__ == "__main__":
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    # The state is the verdict: a failed run raises nothing.
    sys.exit(0 if dag_test(sys.argv[1], today) == "success" else 1)
