"""One stage by itself, on a table or a Parquet file, without a release file.

The arguments become a release of their own, so that they are checked and used in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from microagg_ops.artifact import (
    MemoryStaging,
    content_digest,
    from_parquet,
    in_order,
    local,
    to_parquet,
    write_private,
)
from microagg_ops.columns import inferred_type
from microagg_ops.errors import DataError, ReleaseError
from microagg_ops.release import Release, build, find_faults
from microagg_ops.sql import TableName
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.aggregate import ENTITY
from microagg_ops.stages.extract import check_columns, coded, keep, normalized
from microagg_ops.warehouse.base import Rows

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.warehouse import Warehouse


MODES = ("replace", "append_interval")


@dataclass(frozen=True)
class Place:
    """A table of a connection, or a Parquet file.

    Parameters
    ----------
    at
        ``schema.table``, or a path or URI of a Parquet file, or a path object.
    conn_id
        The connection, for a table.
    """

    at: Any
    conn_id: str | None = None

    @property
    def is_file(self) -> bool:
        """Whether this is a Parquet file."""
        return not isinstance(self.at, str) or "://" in self.at or self.at.endswith(".parquet")


@dataclass(frozen=True)
class Options:
    """What a release file would say, as keyword arguments."""

    quasi: Sequence[str] | Mapping[str, str]
    sensitive: Sequence[str] = ()
    entity: str | None = None
    strata: Sequence[str] = ()
    k: int | None = None
    standardize: str = "zscore"
    groups: Sequence[Sequence[str]] = ()
    method: str = "mdav"
    seed: int = 0
    budget: str | None = None
    guarantee: str = "joint"
    max_information_loss: float | None = None
    mode: str = "replace"
    formats: Sequence[str] = ("html", "json")
    name: str = "alone"
    reports: Any = "reports"
    run_id: str = "alone"
    interval: tuple[datetime, datetime] | None = None
    progress: Callable[[float], None] = field(default=lambda share: None)

    @property
    def columns(self) -> list[str]:
        """Every column that is read, once."""
        for name in ("quasi", "sensitive", "strata"):
            if isinstance(getattr(self, name), str):
                raise ReleaseError(f"The {name!r} parameter must be a list of columns, not a text.")
        entity = [self.entity] if self.entity else []
        return list(dict.fromkeys([*self.quasi, *self.sensitive, *self.strata, *entity]))

    def release(self, table: pa.Table, source: Place, target: Place | None) -> Release:
        """Make a release of the arguments, checked like a file."""
        types = self.quasi if isinstance(self.quasi, Mapping) else {}
        document: dict[str, Any] = {
            "release": "".join(c if c.isalnum() else "_" for c in f"r_{self.name}")[:100],
            "source": {"conn_id": source.conn_id or "input", "table": "input"},
            "columns": {
                "quasi": {
                    name: {
                        "type": types.get(name)
                        or inferred_type(name, table.schema.field(name).type)
                    }
                    for name in self.quasi
                },
                "sensitive": list(self.sensitive),
                "entity": self.entity,
            },
            "strata": list(self.strata),
            "standardize": {"method": self.standardize},
            "group": {"method": "fixed" if self.groups else "single"},
            # Stages before aggregate do not look at k.
            "aggregate": {
                "k": 2 if self.k is None else self.k,
                "method": self.method,
                "seed": self.seed,
                "budget": self.budget,
            },
            "validate": {
                "guarantee": self.guarantee,
                "max_information_loss": self.max_information_loss,
            },
            "report": {"formats": list(self.formats)},
            "publish": {
                "conn_id": (target.conn_id if target else None) or "output",
                "table": "output",
            },
        }
        if self.groups:
            document["group"]["groups"] = [list(names) for names in self.groups]
        faults = list(find_faults(document))
        if faults:
            raise ReleaseError("\n".join(["Bad arguments:", *(f"  {fault}" for fault in faults)]))
        release = build(document, "")
        if target is not None and not target.is_file:
            how = replace(release.publish, table=TableName.parse(target.at), mode=self.mode)
            release = replace(release, publish=how)
        return release


@dataclass(frozen=True)
class Alone:
    """One stage by itself; ``warehouse`` turns a connection id into a warehouse."""

    warehouse: Callable[[str], Warehouse]

    def extract(
        self,
        source: Place,
        columns: Sequence[str],
        target: Place,
        where: str | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> dict[str, Any]:
        """Copy columns of a table into a Parquet file, in an order of their own."""
        table = in_order(normalized(self.read(source, columns, where, values)))
        self.write(target, table)
        return {"rows": table.num_rows, "digest": content_digest(table)}

    def standardize(self, source: Place, target: Place, options: Options) -> dict[str, Any]:
        """Write the standardized quasi-identifiers."""
        run = self.prepared(source, None, options)
        summary = stage_function("standardize")(run)
        self.write(target, run.table("standardize", "matrix"))
        return summary

    def group(self, source: Place, options: Options) -> dict[str, Any]:
        """Give the groups of columns."""
        run = self.prepared(source, None, options)
        stage_function("standardize")(run)
        return stage_function("group")(run)

    def aggregate(self, source: Place, target: Place, options: Options) -> dict[str, Any]:
        """Write the protected table; it is validated before it is written."""
        run = self.protected(source, target, options)
        self.write(target, run.table("aggregate", "protected"))
        verdict = run.staging.summary("validate")
        return {**run.staging.summary("aggregate"), "k": verdict["k"], "checks": verdict["checks"]}

    def report(self, source: Place, options: Options) -> dict[str, Any]:
        """Write the report of protecting a table in this way; nothing is published."""
        return stage_function("report")(self.protected(source, None, options))

    def validate(self, source: Place, options: Options) -> dict[str, Any]:
        """Check a table that is said to be protected."""
        return stage_function("validate")(self.claimed(source, None, options))

    def publish(self, source: Place, target: Place, options: Options) -> dict[str, Any]:
        """Publish a table that is said to be protected; it is validated here, always."""
        if target.is_file:
            raise ReleaseError("The 'target' of publish must be a table.")
        if options.mode not in MODES:
            # Any other word would replace the whole target.
            raise ReleaseError(
                f"The 'mode' parameter must be one of {', '.join(MODES)}. "
                f"Got {options.mode!r} instead."
            )
        run = self.claimed(source, target, options)
        stage_function("validate")(run)
        return stage_function("publish")(run)

    def prepared(self, source: Place, target: Place | None, options: Options) -> Run:
        """Read the input into a run that lives in memory."""
        table = self.read(source, options.columns)
        run = self._run(table, source, target, options)
        keep(run, table, {}, "")
        return run

    def protected(self, source: Place, target: Place | None, options: Options) -> Run:
        """Protect and validate the input."""
        _require_k(options)
        run = self.prepared(source, target, options)
        for stage in ("standardize", "group", "aggregate", "validate"):
            stage_function(stage)(run)
        return run

    def claimed(self, source: Place, target: Place | None, options: Options) -> Run:
        """Take the input for the protected table, as if aggregate had left it."""
        import pyarrow as pa

        _require_k(options)
        table = self.read(source, options.columns)
        run = self._run(table, source, target, options)
        table = in_order(normalized(table))
        published = table.select([n for n in table.column_names if n in run.release.published])
        rows = {"row": pa.array(range(table.num_rows), pa.int64())}
        if options.entity:
            rows[ENTITY] = coded(table, options.entity)[options.entity]
        files = {
            "protected.parquet": to_parquet(published),
            "rows.parquet": to_parquet(pa.table(rows)),
        }
        run.staging.put("aggregate", files, {"digest": content_digest(published)})
        stage_function("group")(run)
        source_file = {"source.json": json.dumps({"types": {}, "kind": ""}).encode()}
        run.staging.put("extract", source_file, {})
        return run

    def _run(self, table: pa.Table, source: Place, target: Place | None, options: Options) -> Run:
        return Run(
            release=options.release(table, source, target),
            staging=MemoryStaging(),
            warehouse=self.warehouse,
            reports=options.reports,
            run_id=options.run_id,
            interval=options.interval,
            progress=options.progress,
        )

    def read(
        self,
        place: Place,
        columns: Sequence[str],
        where: str | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        """Read columns of a table or of a Parquet file."""
        if not columns:
            raise ReleaseError("No column is named.", hint="Give 'quasi', or 'columns' to extract.")
        if place.is_file:
            try:
                table = from_parquet(local(place.at).read_bytes())
            except (OSError, ValueError) as error:
                raise DataError(
                    f"The source {place.at} cannot be read as Parquet ({type(error).__name__}).",
                    code="no_table",
                    hint="Check the path or URI.",
                ) from None
            check_columns("The source", table.column_names, columns)
            return table.select([name for name in table.column_names if name in columns])
        warehouse, name = self._warehouse(place), TableName.parse(place.at)
        described = warehouse.require(name)
        check_columns(str(name), described, columns)
        wanted = {n: kind for n, kind in described.items() if n in columns}
        return warehouse.read(name, wanted, where, values)

    def write(self, place: Place, table: pa.Table) -> None:
        """Write a Parquet file or replace a table."""
        if place.is_file:
            write_private(local(place.at), to_parquet(table))
        else:
            self._warehouse(place).write(TableName.parse(place.at), Rows(table, {}))

    def _warehouse(self, place: Place) -> Warehouse:
        if not place.conn_id:
            raise ReleaseError(
                f"{str(place.at)!r} is a table, but no connection is named.",
                hint="Give conn_id, or the path or URI of a Parquet file.",
            )
        return self.warehouse(place.conn_id)


def _require_k(options: Options) -> None:
    if options.k is None:
        raise ReleaseError("The 'k' parameter is missing.", hint="Give the least class size.")
