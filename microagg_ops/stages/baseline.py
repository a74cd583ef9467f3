"""What other methods would have made of the same rows, for the report to compare with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from microagg_ops.release.model import Aggregate
from microagg_ops.report.material import Alternative
from microagg_ops.stages.aggregate import find_labels
from microagg_ops.stages.artefacts import Groups, Protected
from microagg_ops.stages.limits import Limited
from microagg_ops.stages.microdata import Microdata
from microagg_ops.stages.represent import represent
from microagg_ops.stages.run import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Beyond this many rows MDAV takes longer than a report should.
MDAV_UP_TO = 200_000


def try_mdav(
    run: Run, rows: Microdata, order: NDArray[np.int64]
) -> tuple[list[Alternative], list[str]]:
    """Protect the rows by MDAV, unless that is what was done; give what could not be tried.

    Parameters
    ----------
    run, rows
        The run, and its rows before clusters were found.
    order
        The rows of the source in the order in which they are published.
    """
    if Protected.of(run).summary["method"] in ("mdav", "optimal"):
        return [], []
    if len(rows.entities) > MDAV_UP_TO:
        return [], [f"MDAV was not tried: the table has more than {MDAV_UP_TO:,} rows."]
    release = replace(run.release, aggregate=Aggregate(k=run.release.aggregate.k))
    groups = Groups.of(run).names
    limited = Limited.of(release, rows)
    hidden = [rows.hidden(names, release, limited.enough) for names in groups]
    found = find_labels(run.engine, release, limited, groups, hidden)
    protected, outcome, _ = represent(release, rows, groups, hidden, found.labels)
    table = protected.take(rows.places(order))
    return [Alternative("mdav", outcome["information_loss"], table)], []
