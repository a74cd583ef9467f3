"""Standardize: make quasi-identifiers comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from microagg_ops.operators.base import MicroaggOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from microagg_ops.single_stage import Alone


class MicroaggStandardizeOperator(MicroaggOperator):
    """Standardize the quasi-identifiers of a release; alone: of a table, into a Parquet file.

    Parameters
    ----------
    quasi
        Alone: the columns, or a mapping of them to a type, or to what a release file says of one.
    nulls
        Alone: what a NULL means: reject, own_class or impute.
    standardize
        Alone: zscore, minmax, robust or none.
    **kwargs
        As for `MicroaggOperator`.
    """

    stage = "standardize"
    option_names = ("quasi", "nulls", "standardize")

    def __init__(
        self,
        *,
        quasi: Sequence[str] | Mapping[str, Any] = (),
        nulls: str = "reject",
        standardize: str = "zscore",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.quasi = quasi
        self.nulls = nulls
        self.standardize = standardize

    def alone(self, alone: Alone, context: Context) -> dict[str, Any]:
        """Write the standardized columns."""
        return alone.standardize(self.source_place(), self.target_place(), self.options_of(context))
