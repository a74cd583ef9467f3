"""Methods side by side on the data of one release: what each loses, discloses and takes.

Nothing is published, and nothing is staged outside memory.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.pairs import published_strata
from microagg_ops.errors import BudgetError, DataError, ReleaseError
from microagg_ops.methods.partition import partition
from microagg_ops.methods.registry import METHODS
from microagg_ops.metrics import (
    disclosure_risk,
    interval_disclosure,
    k_anonymity,
    probabilistic_linkage,
    score,
)
from microagg_ops.metrics.agreement import PATTERNS_UP_TO
from microagg_ops.metrics.linkage import coordinates
from microagg_ops.pipeline import make_run
from microagg_ops.release.document import load_release
from microagg_ops.release.model import Release, in_seconds
from microagg_ops.report.drawing import Drawing
from microagg_ops.report.words import as_percent, as_seconds
from microagg_ops.risk_map import Spot, drawn
from microagg_ops.stages import Run, stage_function
from microagg_ops.stages.artefacts import ENTITY, Extracted, Groups
from microagg_ops.stages.evidence import Evidence
from microagg_ops.stages.extract import describe_source, keep, normalized, read_rows
from microagg_ops.staging.digests import in_order
from microagg_ops.staging.store import MemoryStaging

if TYPE_CHECKING:
    import pyarrow as pa

BUDGET = "10s"
# A search ends soon after its budget: so much more is still within it.
LENIENCE = 1.25
# Rows that are linked by agreement: enough for a percentage.
LINKED_BY_CHANCE = 2_000


@dataclass(frozen=True)
class Tried:
    """One method: what it lost and disclosed in percent, and took in seconds.

    Parameters
    ----------
    method
        Its name.
    information_loss
        SSE/SST.
    interval_disclosure, distance_linkage, probabilistic_linkage
        Cells published within ±10 % of what they were, and rows linked for certain, by distance
        and by agreement (not with very many columns): the parts of the risk.
    risk, score
        The disclosure risk of Balasch i Masoliver (2010), and its mean with the information loss.
    k
        Counted over all quasi-identifiers jointly.
    clusters, seconds
        How many clusters were found, and how long that took, without compiling.
    linkage
        Rows linked rightly on average, by distance within strata: what check and report tell.
    least_loss
        What any k-anonymous partition of these rows must lose, proven; the same for all methods
        but for the work that was spent on it.
    failure
        Why there is no result.
    loss_without_limits
        SSE/SST of the clusters before they met the limits on sensitive columns, where there are
        any.
    overran
        Whether it took longer than its budget: it is recommended only if all did.
    """

    method: str
    information_loss: float | None = None
    interval_disclosure: float | None = None
    distance_linkage: float | None = None
    probabilistic_linkage: float | None = None
    risk: float | None = None
    score: float | None = None
    k: int | None = None
    clusters: int | None = None
    seconds: float | None = None
    linkage: float | None = None
    least_loss: float | None = None
    failure: str = ""
    loss_without_limits: float | None = None
    overran: bool = False


@dataclass(frozen=True)
class Comparison:
    """Methods side by side.

    Parameters
    ----------
    release, k, groups
        What was asked for, and the columns that were aggregated together.
    rows, of
        The rows that were looked at, and those of the source.
    budget
        The time that each method had.
    tried
        What came of each.
    recommended
        The method with the least score of those that kept to the budget (if none did, of all); of
        equals that with the least loss, then the fastest.
    """

    release: str
    k: int
    groups: Sequence[Sequence[str]]
    rows: int
    of: int
    budget: str
    tried: tuple[Tried, ...]
    recommended: str

    def plot(self) -> Drawing:
        """Draw loss against risk, a point a method: the nearer to the lower left, the better."""
        spots = [
            Spot(tried.method, tried.information_loss, tried.risk)
            for tried in self.tried
            if tried.information_loss is not None and tried.risk is not None
        ]
        title = f"{self.release}, k = {self.k}: information loss and disclosure risk"
        return Drawing(drawn(title, spots, self.recommended))

    def _repr_html_(self) -> str:
        done = [one for one in self.tried if not one.failure]
        done.sort(key=lambda one: one.score or 0.0)
        lines = [
            (one.method, as_percent(one.information_loss), as_percent(one.linkage),
             as_percent(one.risk), as_percent(one.score),
             as_seconds(one.seconds or 0.0) + ", longer than it had" * one.overran)
            for one in done
        ]  # fmt: skip
        lines += [(one.method, one.failure, "", "", "", "") for one in self.tried if one.failure]
        head = ("method", "loss", "linked", "risk", "score", "time")
        rows = "".join(
            f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"
            for kind, cells in [("th", head), *(("td", cells) for cells in lines)]
        )
        best = f"<p>Recommended: <strong>{escape(self.recommended)}</strong></p>"
        return f"<div><table>{rows}</table>{best}{self.plot().svg}</div>"


def compare(
    release: str | Path | Release,
    methods: Sequence[str] = (),
    *,
    sample: int | None = None,
    budget: str | None = None,
    connections: Mapping[str, str] | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Comparison:
    """Compare methods on the data of a release; publish nothing.

    Parameters
    ----------
    release
        A release file, or what `load_release` gave for one.
    methods
        Names that ``microagg methods`` lists; all by default.
    sample
        How many entities to look at; all by default.
    budget
        The time that each method has, such as ``"10s"``; by default that of the release, or 10 s.
    connections, start, end, progress
        As for `run_release`; progress is told of methods in place of stages.
    """
    if not isinstance(release, Release):
        release = load_release(release)
    names = known(methods)
    budget = budget or release.aggregate.budget or BUDGET
    in_seconds(budget)  # or an error, before anything is read
    run = make_run(release, "memory", connections=connections, start=start, end=end)
    run = replace(run, staging=MemoryStaging())
    table, types, kind = read_rows(run, describe_source(run))
    chosen = sampled(release, table, sample)
    if chosen.num_rows < table.num_rows and release.small_strata == "error":
        # A stratum that is large enough in the source can be too small in a sample of it.
        run = replace(run, release=replace(release, small_strata="merge"))
    keep(run, chosen, types, kind)
    for stage in ("standardize", "group"):
        stage_function(stage)(run)
    return compared(run, names, budget, progress, of=table.num_rows)


def compared(
    run: Run,
    methods: Sequence[str],
    budget: str,
    progress: Callable[[str, float], None] | None = None,
    *,
    of: int | None = None,
) -> Comparison:
    """Compare methods on a run whose columns are grouped; its table is replaced by theirs.

    Parameters
    ----------
    run
        A run in memory.
    methods, budget, progress
        As for `compare`.
    of
        The rows of the source, where a sample of them was drawn.
    """
    tell = progress or (lambda stage, share: None)
    seconds = in_seconds(budget)
    tried = [try_method(run, name, budget, partial(tell, name)) for name in known(methods)]
    tried = [replace(one, overran=is_late(one, seconds)) for one in tried]
    rows = Extracted.of(run).rows.num_rows
    return Comparison(
        run.release.release, run.release.aggregate.k, Groups.of(run).names,
        rows, of or rows, budget, tuple(tried), recommended(tried, seconds),
    )  # fmt: skip


def known(methods: Sequence[str]) -> list[str]:
    """Check the names of methods; each counts once."""
    for name in methods:
        if name not in METHODS:
            close = difflib.get_close_matches(name, METHODS, 1)
            raise ReleaseError(
                f"There is no method {name!r}.",
                code="no_method",
                hint=f"Did you mean {close[0]!r}?" if close else f"Choose of {', '.join(METHODS)}.",
            )
    return list(dict.fromkeys(methods or METHODS))


def sampled(release: Release, table: pa.Table, sample: int | None) -> pa.Table:
    """Draw entities, with all their rows, whatever the order of the source."""
    import numpy as np
    import pyarrow.compute as pc

    if sample is None:
        return table
    if sample < release.aggregate.k:
        raise ReleaseError(
            f"A sample of {sample} is smaller than k = {release.aggregate.k}.", code="bad_sample"
        )
    table, entity = in_order(normalized(table)), release.columns.entity
    keys = table[entity].unique() if entity else np.arange(table.num_rows)
    if len(keys) <= sample:
        return table
    rng = np.random.default_rng(release.aggregate.seed)
    drawn = np.sort(rng.choice(len(keys), sample, replace=False))
    return table.filter(pc.is_in(table[entity], keys.take(drawn))) if entity else table.take(drawn)


def try_method(run: Run, name: str, budget: str, progress: Callable[[float], None]) -> Tried:
    """Aggregate by one method, and measure what came of it."""
    how = run.release.aggregate
    params = how.params if name == how.method else {}
    how = replace(how, method=name, budget=budget, params=params)
    run = replace(run, release=replace(run.release, aggregate=how), progress=progress)
    try:
        compile_ahead(name, limited=bool(run.release.validate.l or run.release.validate.t))
        summary = stage_function("aggregate")(run)
    except BudgetError:
        return Tried(name, failure=f"no result within {budget}")
    except (ReleaseError, DataError) as error:
        return Tried(name, failure=error.message)
    evidence = Evidence.of(run)
    parts = disclosed(evidence)
    risk = disclosure_risk(*parts)
    return Tried(
        name, evidence.information_loss, *parts, risk, score(evidence.information_loss, risk),
        joint_k(evidence), sum(summary["clusters"]), summary["seconds"],
        linkage=evidence.linkage.percent, least_loss=summary["least_loss"],
        loss_without_limits=(summary["price"] or {}).get("without"),
    )  # fmt: skip


def compile_ahead(name: str, *, limited: bool = False) -> None:
    """Let a method run on a few rows: the time that its kernels take to compile is not its own."""
    import numpy as np

    method = METHODS[name]
    points = np.random.default_rng(0).normal(size=(120, 1 if method.one_column else 2))
    limits: dict[str, Any] = {"sensitive": [0] * 110 + [1] * 10, "l": 2} if limited else {}
    partition(points, 3, name, **limits, **method.briefly())


def disclosed(evidence: Evidence) -> tuple[float, float, float | None]:
    """Measure what the protected rows disclose: by interval, by distance, by agreement."""
    pairs, by_chance = evidence.pairs, None
    if len(coordinates(pairs).names) <= PATTERNS_UP_TO:
        within = published_strata(evidence.release, evidence.protected.take(evidence.order))
        found = probabilistic_linkage(pairs, None, within=within, sample=LINKED_BY_CHANCE)
        by_chance = found.certain_percent
    overall = interval_disclosure(pairs, None).overall
    return overall, evidence.linkage.certain_percent, by_chance


def joint_k(evidence: Evidence) -> int:
    """Count k over all quasi-identifiers, within strata."""
    release, table = evidence.release, evidence.protected
    entity = release.columns.entity
    if entity:  # never a published column, so the name is free
        table = table.append_column(entity, evidence.origin[ENTITY])
    return k_anonymity(table, [*release.quasi, *release.strata], entity)


def recommended(tried: Sequence[Tried], seconds: float) -> str:
    """Name the method that the evidence speaks for, within the time there is."""

    def merit(one: Tried) -> tuple[Any, ...]:
        return round(one.score or 0.0, 6), round(one.information_loss or 0.0, 6), one.seconds

    done = [one for one in tried if not one.failure]
    if not done:
        reasons = "; ".join(f"{one.method}: {one.failure}" for one in tried)
        raise DataError(
            f"No method had a result ({reasons}).",
            code="nothing_to_compare",
            hint="Give more time (--budget), fewer rows (--sample) or other methods.",
        )
    in_time = [one for one in done if not is_late(one, seconds)]
    return min(in_time or done, key=merit).method


def is_late(tried: Tried, seconds: float) -> bool:
    """Whether a method took longer than it had."""
    return (tried.seconds or 0.0) > LENIENCE * seconds
