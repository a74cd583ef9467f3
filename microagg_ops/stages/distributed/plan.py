"""What every executor is told, and where the rows of a run lie."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import Encoded, read
from microagg_ops.columns.space import Scale
from microagg_ops.engines.spark.engine import SparkEngine
from microagg_ops.engines.spark.session import open_session
from microagg_ops.engines.spark.tables import SparkWarehouse
from microagg_ops.errors import ReleaseError, StagingError
from microagg_ops.release.model import Release
from microagg_ops.stages.artefacts import Artefact
from microagg_ops.stages.extract import nan_as_null, normalized, with_entity_ranks
from microagg_ops.stages.microdata import Microdata, prepare
from microagg_ops.stages.run import Run
from microagg_ops.staging.digests import from_parquet, in_order, to_parquet

if TYPE_CHECKING:
    import pyarrow as pa

# The folders with rows: those that were read, those of blocks, and those to be published.
SOURCE, BLOCKS, PROTECTED = "source", "blocks", "protected"


def engine_of(run: Run) -> SparkEngine:
    """Open the engine of a release."""
    conn_id = run.release.engine.conn_id
    if conn_id is None:
        return SparkEngine(open_session(None))
    warehouse = run.warehouse(conn_id)
    if not isinstance(warehouse, SparkWarehouse):
        raise ReleaseError(
            f"The connection {conn_id!r} of the engine does not lead to Spark.",
            code="no_spark",
            hint="Give it the type spark or spark_connect.",
        )
    return SparkEngine(warehouse.session)


def folder(run: Run, name: str) -> Path:
    """Return the folder with rows of a run; driver and executors must see it alike."""
    root = run.staging.root
    if not isinstance(root, Path):
        raise StagingError(
            "Staging for engine: spark must be a folder that driver and executors see.",
            code="staging",
            retryable=False,
            hint="Give a path on a shared file system (--staging).",
        )
    return root.resolve() / "rows" / name


@dataclass(frozen=True)
class Plan:
    """What every executor is told.

    Parameters
    ----------
    release
        What to do.
    schema
        The columns that were extracted.
    scales
        What the quasi-identifiers are standardized by.
    centres
        The code that would stand for all rows, by column; without any, all rows are one block.
    categories
        Those of nominal columns.
    groups
        Which columns are aggregated together.
    spreads
        Of sensitive columns whose spread in every class must be that of the table: the latter.
    """

    release: Release
    schema: pa.Schema
    scales: dict[str, Scale]
    centres: dict[str, float]
    categories: dict[str, pa.Array]
    groups: tuple[tuple[str, ...], ...] = ()
    spreads: dict[str, pa.Table] = field(default_factory=dict)

    @property
    def published(self) -> list[str]:
        """The columns that leave, in the order of the source."""
        return [name for name in self.schema.names if name in self.release.published_columns]

    def canonical(self, table: pa.Table) -> pa.Table:
        """Take the extracted columns of some rows, in the order that one machine has them in."""
        rows = normalized(table.select(self.schema.names))
        return in_order(nan_as_null(rows, self.release.quasi))

    def encoded(self, source: pa.Table) -> dict[str, Encoded]:
        """Read the quasi-identifiers as numbers, categories numbered as in the whole table."""
        return {
            name: read(name, how, source[name], self.categories.get(name))
            for name, how in self.release.columns.quasi.items()
        }

    def microdata(self, source: pa.Table) -> Microdata:
        """Prepare the rows of a block."""
        rows = with_entity_ranks(source, self.release.columns.entity)  # digests are too long
        return prepare(self.release, rows, self.encoded(rows), self.scales)


class Planned(Artefact):
    """How rows are made comparable, and in which blocks they are partitioned."""

    stage = "standardize"

    @classmethod
    def write(cls, run: Run, plan: Plan, layout: Any, summary: dict[str, Any]) -> None:
        """Store a plan; scales and categories may be cells, so they stay in staging."""
        import pyarrow as pa

        facts = {"scales": plan.scales, "centres": plan.centres, "layout": layout.facts()}
        files = {"cells.parquet": to_parquet(layout.cells)}
        for i, name in enumerate(plan.release.quasi):
            if name in plan.categories:
                found = pa.table({"category": plan.categories[name]})
                files[f"categories_{i}.parquet"] = to_parquet(found)
        for i, name in enumerate(plan.spreads):
            files[f"spread_{i}.parquet"] = to_parquet(plan.spreads[name])
        facts["spreads"] = list(plan.spreads)
        files["facts.json"] = json.dumps(facts).encode()
        cls.leave(run, files | {"schema.arrow": plan.schema.serialize().to_pybytes()}, summary)

    @classmethod
    def plan(cls, run: Run, groups: list[list[str]]) -> Plan:
        """Take the plan of a run."""
        import pyarrow as pa

        found = cls.of(run)
        facts = found.document("facts")
        categories = {
            name: found.table(f"categories_{i}")["category"].combine_chunks()
            for i, name in enumerate(run.release.quasi)
            if f"categories_{i}.parquet" in found.entry["files"]
        }
        return Plan(
            run.release,
            pa.ipc.read_schema(pa.py_buffer(found.content("schema.arrow"))),
            {name: (centre, scale) for name, (centre, scale) in facts["scales"].items()},
            facts["centres"],
            categories,
            tuple(map(tuple, groups)),
            {name: found.table(f"spread_{i}") for i, name in enumerate(facts["spreads"])},
        )

    @property
    def layout(self) -> tuple[dict[str, Any], pa.Table]:
        """The facts and the cells of the layout of blocks."""
        return self.document("facts")["layout"], from_parquet(self.content("cells.parquet"))
