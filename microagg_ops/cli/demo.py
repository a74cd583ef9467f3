"""The demo: a warehouse of its own, the example DAG in real Airflow, and what came out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from microagg_ops.cli.output import Output
from microagg_ops.errors import MicroaggError

ROWS = 50_000
DAG = "clinic_patients"


def demo(home: str, output: Output) -> tuple[dict[str, Any], list[str]]:
    """Seed, run and show; running it again starts anew."""
    folder = Path(home).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    warehouse = folder / "warehouse.duckdb"
    output.say(f"Seeding {warehouse} with {ROWS:,} rows of clinic.patients …")
    seed_warehouse(warehouse)
    environment = airflow_environment(folder, warehouse)
    log = folder / "airflow.log"
    output.say("Preparing Airflow on SQLite …")
    call(["-m", "airflow", "db", "migrate"], environment, log)
    output.say(f"Running the DAG {DAG} …")
    call(["-m", "microagg_ops.cli.dag_test", DAG], environment, log)
    return show(folder, warehouse, log)


def seed_warehouse(path: Path) -> None:
    """Make the warehouse anew, with the source table and an empty schema to publish to."""
    import duckdb

    from microagg_ops.cli.demo_data import clinic_patients

    path.unlink(missing_ok=True)
    patients = clinic_patients(ROWS)
    with duckdb.connect(str(path)) as con:
        con.register("seed", patients)
        con.execute("create schema clinic")
        con.execute("create schema pub")
        con.execute("create table clinic.patients as from seed")
    path.chmod(0o600)


def airflow_environment(folder: Path, warehouse: Path) -> dict[str, str]:
    """Return the variables of an Airflow that has a home of its own and the example DAGs."""
    here = Path(__file__).parent.parent
    dags = here / "example_dags"
    connection = {"conn_type": "duckdb", "host": str(warehouse)}
    return {
        **os.environ,
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags if dags.is_dir() else here.parent / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__MICROAGG__STAGING": str(folder / "staging"),
        "AIRFLOW__MICROAGG__REPORTS": str(folder / "reports"),
        "AIRFLOW_CONN_WAREHOUSE": json.dumps(connection),
    }


def call(arguments: list[str], environment: dict[str, str], log: Path) -> None:
    """Run Python in another process, its output in a file."""
    with log.open("ab") as file:
        done = subprocess.run(  # noqa: S603 - our own interpreter and arguments
            [sys.executable, *arguments], env=environment, stdout=file, stderr=file, check=False
        )
    if done.returncode:
        raise MicroaggError(f"The demo failed: see {log}.")


def show(folder: Path, warehouse: Path, log: Path) -> tuple[dict[str, Any], list[str]]:
    """Read back what was published, and count it with plain SQL."""
    import duckdb

    reports = sorted((folder / "reports" / DAG).glob("*/report.json"), key=os.path.getmtime)
    figures = json.loads(reports[-1].read_text())
    classes_by = ("quasi-identifier", "stratum")
    names = [c["name"] for c in figures["data"]["columns"] if c["role"] in classes_by]
    listed = ", ".join(f'"{name}"' for name in names)
    with duckdb.connect(str(warehouse), read_only=True) as con:
        recount = con.execute(
            "select count(*), min(n), sum(n), min(l) from (select count(*) n, "  # noqa: S608
            f"count(distinct diagnosis) l from pub.clinic_patients group by {listed})"
        ).fetchone()
    classes, smallest, rows, diagnoses = recount or (0, 0, 0, 0)
    outcome = {
        "table": f"{warehouse} pub.clinic_patients",
        "report": str(reports[-1].with_suffix(".html")),
        "airflow_home": str(folder / "airflow"),
        "log": str(log),
        "k": figures["risk"]["k"],
        "information_loss": figures["utility"]["information_loss"],
        "checks": {check["name"]: check["passed"] for check in figures["checks"]},
        "recount": {
            "classes": classes,
            "smallest": smallest,
            "rows": int(rows),
            "diagnoses": diagnoses,
        },
    }
    lines = [
        "",
        f"Published table  pub.clinic_patients in {warehouse}",
        f"Audit report     {outcome['report']}",
        f"Airflow home     {outcome['airflow_home']}",
        f"Log              {log}",
        "",
        f"k = {outcome['k']} entities, information loss {outcome['information_loss']:.2f} %",
        *(
            f"{'passed' if check['passed'] else 'FAILED'}  {check['claim']}"
            for check in figures["checks"]
        ),
        f"Recount by SQL: {classes:,} classes of {int(rows):,} rows, the smallest with {smallest}; "
        f"each has {diagnoses} diagnoses or more.",
    ]
    return outcome, lines
