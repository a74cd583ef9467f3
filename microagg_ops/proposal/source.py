"""A table, looked at: what its columns seem to be, which k fits, and what that would lose."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import inferred_type
from microagg_ops.columns.suspects import find_suspects
from microagg_ops.compare import sampled
from microagg_ops.errors import DataError, ReleaseError
from microagg_ops.metrics import reidentification
from microagg_ops.pipeline import files_of, make_run
from microagg_ops.proposal import roles as r
from microagg_ops.proposal.facts import Facts, facts, risks
from microagg_ops.release.document import build
from microagg_ops.release.files import READ, is_pattern, suffix
from microagg_ops.release.model import Release
from microagg_ops.sql import TableName
from microagg_ops.stages import stage_function
from microagg_ops.stages.extract import keep, nan_as_null, normalized
from microagg_ops.staging.digests import in_order
from microagg_ops.staging.store import MemoryStaging
from microagg_ops.warehouse import from_environment

if TYPE_CHECKING:
    import pyarrow as pa

# The k that are tried, the loss that is borne for a larger one, and on how many rows.
TRIED, BORNE, LOOKED_AT = (3, 5, 10), 20.0, 5_000
# Words for NULL that a CSV file may have among words.
NULLS = ("NA", "N/A", "#N/A", "NULL", "null", "NaN", "nan")


@dataclass(frozen=True)
class Column:
    """A column: what was counted, and the role that it seems to have."""

    facts: Facts
    role: r.Role


@dataclass(frozen=True)
class Proposal:
    """A first release of a table.

    Parameters
    ----------
    source
        The table or the file.
    columns
        What was found, column by column.
    document
        The release, as its file would have it.
    rows, uniques
        All rows, and those that are the only ones with their quasi-identifiers.
    losses
        k to the loss of a quick MDAV, in percent; ``None`` where there is none.
    looked_at
        The rows that this was measured on.
    """

    source: str
    columns: tuple[Column, ...]
    document: dict[str, Any]
    rows: int
    uniques: int
    losses: Mapping[int, float | None]
    looked_at: int

    @property
    def k(self) -> int:
        """The k that is proposed."""
        return int(self.document["aggregate"]["k"])


def propose(
    source: str, *, conn_id: str = "warehouse", connections: Mapping[str, str] | None = None
) -> Proposal:
    """Look at a table or a file, and propose a release of it.

    Parameters
    ----------
    source
        A path, a pattern, a folder or a URI, or else ``schema.table``.
    conn_id, connections
        For a table: its connection, and connection ids to URLs; others are looked up in
        ``AIRFLOW_CONN_<ID>``.
    """
    section, table = looked_at(source, conn_id, connections or {})
    if table.num_rows < 4:
        raise DataError(
            f"{source} has {table.num_rows} rows: too few to protect anybody in.",
            code="too_few",
            hint="k people must share what is published, and there must be several such groups.",
        )
    found = facts(table)
    proposed = r.roles(found)
    document = documented(source, section, found, proposed)
    while document["columns"]["quasi"]:
        suspects = find_suspects(build(document, ""), table)
        if not suspects:
            break
        for suspect in suspects:
            (fact,) = (fact for fact in found if fact.name == suspect.column)
            proposed[suspect.column] = r.moved(proposed, fact, suspect.reasons[0])
        document = documented(source, section, found, proposed)
    quasi = list(document["columns"]["quasi"])
    if not quasi:
        raise DataError(
            f"No column of {source} could be a quasi-identifier.",
            code="no_column",
            hint="Write the release file by hand: docs/tutorial.md says how.",
        )
    shares = risks(table, quasi)
    found = [replace(fact, risk=shares.get(fact.name)) for fact in found]
    losses, few = losses_of(document, table)
    document["aggregate"]["k"] = k = fitting(losses)
    if diverse := diversity(found, proposed, k):
        document["validate"] = {"l": diverse}
    columns = tuple(Column(fact, proposed[fact.name]) for fact in found)
    uniques = reidentification(table, quasi).uniques
    return Proposal(source, columns, document, table.num_rows, uniques, losses, few)


def is_file(source: str) -> bool:
    """Whether a source is a file, a folder, a pattern or a URI; else it is a table."""
    return "://" in source or suffix(source) in READ or is_pattern(source) or Path(source).exists()


def looked_at(
    source: str, conn_id: str, connections: Mapping[str, str]
) -> tuple[dict[str, Any], pa.Table]:
    """Return what a release file says of a source, and its rows in their canonical order."""
    if not is_file(source):
        name = TableName.parse(source)
        warehouse = from_environment(conn_id, connections)
        columns = warehouse.require(name)
        rows = canonical(warehouse.read(name, columns))
        return {"conn_id": conn_id, "table": source}, rows
    section: dict[str, Any] = {"file": source}
    table = _read_file(section, connections)
    if nulls := words_for_null(table):
        section["format"] = {"nulls": list(nulls)}
        table = _read_file(section, connections)
    return section, table


def _read_file(section: dict[str, Any], connections: Mapping[str, str]) -> pa.Table:
    # A release that says no more than where the file is.
    document = {
        "release": "r", "source": section, "columns": {"quasi": {}}, "aggregate": {"k": 2},
        "publish": {"conn_id": "none", "table": "none"},
    }  # fmt: skip
    release = build(document, "", str(Path.cwd()))
    warehouse, name = files_of(release, connections), release.source.table
    return canonical(warehouse.read(name, warehouse.require(name)))


def canonical(table: pa.Table) -> pa.Table:
    """Put rows in an order of their own; of what has no order only the name is kept."""
    import pyarrow as pa
    import pyarrow.types as t

    for i, field in enumerate(table.schema):
        if t.is_nested(field.type) or t.is_interval(field.type):
            table = table.set_column(i, field.name, pa.nulls(table.num_rows))
    return in_order(nan_as_null(normalized(table), table.column_names))


def words_for_null(table: pa.Table) -> tuple[str, ...]:
    """Find the words for NULL that columns of text hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [pc.unique(table[f.name]) for f in table.schema if pa.types.is_string(f.type)]
    there = {word for word in NULLS for text in texts if pc.index(text, word).as_py() >= 0}
    return tuple(word for word in NULLS if word in there)


