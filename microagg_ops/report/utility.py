"""Utility and consistency: what the protection cost, and what it kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.encoding import WHOLE, Encoded
from microagg_ops.columns.pairs import DAY, per_second, values
from microagg_ops.columns.space import is_nominal
from microagg_ops.metrics import eigenvalue_loss, il1s, mean_variation, moments, propensity
from microagg_ops.report.bins import distribution
from microagg_ops.report.material import Material
from microagg_ops.report.risk import linkage_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rows that the model of propensity scores is fitted to, at most.
FITTED = 20_000


def describe_utility(material: Material) -> dict[str, Any]:
    """Collect the figures of utility."""
    loss = material.aggregated["information_loss"]
    return {
        "information_loss": loss,
        "least": over_least(loss, material.aggregated.get("least_loss")),
        "by_column": list(compare(material)),
        **variations(material),
        "propensity": propensities(material),
        "correlations": correlations(material),
        "distributions": [
            distribution(old, material.new[name], material.entities, material.release.aggregate.k)
            for name, old in material.old.items()
        ],
        "mdav": over_mdav(material, loss),
        "notes": list(material.notes),
    }


def compare(material: Material) -> Iterator[dict[str, Any]]:
    """Compare loss and moments of each quasi-identifier; sums of many rows, no cell."""
    loss = material.aggregated["information_loss_by_column"]
    for name, old in material.old.items():
        mean_before, deviation_before = moments_of(old, material.weights)
        mean_after, deviation_after = moments_of(material.new[name], material.weights)
        yield {
            "name": name,
            "information_loss": loss[name],
            "mean_before": mean_before,
            "mean_after": mean_after,
            "deviation_before": deviation_before,
            "deviation_after": deviation_after,
        }


def moments_of(encoded: Encoded, weights: NDArray[np.float64]) -> tuple[Any, float | None]:
    """Compute mean and standard deviation for people; categories have none."""
    import numpy as np

    there = ~encoded.missing
    if encoded.categories is not None or not there.any():
        return None, None
    found, weights = encoded.codes[there] * encoded.unit, weights[there]
    mean = float(np.average(found, weights=weights))
    deviation = float(np.sqrt(np.average((found - mean) ** 2, weights=weights)))
    if encoded.how.type == "timestamp":
        second = per_second(encoded)
        return as_moment(encoded, mean / (DAY * second)), deviation / second
    return as_moment(encoded, mean), deviation


def as_moment(encoded: Encoded, mean: float | None) -> Any:
    """Write a mean of days since 1970 as a date or a moment; others are numbers."""
    if mean is None or encoded.how.type not in ("date", "timestamp"):
        return mean
    if encoded.how.type == "date":
        return (date(1970, 1, 1) + timedelta(days=round(mean))).isoformat()
    moment = datetime(1970, 1, 1) + timedelta(seconds=round(mean * DAY))
    return f"{moment.isoformat()}{'Z' if encoded.source.tz else ''}"


def variations(material: Material) -> dict[str, Any]:
    """Measure IL1 to IL5, IL1s and eigenvalues, of the columns that have an order."""
    pairs = material.pairs
    if pairs.nominal.all():
        return {"variation": None, "variation_by_column": [], "il1s": None, "eigenvalues": None}
    found = mean_variation(pairs, None)
    parts = {f"il{i}": getattr(found, f"il{i}") for i in range(1, 6)}
    return {
        "variation": {il: part.overall for il, part in parts.items()} | {"percent": found.percent},
        "variation_by_column": [
            {"name": name} | {il: part.columns[name] for il, part in parts.items()}
            for name in found.il1.columns
        ],
        "il1s": il1s(pairs, None).overall,
        "eigenvalues": eigenvalue_loss(pairs, None),
    }


def propensities(material: Material) -> dict[str, Any]:
    """Say how well a model tells published rows from those of the source."""
    found = propensity(material.pairs, None, sample=FITTED, seed=material.release.aggregate.seed)
    rows = material.before.num_rows
    return {"pmse": found.pmse, "ratio": found.ratio, "rows": rows, "tried": min(rows, FITTED)}


def correlations(material: Material) -> dict[str, Any] | None:
    """Compute the correlations of the columns that have an order, if there are two or more."""
    if (~material.pairs.nominal).sum() < 2:
        return None
    before, after = moments(material.pairs, None)
    return {
        "columns": list(before.columns),
        "before": before.correlations.round(4).tolist(),
        "after": after.correlations.round(4).tolist(),
    }


def over_least(loss: float, least: float | None) -> dict[str, float | None] | None:
    """Say how far the loss is above the proven bound at most; no share where the bound is 0."""
    if least is None:
        return None
    return {"bound": least, "above": 100.0 * (loss - least) / least if least > 0 else None}


def over_mdav(material: Material, loss: float) -> dict[str, float] | None:
    """Say how much less is lost than MDAV would lose."""
    for other in material.tried:
        if other.method == "mdav":
            lost = other.information_loss
            gain = 100.0 * (lost - loss) / lost if lost else 0.0
            return {"information_loss": lost, "gain": gain}
    return None


def methods_tried(material: Material, linkage: float) -> list[dict[str, Any]]:
    """List what was tried with its loss and its risk, the chosen one marked."""
    chosen = {
        "method": material.aggregated["method"],
        "information_loss": material.aggregated["information_loss"],
        "linkage": linkage,
        "chosen": True,
    }
    return [
        chosen,
        *(
            {
                "method": other.method,
                "information_loss": other.information_loss,
                "linkage": linkage_of(material, other.table),
                "chosen": False,
            }
            for other in material.tried
        ),
    ]


def consistency(material: Material) -> Iterator[dict[str, Any]]:
    """Say by how much totals differ, of the columns that are published as means."""
    for name, relative in material.treatment["totals"].items():
        whole = material.release.columns.quasi[name].type in WHOLE
        yield {
            "name": name,
            "relative_difference": relative,
            "explained_by": "rounding to the steps of its type" if whole else "floating point",
        }


def ranges(material: Material) -> Iterator[dict[str, Any]]:
    """Count published values outside the range of the source, and such as cannot be.

    Counts alone: the ends of a range are cell values.
    """
    import numpy as np

    for name, old in material.old.items():
        new = material.new[name]
        before, after = values(old)[~old.missing], values(new)[~new.missing]
        outside = impossible = 0
        if len(before) and not is_nominal(old):
            # A mean of equal values may differ from them by rounding.
            slack = 1e-9 * max(float(np.abs(before).max()), 1.0)
            low, high = before.min() - slack, before.max() + slack
            outside = int(((after < low) | (after > high)).sum())
        if old.how.type in ("integer", "date", "ordinal"):
            impossible = int((after != np.rint(after)).sum())
        yield {"name": name, "outside": outside, "impossible": impossible}
