"""What is done to the ledger of a release between its runs: under its lock, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from microagg_ops.errors import ReleaseError
from microagg_ops.series.history import Rules
from microagg_ops.series.ledger import Ledger
from microagg_ops.series.together import Elsewhere
from microagg_ops.series.upkeep import Erasure, erased, rebased, rekeyed
from microagg_ops.stages.extract import canonical, describe_source, read_rows
from microagg_ops.stages.ledgers import NEXT
from microagg_ops.stages.run import Run
from microagg_ops.stages.series import enough
from microagg_ops.stages.series_keys import entity_digests, record_digests
from microagg_ops.stages.series_ledger import healed, ledger_key, store_of
from microagg_ops.stages.series_others import others_of
from microagg_ops.staging.digests import to_parquet
from microagg_ops.staging.keys import SHORTEST, derived

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


def ledger_there(run: Run) -> Ledger:
    """Read the ledger of a release."""
    return known(store_of(run).read())


def known(ledger: Ledger | None) -> Ledger:
    """Refuse a series without a ledger."""
    if ledger is None:
        raise ReleaseError("The series has no ledger yet.", code="no_ledger")
    return ledger


def changed(run: Run, change: Callable[[Ledger], tuple[Ledger, T]], *, write: bool) -> T:
    """Change the ledger while no run can, or only tell what that would come to."""
    store = store_of(run)
    with store.locked():
        ledger, told = change(known(healed(run, store)))
        if write:
            store.write(ledger.table())
    return told


def forget(run: Run) -> None:
    """Delete the ledger; what was published stays, and what it tells together with new tables."""
    store = store_of(run)
    with store.locked():
        for which in ("", NEXT):
            store.write(None, which)


def export(run: Run, path: Path) -> int:
    """Write the ledger to a private file that is not there yet; give its publications."""
    from microagg_ops.staging.private import write_private

    if path.exists():
        raise ReleaseError(
            f"{path} is there already.", code="exists", hint="Export to another file."
        )
    store = store_of(run)
    with store.locked():
        ledger = known(healed(run, store))
    write_private(path, to_parquet(ledger.table()))
    return len(ledger.publications)


def erase(run: Run, path: Path, *, write: bool) -> Erasure:
    """Have the entities of a file taken out with the next publication.

    Parameters
    ----------
    run
        A run.
    path
        One entity key a line, as the source writes it.
    write
        Whether to do it, or only to tell what it costs.
    """
    import pyarrow as pa

    entities = entity_digests(run.key, pa.chunked_array([pa.array(lines_of(path), pa.string())]))
    series, k = run.release.series, run.release.k
    rules = Rules(k, hold=series.held_for, patience=series.patience, near=series.near)

    def change(ledger: Ledger) -> tuple[Ledger, Erasure]:
        same_key(run, ledger)
        elsewhere = Elsewhere.of(ledger, others_of(run, ledger), k)
        return erased(ledger, entities, rules, enough(run, ledger, elsewhere))

    return changed(run, change, write=write)


def rebase(run: Run, *, write: bool) -> int:
    """Let the published table be the beginning of the epoch; give how many may come again."""
    return changed(run, rebased, write=write)


def rekey(run: Run, path: Path, *, write: bool) -> int:
    """Write the ledger with the key of today, from the one of a file.

    Returns
    -------
    int
        How many of the ledger are not in the source, and can be recognized no more.
    """
    old = "\n".join(lines_of(path)).encode()
    if len(old) < SHORTEST:
        raise ReleaseError(f"{path} holds no key.", code="weak_key")
    if run.release.report.sign_conn_id:
        old = derived(old, "run")
    table = canonical(run, read_rows(run, describe_source(run))[0])
    columns = [n for n in table.column_names if n in run.release.published_columns]

    def told(key: bytes) -> tuple[list[str], list[str]]:
        return entities_of(run, key, table), record_digests(key, table, columns)

    (was, had), (name, has) = told(old), told(run.key)
    now = {w: (n, h, again) for w, n, h, again in zip(was, name, had, has, strict=True)}

    def change(ledger: Ledger) -> tuple[Ledger, int]:
        same_key(run, ledger, old)
        return rekeyed(ledger, ledger_key(run, run.release.release), now)

    return changed(run, change, write=write)


def entities_of(run: Run, key: bytes, table: pa.Table) -> list[str]:
    """Digest the entities of the source."""
    return entity_digests(key, table[str(run.release.columns.entity)])


def same_key(run: Run, ledger: Ledger, key: bytes | None = None) -> None:
    """Refuse a ledger of another key: whom it knows could not be told."""
    if ledger.key != ledger_key(run, run.release.release, key):
        raise ReleaseError(
            "The ledger was kept with another key.",
            code="other_ledger",
            hint="Give the key that it was kept with.",
        )


def lines_of(path: Path) -> list[str]:
    """Read the lines of a file that hold something."""
    try:
        content = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise ReleaseError(
            f"{path} cannot be read ({type(error).__name__}).", code="no_file"
        ) from None
    return [line.strip() for line in content.splitlines() if line.strip()]
