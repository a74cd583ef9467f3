"""The ledger of a run: found before anything is published, and true again after a crash.

A next ledger beside the ledger says that a run meant to publish: whether it did, the target tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from microagg_ops.errors import DataError, DisclosureError
from microagg_ops.release.series import LedgerPlace
from microagg_ops.series.ledger import Ledger, Publication
from microagg_ops.stages.extract import normalized
from microagg_ops.stages.ledgers import NEXT, FileLedger, LedgerStore, TableLedger
from microagg_ops.stages.run import Run
from microagg_ops.stages.target import of_interval, typed
from microagg_ops.staging.digests import content_digest
from microagg_ops.staging.keys import keyed_digest

if TYPE_CHECKING:
    import pyarrow as pa

KEEP = "Nothing was published."


def store_of(run: Run) -> LedgerStore:
    """Find the place of the ledger."""
    return place_store(run, run.release.series.ledger)


def place_store(run: Run, place: LedgerPlace | None) -> LedgerStore:
    """Open the place of a ledger."""
    assert place is not None  # noqa: S101 - a release without one is not loaded
    if place.file is not None:
        return FileLedger(Path(place.file).expanduser().resolve())
    assert place.conn_id is not None and place.table is not None  # noqa: S101, PT018
    return TableLedger(run.warehouse(place.conn_id), place.table, place.conn_id)


def ledger_key(run: Run, name: str, key: bytes | None = None) -> str:
    """Digest the name of a release, keyed: who has another key cannot recognize entities."""
    return keyed_digest(key or run.key, "series", name.encode())


def ledger_of(run: Run) -> Ledger:
    """Find the ledger, or begin one; refuse one that the target contradicts."""
    store, series = store_of(run), run.release.series
    with store.locked():
        ledger = healed(run, store)
    key = ledger_key(run, run.release.release)
    if ledger is None:
        if series.epoch is None and target_has_rows(run):
            raise DataError(
                "The target holds rows, and the series has no ledger that tells whose they are.",
                code="lost_ledger",
                hint="Restore the ledger. If it is lost or there never was one, begin a new epoch: "
                f"series.epoch: <today's date>. {KEEP}",
            )
        return Ledger(run.release.release, key, series.epoch or "")
    if (ledger.series, ledger.key) != (run.release.release, key):
        raise DataError(
            "The ledger is of another release, or was kept with another key.",
            code="other_ledger",
            hint="Give the release its own ledger, and the key that it was kept with; if the key "
            f"has changed: microagg series rekey. {KEEP}",
        )
    epoch = series.epoch or ""
    return ledger if ledger.epoch == epoch else ledger.begin(epoch)


def healed(run: Run, store: LedgerStore) -> Ledger | None:
    """Read the ledger; what a run left that died while it published is settled by the target."""
    ledger, coming = store.read(), store.read(NEXT)
    if coming is not None and coming.last is not None and holds(run, coming.last):
        store.write(coming.table())
        ledger = coming
    elif ledger is not None and ledger.last is not None and not holds(run, ledger.last):
        raise disagrees()
    if coming is not None:
        store.write(None, NEXT)
    return ledger


def disagrees() -> DisclosureError:
    """Refuse to publish beside a table that the ledger knows nothing of."""
    return DisclosureError(
        "The target does not hold what the ledger of the series says was published last.",
        code="ledger_disagrees",
        hint="Somebody else wrote one of them. Restore the target or the ledger from a copy; or "
        f"begin a new epoch with a new ledger (series.epoch). {KEEP}",
    )


def holds(run: Run, said: Publication) -> bool:
    """Whether the target holds what was published."""
    found = read_target(run, said)
    return found is not None and content_digest(found) == said.digest


def target_has_rows(run: Run) -> bool:
    """Whether anything was published."""
    how = run.release.publish
    warehouse = run.warehouse(how.conn_id)
    first = list((warehouse.describe(how.table) or {}).items())[:1]
    return bool(first) and warehouse.read(how.table, dict(first)).num_rows > 0


def read_target(run: Run, said: Publication) -> pa.Table | None:
    """Read from the target what a publication wrote; ``None`` if it has other columns."""
    how = run.release.publish
    warehouse = run.warehouse(how.conn_id)
    described = warehouse.describe(how.table)
    wanted = [*said.columns, *([how.interval_column] if said.interval else [])]
    if described is None or not set(wanted) <= set(described):
        return None
    rows = warehouse.read(how.table, {name: described[name] for name in wanted})
    if said.interval:
        rows = of_interval(rows, how.interval_column, datetime.fromisoformat(said.interval))
    return typed(normalized(rows.select(list(said.columns))), said.columns)


@contextmanager
def recorded(run: Run, ledger: Ledger | None) -> Iterator[Callable[[], None]]:
    """Write down what is about to be published; yield what writes down that it was.

    The ledger is held. Should that fail, the target has changed all the same: the next run finds
    it out.
    """
    if ledger is None:
        yield lambda: None
        return
    store = store_of(run)
    before = healed(run, store)
    if before is not None and before.last == ledger.last:  # this run published already
        yield lambda: None
        return
    known = (len(before.publications), before.revision) if before else (0, 0)
    if known != (len(ledger.publications) - 1, ledger.revision):
        raise DisclosureError(
            "The ledger of the series has changed since this run read it: another run published, "
            "or somebody changed it.",
            code="ledger_moved",
            hint=f"Run the release again from the start. {KEEP}",
        )
    table = ledger.table()

    def remember() -> None:
        store.write(table)
        store.write(None, NEXT)

    store.write(table, NEXT)
    yield remember
