"""What came of a frame: it shows itself in a notebook, and answers what a statistician asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from microagg_ops.checks.check import Finding
from microagg_ops.compare import BUDGET, Comparison, compared
from microagg_ops.errors import DataError, DisclosureError, ReleaseError
from microagg_ops.report.drawing import Drawing
from microagg_ops.report.words import as_percent
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.artefacts import Protected, Verdict
from microagg_ops.stages.evidence import Evidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from microagg_ops.staging.store import MemoryStaging


@dataclass(frozen=True)
class Risk:
    """What who holds the originals may find out of the protected rows; shares from 0 to 1.

    Parameters
    ----------
    highest, average
        The highest and the average chance to find an entity that is known to be in the table, by
        its quasi-identifiers and strata.
    linked, low, high
        The share of rows that are linked rightly by the distance of their quasi-identifiers, and
        between what it lies with 95 % confidence where a sample of them was drawn.
    same
        By sensitive column: the share of entities in classes that have one value alone.
    """

    highest: float
    average: float
    linked: float
    low: float
    high: float
    same: Mapping[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class Microaggregated:
    """A protected frame.

    It keeps the rows that it was made of, to report and to compare; they never show, and a copy
    by pickle has only what is listed here.

    Parameters
    ----------
    frame
        The columns of the frame that a release would publish, and those that were to be kept, with
        representatives in the quasi-identifiers; without the rows of strata that were dropped.
    labels
        ``int32[n]``, row to cluster; with several groups ``int32[n, groups]``.
    information_loss
        SSE/SST in percent, on the standardized columns.
    clusters
        The number of clusters; with several groups one number each.
    treatment
        How many cells were suppressed and imputed, and how many strata were merged and dropped.
    warnings
        What a reader should know.
    k
        The entities (rows, without a key of entities) of the smallest class, counted; with several
        groups in that group where it is least.
    """

    frame: Any
    labels: NDArray[np.int32]
    information_loss: float
    clusters: int | tuple[int, ...]
    treatment: Mapping[str, Any]
    warnings: tuple[str, ...]
    k: int
    _run: Run | None = field(default=None)

    def __repr__(self) -> str:
        """Tell counts alone."""
        return f"<Microaggregated: {', '.join(self._told())}>"

    def __getstate__(self) -> dict[str, Any]:
        """Leave the rows behind."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return found | {"_run": None}

    def _repr_html_(self) -> str:
        warned = "".join(f"<li>{escape(one)}</li>" for one in self.warnings)
        first, *others = self._told()
        parts = [f"<p><strong>{escape(first)}</strong>, {escape(', '.join(others))}</p>"]
        if self._run is not None:
            parts += [self._checks_html(), self.plot().svg]
        if warned:
            parts.append(f"<ul>{warned}</ul>")
        return f"<div>{''.join(parts)}</div>"

    def _told(self) -> list[str]:
        many = self.clusters if isinstance(self.clusters, tuple) else (self.clusters,)
        found = f"{' + '.join(f'{one:,}' for one in many)} clusters"
        each = " in each group" if len(many) > 1 else ""
        loss = f"information loss {as_percent(self.information_loss)}"
        return [f"k = {self.k}{each}", loss, found, f"{len(self.labels):,} rows"]

    def _checks_html(self) -> str:
        """Tell what holds: what was checked, or else what can be counted in a moment."""
        if "validate" in self._kept.staging.known:
            rows = "".join(
                f"<tr><td>{'✓ held' if one.passed else '✗ failed'}</td>"
                f"<td>{escape(one.claim)}</td></tr>"
                for one in self.checks
            )
            return f"<table>{rows}</table>"
        from microagg_ops.stages.recount import shortfalls

        kept, found = self._kept, Protected.of(self._kept)
        entities = found.entities if kept.release.columns.entity else None
        short = list(shortfalls(kept.release, found.rows, entities, self._evidence.groups))
        if not short:
            return "<p>✓ All that was asked for was counted again, and holds.</p>"
        return f"<p>✗ Counted again: {escape('; '.join(short))}.</p>"

    @property
    def _kept(self) -> Run:
        if self._run is None:
            raise DataError(
                "The rows that this was made of are not here any more.",
                code="no_rows",
                hint="Call microaggregate() again: a copy by pickle leaves them behind.",
            )
        return self._run

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence.of(self._kept)

    @cached_property
    def checks(self) -> tuple[Finding, ...]:
        """What Great Expectations and our own checks find on the protected rows."""
        run = self._kept
        if "validate" not in run.staging.known:
            with suppress(DisclosureError):  # what failed is in the verdict
                stage_function("validate")(run)
        return tuple(Finding(**one) for one in Verdict.of(run).found["checks"])

    @cached_property
    def risk(self) -> Risk:
        """What who holds the originals may find out."""
        from microagg_ops.metrics import attackers, homogeneity

        evidence, release = self._evidence, self._kept.release
        table, key = evidence.with_entities, release.columns.entity
        columns, links = [*release.quasi, *release.strata], evidence.linkage
        found = attackers(table, columns, key)
        return Risk(
            highest=found.prosecutor,
            average=found.prosecutor_average,
            linked=links.percent / 100,
            low=links.low / 100,
            high=links.high / 100,
            same={
                name: homogeneity(table, columns, name, key, k=release.k).share_of_entities
                for name in release.columns.sensitive
            },
        )

    def plot(self, column: str | None = None) -> Drawing:
        """Draw the loss of each column, or one column before and after.

        Parameters
        ----------
        column
            A quasi-identifier: its distribution in bins of k entities or more.
        """
        from microagg_ops.report.bins import distribution
        from microagg_ops.report.plots import distribution as drawn
        from microagg_ops.report.plots import loss_by_column

        run = self._kept
        if column is None:
            lost = Protected.of(run).summary["information_loss_by_column"]
            columns = [{"name": name, "information_loss": one} for name, one in lost.items()]
            return Drawing.of(loss_by_column(columns))
        rows = self._evidence.microdata
        if column not in rows.before:
            raise ReleaseError(
                f"{column!r} is no quasi-identifier.", hint=f"Choose of {', '.join(rows.before)}."
            )
        after = self._evidence.after[column]
        return Drawing.of(drawn(distribution(rows.before[column], after, rows.entities, self.k)))

    def report(self, path: str | Path, *, compare: bool = False) -> Path:
        """Write the report that a release would have: a page that needs nothing else, or JSON.

        Parameters
        ----------
        path
            A file; its name is the title, and with the ending ``.json`` it is for machines. Only
            its owner can read it: figures of the rows as they were are in it.
        compare
            Whether other methods are tried, for the map of loss and risk.
        """
        from microagg_ops.report.clauses import map_clauses
        from microagg_ops.report.figures import check_figures, find_figures
        from microagg_ops.report.render import as_html, as_json
        from microagg_ops.stages.report import gather
        from microagg_ops.staging.private import write_private

        path = Path(path)
        self.checks  # noqa: B018 - the report tells of them
        name = "".join(c if c.isalnum() and c.isascii() else "_" for c in path.stem)
        own = self._kept.release
        own = replace(own, release=name, report=replace(own.report, compare=compare))
        run = replace(self._kept, release=own)
        figures = find_figures(gather(run))
        figures |= {"clauses": map_clauses(figures, run.release.profile)}
        check_figures(figures)
        render = as_json if path.suffix == ".json" else as_html
        try:
            write_private(path, render(figures).encode())
        except OSError as error:
            raise ReleaseError(
                f"The report cannot be written to {path} ({error.strerror}).", code="no_report"
            ) from None
        return path

    def compare(self, methods: Sequence[str] = (), *, budget: str | float = BUDGET) -> Comparison:
        """Try other methods on the same rows, with the same k, columns and limits.

        Parameters
        ----------
        methods
            Names that ``microagg methods`` lists; all by default.
        budget
            The longest time for each, in seconds or as a text such as ``"10s"``.
        """
        from microagg_ops.options import as_duration

        run = self._kept
        staging = cast("MemoryStaging", run.staging).copy()
        return compared(replace(run, staging=staging), methods, as_duration(budget))
