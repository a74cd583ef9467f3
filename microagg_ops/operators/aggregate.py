"""Aggregate: find clusters, and give each row the representative of its cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from microagg_ops.operators.columns import MicroaggColumnsOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.single_stage import Alone


class MicroaggProtectOperator(MicroaggColumnsOperator):
    """What the operators share that protect a table when they run alone.

    Parameters
    ----------
    method, seed, budget, threads, method_params
        Alone: how clusters are found.
    aware
        Alone: whether clusters are built to meet the limits on sensitive columns, ``l`` and ``t``.
    standardize
        Alone: zscore, minmax, robust or none.
    groups, guarantee
        Alone: groups of columns (or what a release file says under group), and ``per_group`` where
        k need not hold jointly.
    max_information_loss, max_linkage, totals
        Alone: the largest SSE/SST, the largest share of rows that can be linked, and the largest
        relative difference of a total that are allowed.
    max_risk, average_risk
        Alone: the highest and the average chance of an entity to be found that are allowed.
    profile, sample
        Alone: the thresholds of a regulator, and what part of the population the rows are.
    small_strata
        Alone: what becomes of a stratum with fewer than k entities: error, merge or drop.
    weight
        Alone: a column of weights; it is kept only if it is in ``sensitive`` too.
    dominance
        Alone: n, share, p and columns of the dominance rules.
    **kwargs
        As for `MicroaggColumnsOperator`.
    """

    option_names: ClassVar[tuple[str, ...]] = (
        *MicroaggColumnsOperator.option_names,
        "method", "seed", "budget", "threads", "method_params", "standardize", "groups",
        "guarantee", "max_information_loss", "max_linkage", "totals", "small_strata", "weight",
        "dominance", "max_risk", "average_risk", "profile", "sample", "aware",
    )  # fmt: skip

    def __init__(
        self,
        *,
        method: str = "mdav",
        seed: int = 0,
        budget: str | None = None,
        threads: int | None = None,
        method_params: Mapping[str, Any] | None = None,
        standardize: str = "zscore",
        groups: Sequence[Sequence[str]] | Mapping[str, Any] = (),
        guarantee: str = "joint",
        max_information_loss: float | None = None,
        max_linkage: float | None = None,
        totals: float | None = None,
        small_strata: str = "error",
        weight: str | None = None,
        dominance: Mapping[str, Any] | None = None,
        max_risk: float | None = None,
        average_risk: float | None = None,
        profile: str | None = None,
        sample: Mapping[str, Any] | None = None,
        aware: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.method = method
        self.seed = seed
        self.budget = budget
        self.threads = threads
        self.method_params = method_params or {}
        self.standardize = standardize
        self.groups = groups
        self.guarantee = guarantee
        self.max_information_loss = max_information_loss
        self.max_linkage = max_linkage
        self.totals = totals
        self.small_strata = small_strata
        self.weight = weight
        self.dominance = dominance or {}
        self.max_risk = max_risk
        self.average_risk = average_risk
        self.profile = profile
        self.sample = sample or {}
        self.aware = aware


class MicroaggAggregateOperator(MicroaggProtectOperator):
    """Aggregate a release; alone: protect a table, check it, and write it to ``target``."""

    stage = "aggregate"

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Write the protected table."""
        return alone.aggregate(self.source_place(), self.target_place(), self.options_of(context))
