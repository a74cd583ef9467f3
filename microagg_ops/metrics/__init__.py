"""Measures of loss, of anonymity and of disclosure, each importable from here by its name.

All take pandas or polars frames or Arrow tables; those that compare a table before and after
protection take arrays too. They give counts and figures, never a value of a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from microagg_ops.lazily import loaded_on_use

if TYPE_CHECKING:
    from microagg_ops.metrics.anonymity import (
        class_sizes,
        classes,
        diversity,
        homogeneity,
        k_anonymity,
        k_by_group,
        k_by_stratum,
        p_sensitivity,
        t_closeness,
    )
    from microagg_ops.metrics.attackers import attackers, population_risk
    from microagg_ops.metrics.disclosure import disclosure_risk, interval_disclosure, score
    from microagg_ops.metrics.linkage import distance_linkage, rank_linkage
    from microagg_ops.metrics.loss import (
        eigenvalue_loss,
        il1s,
        information_loss,
        mean_variation,
        moments,
        sse,
        sst,
        standardized_loss,
    )
    from microagg_ops.metrics.tables import row_classes
    from microagg_ops.metrics.uniques import reidentification, suda, suda_scores
    from microagg_ops.metrics.utility import propensity

__all__ = [
    "attackers",
    "class_sizes",
    "classes",
    "disclosure_risk",
    "distance_linkage",
    "diversity",
    "eigenvalue_loss",
    "homogeneity",
    "il1s",
    "information_loss",
    "interval_disclosure",
    "k_anonymity",
    "k_by_group",
    "k_by_stratum",
    "mean_variation",
    "moments",
    "p_sensitivity",
    "population_risk",
    "probabilistic_linkage",
    "propensity",
    "rank_linkage",
    "reidentification",
    "row_classes",
    "score",
    "sse",
    "sst",
    "standardized_loss",
    "suda",
    "suda_scores",
    "t_closeness",
]

__getattr__, __dir__ = loaded_on_use(
    globals(),
    {
        "attackers": "attackers",
        "attackers_of_classes": "attackers",
        "class_sizes": "anonymity",
        "classes": "anonymity",
        "disclosure_risk": "disclosure",
        "distance_linkage": "linkage",
        "diversity": "anonymity",
        "eigenvalue_loss": "loss",
        "homogeneity": "anonymity",
        "il1s": "loss",
        "information_loss": "loss",
        "interval_disclosure": "disclosure",
        "k_anonymity": "anonymity",
        "k_by_group": "anonymity",
        "k_by_stratum": "anonymity",
        "mean_variation": "loss",
        "moments": "loss",
        "p_sensitivity": "anonymity",
        "population_risk": "attackers",
        "probabilistic_linkage": "agreement",
        "propensity": "utility",
        "rank_linkage": "linkage",
        "reidentification": "uniques",
        "row_classes": "tables",
        "score": "disclosure",
        "sse": "loss",
        "sst": "loss",
        "standardized_loss": "loss",
        "suda": "uniques",
        "suda_scores": "uniques",
        "t_closeness": "anonymity",
    },
)
