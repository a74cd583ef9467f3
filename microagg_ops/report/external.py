"""The external report: what of a table may be read by everybody who may read the table.

It is built from nothing, key by key, and never by leaving things out of the internal report: what
is not named here stays. ``schemas/external.schema.json`` says of every key why it is safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.pairs import values
from microagg_ops.outside import Gate
from microagg_ops.report.material import Material
from microagg_ops.report.utility import as_moment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Totals that differ by more than this, as a share, are said to differ.
TOLERANCE = 0.01


def external(material: Material, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Collect what leaves; when the table was published is added by who published it."""
    release, outside = material.release, material.aggregated["outside"]
    gate = Gate(release.aggregate.k, material.aggregated["entities"])
    return {
        "schema_version": 1,
        "release": release.release,
        "version": release.version,
        "owner": release.about.owner,
        "published": None,
        "output_digest": material.aggregated["digest"],
        "purpose": figures["purpose"],
        "k": figures["risk"]["k"]
        if release.columns.entity is None
        else min(figures["risk"]["k"], release.k),  # entities cannot be counted in the table
        "guarantee": release.validate.guarantee,
        "checks": [{"name": c["name"], "passed": c["passed"]} for c in figures["checks"]],
        "data": {"rows": material.after.num_rows, "columns": figures["data"]["roles"]},
        "roles": {name: figures["roles"][name] for name in ("quasi", "dropped")},
        "method": {name: figures["method"][name] for name in ("aggregate", "groups")},
        "treatment": {n: outside[n] for n in ("suppressed", "imputed", "merged", "dropped")}
        if gate.is_open
        else None,
        "utility": utility(material, outside, gate) if gate.is_open else None,
        "totals_kept": kept(material) if gate.is_open else None,
        "limits": figures["limits"],
        "package_version": figures["versions"]["microagg-ops"],
    }


def kept(material: Material) -> bool:
    """Say whether all totals that should be are kept."""
    limit = material.release.validate.totals or TOLERANCE
    return all(abs(part) <= limit for part in material.treatment["totals"].values())


def utility(material: Material, outside: Mapping[str, Any], gate: Gate) -> dict[str, Any]:
    """Tell what protection cost, of published cells alone and rounded to what k entities allow."""
    columns = {name: Moments(material, name, gate.k) for name in material.old}
    return {
        "information_loss": outside["information_loss"],
        "by_column": [
            {"name": name, "information_loss": outside["information_loss_by_column"][name]}
            | found.told()
            for name, found in columns.items()
        ],
        "correlations": correlations(material, columns, gate),
    }


class Moments:
    """Mean and deviation of a column before and after, over the cells that are published.

    Only a mean that is published lets the mean before be told: it is the same but for rounding.
    Where a median is published, a single far value would be seen in the mean before alone.
    """

    def __init__(self, material: Material, name: str, k: int) -> None:
        import numpy as np

        old, new = material.old[name], material.new[name]
        self.column = new
        self.there = ~old.missing & ~new.missing
        self.sides = [values(side)[self.there] for side in (old, new)]
        self.weights = material.weights[self.there]
        whose, owners = np.unique(material.entities[self.there], return_inverse=True)
        self.gate = Gate(k, len(whose))
        self.is_told = (
            self.gate.is_open
            and old.how.statistic == "mean"
            and not any(self.gate.is_few(part) for part in self.parts(owners))
        )

    def parts(self, owners: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Add up what each entity adds to the weights and to the spread."""
        import numpy as np

        apart = [self.weights * (side - self.mean(side)) ** 2 for side in self.sides]
        return [np.bincount(owners, part).astype(float) for part in (self.weights, *apart)]

    def mean(self, side: NDArray[np.float64]) -> float:
        """Weighted mean of one side."""
        import numpy as np

        return float(np.average(side, weights=self.weights)) if len(side) else 0.0

    def deviation(self, side: NDArray[np.float64]) -> float:
        """Weighted standard deviation of one side."""
        import numpy as np

        if not len(side):
            return 0.0
        return float(np.sqrt(np.average((side - self.mean(side)) ** 2, weights=self.weights)))

    def told(self) -> dict[str, Any]:
        """Let mean and deviation through the gate, in steps of the published deviation."""
        if not self.is_told:
            names = ("mean_before", "mean_after", "deviation_before", "deviation_after")
            return dict.fromkeys(names)
        scale = self.deviation(self.sides[1])
        means = [self.gate.figure(self.mean(side), scale) for side in self.sides]
        spreads = [self.gate.figure(self.deviation(side), scale) for side in self.sides]
        return {
            "mean_before": as_moment(self.column, means[0]),
            "mean_after": as_moment(self.column, means[1]),
            "deviation_before": spreads[0],
            "deviation_after": spreads[1],
        }


def correlations(
    material: Material, columns: Mapping[str, Moments], gate: Gate
) -> dict[str, Any] | None:
    """Tell the correlations of the columns whose moments are told, over rows with no NULL."""
    import numpy as np

    names = [name for name, found in columns.items() if found.is_told]
    if len(names) < 2 or not all(columns[name].there.all() for name in names):
        return None

    def side(which: int) -> list[list[float | None]]:
        table = np.column_stack([columns[name].sides[which] for name in names])
        table = table - np.average(table, axis=0, weights=material.weights)
        cross = (table * material.weights[:, None]).T @ table
        spread = np.sqrt(np.diag(cross))
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.nan_to_num(cross / np.outer(spread, spread))
        return [[gate.figure(float(one), 1.0) for one in row] for row in found]

    return {"columns": names, "before": side(0), "after": side(1)}
