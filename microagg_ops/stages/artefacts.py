"""Artefacts: what each stage leaves in staging, for whom, and the only place that knows its files.

================  ===========  =====================================================================
artefact          written by   read by
================  ===========  =====================================================================
`Extracted`       extract      standardize, report, attacks (rows); validate, publish (types alone)
`Prepared`        standardize  group, aggregate, validate, report
`Groups`          group        aggregate, validate, report, publish
`Protected`       aggregate    validate, report, approve, publish
`Verdict`         validate     report, publish
`Reported`        report       publish, approve: they complete the reports
`Decision`        approve      publish
`Publication`     publish      the caller: what became of the target, in counts
================  ===========  =====================================================================

Whoever takes an artefact verifies the seal of its stage once, and each file when it is needed.
The process that wrote it keeps the bytes and reads those: they need no seal, and nobody can have
changed them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from microagg_ops.errors import StagingError
from microagg_ops.stages.microdata import Microdata
from microagg_ops.stages.run import Run
from microagg_ops.staging.digests import from_parquet, ordered_digest, schema_of, to_parquet

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from microagg_ops.staging.store import Staging

ROW, LABEL, ENTITY, WEIGHT = "row", "label_{}", "entity", "weight"


class Artefact:
    """What a stage left.

    Parameters
    ----------
    staging
        Where it is.
    entry, files
        Its manifest and its files, where this process wrote them.
    """

    stage: ClassVar[str]

    def __init__(
        self,
        staging: Staging,
        entry: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        self._staging, self._own = staging, dict(files or {})
        self.entry: Mapping[str, Any] = staging.manifest(self.stage) if entry is None else entry

    @classmethod
    def of(cls, run: Run) -> Self:
        """Take what the stage left; without its manifest it has not finished."""
        found = run.staging.known.get(cls.stage)
        if not isinstance(found, cls):
            found = run.staging.known[cls.stage] = cls(run.staging)
        return found

    @classmethod
    def leave(cls, run: Run, files: Mapping[str, bytes], summary: Mapping[str, Any]) -> Self:
        """Store the files of the stage, and its counts; running the stage again replaces them."""
        entry = run.staging.put(cls.stage, files, summary)
        made = run.staging.known[cls.stage] = cls(run.staging, entry, files)
        return made

    @property
    def summary(self) -> dict[str, Any]:
        """The counts and digests of the stage: what may be told of it inside."""
        return dict(self.entry["summary"])

    def content(self, name: str) -> bytes:
        """Read one of its files."""
        own = self._own.get(name)
        return self._staging.get(self.stage, name, self.entry) if own is None else own

    def table(self, name: str) -> pa.Table:
        """Read one of its tables."""
        return from_parquet(self.content(f"{name}.parquet"))

    def document(self, name: str) -> Any:
        """Read one of its JSON documents."""
        content = self._own[f"{name}.json"] = self.content(f"{name}.json")
        return json.loads(content)


class Extracted(Artefact):
    """The rows that were read, in their canonical order; entity keys are numbers."""

    stage = "extract"

    @classmethod
    def write(
        cls, run: Run, table: pa.Table | None, types: Mapping[str, str], kind: str,
        summary: Mapping[str, Any], *, beside: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        """Store rows, with the SQL types of their columns and the kind of their warehouse.

        Of a table that is merely said to be protected there are no rows. ``beside`` is what a
        series keeps of them.
        """
        source = {"types": dict(types), "kind": kind}
        files = {"source.json": json.dumps(source).encode(), **beside}
        if table is not None:
            files["table.parquet"] = to_parquet(table)
            # Of what will be read: Parquet has fewer types than Arrow.
            files["schema.arrow"] = schema_of(files["table.parquet"]).serialize().to_pybytes()
        cls.leave(run, files, summary)

    @property
    def has_rows(self) -> bool:
        """Whether there are any rows, or only a table that is said to be protected."""
        return "table.parquet" in self.entry["files"]

    @cached_property
    def rows(self) -> pa.Table:
        """The raw rows."""
        return self.table("table")

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns and Arrow types of the rows; known without reading them."""
        import pyarrow as pa

        return pa.ipc.read_schema(pa.py_buffer(self.content("schema.arrow")))

    @cached_property
    def source(self) -> dict[str, Any]:
        """The SQL ``types`` of the columns, and the ``kind`` of the warehouse."""
        return dict(self.document("source"))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the rows hold; as few rows can be tried out, it leaves only keyed."""
        return ordered_digest(self.rows)


class Prepared(Artefact):
    """The rows as clusters are found in them: encoded, strata settled, NULLs imputed."""

    stage = "standardize"
    _rows: Microdata | None = None

    @classmethod
    def write(cls, run: Run, rows: Microdata, summary: Mapping[str, Any]) -> None:
        """Store prepared rows."""
        # Scales and categories may be cell values (a minimum, a median): they stay in staging.
        facts, tables = rows.as_tables()
        files = {f"{name}.parquet": to_parquet(table) for name, table in tables.items()}
        made = cls.leave(run, files | {"facts.json": json.dumps(facts).encode()}, summary)
        made._rows = rows

    @classmethod
    def rows(cls, run: Run) -> Microdata:
        """Take the prepared rows of a run."""
        found = cls.of(run)
        if found._rows is None:
            tables = (found.table(name) for name in ("rows", "kept", "columns"))
            found._rows = Microdata.of_tables(run.release, found.document("facts"), *tables)
        return found._rows


class Groups(Artefact):
    """Which quasi-identifiers are aggregated together."""

    stage = "group"

    @classmethod
    def write(cls, run: Run, groups: list[list[str]], summary: Mapping[str, Any]) -> None:
        """Store the groups."""
        cls.leave(run, {"groups.json": json.dumps(groups).encode()}, summary)

    @property
    def names(self) -> list[list[str]]:
        """The columns of each group."""
        return list(self.document("groups"))


class Protected(Artefact):
    """The table to be published, where its rows came from, and what was done to it."""

    stage = "aggregate"

    @classmethod
    def write(
        cls, run: Run, rows: pa.Table, origin: pa.Table, treatment: Mapping[str, Any] | None,
        summary: Mapping[str, Any], *, beside: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        """Store the table, and of each row its number in the source, labels and entity.

        ``beside`` is the next ledger of a series.
        """
        files = {
            "protected.parquet": to_parquet(rows),
            "rows.parquet": to_parquet(origin),
            **beside,
        }
        if treatment is not None:
            files["treatment.json"] = json.dumps(treatment).encode()
        cls.leave(run, files, summary)

    @property
    def bytes_digest(self) -> str:
        """SHA-256 of the very bytes that will be published: what a verdict is about."""
        files = self.entry["files"]
        # Rows that are spread over executors are beside; what is staged here is their digest.
        return str(files.get("protected.parquet") or files["protected.json"])

    @cached_property
    def rows(self) -> pa.Table:
        """The table to be published."""
        return self.table("protected")

    @cached_property
    def origin(self) -> pa.Table:
        """Where each row came from: its number in the source, its cluster by group, its entity."""
        return self.table("rows")

    @property
    def order(self) -> NDArray[np.int64]:
        """The number of each row in the source."""
        import numpy as np

        return np.asarray(self.origin[ROW].to_numpy())

    @property
    def entities(self) -> pa.ChunkedArray:
        """The entity of each row, where the release has a key of entities."""
        return self.origin[ENTITY]

    @property
    def treatment(self) -> dict[str, Any]:
        """What was suppressed, imputed, merged and dropped, in counts."""
        return dict(self.document("treatment"))


class Verdict(Artefact):
    """What every check found, and on which bytes."""

    stage = "validate"

    @classmethod
    def write(cls, run: Run, verdict: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
        """Store a verdict, whether it is good or bad."""
        cls.leave(run, {"verdict.json": json.dumps(verdict).encode()}, summary)

    @property
    def found(self) -> dict[str, Any]:
        """Whether all checks ``passed``, the ``checks``, and the ``file`` that they are about."""
        return dict(self.document("verdict"))


class Reported(Artefact):
    """What reports and their manifest are rendered from."""

    stage = "report"

    @classmethod
    def write(cls, run: Run, told: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
        """Store what the reports tell."""
        cls.leave(run, {"told.json": json.dumps(told).encode()}, summary)

    @property
    def told(self) -> dict[str, Any]:
        """The fields of `microagg_ops.stages.publication.Told`."""
        return dict(self.document("told"))


class Decision(Artefact):
    """What a person decided, and about which bytes; the summary says the same."""

    stage = "approve"

    @classmethod
    def write(cls, run: Run, content: bytes, decision: Mapping[str, Any]) -> None:
        """Store a decision, as it was written beside the report."""
        cls.leave(run, {"approval.json": content}, decision)

    @property
    def made(self) -> dict[str, Any]:
        """Who decided what, when and about which ``file``."""
        return dict(self.document("approval"))


class Publication(Artefact):
    """What became of the target; there are only counts."""

    stage = "publish"


def warnings_of(run: Run) -> list[str]:
    """Collect what the stages warned of that have finished."""
    found: list[str] = []
    for kind in (Extracted, Prepared, Protected, Verdict):
        with suppress(StagingError):
            found += kind.of(run).summary.get("warnings", [])
    return found
