"""Aggregate: find clusters, and give each row the representative of its cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from microagg_ops.operators.base import MicroaggOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.alone import Alone


class MicroaggProtectOperator(MicroaggOperator):
    """What the operators share that protect a table when they run alone.

    Parameters
    ----------
    quasi
        Alone: the columns to protect, or a mapping of them to number, integer or date.
    k
        Alone: the least number of entities that share a representative.
    sensitive
        Alone: the other columns to keep; columns that are not named do not leave.
    entity
        Alone: a column whose distinct values are counted for k.
    strata
        Alone: columns to keep whose values clusters do not cross.
    method, seed, budget
        Alone: how clusters are found.
    standardize
        Alone: zscore, minmax, robust or none.
    groups, guarantee
        Alone: groups of columns, and ``per_group`` where k need not hold jointly.
    max_information_loss
        Alone: the largest SSE/SST allowed, as a share.
    **kwargs
        As for `MicroaggOperator`.
    """

    option_names: ClassVar[tuple[str, ...]] = (
        "quasi", "k", "sensitive", "entity", "strata", "method", "seed", "budget", "standardize",
        "groups", "guarantee", "max_information_loss",
    )  # fmt: skip

    def __init__(
        self,
        *,
        quasi: Sequence[str] | Mapping[str, str] = (),
        k: int | None = None,
        sensitive: Sequence[str] = (),
        entity: str | None = None,
        strata: Sequence[str] = (),
        method: str = "mdav",
        seed: int = 0,
        budget: str | None = None,
        standardize: str = "zscore",
        groups: Sequence[Sequence[str]] = (),
        guarantee: str = "joint",
        max_information_loss: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.quasi = quasi
        self.k = k
        self.sensitive = sensitive
        self.entity = entity
        self.strata = strata
        self.method = method
        self.seed = seed
        self.budget = budget
        self.standardize = standardize
        self.groups = groups
        self.guarantee = guarantee
        self.max_information_loss = max_information_loss


class MicroaggAggregateOperator(MicroaggProtectOperator):
    """Aggregate a release; alone: protect a table, check it, and write it to ``target``."""

    stage = "aggregate"

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Write the protected table."""
        return alone.aggregate(self.source_place(), self.target_place(), self.options(context))
