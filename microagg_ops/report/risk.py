"""Risk before and after, mapped to singling out, linkability and inference."""

from __future__ import annotations

from dataclasses import asdict
from math import comb
from typing import TYPE_CHECKING, Any

from microagg_ops.columns.pairs import linked, published_strata
from microagg_ops.metrics import (
    attackers,
    classes,
    disclosure_risk,
    diversity,
    interval_disclosure,
    k_anonymity,
    k_by_group,
    k_by_stratum,
    probabilistic_linkage,
    rank_linkage,
    reidentification,
    row_classes,
    suda,
    t_closeness,
)
from microagg_ops.metrics.agreement import PATTERNS_UP_TO
from microagg_ops.metrics.linkage import Linkage, coordinates
from microagg_ops.report.material import Material

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that linkage by ranks tries at most: enough for an interval of less than a percent.
TRIED = 20_000
# Comparisons of two rows, and rows times sets of columns, that take a few seconds.
COMPARISONS = 4e8
LOOKS = 6e7
# Half the width of an interval, as a share of all ranks.
WIDTH = 0.1


def risk_before(material: Material) -> dict[str, Any]:
    """Say who could be found in the rows as they were."""
    release, table = material.release, material.before
    columns = [*release.strata, *release.quasi]
    found = reidentification(table, columns, release.columns.entity)
    size = largest_sets(table.num_rows, len(columns))
    scored = suda(table, columns, size)
    return {
        "rows": found.rows,
        "uniques": found.uniques,
        "expected": found.expected,
        "highest": found.highest,
        "suda": {
            "max_size": size,
            "special": scored.special,
            "minimal": list(scored.minimal),
            "contributions": scored.contributions,
        },
    }


def largest_sets(rows: int, columns: int) -> int:
    """Return the largest sets of columns that can be searched for uniques in a few seconds."""
    looks, size = 0, 0
    while size < min(3, columns):
        looks += rows * comb(columns, size + 1)
        if size and looks > LOOKS:
            break
        size += 1
    return size


def risk_after(material: Material) -> dict[str, Any]:
    """Say who could be found in the published rows, and what could be learned of them."""
    release, table = material.release, material.after
    entity, strata = release.columns.entity, release.strata
    joint = row_classes(table, [*strata, *release.quasi])
    found = reidentification(table, joint, entity)
    links = linkages(material, 100.0 * found.expected / max(found.rows, 1))
    intervals = interval_disclosure(material.pairs, None, width=WIDTH, of="rank")
    probable = links["probabilistic"]
    return {
        "singling_out": {
            "k_joint": k_anonymity(table, joint, entity),
            "k_by_group": list(k_by_group(table, material.groups, strata, entity)),
            "k_by_stratum": list(k_by_stratum(table, release.quasi, strata, entity))
            if strata
            else [],
            "uniques": found.uniques,
            "expected": found.expected,
            "highest": found.highest,
        },
        "linkability": links,
        "inference": {
            "sensitive": [
                {
                    "name": name,
                    "l": (kinds := diversity(table, joint, name, entity)).distinct,
                    "entropy_l": kinds.entropy,
                    "t": t_closeness(table, joint, name, entity),
                }
                for name in release.columns.sensitive
                if name != release.columns.weight
            ],
            "interval": {
                "width": WIDTH,
                "overall": intervals.overall,
                "by_column": intervals.columns,
            },
        },
        "disclosure_risk": disclosure_risk(
            intervals.overall,
            links["distance"]["certain"],
            probable["certain"] if probable else None,
        ),
    }


def describe_attackers(material: Material) -> dict[str, Any]:
    """Say what a prosecutor, a journalist and a marketer would find in the published rows."""
    release, sample = material.release, material.release.sample
    weights = material.weights if sample.weighted else 1 / (sample.fraction or 1)
    columns = [*release.strata, *release.quasi]
    found = attackers(material.after, columns, release.columns.entity, weights=weights)
    return asdict(found) | {"sample": asdict(sample)}


def linkages(material: Material, algorithm: float) -> dict[str, Any]:
    """Link the rows as they were to the published ones of their stratum, in several ways.

    Who knows the ``algorithm`` knows the class of a row, and takes any of its entities.
    """
    seed = material.release.aggregate.seed
    pairs = material.pairs
    distinct = len(row_classes(material.after, list(material.release.quasi)))
    fewer = int(min(10_000, max(1_000, COMPARISONS / distinct)))
    within = published_strata(material.release, material.after)
    narrow = coordinates(pairs).before.shape[1] <= PATTERNS_UP_TO
    return {
        "distance": told(linked(material.release, pairs, material.after)),
        "algorithm": algorithm,
        "rank": told(rank_linkage(pairs, None, within=within, sample=TRIED, seed=seed)),
        "probabilistic": told(
            probabilistic_linkage(pairs, None, within=within, sample=fewer, seed=seed)
        )
        if narrow
        else None,
    }


def linkage_of(material: Material, table: pa.Table) -> float:
    """Measure the percentage of rows that are linked rightly by distance to a protected table."""
    return linked(material.release, material.pairs_with(table), table).percent


def told(linkage: Linkage) -> dict[str, Any]:
    """Tell links in percent, and between what they lie where a sample was drawn."""
    return {
        "percent": linkage.percent,
        "certain": linkage.certain_percent,
        "low": linkage.low,
        "high": linkage.high,
        "rows": linkage.rows,
        "tried": linkage.tried,
    }


def describe_risk(material: Material) -> dict[str, Any]:
    """Collect the figures of risk."""
    release, after = material.release, risk_after(material)
    single = after["singling_out"]
    jointly = release.validate.guarantee == "joint"
    sets = [release.quasi] if jointly else material.groups
    sizes: dict[int, int] = {}
    for names in sets:
        columns, entity = [*release.strata, *names], release.columns.entity
        for size, many in asdict(classes(material.after, columns, 1, entity))["sizes"].items():
            sizes[size] = sizes.get(size, 0) + many
    return {
        "k": single["k_joint"] if jointly else min(single["k_by_group"]),
        "guarantee": release.validate.guarantee,
        "clusters": material.aggregated["clusters"],
        "class_sizes": [{"size": size, "classes": sizes[size]} for size in sorted(sizes)],
        "dominance": material.treatment["dominance"],
        "attackers": describe_attackers(material),
        "before": risk_before(material),
        "after": after,
    }