def documented(
    source: str, section: Mapping[str, Any], found: Sequence[Facts], proposed: Mapping[str, r.Role]
) -> dict[str, Any]:
    """Return a release as its file has it."""

    def named(role: str) -> list[Facts]:
        return [fact for fact in found if proposed[fact.name].name == role]

    quasi = named(r.QUASI)
    columns: dict[str, Any] = {}
    if identifiers := named(r.IDENTIFIER):
        columns["identifiers"] = [fact.name for fact in identifiers]
    if entity := named(r.ENTITY):
        columns["entity"] = entity[0].name
    columns["quasi"] = {fact.name: {"type": type_of(fact)} for fact in quasi}
    if sensitive := named(r.SENSITIVE):
        columns["sensitive"] = [fact.name for fact in sensitive]
    document = {
        "release": release_name(source),
        "source": dict(section),
        "columns": columns,
        "aggregate": {"method": "mdav", "k": 2},
        "publish": target_of(section),
    }
    if any(fact.nulls for fact in quasi):
        document["nulls"] = "own_class"
    return document


def type_of(fact: Facts) -> str:
    """Choose the type of a quasi-identifier; of two whole numbers there is no mean."""
    import pyarrow as pa

    kinds = {
        "true or false": pa.bool_(), "whole numbers": pa.int64(), "numbers": pa.float64(),
        "decimals": pa.decimal128(10, 2), "dates": pa.date32(), "moments": pa.timestamp("us"),
        "text": pa.string(),
    }  # fmt: skip
    two = fact.kind == "whole numbers" and fact.values == 2
    return "nominal" if two else inferred_type(fact.name, kinds[fact.kind])


def release_name(source: str) -> str:
    """Name a release by the last part of its source."""
    last = (
        PurePosixPath(source.rstrip("/")).name if is_file(source) else TableName.parse(source).name
    )
    stem = re.sub(r"[^A-Za-z0-9]+", "_", last.split(".")[0]).strip("_")[:90]
    return stem if stem[:1].isalpha() else f"release_{stem}".rstrip("_")


def target_of(section: Mapping[str, Any]) -> dict[str, Any]:
    """Name a target beside the source."""
    if "file" not in section:
        return {"conn_id": section["conn_id"], "table": f"{section['table']}_protected"}
    file = str(section["file"])
    ending = {"parquet": ".parquet", "jsonl": ".jsonl", "excel": ".xlsx"}.get(
        READ.get(suffix(file), "parquet"), ".csv"
    )
    return {"file": f"{release_name(file)}_protected{ending}"}


def losses_of(document: Mapping[str, Any], table: pa.Table) -> tuple[dict[int, float | None], int]:
    """Measure what MDAV would lose for several k, on some of the rows; and on how many."""
    release = build(document, "")
    entity = release.columns.entity
    people = len(table[entity].unique()) if entity else table.num_rows
    few = sampled(release, table.select(sorted(release.extracted)), LOOKED_AT)
    tried = [k for k in TRIED if people >= 4 * k] or [2]
    return {k: _loss(release, few, k) for k in tried}, few.num_rows


def _loss(release: Release, table: pa.Table, k: int) -> float | None:
    release = replace(release, aggregate=replace(release.aggregate, k=k))
    run = replace(make_run(release, "memory"), staging=MemoryStaging())
    try:
        keep(run, table, {}, "")
        for stage in ("standardize", "group"):
            stage_function(stage)(run)
        return float(stage_function("aggregate")(run)["information_loss"])
    except (DataError, ReleaseError):
        return None


def fitting(losses: Mapping[int, float | None]) -> int:
    """Choose the largest k whose loss is borne; else 5, or what so few rows allow."""
    borne = [k for k, loss in losses.items() if loss is not None and loss <= BORNE]
    return max(borne, default=min(5, max(losses)))


def diversity(found: Sequence[Facts], proposed: Mapping[str, r.Role], k: int) -> dict[str, int]:
    """Ask for two values in every class where the column has enough of others to give."""
    return {
        fact.name: 2
        for fact in found
        if proposed[fact.name].name == r.SENSITIVE
        and fact.values > 1
        and fact.is_category
        and (fact.rows - fact.most) * k * 4 >= 5 * fact.rows
    }
