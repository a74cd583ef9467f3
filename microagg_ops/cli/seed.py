"""Fill the source of the example DAGs into a warehouse: people who were made up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from microagg_ops.cli.output import Output
from microagg_ops.errors import ReleaseError
from microagg_ops.sql import TableName
from microagg_ops.warehouse import Warehouse, from_environment

SOURCE = TableName(("clinic", "patients"))
TARGET_SCHEMA = "pub"


def seed(
    conn_id: str, rows: int, connections: Mapping[str, str], output: Output
) -> tuple[dict[str, Any], list[str]]:
    """Write the source table, in the place of an earlier one, and a schema to publish to."""
    if rows < 1:
        raise ReleaseError("--rows must be 1 or more.")
    warehouse = from_environment(conn_id, connections)
    output.say(f"Seeding {SOURCE} with {rows:,} rows …")
    fill(warehouse, rows)
    outcome = {"table": str(SOURCE), "rows": rows, "kind": warehouse.kind}
    return outcome, [
        f"{SOURCE} in {warehouse.kind} has {rows:,} rows of people who were made up.",
        f"The schema {TARGET_SCHEMA} is there to publish to.",
    ]


def fill(warehouse: Warehouse, rows: int) -> None:
    """Write the table; the same rows each time."""
    from microagg_ops.cli.demo_data import clinic_patients
    from microagg_ops.warehouse.base import Rows
    from microagg_ops.warehouse.duckdb import DuckDBWarehouse

    if isinstance(warehouse, DuckDBWarehouse):
        make_file(Path(warehouse.path))
    for schema in (SOURCE.schema, TARGET_SCHEMA):
        warehouse.make_schema(str(schema))
    warehouse.write(SOURCE, Rows(clinic_patients(rows), {}))


def make_file(path: Path) -> None:
    """Make an empty DuckDB file, for its owner alone, where there is none."""
    import duckdb

    if not path.exists():
        duckdb.connect(str(path)).close()
        path.chmod(0o600)
