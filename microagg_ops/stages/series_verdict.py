"""What a series remembers of a table, and whether all of its tables together keep history k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from microagg_ops.checks.check import Claim, Finding
from microagg_ops.errors import DataError, DisclosureError
from microagg_ops.release.series import DIFFERENCE
from microagg_ops.series.history import Present
from microagg_ops.series.ledger import Ledger, Publication
from microagg_ops.series.retold import retold
from microagg_ops.series.together import joint_k, joint_traces, told_apart
from microagg_ops.series.traces import history_k, singled_out
from microagg_ops.series.upkeep import forgotten, remembering
from microagg_ops.stages.artefacts import Extracted, Protected
from microagg_ops.stages.microdata import Microdata
from microagg_ops.stages.run import Run
from microagg_ops.stages.series import (
    ABOUT,
    ENTITY,
    LEDGER,
    PLACES,
    RECORD,
    is_staged,
    staged_ledger,
)
from microagg_ops.stages.series_others import joint_least, named, noted, others_of
from microagg_ops.staging.digests import content_digest, to_parquet

if TYPE_CHECKING:
    import pyarrow as pa

HISTORY_K = "history_k"


def settle(
    run: Run, rows: Microdata, protected: pa.Table
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Write the table that will be published into the next ledger; give its file, and counts.

    ``protected`` is in the order of the source rows.
    """
    if not is_staged(run):
        return {}, {}
    extracted = Extracted.of(run)
    about = extracted.document(ABOUT)
    whose = extracted.table(PLACES).take(rows.strata.rows)
    ledger = staged_ledger(run)
    if run.release.series.protect == DIFFERENCE and not about["repeated"]:
        ledger = told_anew(run, ledger, whose, protected)
    else:
        ledger = completed(ledger, whose, protected)
    publication = Publication(
        ledger.next,
        run.run_id,
        datetime.now(UTC).isoformat(timespec="seconds"),
        content_digest(protected),
        {field.name: str(field.type) for field in protected.schema},
        about["input"],
        run.release.digest,
        run.span[0] if run.span and run.release.publish.mode == "append_interval" else None,
    )
    ledger = replace(ledger, publications=(*ledger.publications, publication))
    k, others = run.release.k, others_of(run, ledger)
    ledger = noted(replace(ledger, k=min(ledger.k or k, k)), others)
    ledger = remembering(forgotten(ledger, about["erase"]), run.release.series.retention)
    epochs = singled_out(ledger, k) if ledger.began > 1 else 0
    counts = {"publication": publication.number, "singled_out": epochs, **about["counts"]}
    if run.release.series.others:
        counts["together"] = told_apart([ledger, *others], joint_least(run, others))
    told = {"series": counts, "loss_anew": about["anew"]}
    return {f"{LEDGER}.parquet": to_parquet(ledger.table())}, told


def completed(ledger: Ledger, whose: pa.Table, protected: pa.Table) -> Ledger:
    """Add the rows of newborn classes."""
    rows = {entity: row for row, entity in enumerate(whose[ENTITY].to_pylist())}
    classes = dict(ledger.classes)
    fresh: dict[str, list[tuple[int, int]]] = {}
    for m in ledger.members:
        if m.until is None and m.group not in classes:
            fresh.setdefault(m.group, []).append((m.place, rows[m.entity]))
    for name, placed in fresh.items():
        classes[name] = protected.take([row for _, row in sorted(placed)])
    return replace(ledger, classes=classes)


def told_anew(run: Run, ledger: Ledger, whose: pa.Table, protected: pa.Table) -> Ledger:
    """Write down a table that was formed anew, class by class as a reader finds them."""
    import numpy as np

    from microagg_ops.metrics.tables import row_classes

    ids = row_classes(protected, [*run.release.quasi, *run.release.strata]).ids
    order = np.argsort(ids, kind="stable")
    clusters = [c.tolist() for c in np.split(order, np.flatnonzero(np.diff(ids[order])) + 1)]
    entities, records = whose[ENTITY].to_pylist(), whose[RECORD].to_pylist()
    present = Present(entities, records, [()] * len(entities))
    return retold(ledger, present, clusters, [protected.take(cluster) for cluster in clusters])


