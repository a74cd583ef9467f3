"""What a release file would say, as keyword arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import inferred_type
from microagg_ops.errors import MicroaggError, ReleaseError
from microagg_ops.release.document import build, find_faults, with_hierarchies
from microagg_ops.release.model import Release
from microagg_ops.release.validate import Validate
from microagg_ops.sql import TableName

if TYPE_CHECKING:
    import pyarrow as pa


# Where an argument is that a release file has below another key; else the last part names it.
OF_FILE = {
    "/columns/quasi": "quasi",
    "/aggregate/params": "method_params",
    "/standardize/method": "standardize",
    "/group/groups": "groups",
    "/group": "groups",
    "/columns": "",
    "/aggregate": "",
    "/validate": "",
    "/report": "",
}
# What a release file and its warehouse have, and arguments and a frame have not.
IN_WORDS = {
    " (source.where, publish.mode: append_interval)": "",
    "Check the table and source.where.": "",
    "in source.where": "first",
    "in a view": "first",
    "columns.quasi": "'quasi'",
    "aggregate.params.": "method_params: ",
    "aggregate.budget": "'budget'",
    "The source": "The frame",
    "the source": "the frame",
}


@dataclass(frozen=True)
class Place:
    """A table of a connection, a Parquet file, or a frame in memory to read from.

    Parameters
    ----------
    at
        ``schema.table``, or a path or URI of a Parquet file, or a path object, or a frame.
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

    quasi: Sequence[str] | Mapping[str, str | Mapping[str, Any]]
    sensitive: Sequence[str] = ()
    may_leave: Mapping[str, str] = field(default_factory=dict)
    entity: str | None = None
    strata: Sequence[str] = ()
    small_strata: str = "error"
    nulls: str = "reject"
    weight: str | None = None
    k: int | None = None
    standardize: str = "zscore"
    groups: Sequence[Sequence[str]] | Mapping[str, Any] = ()
    method: str = "mdav"
    seed: int = 0
    budget: str | float | None = None
    threads: int | None = None
    method_params: Mapping[str, Any] = field(default_factory=dict)
    aware: bool = True
    guarantee: str = "joint"
    k_of: Sequence[Sequence[str]] = ()
    l: Mapping[str, Any] = field(default_factory=dict)  # noqa: E741
    t: Mapping[str, Any] = field(default_factory=dict)
    max_linkage: float | None = None
    max_information_loss: float | None = None
    totals: float | None = None
    max_risk: float | None = None
    average_risk: float | None = None
    profile: str | None = None
    sample: Mapping[str, Any] = field(default_factory=dict)
    dominance: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "replace"
    formats: Sequence[str] = ("html", "json")
    compare: bool = False
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
        others = [name for name in (self.entity, self.weight) if name]
        return list(dict.fromkeys([*self.quasi, *self.sensitive, *self.strata, *others]))

    def group(self) -> dict[str, Any]:
        """Return what a release file would say of groups."""
        if isinstance(self.groups, Mapping):
            return dict(self.groups)
        if not self.groups:
            return {"method": "single"}
        return {"method": "fixed", "groups": [list(names) for names in self.groups]}

    def limits(self) -> Iterator[tuple[str, Any]]:
        """List what is demanded, by its key under validate; k is that of aggregate."""
        for key in fields(Validate):
            if key.name == "k_of":
                yield key.name, [list(names) for names in self.k_of]
            elif key.name != "k" and hasattr(self, key.name):
                yield key.name, getattr(self, key.name)

    def declared(self, name: str, table: pa.Table) -> dict[str, Any]:
        """Return what a release file would say of a quasi-identifier."""
        given = self.quasi[name] if isinstance(self.quasi, Mapping) else {}
        how: dict[str, Any] = {"type": given} if isinstance(given, str) else dict(given)
        if not how.get("type"):
            how["type"] = inferred_type(name, table.schema.field(name).type)
            if how["type"] == "ordinal" and not how.get("order"):
                how["order"] = categories(table[name])
        return how

    def release(self, table: pa.Table, source: Place, target: Place | None) -> Release:
        """Make a release of the arguments, checked like a file."""
        document: dict[str, Any] = {
            "release": "".join(c if c.isalnum() else "_" for c in f"r_{self.name}")[:100],
            "source": {"conn_id": source.conn_id or "input", "table": "input"},
            "columns": {
                "quasi": {name: self.declared(name, table) for name in self.quasi},
                "sensitive": list(self.sensitive),
                "may_leave": dict(self.may_leave),
                "entity": self.entity,
                "weight": self.weight,
            },
            "profile": self.profile,
            "sample": dict(self.sample),
            "strata": list(self.strata),
            "small_strata": self.small_strata,
            "nulls": self.nulls,
            "standardize": {"method": self.standardize},
            "group": self.group(),
            # Stages before aggregate do not look at k.
            "aggregate": {
                "k": 2 if self.k is None else self.k,
                "method": self.method,
                "seed": self.seed,
                "budget": as_duration(self.budget),
                "aware": self.aware,
                "threads": self.threads,
                "params": dict(self.method_params),
            },
            "validate": {
                name: dict(asked) if isinstance(asked, Mapping) else asked
                for name, asked in self.limits()
            },
            "report": {"formats": list(self.formats), "compare": self.compare},
            "publish": {
                "conn_id": (target.conn_id if target else None) or "output",
                "table": "output",
            },
        }
        document, _ = with_hierarchies(document, None)
        faults = [replace(f, pointer=as_argument(f.pointer)) for f in find_faults(document)]
        if faults:
            raise ReleaseError("\n".join(["Bad arguments:", *(f"  {fault}" for fault in faults)]))
        release = build(document, "")
        if target is not None and not target.is_file:
            how = replace(release.publish, table=TableName.parse(target.at), mode=self.mode)
            release = replace(release, publish=how)
        return release


def categories(column: pa.ChunkedArray) -> list[Any]:
    """List the categories of a column in their order, those that nobody has too."""
    found = column.unify_dictionaries()
    return list(found.chunk(0).dictionary.to_pylist()) if found.num_chunks else []


def as_argument(pointer: str) -> str:
    """Say in which argument a fault is that a pointer finds in a release file."""
    for start, argument in OF_FILE.items():
        if pointer == start or pointer.startswith(f"{start}/"):
            rest = pointer.removeprefix(start).strip("/")
            return "/".join(part for part in (argument, rest) if part)
    return pointer.strip("/")


def as_duration(budget: Any) -> Any:
    """Write a number of seconds as a release file does."""
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        return budget
    return f"{budget:.6f}".rstrip("0").rstrip(".") + "s"


@contextmanager
def told_of_arguments() -> Iterator[None]:
    """Let errors speak of arguments, where there is neither a release file nor a source."""
    try:
        yield
    except MicroaggError as error:
        error.message, error.hint = in_words(error.message), in_words(error.hint)
        error.args = (error.message,)
        raise


def in_words(text: str) -> str:
    """Replace the words of a release file by those of arguments."""
    for old, new in IN_WORDS.items():
        text = text.replace(old, new)
    return text
