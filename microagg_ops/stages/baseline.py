"""What other methods would have made of the same rows, for the report to compare with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from microagg_ops.errors import BudgetError, DataError, ReleaseError
from microagg_ops.methods.registry import METHODS
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

# Beyond this many rows others take longer than a report should.
TRIED_UP_TO = 200_000
# What is tried where the release wants a comparison: each of its own kind; and for how long.
OTHERS = ("mdav", "vmdav", "mdav_mhm", "lsc")
BUDGET = "10s"


def try_others(
    run: Run, rows: Microdata, order: NDArray[np.int64]
) -> tuple[list[Alternative], list[str]]:
    """Protect the rows by MDAV, or by several methods; give what could not be tried.

    Parameters
    ----------
    run, rows
        The run, and its rows before clusters were found.
    order
        The rows of the source in the order in which they are published.
    """
    used = Protected.of(run).summary["method"]
    wanted = OTHERS if run.release.report.compare else OTHERS[:1]
    names = [name for name in wanted if name not in (used, run.release.aggregate.method)]
    if used == "optimal" or not names:
        return [], []
    if len(rows.entities) > TRIED_UP_TO:
        told = ", ".join(as_word(name) for name in names)
        return [], [f"{told} was not tried: the table has more than {TRIED_UP_TO:,} rows."]
    found, notes = [], []
    for name in names:
        try:
            found.append(try_one(run, rows, order, name))
        except (BudgetError, DataError, ReleaseError) as error:
            notes.append(f"{as_word(name)} was not tried: {error.message}")
    return found, notes


def as_word(method: str) -> str:
    """Name a method as the literature does, where it has a name."""
    return "MDAV" if method == "mdav" else method


def try_one(run: Run, rows: Microdata, order: NDArray[np.int64], name: str) -> Alternative:
    """Protect the rows by another method."""
    own = run.release.aggregate
    how = Aggregate(k=own.k, method=name)
    if METHODS[name].searches:
        how = replace(how, budget=own.budget or BUDGET, threads=own.threads)
    release = replace(run.release, aggregate=how)
    groups = Groups.of(run).names
    limited = Limited.of(release, rows)
    hidden = [rows.hidden(names, release, limited.enough) for names in groups]
    found = find_labels(run.engine, release, limited, groups, hidden)
    protected, outcome, _ = represent(release, rows, groups, hidden, found.labels)
    return Alternative(name, outcome["information_loss"], protected.take(rows.places(order)))
