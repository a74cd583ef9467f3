"""What an executor does to the rows of a block: it protects and judges as one machine does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from microagg_ops.checks.contributors import Contributors
from microagg_ops.checks.dominance import Dominance
from microagg_ops.columns.encoding import Encoded, published_type
from microagg_ops.columns.space import displaced
from microagg_ops.engines.local import LOCAL
from microagg_ops.engines.spark.answers import ANSWER
from microagg_ops.engines.spark.engine import BLOCK
from microagg_ops.release.model import Release
from microagg_ops.stages.aggregate import find_labels
from microagg_ops.stages.artefacts import ENTITY, LABEL, ROW
from microagg_ops.stages.distributed.plan import Plan
from microagg_ops.stages.evidence import Evidence
from microagg_ops.stages.limits import Limited
from microagg_ops.stages.microdata import Microdata
from microagg_ops.stages.represent import represent

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

# Columns of staged rows: as they were, as they are published, and what totals are counted of.
OLD, NEW, COUNTED, WEIGHT = "old {}", "new {}", "counted {}", "weight"
#: Checks on source rows, which are made block by block.
BY_BLOCK = (Contributors(), Dominance())


def schema_of(plan: Plan) -> pa.Schema:
    """Describe the rows that blocks leave."""
    import pyarrow as pa

    quasi, fields = plan.release.columns.quasi, list[tuple[str, Any]]()
    for i, field in enumerate(plan.schema):
        fields.append((OLD.format(i), field.type))
    for i, name in enumerate(plan.published):
        kind = plan.schema.field(name).type
        fields.append(
            (NEW.format(i), published_type(quasi[name].type, kind) if name in quasi else kind)
        )
    fields += [(LABEL.format(i), pa.int32()) for i in range(len(plan.groups))]
    fields += [(COUNTED.format(i), pa.float64()) for i, _ in enumerate(means(plan.release))]
    return pa.schema([*fields, (WEIGHT, pa.float64()), (BLOCK, pa.int32()), (ANSWER, pa.string())])


def judged_schema() -> pa.Schema:
    """Describe what blocks answer."""
    import pyarrow as pa

    return pa.schema([(BLOCK, pa.int32()), (ANSWER, pa.string())])


def means(release: Release) -> list[str]:
    """Name the quasi-identifiers that are published as means."""
    return [name for name, how in release.columns.quasi.items() if how.statistic == "mean"]


def protect(plan: Plan, strata: Mapping[Any, int], block: pa.Table) -> pa.Table:
    """Find the clusters of a block, and what stands for them."""
    import numpy as np
    import pyarrow as pa

    # Executors run as many tasks as they have cores.
    release = replace(plan.release, aggregate=replace(plan.release.aggregate, threads=1))
    source = plan.canonical(block)
    rows, groups = plan.microdata(source), [list(names) for names in plan.groups]
    limited = Limited.of(release, rows, plan.spreads)
    hidden = [rows.hidden(names, release, limited.enough) for names in groups]
    limited.refuse_impossible(hidden)
    found = find_labels(LOCAL, release, limited, groups, hidden)
    protected, outcome, treatment = represent(release, rows, groups, hidden, found.labels)
    after = plan.encoded(protected)
    answer = {
        "rows": protected.num_rows,
        "clusters": [int(labels.max()) + 1 for labels in found.labels],
        "loss": {name: lost(plan, rows, name, after[name]) for name in after},
        "totals": {name: totals(rows, name, after[name]) for name in means(release)},
        "treatment": numbered(treatment, rows, release, strata),
        "warnings": outcome["warnings"],
        "outside": outcome["outside"],
        "entities": outcome["entities"],
        "dropped": [*rows.strata.dropped, rows.strata.dropped_entities],
    }
    left, many = source.take(rows.strata.rows), protected.num_rows
    columns: dict[str, Any] = {OLD.format(i): left[n] for i, n in enumerate(plan.schema.names)}
    columns |= {NEW.format(i): protected[name] for i, name in enumerate(plan.published)}
    columns |= {LABEL.format(i): labels for i, labels in enumerate(found.labels)}
    for i, name in enumerate(means(release)):
        old, new = rows.filled[name], after[name]
        values = np.where(old.missing, np.nan, new.codes) * old.unit
        columns[COUNTED.format(i)] = pa.array(values, from_pandas=True)
    columns |= {WEIGHT: rows.weights, BLOCK: pa.repeat(block[BLOCK][0], many)}
    columns[ANSWER] = pa.array([json.dumps(answer), *[None] * (many - 1)], pa.string())
    return pa.table(columns)


def lost(plan: Plan, rows: Microdata, name: str, after: Encoded) -> list[float]:
    """Sum up how far the cells of a column were moved, and how far one cluster would have."""
    moved, whole = displaced(
        rows.before[name], after.codes, rows.scales[name], rows.weights, plan.centres.get(name)
    )
    return [float((rows.weights * moved).sum()), float((rows.weights * whole).sum())]


def totals(rows: Microdata, name: str, after: Encoded) -> list[float]:
    """Sum up what a column is short of after, what it was before, and that without its sign."""
    import numpy as np

    old = rows.filled[name]
    kept = np.where(after.missing, np.nan, old.codes)
    parts = kept * old.unit * rows.weights
    apart = (after.codes - kept) * old.unit * rows.weights
    return [float(np.nansum(part)) for part in (apart, parts, np.abs(parts))]


def numbered(
    treatment: dict[str, Any], rows: Microdata, release: Release, strata: Mapping[Any, int]
) -> dict[str, Any]:
    """Renumber the strata of what was done as in the whole table."""
    if not strata:
        return treatment
    import numpy as np

    merged = len(strata) + 1  # a stratum that is published under NULL comes last
    _, firsts = np.unique(rows.strata.codes, return_index=True)
    known = [
        strata.get(tuple(rows.strata.table[n][int(i)].as_py() for n in release.strata), merged)
        for i in firsts
    ]
    for entry in treatment["suppressed"]:
        entry["stratum"] = known[entry["stratum"] - 1]
    return treatment


@dataclass(frozen=True)
class BlockEvidence(Evidence):
    """The rows of a block as they are staged, beside what they came from."""

    plan: Plan = None  # type: ignore[assignment]
    block: pa.Table = None

    @property
    def release(self) -> Release:
        return self.plan.release

    @cached_property
    def groups(self) -> list[list[str]]:
        return [list(names) for names in self.plan.groups]

    @cached_property
    def has_source(self) -> bool:
        return True

    @cached_property
    def source(self) -> pa.Table:
        """The rows as they were read."""
        names = [OLD.format(i) for i in range(len(self.plan.schema))]
        found = self.block.select(names).rename_columns(self.plan.schema.names)
        return found.cast(self.plan.schema)

    @cached_property
    def microdata(self) -> Microdata:
        return self.plan.microdata(self.source)

    @cached_property
    def origin(self) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        found: dict[str, NDArray[Any]] = {ROW: np.arange(self.block.num_rows)}
        for i in range(len(self.plan.groups)):
            # Rows that others dropped leave no gap here, but labels are as they were staged.
            found[LABEL.format(i)] = self.block[LABEL.format(i)].to_numpy()
        if self.release.columns.entity:
            found[ENTITY] = self.microdata.entities
        return pa.table(found)

    @cached_property
    def treatment(self) -> Mapping[str, Any]:
        """What the block said was done to its rows."""
        answers = self.block[ANSWER].drop_null()
        return dict(json.loads(answers[0].as_py())["treatment"])

    @cached_property
    def information_loss(self) -> float:
        raise NotImplementedError  # a figure of all blocks

    @property
    def attacks(self) -> None:
        """Are not tried."""


def evidence_of(plan: Plan, block: pa.Table) -> BlockEvidence:
    """Take the staged rows of a block, in an order of their own."""
    block = block.sort_by([(OLD.format(i), "ascending") for i in range(len(plan.schema))])
    names = [NEW.format(i) for i in range(len(plan.published))]
    protected = block.select(names).rename_columns(plan.published)
    return BlockEvidence(None, protected, plan, block)  # type: ignore[arg-type]


def judge(plan: Plan, block: pa.Table) -> pa.Table:
    """Judge what needs the source rows, as far as one block tells."""
    import pyarrow as pa

    evidence, release = evidence_of(plan, block), plan.release
    rows, after = evidence.microdata, evidence.after
    answer = {
        "rows": block.num_rows,
        "findings": [asdict(one) for check in BY_BLOCK for one in check.findings(evidence)],
        "loss": {name: lost(plan, rows, name, after[name]) for name in after},
        "totals": evidence.totals,
        "linkage": asdict(evidence.linkage) if release.validate.max_linkage is not None else None,
    }  # fmt: skip
    return pa.table({BLOCK: block[BLOCK].slice(0, 1), ANSWER: [json.dumps(answer)]})
