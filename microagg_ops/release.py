"""The release file: one protected table, described once, checked before anything is touched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from microagg_ops.about import About
from microagg_ops.errors import ReleaseError
from microagg_ops.limits import Validate, build_validate, limit_faults
from microagg_ops.roles import Columns, Quasi, column_faults
from microagg_ops.sql import TableName, parameters

STAGES = ("extract", "standardize", "group", "aggregate", "validate", "report", "publish")
LARGEST_FILE = 64 * 1024
INTERVAL = ("start", "end")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows come from."""

    conn_id: str
    table: TableName
    where: str | None = None

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
    strata: tuple[str, ...] = ()
    small_strata: str = "error"
    nulls: str = "reject"
    standardize: Standardize = field(default_factory=Standardize)
    group: Group = field(default_factory=Group)
    validate: Validate = field(default_factory=Validate)
    report: Report = field(default_factory=Report)
    approve: bool = False
    digest: str = ""

    @property
    def k(self) -> int:
        """The k that must hold on the published rows."""
        return self.validate.k or self.aggregate.k

    @property
    def quasi(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers."""
        return tuple(self.columns.quasi)

    @property
    def published(self) -> frozenset[str]:
        """The columns that leave; everything else stays."""
        return frozenset((*self.quasi, *self.columns.sensitive, *self.strata))

    @property
    def extracted(self) -> frozenset[str]:
        """The columns that are read: those that leave, the entity key and the weight."""
        others = (self.columns.entity, self.columns.weight)
        return self.published | {name for name in others if name is not None}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a release file: where it is, what was found, what is allowed."""

    pointer: str
    found: str
    allowed: str
    suggestion: str = ""

    def __str__(self) -> str:
        hint = f" Did you mean {self.suggestion!r}?" if self.suggestion else ""
        return f"{self.pointer or '/'}: found {self.found}; allowed: {self.allowed}.{hint}"


def load_release(path: str | Path) -> Release:
    """Read and check a release file.

    Parameters
    ----------
    path
        A YAML file that follows ``schemas/release.schema.json``.

    Raises
    ------
    ReleaseError
        With every fault of the file, each with its JSON pointer.
    """
    content = read_bounded(Path(path))
    document, faults = parse(content)
    faults = faults or list(find_faults(document))
    if faults:
        listed = "\n".join(f"  {fault}" for fault in faults)
        raise ReleaseError(
            f"{Path(path).name} has {len(faults)} fault{'s' * (len(faults) > 1)}:\n{listed}",
            hint="",
        )
    return build(document, hashlib.sha256(content).hexdigest())


def check_release(path: str | Path) -> list[Fault]:
    """List every fault of a release file; an empty list means that it can be loaded."""
    document, faults = parse(read_bounded(Path(path)))
    return faults or list(find_faults(document))


def read_bounded(path: Path) -> bytes:
    """Read a file, unless it is too large to be a release."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise ReleaseError(
            f"The release file {path} cannot be read ({reason}).",
            code="no_release",
            hint="Check the path; a DAG should give it relative to its own file.",
        ) from None
    if len(content) > LARGEST_FILE:
        raise ReleaseError(
            f"{path.name} is larger than {LARGEST_FILE // 1024} KiB.",
            hint="A release file describes one table; it is never that long.",
        )
    return content


def parse(content: bytes) -> tuple[Any, list[Fault]]:
    """Read YAML by a strict safe loader; give the document, or what is wrong with it."""
    from microagg_ops.strict_yaml import StrictYamlError, load

    try:
        document = load(content)
    except StrictYamlError as error:
        return None, [Fault("", str(error), "a YAML mapping of plain keys and values")]
    if document is None:
        return None, [Fault("", "an empty file", "a YAML mapping with the keys of a release")]
    return document, []


def find_faults(document: Any) -> Iterator[Fault]:
    """List what is wrong with a parsed release: first its shape, then its sense."""
    from microagg_ops.schema_faults import shape_faults

    shape = [Fault(*fault) for fault in shape_faults(document, "release")]
    yield from shape
    if not shape:
        yield from sense_faults(build(document, ""))


def sense_faults(release: Release) -> Iterator[Fault]:
    """List what a schema cannot see: keys that contradict each other."""
    yield from _role_faults(release)
    for fault in column_faults(release.columns, release.validate.dominance):
        yield Fault(*fault)
    for fault in limit_faults(release.validate, release.columns):
        yield Fault(*fault)
    yield from _group_faults(release)
    where = list(_where_faults(release))
    yield from where
    validate, publish = release.validate, release.publish
    docs = release.report.data_docs or ""
    if "://" in docs and not docs.startswith("file://"):
        yield Fault("/report/data_docs", repr(docs), "a folder of this machine")
    if validate.k is not None and validate.k > release.aggregate.k:
        yield Fault(
            "/validate/k", str(validate.k), f"at most the k of aggregate, {release.aggregate.k}"
        )
    if (publish.conn_id, publish.table) == (release.source.conn_id, release.source.table):
        yield Fault("/publish/table", "the table of source", "a table other than the source")
    if publish.mode == "append_interval":
        if not where and not release.source.by_interval:
            yield Fault(
                "/publish/mode",
                "append_interval, with a source.where that does not name :start or :end",
                "replace, or a source.where bound to the interval",
            )
        if publish.interval_column in release.published:
            yield Fault(
                "/publish/interval_column",
                f"{publish.interval_column!r}, a column of the release",
                "a name of its own",
            )


def _role_faults(release: Release) -> Iterator[Fault]:
    columns = release.columns
    roles: list[tuple[str, str]] = [
        *((name, "/columns/identifiers") for name in columns.identifiers),
        *((name, "/columns/quasi") for name in columns.quasi),
        *((name, "/columns/sensitive") for name in columns.sensitive),
        *((name, "/strata") for name in release.strata),
    ]
    if columns.entity is not None:
        roles.append((columns.entity, "/columns/entity"))
    # A weight may be published: then, and only then, it is sensitive too.
    if columns.weight is not None and columns.weight not in columns.sensitive:
        roles.append((columns.weight, "/columns/weight"))
    first: dict[str, str] = {}
    for name, pointer in roles:
        if name in first:
            yield Fault(pointer, f"{name!r}, which is also in {first[name]}", "one role a column")
        first.setdefault(name, pointer)


def _group_faults(release: Release) -> Iterator[Fault]:
    group = release.group
    listed = [name for columns in group.groups for name in columns]
    if group.method != "fixed":
        if listed:
            found = f"a list, with method {group.method}"
            yield Fault("/group/groups", found, "method fixed, or no list")
        return
    for name in sorted(set(listed) - set(release.quasi)):
        yield Fault("/group/groups", f"{name!r}", "a quasi-identifier of columns.quasi")
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield Fault("/group/groups", f"{name!r} twice", "each quasi-identifier in one group")
    for name in release.quasi:
        if name not in listed:
            yield Fault("/group/groups", f"no group with {name!r}", "each quasi-identifier in one")


def _where_faults(release: Release) -> Iterator[Fault]:
    where = release.source.where
    if where is None:
        return
    try:
        names = parameters(where)
    except ValueError as error:
        yield Fault("/source/where", str(error), "one SQL condition")
        return
    for name in sorted(set(names) - set(INTERVAL)):
        yield Fault("/source/where", f"the parameter :{name}", "the parameters :start and :end")


def build(document: Mapping[str, Any], digest: str) -> Release:
    """Make the dataclasses from a document that has no fault."""
    source, publish = dict(document["source"]), dict(document["publish"])
    columns = dict(document["columns"])
    group = dict(document.get("group", {}))
    report = dict(document.get("report", {}))
    about = dict(document.get("about", {}))
    about["scenarios"] = tuple(about.get("scenarios", ()))
    for section in (source, publish):
        section["table"] = TableName.parse(section["table"])
    columns["quasi"] = {
        name: Quasi(**how | {"order": tuple(how.get("order", ()))})
        for name, how in columns["quasi"].items()
    }
    for key in ("identifiers", "sensitive"):
        columns[key] = tuple(columns.get(key, ()))
    group["groups"] = tuple(tuple(names) for names in group.get("groups", ()))
    if "formats" in report:
        report["formats"] = tuple(report["formats"])
    return Release(
        release=document["release"],
        version=document.get("version", 1),
        about=About(**about),
        source=Source(**source),
        columns=Columns(**columns),
        strata=tuple(document.get("strata", ())),
        small_strata=document.get("small_strata", "error"),
        nulls=document.get("nulls", "reject"),
        standardize=Standardize(**document.get("standardize", {})),
        group=Group(**group),
        aggregate=Aggregate(**document["aggregate"]),
        validate=build_validate(document.get("validate", {})),
        report=Report(**report),
        approve=document.get("approve", False),
        publish=Publish(**publish),
        digest=digest or hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest(),
    )


def in_seconds(duration: str) -> float:
    """Read a duration such as ``500ms``, ``60s``, ``10m`` or ``1h``."""
    for unit, seconds in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)):
        if duration.endswith(unit):
            try:
                return float(duration.removesuffix(unit)) * seconds
            except ValueError:
                break
    raise ReleaseError(f"{duration!r} is not a duration.", hint="Write 500ms, 60s, 10m or 1h.")
