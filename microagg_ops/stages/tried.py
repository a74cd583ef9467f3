"""What other methods would have made of the same rows, for the report to compare with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from microagg_ops.release import Aggregate
from microagg_ops.report.material import Tried
from microagg_ops.stages.aggregate import find_labels
from microagg_ops.stages.prepared import Prepared
from microagg_ops.stages.represent import represent
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Beyond this many rows MDAV takes longer than a report should.
MDAV_UP_TO = 200_000


def try_mdav(run: Run, rows: Prepared, order: NDArray[np.int64]) -> tuple[list[Tried], list[str]]:
    """Protect the rows by MDAV, unless that is what was done; give what could not be tried.

    Parameters
    ----------
    run, rows
        The run, and its rows before clusters were found.
    order
        The rows of the source in the order in which they are published.
    """
    import numpy as np

    if run.staging.summary("aggregate")["method"] in ("mdav", "optimal"):
        return [], []
    if len(rows.entities) > MDAV_UP_TO:
        return [], [f"MDAV was not tried: the table has more than {MDAV_UP_TO:,} rows."]
    how = Aggregate(k=run.release.aggregate.k)
    other = replace(run, release=replace(run.release, aggregate=how), progress=lambda share: None)
    groups = run.document("group", "groups")
    hidden = [rows.hidden(names, other.release) for names in groups]
    labels = [
        find_labels(other, rows, names, none, part=(0.0, 1.0), searches=[])
        for names, none in zip(groups, hidden, strict=True)
    ]
    protected, outcome, _ = represent(other.release, rows, groups, hidden, labels)
    place = np.empty(int(rows.strata.rows.max()) + 1, np.int64)
    place[rows.strata.rows] = np.arange(len(rows.strata.rows))
    return [Tried("mdav", outcome["information_loss"], protected.take(place[order]))], []
