"""Validate: check every claim on what is about to be published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from microagg_ops.operators.base import MicroaggOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.alone import Alone


class MicroaggClaimOperator(MicroaggOperator):
    """What the operators share that take their source for a protected table when they run alone.

    Parameters
    ----------
    quasi
        Alone: the quasi-identifiers, or a mapping of them to number, integer or date.
    k
        Alone: the least number of entities of each class.
    sensitive, strata
        Alone: the other columns.
    entity
        Alone: a column whose distinct values are counted for k.
    **kwargs
        As for `MicroaggOperator`.
    """

    option_names: ClassVar[tuple[str, ...]] = ("quasi", "k", "sensitive", "entity", "strata")

    def __init__(
        self,
        *,
        quasi: Sequence[str] | Mapping[str, str] = (),
        k: int | None = None,
        sensitive: Sequence[str] = (),
        entity: str | None = None,
        strata: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.quasi = quasi
        self.k = k
        self.sensitive = sensitive
        self.entity = entity
        self.strata = strata


class MicroaggValidateOperator(MicroaggClaimOperator):
    """Validate a release; alone: a table. A failed check fails the task and is never retried."""

    stage = "validate"

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Check a table that is said to be protected."""
        return alone.validate(self.source_place(), self.options(context))
