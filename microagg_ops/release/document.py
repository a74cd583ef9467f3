"""The release file: one protected table, described once, checked before anything is touched."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from microagg_ops.errors import ReleaseError
from microagg_ops.release.columns import Columns, Quasi, column_faults
from microagg_ops.release.condition import parameters
from microagg_ops.release.engine import build_engine
from microagg_ops.release.engine_faults import engine_faults
from microagg_ops.release.faults import MOST_FAULTS, printable
from microagg_ops.release.files import FILES, Format, built_place, file_faults
from microagg_ops.release.hierarchy import read_levels
from microagg_ops.release.model import (
    Aggregate,
    Group,
    Publish,
    Release,
    Report,
    Source,
    Standardize,
)
from microagg_ops.release.profiles import filled, profile_faults
from microagg_ops.release.purpose import About, Sample
from microagg_ops.release.series import build_series
from microagg_ops.release.series_faults import series_faults
from microagg_ops.release.validate import build_validate, limit_faults

LARGEST_FILE = 64 * 1024
LARGEST_HIERARCHY = 16 * 1024 * 1024
LONGEST_SHOWN = 200
INTERVAL = ("start", "end")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a release file: where it is, what was found, what is allowed."""

    pointer: str
    found: str
    allowed: str
    suggestion: str = ""
    line: int | None = None

    def __str__(self) -> str:
        hint = f" Did you mean {self.suggestion!r}?" if self.suggestion else ""
        at, found = (printable(text, LONGEST_SHOWN) for text in (self.pointer or "/", self.found))
        return f"{at}: found {found}; allowed: {self.allowed}.{hint}"


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
    document, beside = with_hierarchies(document, Path(path).parent)
    faults = faults or first_faults(document)
    if faults:
        listed = "\n".join(f"  {fault}" for fault in faults)
        many = f"{MOST_FAULTS} faults or more" if len(faults) == MOST_FAULTS else told(len(faults))
        raise ReleaseError(
            f"{printable(Path(path).name)} has {many}:\n{listed}",
            hint="",
        )
    folder = str(Path(path).resolve().parent)
    return build(document, hashlib.sha256(content + beside).hexdigest(), folder)


def check_release(path: str | Path) -> list[Fault]:
    """List every fault of a release file; an empty list means that it can be loaded."""
    document, faults = parse(read_bounded(Path(path)))
    document, _ = with_hierarchies(document, Path(path).parent)
    return faults or first_faults(document)


def with_lines(faults: Sequence[Fault], path: str | Path) -> list[Fault]:
    """Find the line of each fault in its file: that of its key, or else of the one around it."""
    from microagg_ops.release.strict_yaml import lines_of

    lines = lines_of(read_bounded(Path(path)))

    def line(pointer: str) -> int:
        while pointer not in lines:
            pointer = pointer.rpartition("/")[0]
        return lines[pointer]

    found = [replace(fault, line=line(fault.pointer)) for fault in faults]
    return sorted(found, key=lambda fault: fault.line or 0)


def with_hierarchies(document: Any, folder: Path | None) -> tuple[Any, bytes]:
    """Put the rows of hierarchies into a document in place of their files; return these as well.

    A release file names files beside it, or below; without a folder any may be named. What cannot
    be read stays, and is a fault.
    """
    found = b""
    try:
        quasi = dict(document["columns"]["quasi"])
        for name, how in quasi.items():
            hierarchy = how.get("hierarchy")
            if isinstance(hierarchy, Mapping) and isinstance(hierarchy.get("file"), str):
                path = (folder or Path()).joinpath(hierarchy["file"]).resolve()
                if folder is not None and not path.is_relative_to(folder.resolve()):
                    return document, b""
                if path.stat().st_size > LARGEST_HIERARCHY:
                    return document, b""
                content = path.read_bytes()
                levels = read_levels(content)
                others = {key: given for key, given in hierarchy.items() if key != "file"}
                quasi[name] = how | {"hierarchy": others | {"levels": levels}}
                found += b"\0" + content
    except (AttributeError, KeyError, TypeError, ValueError, OSError, csv.Error):
        return document, b""
    return document | {"columns": document["columns"] | {"quasi": quasi}}, found


def first_faults(document: Any) -> list[Fault]:
    """List as many faults as a reader can bear."""
    return list(islice(find_faults(document), MOST_FAULTS))


def told(faults: int) -> str:
    """Tell a number of faults."""
    return f"{faults} fault{'s' * (faults > 1)}"


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
    from microagg_ops.release.strict_yaml import StrictYamlError, load

    try:
        document = load(content)
    except StrictYamlError as error:
        return None, [Fault("", str(error), "a YAML mapping of plain keys and values")]
    if document is None:
        return None, [Fault("", "an empty file", "a YAML mapping with the keys of a release")]
    return document, []


def find_faults(document: Any) -> Iterator[Fault]:
    """List what is wrong with a parsed release: first its shape, then its sense."""
    from microagg_ops.release.faults import shape_faults

    shape = [Fault(*fault) for fault in shape_faults(document, "release")]
    yield from shape
    if not shape:
        yield from sense_faults(build(document, ""))