def hold_back(run: Run) -> None:
    """Skip a run whose table, beside those before it, would tell of fewer than k."""
    if not is_staged(run) or run.release.series.protect != DIFFERENCE:
        return
    ledger = staged_ledger(run, Protected)
    k = history_k(ledger)
    if k is None or k < run.release.k:
        raise DataError(
            "Held back: beside the tables before it, this one would tell what fewer than "
            f"k = {run.release.k} entities have in common who came, left, changed or share other "
            "classes now. The target stays as it was.",
            code="held_back",
            hint="Wait until more have changed, publish seldom, or let series.protect be history, "
            "which builds tables that may follow each other.",
        )
    others = others_of(run, ledger)
    least, joint = joint_least(run, others), joint_k([ledger, *others])
    if others and (joint is None or joint < least):
        raise DataError(
            f"Held back: beside the tables of {named(others)}, this one would tell people apart "
            f"from all but fewer than k = {least}: {as_count(run, ledger, others)}. The target "
            "stays as it was.",
            code="held_back",
            hint="Let series.protect be history, which builds tables that may stand beside them.",
        )


def ledger_claim(run: Run) -> tuple[pa.Table, Claim] | None:
    """Claim history k of the ledger that will be written with the table."""
    from microagg_ops.expectations import ExpectLedgerToKeepHistoryK

    if not is_staged(run):
        return None
    k, ledger = run.release.k, Protected.of(run).table(LEDGER)
    claim = f"over all tables of the series, every group with the same classes has {k} or more"
    columns = [name for name in ledger.column_names if name != "value"]
    expected = ExpectLedgerToKeepHistoryK(k=k, description=claim)
    return ledger.select(columns), Claim(HISTORY_K, claim, k, expected)


def remembered(run: Run, protected: pa.Table, found: Sequence[Finding]) -> Iterator[Finding]:
    """Take what was found; of history k only if the ledger is of this very table."""
    for one in found:
        if one.name != HISTORY_K:
            yield one
        elif not tells_of(staged_ledger(run, Protected), protected):
            error = "the ledger is of another table"
            yield replace(one, observed=None, passed=False, details={}, error=error)
        else:  # more than k would tell of the groups
            least = None if one.observed is None else min(one.observed, one.threshold)
            yield replace(one, observed=least, details={})
    if is_staged(run):
        yield from remembered_together(run)


def remembered_together(run: Run) -> Iterator[Finding]:
    """Check k of joint classes: over the tables of this series and of the others."""
    ledger = staged_ledger(run, Protected)
    others = others_of(run, ledger)
    if not others:
        return
    k, found = joint_least(run, others), joint_k([ledger, *others])
    claim = (
        f"over all tables of the series and of {named(others)}, every group with the same classes "
        f"has {k} or more"
    )
    told = None if found is None else min(found, k)
    passed = found is not None and found >= k
    error = "" if passed else f"together they single out {as_count(run, ledger, others)}"
    yield Finding("history_k_together", claim, k, told, passed, {}, error)


def as_count(run: Run, ledger: Ledger, others: Sequence[Ledger]) -> str:
    """Say how many people several series together tell from all but fewer than k."""
    k, whole = joint_least(run, others), len(joint_traces([ledger, *others]))
    many = told_apart([ledger, *others], k)
    return f"{many:,} of {whole:,} people" if many >= k else "fewer than k people"


def tells_of(ledger: Ledger, protected: pa.Table) -> bool:
    """Whether a ledger is of this very table."""
    import pyarrow as pa

    if not ledger.classes or ledger.last is None:
        return False
    shown = pa.concat_tables(list(ledger.classes.values()))
    return content_digest(protected) == ledger.last.digest == content_digest(shown)


def recounted(run: Run, protected: pa.Table) -> Ledger | None:
    """Count history k once more before the table is published; give the ledger to be written."""
    if not is_staged(run):
        if run.release.series.is_kept:
            raise DisclosureError(
                "The release protects a series, and this table was not made for one.",
                code="no_ledger",
                hint="Run the release from the start. Nothing was published.",
            )
        return None
    ledger = staged_ledger(run, Protected)
    found = history_k(ledger) if tells_of(ledger, protected) else None
    if found is None or found < run.release.k:
        raise DisclosureError(
            "Counted again on the ledger: over all tables of the series fewer than "
            f"k = {run.release.k} entities share their classes.",
            hint="Nothing was published. Run the release from the start.",
        )
    return ledger
