"""One stage by itself, on a table or a Parquet file, without a release file.

The arguments become a release of their own, so that they are checked and used in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.frames import as_arrow, kind_of_frame, names_of
from microagg_ops.columns.space import as_column, points
from microagg_ops.errors import DataError, DisclosureError, ReleaseError
from microagg_ops.options import Options, Place
from microagg_ops.release.condition import Condition, parameters
from microagg_ops.sql import TableName
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.artefacts import ENTITY, ROW, WEIGHT, Extracted, Protected, Verdict
from microagg_ops.stages.extract import (
    check_columns,
    check_roles,
    keep,
    nan_as_null,
    normalized,
    with_entity_ranks,
)
from microagg_ops.stages.standardize import comparable
from microagg_ops.staging.digests import content_digest, from_parquet, in_order, to_parquet
from microagg_ops.staging.keys import installation_key
from microagg_ops.staging.private import write_private
from microagg_ops.staging.store import MemoryStaging, local
from microagg_ops.warehouse.base import Rows

if TYPE_CHECKING:
    import pyarrow as pa

    from microagg_ops.warehouse import Warehouse


MODES = ("replace", "append_interval")


@dataclass(frozen=True)
class Alone:
    """One stage by itself.

    ``warehouse`` turns a connection id into a warehouse, ``installation`` finds the key of the
    installation.
    """

    warehouse: Callable[[str], Warehouse]
    installation: Callable[[], bytes] = installation_key

    def extract(
        self,
        source: Place,
        columns: Sequence[str],
        target: Place,
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> dict[str, Any]:
        """Copy columns of a table into a Parquet file, in an order of their own."""
        self.check_target(source, target, raw=True)
        check_bound(where, values or {})
        table = in_order(normalized(self.read(source, columns, where, values)))
        self.write(target, table)
        return {"rows": table.num_rows, "outside": {"rows": table.num_rows}}

    def standardize(self, source: Place, target: Place, options: Options) -> dict[str, Any]:
        """Write the standardized quasi-identifiers."""
        import pyarrow as pa

        self.check_target(source, target, raw=True)
        run = self.open_run(source, None, options)
        encoded, scales, summary = comparable(run.release, Extracted.of(run).rows)
        columns = {name: as_column(points(c, scales[name])) for name, c in encoded.items()}
        self.write(target, pa.table(columns))
        return summary

    def group(self, source: Place, options: Options) -> dict[str, Any]:
        """Return the groups of columns."""
        if options.group().get("method") in ("gomm", "dgomm"):
            _require_k(options)  # what a grouping is worth depends on it
        run = self.open_run(source, None, options)
        stage_function("standardize")(run)
        return stage_function("group")(run)

    def aggregate(self, source: Place, target: Place, options: Options) -> dict[str, Any]:
        """Write the protected table; it is validated before it is written."""
        self.check_target(source, target)
        run = self.protected(source, target, options)
        self.write(target, Protected.of(run).rows)
        aggregated, verdict = Protected.of(run).summary, Verdict.of(run).summary
        outside = aggregated["outside"] | verdict.get("outside", {})
        counted = {name: verdict[name] for name in ("k", "checks")}
        return {**aggregated, **counted, "outside": outside}

    def report(self, source: Place, options: Options) -> dict[str, Any]:
        """Write the report of protecting a table in this way; nothing is published."""
        _require_k(options)
        run = self.open_run(source, None, options)
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
        if kind_of_frame(source.at) or source.is_file != target.is_file:
            return
        if self.identity(source) == self.identity(target):
            raise DataError(
                f"The target {str(target.at)!r} is the source itself.",
                code="target_is_source",
                hint="Write to another table or file.",
            )

    def identity(self, place: Place) -> Any:
        """Return a key that is the same for two names of one table or file."""
        if not place.is_file:
            return self._warehouse(place).identity(TableName.parse(place.at))
        path = local(place.at)
        return str(path.resolve() if isinstance(path, Path) else path)

    def open_run(self, source: Place, target: Place | None, options: Options) -> Run:
        """Read the input into a run that lives in memory."""
        table = self.read(source, options.columns)
        run = self._run(table, source, target, options)
        keep(run, table, {}, "")
        return run

    def protected(self, source: Place, target: Place | None, options: Options) -> Run:
        """Protect and validate the input."""
        _require_k(options)
        run = self.open_run(source, target, options)
        _protect(run)
        return run

    def claimed(self, source: Place, target: Place | None, options: Options) -> Run:
        """Take the input for the protected table, as if aggregate had left it."""
        import pyarrow as pa

        _require_k(options)
        table = self.read(source, options.columns)
        run = self._run(table, source, target, options)
        table = in_order(nan_as_null(normalized(table), run.release.quasi))
        check_roles(run.release, table)
        published = table.select(
            [n for n in table.column_names if n in run.release.published_columns]
        )
        rows = {ROW: pa.array(range(table.num_rows), pa.int64())}
        if options.entity:
            rows[ENTITY] = with_entity_ranks(table, options.entity)[options.entity]
        if options.weight:
            rows[WEIGHT] = table[options.weight]
        summary = {"digest": content_digest(published)}
        Protected.write(run, published, pa.table(rows), None, summary)
        stage_function("group")(run)
        Extracted.write(run, None, {}, "", {})
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
            installation=self.installation,
        )

    def read(
        self,
        place: Place,
        columns: Sequence[str],
        where: Condition | None = None,
        values: Mapping[str, datetime] | None = None,
    ) -> pa.Table:
        """Read columns of a table, of a Parquet file or of a frame."""
        if not columns:
            raise ReleaseError("No column is named.", hint="Give 'quasi', or 'columns' to extract.")
        if kind_of_frame(place.at):
            check_columns("The frame", names_of(place.at), columns)
            return as_arrow(place.at, [name for name in names_of(place.at) if name in columns])
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


def check_bound(where: Condition | None, values: Mapping[str, datetime]) -> None:
    """Refuse a condition that is none, or that names what this run cannot bind."""
    if where is None:
        return
    try:
        where.check()
        unbound = set(parameters(where.text)) - set(values)
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
    check_roles(run.release, Extracted.of(run).rows)
    for stage in ("standardize", "group", "aggregate", "validate"):
        stage_function(stage)(run)


def _require_k(options: Options) -> None:
    if options.k is None:
        raise ReleaseError("The 'k' parameter is missing.", hint="Give the least class size.")
