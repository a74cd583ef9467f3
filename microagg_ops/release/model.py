"""A release: one protected table, as its file describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from microagg_ops.errors import ReleaseError
from microagg_ops.release.columns import Columns
from microagg_ops.release.condition import Condition, parameters
from microagg_ops.release.engine import EngineAsked
from microagg_ops.release.files import Format
from microagg_ops.release.purpose import About, Sample
from microagg_ops.release.series import HISTORY, Series
from microagg_ops.release.validate import Validate
from microagg_ops.sql import TableName

STAGES = ("extract", "standardize", "group", "aggregate", "validate", "report", "publish")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows come from."""

    conn_id: str
    table: TableName
    where: str | None = None
    trusted: tuple[str, ...] = ()
    format: Format = field(default_factory=Format)

    @property
    def condition(self) -> Condition | None:
        """The condition on the rows, with the functions that it may call."""
        return None if self.where is None else Condition(self.where, self.trusted)

    @property
    def by_interval(self) -> bool:
        """Whether the rows depend on the data interval."""
        return bool(self.where) and bool(parameters(self.where or ""))


@dataclass(frozen=True, slots=True)
class Standardize:
    """How quasi-identifiers are made comparable."""

    method: str = "zscore"


@dataclass(frozen=True, slots=True)
class Group:
    """Which quasi-identifiers are aggregated together."""

    method: str = "single"
    groups: tuple[tuple[str, ...], ...] = ()
    size: int = 3
    population: int = 200
    generations: int = 100
    seed: int = 0
    budget: str | None = None
    sample: int = 2000

    @property
    def seconds(self) -> float | None:
        """The budget in seconds."""
        return None if self.budget is None else in_seconds(self.budget)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """How clusters are found."""

    k: int
    method: str = "mdav"
    seed: int = 0
    budget: str | None = None
    aware: bool = True
    threads: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float | None:
        """The budget in seconds."""
        return None if self.budget is None else in_seconds(self.budget)


@dataclass(frozen=True, slots=True)
class Report:
    """The audit report of each run."""

    formats: tuple[str, ...] = ("html", "json")
    uri: str | None = None
    sign_conn_id: str | None = None
    data_docs: str | None = None
    compare: bool = False


@dataclass(frozen=True, slots=True)
class Publish:
    """Where the protected table goes."""

    conn_id: str
    table: TableName
    mode: str = "replace"
    interval_column: str = "interval_start"


@dataclass(frozen=True, slots=True)
class Release:
    """One protected table, as its file describes it."""

    release: str
    source: Source
    columns: Columns
    aggregate: Aggregate
    publish: Publish
    version: int = 1
    about: About = field(default_factory=About)
    profile: str | None = None
    sample: Sample = field(default_factory=Sample)
    strata: tuple[str, ...] = ()
    small_strata: str = "error"
    nulls: str = "reject"
    standardize: Standardize = field(default_factory=Standardize)
    group: Group = field(default_factory=Group)
    validate: Validate = field(default_factory=Validate)
    report: Report = field(default_factory=Report)
    approve: bool = False
    series: Series = field(default_factory=Series)
    engine: EngineAsked = field(default_factory=EngineAsked)
    digest: str = ""
    # Where its file lies: paths of files begin there.
    folder: str = ""

    @property
    def k(self) -> int:
        """The k that must hold on the published rows."""
        return self.validate.k or self.aggregate.k

    @property
    def least(self) -> int:
        """The least number of entities of a stratum: classes that last may have been parted."""
        return self.k if self.series.protect == HISTORY else self.aggregate.k

    @property
    def quasi(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers."""
        return tuple(self.columns.quasi)

    @property
    def published_columns(self) -> frozenset[str]:
        """The columns that leave; everything else stays."""
        return frozenset((*self.quasi, *self.columns.sensitive, *self.strata))

    @property
    def extracted(self) -> frozenset[str]:
        """Columns that are read, which are those that leave, the entity key and the weight."""
        others = (self.columns.entity, self.columns.weight)
        return self.published_columns | {name for name in others if name is not None}


def in_seconds(duration: str) -> float:
    """Read a duration such as ``500ms``, ``60s``, ``10m`` or ``1h``."""
    for unit, seconds in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)):
        if duration.endswith(unit):
            try:
                return float(duration.removesuffix(unit)) * seconds
            except ValueError:
                break
    raise ReleaseError(f"{duration!r} is not a duration.", hint="Write 500ms, 60s, 10m or 1h.")