def sense_faults(release: Release) -> Iterator[Fault]:
    """List what a schema cannot see: keys that contradict each other."""
    yield from _role_faults(release)
    columns, k = release.columns, release.aggregate.k
    for fault in chain(
        column_faults(columns, release.validate.dominance),
        limit_faults(release.validate, columns),
        profile_faults(release.validate, release.profile, k, columns),
        series_faults(release),
        engine_faults(release),
    ):
        yield Fault(*fault)
    for fault in file_faults(release.source, release.publish):
        yield Fault(*fault)
    yield from _medoid_faults(release)
    yield from _sample_faults(release)
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
        kind = "file" if publish.conn_id == FILES else "table"
        found, allowed = f"the {kind} of source", f"a {kind} other than the source"
        yield Fault(f"/publish/{kind}", found, allowed)
    if publish.mode == "append_interval":
        if not where and not release.source.by_interval:
            yield Fault(
                "/publish/mode",
                "append_interval, with a source.where that does not name :start or :end",
                "replace, or a source.where bound to the interval",
            )
        if publish.interval_column in release.published_columns:
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
    for name in sorted(set(columns.may_leave) - release.published_columns):
        at = "/columns/may_leave/" + name.replace("~", "~0").replace("/", "~1")
        yield Fault(at, f"{name!r}, which does not leave", "a sensitive column, stratum or quasi")


def _medoid_faults(release: Release) -> Iterator[Fault]:
    for name, how in release.columns.quasi.items():
        if how.statistic == "medoid" and release.nulls == "impute":
            at = "/columns/quasi/" + name.replace("~", "~0").replace("/", "~1")
            yield Fault(f"{at}/representative", "medoid, with nulls impute", "mean, median or mode")


def _sample_faults(release: Release) -> Iterator[Fault]:
    sample = release.sample
    if sample.weighted and sample.fraction is not None:
        yield Fault("/sample", "a fraction and weighted", "one of them")
    if sample.weighted and release.columns.weight is None:
        yield Fault("/sample/weighted", "true, without columns.weight", "a column of weights")


def _group_faults(release: Release) -> Iterator[Fault]:
    group = release.group
    listed = Counter(name for columns in group.groups for name in columns)
    if group.method != "fixed":
        if listed:
            found = f"a list, with method {group.method}"
            yield Fault("/group/groups", found, "method fixed, or no list")
        return
    for name in sorted(set(listed) - set(release.quasi)):
        yield Fault("/group/groups", f"{name!r}", "a quasi-identifier of columns.quasi")
    for name in sorted(name for name, times in listed.items() if times > 1):
        yield Fault("/group/groups", f"{name!r} twice", "each quasi-identifier in one group")
    for name in release.quasi:
        if name not in listed:
            yield Fault("/group/groups", f"no group with {name!r}", "each quasi-identifier in one")


def _where_faults(release: Release) -> Iterator[Fault]:
    condition = release.source.condition
    if condition is None:
        return
    try:
        condition.check()
    except ValueError as error:
        allowed = "one SQL condition on columns of the source, with plain functions"
        yield Fault("/source/where", str(error), allowed)
        return
    for name in sorted(set(parameters(condition.text)) - set(INTERVAL)):
        yield Fault("/source/where", f"the parameter :{name}", "the parameters :start and :end")


def build(document: Mapping[str, Any], digest: str, folder: str = "") -> Release:
    """Make the dataclasses from a document that has no fault."""
    source, publish = built_place(document["source"]), built_place(document["publish"])
    columns = dict(document["columns"])
    group = dict(document.get("group", {}))
    report = dict(document.get("report", {}))
    about = dict(document.get("about", {}))
    about["scenarios"] = tuple(about.get("scenarios", ()))
    source["trusted"] = tuple(source.get("trusted", ()))
    how = dict(source.get("format", {}))
    source["format"] = Format(**how | {"nulls": tuple(how.get("nulls", ()))})
    columns["quasi"] = {
        name: Quasi(**how | {"order": tuple(how.get("order", ()))})
        for name, how in columns["quasi"].items()
    }
    for key in ("identifiers", "sensitive"):
        columns[key] = tuple(columns.get(key, ()))
    group["groups"] = tuple(tuple(names) for names in group.get("groups", ()))
    made = Columns(**columns)
    validate = filled(build_validate(document.get("validate", {})), document.get("profile"), made)
    if "formats" in report:
        report["formats"] = tuple(report["formats"])
    return Release(
        release=document["release"],
        version=document.get("version", 1),
        about=About(**about),
        profile=document.get("profile"),
        sample=Sample(**document.get("sample", {})),
        source=Source(**source),
        columns=made,
        strata=tuple(document.get("strata", ())),
        small_strata=document.get("small_strata", "error"),
        nulls=document.get("nulls", "reject"),
        standardize=Standardize(**document.get("standardize", {})),
        group=Group(**group),
        aggregate=Aggregate(**document["aggregate"]),
        validate=validate,
        report=Report(**report),
        approve=document.get("approve", False),
        publish=Publish(**publish),
        series=build_series(document.get("series", {}), document["release"]),
        engine=build_engine(document.get("engine", {})),
        digest=digest or hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest(),
        folder=folder,
    )
