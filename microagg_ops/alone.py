"""One stage by itself, on a table or a Parquet file, without a release file.

The arguments become a release of their own, so that they are checked and used in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
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
from microagg_ops.errors import DataError, DisclosureError, ReleaseError
from microagg_ops.options import Options, Place
from microagg_ops.sql import TableName, parameters
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.aggregate import ENTITY
from microagg_ops.stages.extract import check_columns, coded, keep, nan_as_null, normalized
from microagg_ops.warehouse.base import Rows

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.warehouse import Warehouse


MODES = ("replace", "append_interval")


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
        self.check_target(source, target, raw=True)
        check_bound(where, values or {})
        table = in_order(normalized(self.read(source, columns, where, values)))
        self.write(target, table)
        return {"rows": table.num_rows, "digest": content_digest(table)}

    def standardize(self, source: Place, target: Place, options: Options) -> dict[str, Any]:
        """Write the standardized quasi-identifiers."""
        self.check_target(source, target, raw=True)
        run = self.prepared(source, None, options)
        summary = stage_function("standardize")(run)
        self.write(target, run.table("standardize", "matrix"))
        return summary

    def group(self, source: Place, options: Options) -> dict[str, Any]:
        """Give the groups of columns."""
        if options.group().get("method") in ("gomm", "dgomm"):
            _require_k(options)  # what a grouping is worth depends on it
        run = self.prepared(source, None, options)
        stage_function("standardize")(run)
        return stage_function("group")(run)

    def aggregate(self, source: Place, target: Place, options: Options) -> dict[str, Any]:
        """Write the protected table; it is validated before it is written."""
        self.check_target(source, target)
        run = self.protected(source, target, options)
        self.write(target, run.table("aggregate", "protected"))
        verdict = run.staging.summary("validate")
        return {**run.staging.summary("aggregate"), "k": verdict["k"], "checks": verdict["checks"]}

    def report(self, source: Place, options: Options) -> dict[str, Any]:
        """Write the report of protecting a table in this way; nothing is published."""
        _require_k(options)
        run = self.prepared(source, None, options)
        try:
            _protect(run)
        except DisclosureError as error:
            from microagg_ops.stages.report import report_failure

            report_failure(run, error)
            raise
        return stage_function("report")(run)

    def validate(self, source: Place, options: Options) -> dict[str, Any]:
        """Check a table that is said to be protected."""
        return stage_function("validate")(self.claimed(source, None, options))

    def publish(self, source: Place, target: Place, options: Options) -> dict[str, Any]:
        """Publish a table that is said to be protected; it is validated here, always."""
        if target.is_file:
            raise ReleaseError("The 'target' of publish must be a table.")
        self.check_target(source, target)
        if options.mode not in MODES:
            # Any other word would replace the whole target.
            raise ReleaseError(
                f"The 'mode' parameter must be one of {', '.join(MODES)}. "
                f"Got {options.mode!r} instead."
            )
        run = self.claimed(source, target, options)
        stage_function("validate")(run)
        return stage_function("publish")(run)

    def check_target(self, source: Place, target: Place, *, raw: bool = False) -> None:
        """Refuse a target that is the source, or a table for rows that nothing protects yet."""
        if raw and not target.is_file:
            raise ReleaseError(
                "The 'target' must be a Parquet file: these rows are not protected yet.",
                hint="Only a validated table goes into a warehouse.",
            )
        if source.is_file != target.is_file:
            return
        if self.identity(source) == self.identity(target):
            raise DataError(
                f"The target {str(target.at)!r} is the source itself.",
                code="target_is_source",
                hint="Write to another table or file.",
            )

    def identity(self, place: Place) -> Any:
        """Give a key that is the same for two names of one table or file."""
        if not place.is_file:
            return self._warehouse(place).identity(TableName.parse(place.at))
        path = local(place.at)
        return str(path.resolve() if isinstance(path, Path) else path)

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
        _protect(run)
        return run

    def claimed(self, source: Place, target: Place | None, options: Options) -> Run:
        """Take the input for the protected table, as if aggregate had left it."""
        import pyarrow as pa

        _require_k(options)
        table = self.read(source, options.columns)
        run = self._run(table, source, target, options)
        table = in_order(nan_as_null(normalized(table), run.release.quasi))
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


def check_bound(where: str | None, values: Mapping[str, datetime]) -> None:
    """Refuse a condition that is none, or that names what this run cannot bind."""
    try:
        unbound = set(parameters(where or "")) - set(values)
    except ValueError as error:
        raise ReleaseError(f"The 'where' parameter holds {error}.") from None
    if unbound:
        raise DataError(
            f"'where' names {', '.join(sorted(f':{name}' for name in unbound))}, but this run "
            f"binds {', '.join(sorted(f':{name}' for name in values)) or 'nothing'}.",
            code="no_interval",
            hint="Only :start and :end are bound, in a run that has a data interval.",
        )


def _protect(run: Run) -> None:
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)


def _require_k(options: Options) -> None:
    if options.k is None:
        raise ReleaseError("The 'k' parameter is missing.", hint="Give the least class size.")
